/* Periods of operation sequences; see period.h. */
#include "analysis/period.h"

#define LEAST_ALIKE 0.95
#define LEAST_PERIODS 3

/* Where the first two equal periods in a row begin; n when nowhere. */
static size_t first_pair(const uint64_t *keys, size_t n, size_t length)
{
    size_t alike = 0;
    for (size_t i = 0; i + length < n; i++) {
        alike = keys[i] == keys[i + length] ? alike + 1 : 0;
        if (alike == length)
            return i + 1 - length;
    }
    return n;
}

static double share_alike(const uint64_t *keys, size_t n, size_t length, size_t first)
{
    size_t alike = 0;
    for (size_t i = first; i + length < n; i++)
        alike += keys[i] == keys[i + length];
    return (double)alike / (double)(n - length - first);
}

int pw_period_find(const uint64_t *keys, size_t n, struct pw_period *out)
{
    for (size_t length = 1; length <= n / LEAST_PERIODS; length++) {
        size_t first = first_pair(keys, n, length);
        if (first + LEAST_PERIODS * length > n)
            continue;
        double alike = share_alike(keys, n, length, first);
        /* A short run of equal operations inside a longer program is no period of it. */
        if (alike < LEAST_ALIKE || 2 * first > n)
            continue;
        *out = (struct pw_period){length, first, alike};
        return 1;
    }
    return 0;
}
