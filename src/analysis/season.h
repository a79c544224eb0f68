/* What comes again every so many steps: an outer loop, a file that is written. Pure functions. */
#ifndef PW_ANALYSIS_SEASON_H
#define PW_ANALYSIS_SEASON_H

#include <stddef.h>

enum { PW_SEASON_MOST = 16 /* steps */ };

/* Takes out of values[n], each of step[i], what comes every so many steps, and returns how many; 1
 * where nothing does. It is the median of the values of the same place in the period, less that of
 * all, as classical decomposition of a series has it with means. The period is that which leaves
 * the smallest sum of absolute values, at most half of what there was, each place having 8 values
 * or more. `room` is for 2 n values. */
size_t pw_season_remove(double *values, const size_t *step, size_t n, double *room);

#endif
