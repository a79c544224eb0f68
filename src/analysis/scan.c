/* Windows and slopes among places in order; see scan.h. */
#include "analysis/scan.h"

#include <stdint.h>
#include <string.h>

#include "analysis/permutation.h"
#include "analysis/statistics.h"

enum { DRAWS = 1999, ENOUGH = 20 };

/* How many of the sorted values are below one; or not above it. */
static size_t count_below(const double *sorted, size_t n, double value, int is_equal_below)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (is_equal_below && sorted[middle] <= value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pw_scan_places(const double *values, size_t n, double *room, double *place)
{
    memcpy(room, values, n * sizeof(double));
    pw_sort_f64(room, n);
    for (size_t i = 0; i < n; i++) {
        const size_t below = count_below(room, n, values[i], 0);
        const size_t upto = count_below(room, n, values[i], 1);
        place[i] = ((double)below + (double)upto - (double)n) / 2;
    }
}

void pw_scan_fill(struct pw_scan *out, const double *place, size_t n, size_t least)
{
    const size_t needed = (n + PW_SCAN_BINS - 1) / PW_SCAN_BINS;
    *out = (struct pw_scan){.size = least > needed ? least : needed};
    for (size_t i = 0; i < n; i++) {
        const size_t at = i / out->size;
        out->n = at + 1;
        out->sum[at] += place[i];
        out->values[at] += 1;
    }
}

static double window_of(const struct pw_scan *s, const size_t *order, size_t *first, size_t *last)
{
    double best = 0, all = 0;
    for (size_t i = 0; i < s->n; i++)
        all += s->values[i];
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0, values = 0;
        for (size_t k = i; k < s->n; k++) {
            sum += s->sum[order[k]];
            values += s->values[order[k]];
            if (sum <= 0 || values < PW_SCAN_LEAST || all - values < PW_SCAN_LEAST)
                continue;
            const double score = sum * sum / (values * (1 - values / all));
            if (score <= best)
                continue;
            best = score;
            *first = i;
            *last = k;
        }
    }
    return best;
}

static double slope_of(const struct pw_scan *s, const size_t *order)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->sum[order[i]] * ((double)i - (double)(s->n - 1) / 2);
    return sum;
}

static double score_of(const struct pw_scan *s, const size_t *order, int is_slope)
{
    size_t first, last;
    return is_slope ? slope_of(s, order) : window_of(s, order, &first, &last);
}

static void put_in_order(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
}

double pw_scan_window(const struct pw_scan *s, size_t *first, size_t *last)
{
    size_t order[PW_SCAN_BINS + 1];
    put_in_order(order, s->n);
    return window_of(s, order, first, last);
}

double pw_scan_chance(const struct pw_scan *seen, const struct pw_scan *left, int is_slope)
{
    size_t order[PW_SCAN_BINS + 1], extreme = 0, drawn = 0;
    uint64_t state = 1;
    put_in_order(order, seen->n);
    const double observed = score_of(seen, order, is_slope);
    while (drawn < DRAWS && extreme < ENOUGH) {
        pw_permutation_shuffle(order, left->n, left->n, &state);
        extreme += score_of(left, order, is_slope) >= observed * (1 - 1e-9);
        drawn++;
    }
    return (double)(extreme + 1) / (double)(drawn + 1);
}
