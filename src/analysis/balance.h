/* Whether roles have more or less work than the others, by design rather than because a rank is
 * slow.
 *
 * A role's level is the middle one of its ranks' medians over the steps, less that of all ranks; of
 * two middle ones the nearer to it, and 0 where they lie on both sides: one slow rank does not move
 * it, nor one of two. The role is unequal when its level is above 1 % of the step, what the clocks
 * may make of it and three standard errors of a difference of two ranks' medians, and, in each
 * quarter of the run (of at least 3 steps), at least half of that. What comes and goes is not the
 * role's. */
#ifndef PW_ANALYSIS_BALANCE_H
#define PW_ANALYSIS_BALANCE_H

#include <stddef.h>
#include <stdint.h>

struct pw_balance_input {
    size_t nsteps, nranks, nroles;
    const int32_t *role_of;  /* [nranks] 0 .. nroles - 1 */
    const int32_t *host_of;  /* [nranks] any numbers */
    const int64_t *total_ns; /* [nsteps * nranks] -1: not known */
    int64_t clock_ns;        /* what the clocks may make of a difference between ranks */
    int is_given;            /* roles: the program or its command line said them */
};

enum pw_balance {
    PW_BALANCE_EVEN,
    PW_BALANCE_UNEQUAL,
    PW_BALANCE_ALONE,    /* unequal, but of one rank: it may as well be slow */
    PW_BALANCE_ONE_HOST, /* unequal, but all on a host of their own: that may as well be slow */
};

struct pw_balance_role {
    size_t nranks; /* whose work is known */
    int64_t offset_ns;
    int64_t work_ns, others_ns; /* its usual work in a step, and the median of all others; -1 */
    enum pw_balance state;
};

/* Values of scratch that the functions below need. */
size_t pw_balance_scratch(const struct pw_balance_input *in);

/* Judges every role by `series` [(step * nranks + rank) * stride], -1: not known. */
void pw_balance_judge(const struct pw_balance_input *in, const int64_t *series, size_t stride,
                      struct pw_balance_role *roles, int64_t *scratch);

/* Takes the offsets of unequal roles out of the series, but of those that are ONE_HOST: there the
 * host's ranks are to be found. Work stays at 0 or above. */
void pw_balance_take_out(const struct pw_balance_input *in, const struct pw_balance_role *roles,
                         int64_t *series, size_t stride);

#endif
