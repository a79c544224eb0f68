/* Walks through the steps in the order of their ends, for the findings; see stepwall.h. */
#include "analysis/stepwall.h"

#include "core/sort.h"

static int by_end(const void *a, const void *b)
{
    const struct pw_stepwall *x = *(struct pw_stepwall *const *)a;
    const struct pw_stepwall *y = *(struct pw_stepwall *const *)b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x > y) - (x < y);
}

void pw_stepwall_find(struct pw_stepwall *steps, size_t n, struct pw_stepwall **order)
{
    size_t known = 0;
    for (size_t s = 0; s < n; s++) {
        steps[s].wall = -1;
        if (steps[s].longest >= 0 && steps[s].start <= steps[s].end)
            order[known++] = &steps[s];
    }
    pw_sort(order, known, sizeof(*order), by_end);
    for (size_t i = 0; i < known; i++) {
        const int64_t before = i ? order[i - 1]->end : order[i]->start;
        const int64_t from = before > order[i]->start ? before : order[i]->start;
        const int64_t wall = order[i]->end - from;
        order[i]->wall = wall < order[i]->longest ? wall : order[i]->longest;
    }
}
