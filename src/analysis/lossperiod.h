/* Finds out whether a loss comes every so many steps: a garbage collection, a log or a checkpoint
 * every 5th step. Called by aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller
 * gives the scratch memory. */
#ifndef PW_ANALYSIS_LOSSPERIOD_H
#define PW_ANALYSIS_LOSSPERIOD_H

#include <stddef.h>
#include <stdint.h>

/* The longest period, in steps. */
enum { PW_LOSSPERIOD_MOST = 256 };

/* excess[n]: what a rank took longer in each of n consecutive steps than the others; negative
 * counts as 0. Returns the number of steps P from one loss to the next, at least 2, when every P-th
 * step has, all together, 80 % of the excess, and four fifths of these steps, and at least 4 of
 * them, have at least half of their mean each. Else 0. */
int64_t pw_lossperiod_find(const int64_t *excess, size_t n);

#endif
