/* A line through points that come one at a time (least squares, Welford's sums). */
#ifndef PW_ANALYSIS_TREND_H
#define PW_ANALYSIS_TREND_H

#include <stdint.h>

struct pw_trend {
    int64_t n;
    double mean_x, mean_y, xx, xy, yy; /* sums of products of what they are off their means */
};

static inline void pw_trend_add(struct pw_trend *t, double x, double y)
{
    double dx = x - t->mean_x, dy = y - t->mean_y;
    t->n++;
    t->mean_x += dx / (double)t->n;
    t->mean_y += dy / (double)t->n;
    t->xx += dx * (x - t->mean_x);
    t->xy += dx * (y - t->mean_y);
    t->yy += dy * (y - t->mean_y);
}

/* y per x; 0 when no two points differ in x. */
static inline double pw_trend_slope(const struct pw_trend *t)
{
    return t->xx > 0 ? t->xy / t->xx : 0;
}

/* The share of the variance of y that the line explains, 0..1; 0 when y never changes. */
static inline double pw_trend_fit(const struct pw_trend *t)
{
    return t->xx > 0 && t->yy > 0 ? t->xy / t->xx * (t->xy / t->yy) : 0;
}

#endif
