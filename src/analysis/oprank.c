/* Compares ranks in one operator; see oprank.h. */
#include "analysis/oprank.h"

#include "analysis/statistics.h"

static double range_of(const int64_t *values, size_t n)
{
    int64_t least = values[0], most = values[0];
    for (size_t i = 1; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    return (double)most - (double)least;
}

int pw_oprank_find(const int64_t *own_ns, size_t n, int64_t least_ns, int64_t *scratch,
                   struct pw_oprank *out)
{
    size_t worst = 0, others = 0;
    if (n < 2)
        return 0;
    for (size_t r = 1; r < n; r++)
        worst = own_ns[r] > own_ns[worst] ? r : worst;
    for (size_t r = 0; r < n; r++)
        if (r != worst)
            scratch[others++] = own_ns[r];
    int64_t median = pw_median_i64(scratch, others);
    if (median <= 0)
        return 0;
    double range = range_of(scratch, others);
    for (size_t i = 0; i < others; i++)
        scratch[i] = scratch[i] > median ? scratch[i] - median : median - scratch[i];
    double spread = 3 * 1.4826 * (double)pw_median_i64(scratch, others);
    if (others < PW_OPRANK_FEW && spread < 2 * range)
        spread = 2 * range;
    double excess = (double)own_ns[worst] - (double)median;
    if (!(excess > spread && excess > 0.1 * (double)median && excess > (double)least_ns))
        return 0;
    *out = (struct pw_oprank){worst, own_ns[worst], median, (double)own_ns[worst] / (double)median};
    return 1;
}
