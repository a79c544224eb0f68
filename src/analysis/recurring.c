/* Distances between the iterations that have a call, for inferred steps; see recurring.h. */
#include "analysis/recurring.h"

#include "core/sort.h"

#define LEAST_ALIKE 0.85

enum { LEAST_COUNT = 3 };

/* A kind of call in an iteration. */
struct visit {
    uint64_t key;
    size_t call;
    int64_t iteration;
};

size_t pw_recurring_scratch(size_t n)
{
    return (n + 1) * (sizeof(struct visit) + sizeof(int64_t));
}

static int by_key(const void *a, const void *b)
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

static size_t list_visits(const struct pw_call *calls, size_t n, const int64_t *begins,
                          size_t nbegins, struct visit *visits)
{
    size_t listed = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        while (at < nbegins && begins[at] <= calls[i].start)
            at++;
        if (at > 0 && at < nbegins)
            visits[listed++] = (struct visit){calls[i].key, i, (int64_t)at - 1};
    }
    pw_sort(visits, listed, sizeof(*visits), by_key);
    return listed;
}

/* The most frequent distance between iterations that have the call. */
static struct pw_recurring judge(const struct visit *visits, size_t n, int64_t *distances)
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

/* In the order of `every`, of which each is kept once. */
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

size_t pw_recurring_find(const struct pw_call *calls, size_t n, const int64_t *begins,
                         size_t nbegins, void *scratch, struct pw_recurring *out, size_t max)
{
    struct visit *visits = scratch;
    int64_t *distances = (int64_t *)(void *)(visits + n + 1);
    const size_t nvisits = list_visits(calls, n, begins, nbegins, visits);
    size_t listed = 0;
    for (size_t first = 0, end; first < nvisits; first = end) {
        for (end = first; end < nvisits && visits[end].key == visits[first].key; end++)
            ;
        const struct pw_recurring found = judge(visits + first, end - first, distances);
        if (found.count >= LEAST_COUNT && found.every > 1 && found.alike >= LEAST_ALIKE)
            listed = insert(out, listed, max, &found);
    }
    return listed;
}
