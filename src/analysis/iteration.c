/* Iterations in a sequence of calls; see iteration.h. */
#include "analysis/iteration.h"

#include <math.h>

#include "core/sort.h"

#define MOSTLY_ALIKE 0.85
#define LARGELY_ALIKE 0.7
#define LEAST_ALIKE 0.5
#define LEAST_COVERAGE 0.25
#define NEARLY 0.6    /* of the best coverage: as good */
#define MOST_UNEVEN 4 /* mean over median length: several calls of one iteration are far apart */
#define MOSTLY_TOGETHER 0.8
#define LEAST_ITERATIONS 3

/* Odd, so that its powers never vanish modulo 2^64. */
#define BASE UINT64_C(0x9e3779b97f4a7c15)

/* A call's place among those with its key. */
struct place {
    uint64_t key;
    size_t at;
};

/* One iteration: what is between its anchor and the next. */
struct content {
    uint64_t hash;
    int64_t ns;
    size_t calls;
};

struct search {
    const struct pw_call *calls;
    size_t n;
    uint64_t *hash, *power;   /* [n + 1] of the calls before, and BASE to that number */
    struct place *places;     /* [n] by key, then in order */
    struct content *contents; /* [n] */
    int64_t *lengths;         /* [n] */
    int64_t all_ns;
    double interrupted;
};

size_t pw_iterations_scratch(size_t n)
{
    return (n + 1) *
           (2 * sizeof(uint64_t) + sizeof(struct place) + sizeof(struct content) + sizeof(int64_t));
}

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_content(const void *a, const void *b)
{
    const struct content *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->calls > y->calls) - (x->calls < y->calls);
}

static uint64_t mixed(uint64_t key)
{
    key ^= key >> 32;
    key *= BASE;
    return key ^ key >> 29;
}

static void prepare(struct search *s, void *scratch)
{
    s->hash = scratch;
    s->power = s->hash + s->n + 1;
    s->places = (struct place *)(void *)(s->power + s->n + 1);
    s->contents = (struct content *)(void *)(s->places + s->n + 1);
    s->lengths = (int64_t *)(void *)(s->contents + s->n + 1);
    s->hash[0] = 0;
    s->power[0] = 1;
    for (size_t i = 0; i < s->n; i++) {
        s->hash[i + 1] = s->hash[i] * BASE + mixed(s->calls[i].key);
        s->power[i + 1] = s->power[i] * BASE;
        s->places[i] = (struct place){s->calls[i].key, i};
    }
    pw_sort(s->places, s->n, sizeof(*s->places), by_key);
    s->all_ns = s->n ? s->calls[s->n - 1].end - s->calls[0].start : 0;
}

/* The calls from `first` up to `end`, as a number. */
static uint64_t hash_of(const struct search *s, size_t first, size_t end)
{
    return s->hash[end] - s->hash[first] * s->power[end - first];
}

static int by_length(const void *a, const void *b)
{
    const struct content *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Whether the iterations of above `limit` follow each other: all was slower for a time. */
static int are_together(const int64_t *lengths, size_t n, double limit)
{
    size_t last = n, distances = 0, next = 0;
    for (size_t i = 0; i < n; i++) {
        if ((double)lengths[i] <= limit)
            continue;
        distances += last < n;
        next += last + 1 == i;
        last = i;
    }
    return distances > 1 && (double)next >= MOSTLY_TOGETHER * (double)distances;
}

/* Iterations of one loop take about as long, without the share of the longest that may have been
 * interrupted. */
static int are_even(struct content *contents, size_t n, double interrupted, int64_t *lengths)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        lengths[i] = contents[i].ns;
    pw_sort(contents, n, sizeof(*contents), by_length);
    const size_t kept = n - (size_t)ceil(interrupted * (double)n);
    const double limit = MOST_UNEVEN * (double)contents[n / 2].ns;
    for (size_t i = 0; i < kept; i++)
        sum += (double)contents[i].ns;
    return sum <= (double)kept * limit || are_together(lengths, n, limit);
}

/* The iterations whose anchors are places[first .. end); alike 0 when they are none. */
static struct pw_iterations judge(const struct search *s, size_t first, size_t end)
{
    struct pw_iterations found = {.key = s->places[first].key, .count = (int64_t)(end - first) - 1};
    size_t n = 0, most = 0;
    int64_t ns = 0;
    for (size_t i = first; i + 1 < end; i++) {
        size_t from = s->places[i].at, to = s->places[i + 1].at;
        s->contents[n++] = (struct content){hash_of(s, from, to),
                                            s->calls[to].start - s->calls[from].start, to - from};
    }
    if (!are_even(s->contents, n, s->interrupted, s->lengths))
        return found;
    pw_sort(s->contents, n, sizeof(*s->contents), by_content);
    for (size_t i = 0, next; i < n; i = next) {
        int64_t sum = 0;
        for (next = i; next < n && by_content(&s->contents[i], &s->contents[next]) == 0; next++)
            sum += s->contents[next].ns;
        if (next - i > most) {
            most = next - i;
            ns = sum;
            found.calls = s->contents[i].calls;
        }
    }
    found.alike = (double)most / (double)n;
    found.coverage = s->all_ns > 0 ? (double)ns / (double)s->all_ns : 0;
    return found;
}

size_t pw_iterations_list(const struct pw_call *calls, size_t n, double interrupted, void *scratch,
                          struct pw_iterations *out, size_t max)
{
    struct search s = {.calls = calls, .n = n, .interrupted = interrupted};
    size_t listed = 0;
    prepare(&s, scratch);
    for (size_t first = 0, end; first < n && listed < max; first = end) {
        for (end = first; end < n && s.places[end].key == s.places[first].key; end++)
            ;
        if (end - first <= LEAST_ITERATIONS)
            continue;
        out[listed] = judge(&s, first, end);
        listed += out[listed].alike >= LEAST_ALIKE && out[listed].coverage >= LEAST_COVERAGE;
    }
    return listed;
}

/* How alike iterations are, in classes: what is more alike goes first. */
static int class_of(const struct pw_iterations *i)
{
    return i->alike >= MOSTLY_ALIKE ? 2 : i->alike >= LARGELY_ALIKE ? 1 : 0;
}

size_t pw_iterations_choose(const struct pw_iterations *all, size_t n)
{
    double most[3] = {0, 0, 0};
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (all[i].coverage > most[class_of(&all[i])])
            most[class_of(&all[i])] = all[i].coverage;
    int class = most[2] > 0 ? 2 : most[1] > 0 ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        if (class_of(&all[i]) == class && all[i].coverage >= NEARLY * most[class] &&
            (best == n || all[i].count > all[best].count))
            best = i;
    return best;
}
