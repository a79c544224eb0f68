/* The roles of ranks: which ranks have the same part in the job, and whether a role has more work
 * than the others by design. Called by aggregate/findings. Pure arithmetic: no I/O, no allocation;
 * the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_ROLES_H
#define PW_ANALYSIS_ROLES_H

#include <stddef.h>
#include <stdint.h>

/* Finds the stages of a pipeline, from which ranks communicate with each other.
 *
 * Ranks that share a communicator of only a part of the job, and have collectives on it, work on
 * the same stage (its tensor and data parallel groups). These groups form a pipeline when three
 * conditions hold: they send messages to each other along chains of equal length, or along rings;
 * every rank sends messages; and no message stays inside a group. The place in the chain is the
 * stage. When every group is a single rank, a halo exchange along one axis looks the same. Then it
 * is a pipeline only if messages arrive from one side before messages go to the other
 * (pw_roles_are_passed_on). */

struct pw_roles_pair {
    int32_t a, b;
};

struct pw_roles_input {
    size_t nranks;
    const struct pw_roles_pair *joins; /* pairs of ranks with a shared communicator as above */
    size_t njoins;
    const struct pw_roles_pair *messages; /* pairs with messages from a to b, each pair once */
    size_t nmessages;
};

struct pw_roles_stages {
    int32_t nstages; /* 0: no pipeline */
    int is_single;   /* 1: every group is a single rank, so the caller must check
                        pw_roles_are_passed_on() */
};

/* Values of scratch that pw_roles_stages() needs. */
size_t pw_roles_scratch(size_t nranks);

/* Fills stage_of[nranks] with 0 .. nstages - 1. Stage 0 is the end of the chain with the lowest
 * rank. */
struct pw_roles_stages pw_roles_stages(const struct pw_roles_input *in, int32_t *stage_of,
                                       int32_t *scratch);

/* The end of a receive, or the start of a send. */
struct pw_roles_call {
    int32_t rank, peer;
    int32_t receives;
};

/* Returns 1 when stages pass messages on: of the messages of stages with two neighbours (at least
 * 10), 95 % of the k-th sends to one neighbour start after the k-th receive from the other has
 * ended. `calls` are sorted by rank, then by time. Scratch: 2 * nstages values. */
int pw_roles_are_passed_on(const struct pw_roles_call *calls, size_t n, const int32_t *stage_of,
                           int32_t nstages, int64_t *scratch);

/* Decides whether a role has more or less work than the others by design, and not because a rank is
 * slow. A role's *level* is the median of its ranks' medians over the steps, minus the median of
 * all ranks. With an even number of ranks, the level is the one of the two middle values that is
 * nearer to 0, and 0 when these are on both sides of 0. So one slow rank, also one of two, does not
 * change the level. The role is unequal when two conditions hold. First, its level is above 1 % of
 * the step, above the clock errors, and above three standard errors of a difference of two ranks'
 * medians. Second, the level is at least half as large in each quarter of the run (of at least 3
 * steps), because work that a role has only for a time does not belong to the role. */

struct pw_balance_input {
    size_t nsteps, nranks, nroles;
    const int32_t *role_of;  /* [nranks] 0 .. nroles - 1 */
    const int32_t *host_of;  /* [nranks] host number of each rank */
    const int64_t *total_ns; /* [nsteps * nranks] -1: not known */
    int64_t clock_ns;        /* largest difference between ranks that clock errors can cause */
    int is_given;            /* 1: the program or its command line gave the roles */
};

enum pw_balance {
    PW_BALANCE_EVEN,
    PW_BALANCE_UNEQUAL,
    PW_BALANCE_ALONE,    /* unequal, but of a single rank, which may be slow instead */
    PW_BALANCE_ONE_HOST, /* unequal, but its ranks are alone on one host, which may be slow instead
                          */
};

struct pw_balance_role {
    size_t nranks; /* number of ranks whose work is known */
    int64_t offset_ns;
    int64_t work_ns, others_ns; /* usual work of the role in a step, and the median of all other
                                   ranks; -1: not known */
    enum pw_balance state;
};

/* Values of scratch that the functions below need. */
size_t pw_balance_scratch(const struct pw_balance_input *in);

/* Judges every role by `series` [(step * nranks + rank) * stride], -1: not known. */
void pw_balance_judge(const struct pw_balance_input *in, const int64_t *series, size_t stride,
                      struct pw_balance_role *roles, int64_t *scratch);

/* Subtracts the offsets of unequal roles from the series, except of those that are ONE_HOST,
 * because there the ranks of the host must still be found. Work stays at 0 or above. */
void pw_balance_take_out(const struct pw_balance_input *in, const struct pw_balance_role *roles,
                         int64_t *series, size_t stride);

#endif
