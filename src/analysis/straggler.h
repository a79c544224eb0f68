/* Finds the ranks and hosts that hold the job back, from each rank's own work in each step. Called
 * by aggregate/findings; its input and what it finds are declared in excess.h. Pure arithmetic: no
 * I/O, no allocation; the caller gives the scratch memory.
 *
 * A collective makes the steps of all ranks equally long, so their lengths say nothing about single
 * ranks. Instead, own work is compared: the time in a step in which the rank did not wait for
 * others. The excess of rank r in step s is own[s][r] minus the median of the other ranks' own[s].
 * Sigma is the spread of the excess: the larger of the spread between ranks (1.4826 MAD, median
 * over the steps) and the spread from step to step, which a constant straggler does not increase. A
 * rank is a straggler when one of these tests succeeds. Each chance is multiplied by the number of
 * ranks, windows and heights tested.
 *   1. Window: at least 3 consecutive steps. Candidates: for each height 1.5 sigma, 3 sigma,
 *      6 sigma, ... the window with the largest sum of (clipped excess - half the height). The
 *      median excess of a candidate must be above 1.5 sigma, above the clock errors of the rank and
 *      the others, and above 1 % of the step. More of its steps must be above (half the median +
 *      clock errors) than chance explains; the rate of chance is how often other ranks are above
 *      half the median (binomial test; no distribution is assumed). The candidate with the largest
 *      total excess is taken.
 *   2. Single steps: at least 3 steps above 3 sigma, the clock errors and 1 % of the step, and
 *      more of them than chance explains (binomial test, with their rate on other ranks).
 *   3. One-off: steps with an excess far above those of all other ranks (excess.h).
 * Test 1 finds an excess that noise hides in each single step; tests 2 and 3 find one that comes
 * and goes. In all tests the rank must also stand out from the other ranks (straggler.h).
 *
 * If it is known how much of the own work is outside communication (`useful_ns`), tests 1 and 2 are
 * made first with that part alone. The reason is that a transfer may end late on the same rank in
 * every step: it is no work, but would hide the steps with more work. At least half of an excess
 * that these tests find must also be an excess in own work.
 *
 * If they find nothing, all tests are made with own work. At least half of an excess that tests 1
 * and 2 find must then be outside communication, because several ranks and the network cause a long
 * transfer. There is an alternative condition, because a rank that usually has less work than the
 * others can be late without having more work than they have: outside communication, the rank's
 * work in the window exceeds its work outside the window by at least half of the excess. If neither
 * condition holds, the rank is reported with `is_inside`: it may have been stopped or without a CPU
 * inside a call, which only system counters can show. */
#ifndef PW_ANALYSIS_STRAGGLER_H
#define PW_ANALYSIS_STRAGGLER_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/excess.h"

/* Bytes of scratch that pw_straggler_find() needs. */
size_t pw_straggler_scratch(size_t nsteps, size_t nranks);

/* Finds at most `max` stragglers, largest gain first. Returns how many; 0 with fewer than 2 ranks
 * or 3 steps. */
size_t pw_straggler_find(const struct pw_straggler_input *in, void *scratch,
                         struct pw_straggler_found *out, size_t max);

/* First-order estimate of the time that the job would save if the rank had the other ranks' median
 * work. A step is as long as the longest own work in it; the gain is the sum of the decreases of
 * this maximum. */
int64_t pw_straggler_gain(const struct pw_straggler_input *in, size_t rank);

/* ---- slow hosts: hosts on which most ranks are stragglers ---- */

struct pw_host_found {
    size_t host;
    size_t nranks, slow_ranks;
    size_t first, last; /* medians of first and last of the slow ranks: rows of the input */
    int64_t excess_ns;  /* median over the slow ranks */
    double confidence;  /* smallest of the slow ranks */
};

struct pw_hosts {
    const int64_t *host_of; /* [nranks] */
    size_t nranks, nhosts;
};

/* Finds the slow hosts: at least 2 stragglers, at least two thirds of the ranks, and at least one
 * step in the windows of all these stragglers. Finds none when half of the hosts or more are slow.
 * `out` is [nhosts], sorted by host; scratch: 3 * nhosts + 3 * nranks values. Returns how many. */
size_t pw_hosts_find(const struct pw_straggler_found *found, size_t nfound,
                     const struct pw_hosts *hosts, struct pw_host_found *out, int64_t *scratch);

/* Finds out whether a loss comes every so many steps: a garbage collection, a log or a checkpoint
 * every 5th step. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory. */

/* The longest period, in steps. */
enum { PW_LOSSPERIOD_MOST = 256 };

/* excess[n]: what a rank took longer in each of n consecutive steps than the others; negative
 * counts as 0. Returns the number of steps P from one loss to the next, at least 2, when every P-th
 * step has, all together, 80 % of the excess, and four fifths of these steps, and at least 4 of
 * them, have at least half of their mean each. Else 0. */
int64_t pw_lossperiod_find(const int64_t *excess, size_t n);

#endif
