/* Sorts by heap sort, joins in one pass, and searches from where the last search ended; see
 * intervals.h. */
#include "analysis/intervals.h"

static int before(const struct pw_interval *a, const struct pw_interval *b)
{
    return a->start < b->start || (a->start == b->start && a->end < b->end);
}

static void sift(struct pw_interval *v, size_t root, size_t n)
{
    for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && before(&v[child], &v[child + 1]))
            child++;
        if (!before(&v[root], &v[child]))
            return;
        struct pw_interval held = v[root];
        v[root] = v[child];
        v[child] = held;
        root = child;
    }
}

static int is_sorted(const struct pw_interval *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (before(&v[i], &v[i - 1]))
            return 0;
    return 1;
}

static void sort(struct pw_interval *v, size_t n)
{
    if (is_sorted(v, n)) /* blocking calls of one thread are sorted already */
        return;
    for (size_t i = n / 2; i-- > 0;)
        sift(v, i, n);
    for (size_t end = n; end > 1; end--) {
        struct pw_interval held = v[0];
        v[0] = v[end - 1];
        v[end - 1] = held;
        sift(v, 0, end - 1);
    }
}

size_t pw_intervals_union(struct pw_interval *v, size_t n)
{
    size_t kept = 0;
    sort(v, n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].end <= v[i].start)
            continue;
        if (kept && v[i].start <= v[kept - 1].end) {
            if (v[i].end > v[kept - 1].end)
                v[kept - 1].end = v[i].end;
        } else {
            v[kept++] = v[i];
        }
    }
    return kept;
}

size_t pw_intervals_first(const struct pw_interval *v, size_t n, int64_t time, size_t near)
{
    size_t low = near < n && v[near].end <= time ? near : 0, high = n;
    for (size_t step = 1; low == near && low + step < n;
         step *= 2) /* the interval is seldom far away */
        if (v[low + step].end > time) {
            high = low + step;
            break;
        }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t pw_intervals_within(const struct pw_interval *v, size_t n, struct pw_interval window)
{
    int64_t length = 0;
    for (size_t i = 0; i < n && v[i].start < window.end; i++) {
        int64_t start = v[i].start > window.start ? v[i].start : window.start;
        int64_t end = v[i].end < window.end ? v[i].end : window.end;
        length += end > start ? end - start : 0;
    }
    return length;
}
