/* Whether values in a row are higher for a while, or rise, beyond chance: of their places in order
 * (Wilcoxon), in bins of successive ones. Pure functions. */
#ifndef PW_ANALYSIS_SCAN_H
#define PW_ANALYSIS_SCAN_H

#include <stddef.h>

enum { PW_SCAN_BINS = 256, PW_SCAN_LEAST = 5 /* values in a window, and outside it */ };

/* Sums of places, less what is expected. */
struct pw_scan {
    double sum[PW_SCAN_BINS + 1], values[PW_SCAN_BINS + 1];
    size_t n, size;
};

/* Into place[n] each value's place in order, equal ones the mean of theirs, less the mean of all;
 * `room` is for n values. */
void pw_scan_places(const double *values, size_t n, double *room, double *place);

/* Of `place`, in bins of `least` or more values. */
void pw_scan_fill(struct pw_scan *out, const double *place, size_t n, size_t least);

/* The window of bins with the largest (sum - expected sum)^2 / (w (1 - w / n)), of w values. */
double pw_scan_window(const struct pw_scan *s, size_t *first, size_t *last);

/* How often bins of `left`, in an order that is drawn, have a window, or rise, as much as `seen`
 * does, with itself. `left` is what a window or a line leaves of the values: blocks of the values
 * themselves would keep what is looked for in whole blocks, and a few of these come together by
 * chance however high they are (Kirch, "Block permutation principles for the change analysis of
 * dependent data", J. Statist. Plann. Inference 137, 2007). At least PW_SCAN_LEAST_P. */
double pw_scan_chance(const struct pw_scan *seen, const struct pw_scan *left, int is_slope);

#define PW_SCAN_LEAST_P 0.0005

#endif
