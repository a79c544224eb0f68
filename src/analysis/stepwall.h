/* How long each step of a job took, so that the steps add up to time that passed.
 *
 * A rank's steps follow each other, but ranks are not in the same step at the same time, and the
 * one with the longest step is another from step to step: the longest totals add up to more than
 * the run. A step took as long as the last rank ended it after the last rank had ended the one
 * before; where that is longer than any rank was in it, as in a first step that ranks begin one
 * after the other, the longest total. */
#ifndef PW_ANALYSIS_STEPWALL_H
#define PW_ANALYSIS_STEPWALL_H

#include <stddef.h>
#include <stdint.h>

struct pw_stepwall {
    int64_t start, end; /* earliest start and latest end of any rank; start > end: not known */
    int64_t longest;    /* total of any rank; -1: not known */
    int64_t wall;       /* out: at least 0; -1 where the step is not known */
};

/* Steps in any order; `order` has room for n. */
void pw_stepwall_find(struct pw_stepwall *steps, size_t n, struct pw_stepwall **order);

#endif
