/* Compares the calls between two anchors by hashes, finds recurring calls, and finds patterns in
 * the work; see iteration.h. */
#include "analysis/iteration.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/sort.h"

enum { LEAST_COUNT = 3 };

/* A call, by its kind, and the iteration that it is in. */
struct visit {
    uint64_t key;
    size_t call;
    int64_t iteration;
};

size_t pw_recurring_scratch(size_t n)
{
    return (n + 1) * (sizeof(struct visit) + sizeof(int64_t));
}

static int by_visit_key(const void *a, const void *b)
{
    const struct visit *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t list_visits(const struct pw_calls *calls, const struct pw_iteration_begins *begins,
                          struct visit *visits)
{
    size_t listed = 0, at = 0;
    for (size_t i = 0; i < calls->n; i++) {
        while (at < begins->n && begins->ns[at] <= calls->calls[i].start)
            at++;
        if (at > 0 && at < begins->n)
            visits[listed++] = (struct visit){calls->calls[i].key, i, (int64_t)at - 1};
    }
    pw_sort(visits, listed, sizeof(*visits), by_visit_key);
    return listed;
}

/* Finds the most frequent distance between iterations that have the call. */
static struct pw_recurring judge_recurring(const struct visit *visits, size_t n, int64_t *distances)
{
    struct pw_recurring found = {visits[0].key, visits[0].call, 0, 1, 0};
    size_t ndistances = 0, most = 0;
    for (size_t i = 1; i < n; i++)
        if (visits[i].iteration != visits[i - 1].iteration) {
            distances[ndistances++] = visits[i].iteration - visits[i - 1].iteration;
            found.count++;
        }
    pw_sort(distances, ndistances, sizeof(*distances), by_value);
    for (size_t i = 0, next; i < ndistances; i = next) {
        for (next = i; next < ndistances && distances[next] == distances[i]; next++)
            ;
        if (next - i > most) {
            most = next - i;
            found.every = distances[i];
        }
    }
    found.alike = ndistances ? (double)most / (double)ndistances : 0;
    return found;
}

/* Inserts in the order of `every`, unless the list has a call with the same distance. Returns the
 * length of the list. */
static size_t insert(struct pw_recurring *out, size_t n, size_t max,
                     const struct pw_recurring *found)
{
    size_t at = n;
    while (at > 0 && out[at - 1].every > found->every)
        at--;
    if ((at > 0 && out[at - 1].every == found->every) || at == max)
        return n;
    n += n < max;
    for (size_t i = n - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = *found;
    return n;
}

size_t pw_recurring_find(const struct pw_calls *calls, const struct pw_iteration_begins *begins,
                         void *scratch, struct pw_recurring *out, size_t max)
{
    struct visit *visits = scratch;
    int64_t *distances = (int64_t *)(void *)(visits + calls->n + 1);
    const size_t nvisits = list_visits(calls, begins, visits);
    size_t listed = 0;
    for (size_t first = 0, end; first < nvisits; first = end) {
        for (end = first; end < nvisits && visits[end].key == visits[first].key; end++)
            ;
        const struct pw_recurring found = judge_recurring(visits + first, end - first, distances);
        if (found.count >= LEAST_COUNT && found.every > 1 && found.alike >= PW_RECURRING_ALIKE)
            listed = insert(out, listed, max, &found);
    }
    return listed;
}

enum {
    LEAST_PERIOD_ITERATIONS = 4,
    SAMPLED = 9, /* iterations that the pattern is the median of */
    PLACES = 32, /* places in the run that are tried for these iterations */
};

static double logarithm(const struct pw_period *p, int64_t work)
{
    const double ns = (double)work;
    return log((ns < 0 ? 0 : ns < p->ceiling ? ns : p->ceiling) + p->floor);
}

static void find_limits(struct pw_period *p, const int64_t *work, size_t n, double *scratch)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = (double)work[i];
    pw_sort_f64(scratch, n);
    p->ceiling = scratch[(size_t)(PW_PERIOD_CEILING * (double)(n - 1))];
    p->ceiling = p->ceiling > 1 ? p->ceiling : 1;
    for (size_t i = 0; i < n; i++)
        sum += scratch[i] < 0 ? 0 : scratch[i] < p->ceiling ? scratch[i] : p->ceiling;
    p->floor = PW_PERIOD_FLOOR * sum / (double)n + 1;
}

/* Returns the shortest distance at which the values correlate with themselves, clearly more than at
 * all shorter distances; 1 when there is none. */
static size_t find_length(const double *x, size_t n)
{
    double mean = 0, square = 0, shorter = -1;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    for (size_t lag = 1; lag <= PW_PERIOD_MOST && n >= LEAST_PERIOD_ITERATIONS * lag; lag++) {
        double sum = 0;
        for (size_t i = 0; i + lag < n; i++)
            sum += (x[i] - mean) * (x[i + lag] - mean);
        const double like = square > 0 ? sum / square * (double)n / (double)(n - lag) : 0;
        if (lag > 1 && like >= PW_PERIOD_CORRELATION && like >= shorter + PW_PERIOD_ABOVE_SHORTER)
            return lag;
        shorter = like > shorter ? like : shorter;
    }
    return 1;
}

/* Fills level[length] with the medians of each piece over `k` iterations. Returns the sum of the
 * absolute deviations from these. */
static double take_levels(const double *x, size_t length, size_t k, double *level)
{
    double values[SAMPLED], spread = 0;
    for (size_t piece = 0; piece < length; piece++) {
        for (size_t i = 0; i < k; i++)
            values[i] = x[i * length + piece];
        pw_sort_f64(values, k);
        level[piece] = values[k / 2];
        for (size_t i = 0; i < k; i++)
            spread += fabs(values[i] - level[piece]);
    }
    return spread;
}

/* Takes the pattern from the place of the run in which successive iterations are most alike: there,
 * no iteration has an extra piece. The pattern begins with the piece that has most work. */
static void find_pattern(struct pw_period *p, const double *x, size_t n)
{
    size_t k = n / p->length, most = 0;
    k = k < SAMPLED ? k : SAMPLED;
    double level[PW_PERIOD_MOST] = {0}, best[PW_PERIOD_MOST] = {0}, least = INFINITY;
    const size_t room = n - k * p->length;
    for (size_t place = 0; place <= PLACES; place++) {
        const double spread = take_levels(x + room * place / PLACES, p->length, k, level);
        if (spread < least)
            memcpy(best, level, sizeof(best));
        least = spread < least ? spread : least;
    }
    for (size_t piece = 1; piece < p->length; piece++)
        most = best[piece] > best[most] ? piece : most;
    for (size_t piece = 0; piece < p->length; piece++)
        p->pattern[piece] = best[(most + piece) % p->length];
}

/* Mean absolute difference of the next pieces from the pattern. */
static double distance(const struct pw_period *p, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < p->length; i++)
        sum += fabs(x[i] - p->pattern[i]);
    return sum / (double)p->length;
}

/* Half of the smallest mean difference between the pattern and a shifted copy of it. */
static double find_tolerance(const struct pw_period *p)
{
    double least = INFINITY;
    for (size_t shift = 1; shift < p->length; shift++) {
        double sum = 0;
        for (size_t i = 0; i < p->length; i++)
            sum += fabs(p->pattern[i] - p->pattern[(i + shift) % p->length]);
        least = sum < least ? sum : least;
    }
    return least / (double)p->length / 2;
}

struct pw_period pw_period_find(const int64_t *work, size_t n, double *scratch)
{
    struct pw_period p = {.length = 1};
    if (n < 2 * LEAST_PERIOD_ITERATIONS)
        return p;
    find_limits(&p, work, n, scratch);
    for (size_t i = 0; i < n; i++)
        scratch[i] = logarithm(&p, work[i]);
    p.length = find_length(scratch, n);
    if (p.length == 1)
        return p;
    find_pattern(&p, scratch, n);
    double least = p.pattern[0];
    for (size_t i = 1; i < p.length; i++)
        least = p.pattern[i] < least ? p.pattern[i] : least;
    if (p.pattern[0] - least < log(PW_PERIOD_CONTRAST))
        p.length = 1;
    else
        p.tolerance = find_tolerance(&p);
    return p;
}

/* Returns after how many pieces the pattern begins; n: not within one length of it. A later place
 * must fit much better, so that an interrupted piece does not shift the pattern. */
static size_t find_next(const struct pw_period *p, const double *x, size_t n)
{
    if (p->length > n)
        return n;
    if (distance(p, x) <= p->tolerance)
        return 0;
    for (size_t shift = 1; shift < p->length && shift + p->length <= n; shift++)
        if (distance(p, x + shift) <= PW_PERIOD_SURE * p->tolerance)
            return shift;
    return n;
}

struct pw_period_cut pw_period_cut(const struct pw_period *p, const int64_t *work, size_t n,
                                   double *scratch, size_t *first)
{
    size_t count = 0, like = 0;
    for (size_t i = 0; i < n; i++)
        scratch[i] = logarithm(p, work[i]);
    size_t at = find_next(p, scratch, n);
    for (at = at < n ? at : 0; at + p->length <= n; at += p->length) {
        const size_t shift = find_next(p, scratch + at, n - at);
        at +=
            shift < n - at
                ? shift
                : 0; /* after an interrupted iteration, the next one begins where it is expected */
        like += distance(p, scratch + at) <= p->tolerance;
        first[count++] = at;
    }
    if (count)
        first[count++] = at;
    return (struct pw_period_cut){count, count > 1 ? (double)like / (double)(count - 1) : 0};
}

#define LEAST_ITERATIONS 3

/* Odd, so that its powers never vanish modulo 2^64. */
#define BASE UINT64_C(0x9e3779b97f4a7c15)

/* A call's place among those with its key. */
struct place {
    uint64_t key;
    size_t at;
};

/* One iteration: the calls from its anchor to the next. */
struct content {
    uint64_t hash;
    int64_t ns;
    size_t calls;
};

struct search {
    const struct pw_call *calls;
    size_t n;
    uint64_t *hash, *power;   /* [n + 1] for each call: hash of all calls before it, and BASE to the
                                 power of their number */
    struct place *places;     /* [n] sorted by key, then by time */
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

/* Returns the hash of the calls [first, end). */
static uint64_t hash_of(const struct search *s, size_t first, size_t end)
{
    return s->hash[end] - s->hash[first] * s->power[end - first];
}

static int by_length(const void *a, const void *b)
{
    const struct content *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* 1 when most iterations longer than `limit` follow each other: then the program was slower for a
 * time. */
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
    return distances > 1 && (double)next >= PW_ITERATION_TOGETHER * (double)distances;
}

/* 1 when the iterations are about equally long, as those of one loop are. The share `interrupted`
 * of the longest ones does not count. */
static int are_even(struct content *contents, size_t n, double interrupted, int64_t *lengths)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        lengths[i] = contents[i].ns;
    pw_sort(contents, n, sizeof(*contents), by_length);
    const size_t kept = n - (size_t)ceil(interrupted * (double)n);
    const double limit = PW_ITERATION_UNEVEN * (double)contents[n / 2].ns;
    for (size_t i = 0; i < kept; i++)
        sum += (double)contents[i].ns;
    return sum <= (double)kept * limit || are_together(lengths, n, limit);
}

/* Judges the iterations whose anchors are places[first .. end). Returns `alike` 0 when they are not
 * iterations of one loop. */
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

size_t pw_iterations_list(const struct pw_calls *calls, double interrupted, void *scratch,
                          struct pw_iterations *out, size_t max)
{
    const size_t n = calls->n;
    struct search s = {.calls = calls->calls, .n = n, .interrupted = interrupted};
    size_t listed = 0;
    prepare(&s, scratch);
    for (size_t first = 0, end; first < n && listed < max; first = end) {
        for (end = first; end < n && s.places[end].key == s.places[first].key; end++)
            ;
        if (end - first <= LEAST_ITERATIONS)
            continue;
        out[listed] = judge(&s, first, end);
        listed += out[listed].alike >= PW_ITERATION_ALIKE &&
                  out[listed].coverage >= PW_ITERATION_COVERAGE;
    }
    return listed;
}

/* The class of an iteration by `alike`; a higher class is preferred. */
static int class_of(const struct pw_iterations *i)
{
    return i->alike >= PW_ITERATION_MOSTLY_ALIKE    ? 2
           : i->alike >= PW_ITERATION_LARGELY_ALIKE ? 1
                                                    : 0;
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
        if (class_of(&all[i]) == class && all[i].coverage >= PW_ITERATION_NEARLY * most[class] &&
            (best == n || all[i].count > all[best].count))
            best = i;
    return best;
}
