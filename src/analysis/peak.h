/* How uneven values of ranks are: the largest of a step over the step's mean, as a mean over steps.
 */
#ifndef PW_ANALYSIS_PEAK_H
#define PW_ANALYSIS_PEAK_H

struct pw_peak {
    double sum, largest, count; /* of the step under way */
    double ratios, steps;       /* of those before */
};

/* A value of the step under way, 0 or more. */
static inline void pw_peak_add(struct pw_peak *peak, double value)
{
    peak->sum += value;
    peak->largest = value > peak->largest ? value : peak->largest;
    peak->count++;
}

/* Ends the step. One without values, or of zeros, does not count. */
static inline void pw_peak_next(struct pw_peak *peak)
{
    if (peak->sum > 0) {
        peak->ratios += peak->largest / (peak->sum / peak->count);
        peak->steps++;
    }
    peak->sum = peak->largest = peak->count = 0;
}

/* 1: all alike in each step; -1: no step counts. */
static inline double pw_peak_value(const struct pw_peak *peak)
{
    return peak->steps > 0 ? peak->ratios / peak->steps : -1;
}

#endif
