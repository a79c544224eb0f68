/* The mean of times, counts or sizes of which some are not known. */
#ifndef PW_ANALYSIS_MEAN_H
#define PW_ANALYSIS_MEAN_H

#include <stdint.h>

/* In double: a damaged file must not overflow an integer. */
struct pw_mean {
    double sum;
    int64_t count;
};

/* Negative is not known, and left out. */
static inline void pw_mean_add(struct pw_mean *mean, int64_t value)
{
    if (value < 0)
        return;
    mean->sum += (double)value;
    mean->count++;
}

/* Rounded; -1 of nothing, INT64_MAX of what a damaged file adds up to. */
static inline int64_t pw_mean_value(const struct pw_mean *mean)
{
    double value = mean->count ? mean->sum / (double)mean->count : -1;
    return value > 9e18 ? INT64_MAX : (int64_t)(value + (value > 0 ? 0.5 : 0));
}

#endif
