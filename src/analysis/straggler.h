/* Which ranks and hosts hold the job back, from each rank's own work in each step. Called by
 * aggregate/findings; analysis/ and aggregate/secondpass use its input. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory.
 *
 * Arrival is compared, not step length: a collective makes every rank's step equally long, but the
 * time that a rank did not wait for others is its own. For rank r and step s the excess is
 * own[s][r] minus the median of the other ranks' own[s]; sigma is its spread, the larger of that
 * between ranks (1.4826 MAD, median over the steps) and that from step to step (which a constant
 * straggler does not raise). A rank is a straggler in any of these ways, each corrected for all
 * ranks, windows and heights looked at:
 *   - a window of at least 3 steps (for excesses of 1.5 sigma, 3 sigma, 6 sigma ... the one with
 *     the largest sum of excess above half of that, clipped; of these the one that explains most)
 *     whose median excess is above max(1.5 sigma, the clock errors of r and the others, 1 % of the
 *     median step), with more steps above half that median, plus the clock errors, than chance
 *     explains, given how often the other ranks are above half that median (binomial test: no
 *     distribution is assumed);
 *   - at most 2 steps far above all that other ranks have (excess.h);
 *   - at least 3 single steps above max(3 sigma, clock errors, 1 % of the step), more than chance
 *     explains given how often the other ranks have such steps (binomial test).
 * The first finds what noise hides in every single step, the others what comes and goes. Each must
 * stand out from the other ranks (straggler.c).
 *
 * Where it is known which part of a rank's own work is outside communication, that part is judged
 * first: a transfer that ends late on the same rank in every step is not work, but it would hide
 * where work begins and ends to be longer. At least half of that excess must also show in the
 * rank's own work. What is found in own work alone must be outside communication by half, or half
 * of it must have come there with the window: a longer transfer is caused by several ranks and the
 * network, but a rank with less to do than the others can be late without having more work. Where
 * neither is true the rank is reported with `is_inside`: it may have stood still in a call, without
 * a processor or stopped, which only the system's counters show. */
#ifndef PW_ANALYSIS_STRAGGLER_H
#define PW_ANALYSIS_STRAGGLER_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

enum { PW_PHASES = 6 }; /* data, forward, backward, allreduce, optimizer, other */

struct pw_straggler_input {
    size_t nsteps, nranks;
    const int64_t *own_ns;    /* [nsteps * nranks], -1: not known */
    const int64_t *total_ns;  /* the whole step, -1: not known */
    const int64_t *phase_ns;  /* [nsteps * nranks * PW_PHASES] own work per phase, -1: not known */
    const int64_t *error_ns;  /* [nranks] clock error bound, -1: not aligned */
    const int64_t *useful_ns; /* like own_ns, outside communication; NULL: not known */
    const int64_t *host_of;   /* [nranks] hosts, numbered; NULL: not known */
    int is_marked;            /* the program marked the steps, which were not inferred */
};

struct pw_straggler_found {
    size_t rank;
    enum pw_straggler kind;
    size_t first, last; /* steps: rows of the input */
    int64_t hits; /* steps held back: excess above half its median, and all limits but sigma's */
    int64_t excess_ns; /* mean over the hits */
    int64_t lost_ns;   /* sum over the hits */
    double slowdown;   /* mean of excess / the rank's step, over the hits */
    int64_t gain_ns;   /* what the job would have saved with this rank at the others' median */
    enum pw_phase phase;
    double confidence; /* 1 - the chance of as many hits, corrected; 0..1 */
    int is_inside; /* most of the excess is in communication: nothing here says whose doing it is */
};

/* Bytes of scratch that pw_straggler_find() needs. */
size_t pw_straggler_scratch(size_t nsteps, size_t nranks);

/* Finds stragglers, worst gain first, at most `max` of them; returns how many. With fewer than 2
 * ranks or 3 steps there are none. */
size_t pw_straggler_find(const struct pw_straggler_input *in, void *scratch,
                         struct pw_straggler_found *out, size_t max);

/* First-order gain of restoring rank r: steps are as long as the longest own work among the ranks,
 * so the job saves, step by step, what the longest falls when r works as long as the others'
 * median. */
int64_t pw_straggler_gain(const struct pw_straggler_input *in, size_t rank, int64_t *scratch);

/* Hosts that are slow: what their stragglers say together. */

struct pw_host_found {
    size_t host;
    size_t nranks, slow_ranks;
    size_t first, last; /* the median of the ranks' windows: rows of the straggler input */
    int64_t excess_ns;  /* median of the ranks' */
    double confidence;  /* least of the ranks' */
};

struct pw_hosts {
    const int64_t *host_of; /* [nranks] */
    size_t nranks, nhosts;
};

/* Hosts of at least 2 ranks of which at least two thirds are stragglers in steps that all share;
 * none when that is so of half the hosts or more. `out` is [nhosts]; scratch: 3 * nhosts + 3 *
 * nranks values. Returns how many, in the order of the hosts. */
size_t pw_hosts_find(const struct pw_straggler_found *found, size_t nfound,
                     const struct pw_hosts *hosts, struct pw_host_found *out, int64_t *scratch);

#endif
