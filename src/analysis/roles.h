/* The roles of ranks: who has the same part in the job, and whether a role has more work than the
 * others by design. Called by aggregate/findings. Pure arithmetic: no I/O, no allocation; the
 * caller gives the scratch memory. */
#ifndef PW_ANALYSIS_ROLES_H
#define PW_ANALYSIS_ROLES_H

#include <stddef.h>
#include <stdint.h>

/* Which ranks have the same part in the job, from which ranks communicate: the stages of a
 * pipeline.
 *
 * Ranks that share a communicator of only a part of the job, and have collectives on it, work on
 * the same stage (its tensor and data parallel groups). Where these groups send messages to each
 * other along chains of equal length, or along rings, send none inside a group, and every rank
 * sends some, the place in the chain is the stage. A halo exchange along one axis looks the same
 * when every group is one rank: then a pipeline is one only if what comes from one side is there
 * before it is sent on to the other (pw_roles_are_passed_on). */

struct pw_roles_pair {
    int32_t a, b;
};

struct pw_roles_input {
    size_t nranks;
    const struct pw_roles_pair *joins; /* two ranks with such a communicator */
    size_t njoins;
    const struct pw_roles_pair *messages; /* from a to b, each pair once */
    size_t nmessages;
};

struct pw_roles_stages {
    int32_t nstages; /* 0: no pipeline */
    int is_single;   /* every group is one rank: the order of messages must be looked at */
};

/* Values of scratch that pw_roles_stages() needs. */
size_t pw_roles_scratch(size_t nranks);

/* Fills stage_of[nranks] with 0 .. nstages - 1, the lowest rank's end first. */
struct pw_roles_stages pw_roles_stages(const struct pw_roles_input *in, int32_t *stage_of,
                                       int32_t *scratch);

/* A receive that ended or a send that began. */
struct pw_roles_call {
    int32_t rank, peer;
    int32_t receives;
};

/* `calls` are sorted by rank and then by time. 1 when stages send on what they have received: the
 * k-th message to one neighbour begins after the k-th from the other has arrived, in 95 % of 10 or
 * more messages of stages that have two neighbours. Scratch: 2 * nstages values. */
int pw_roles_are_passed_on(const struct pw_roles_call *calls, size_t n, const int32_t *stage_of,
                           int32_t nstages, int64_t *scratch);

/* Whether roles have more or less work than the others, by design rather than because a rank is
 * slow.
 *
 * A role's level is the median of its ranks' medians over the steps, minus that of all ranks. Of
 * two middle values it is the one nearer to 0, and 0 when they lie on both sides, so that one slow
 * rank, or one of two, does not move it. The role is unequal when its level is above 1 % of the
 * step, above the clock errors and above three standard errors of a difference of two ranks'
 * medians, and is at least half as large in each quarter of the run (of at least 3 steps). Work
 * that comes and goes does not belong to the role. */

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

/* Subtracts the offsets of unequal roles from the series, except of those that are ONE_HOST,
 * because there the ranks of the host must still be found. Work stays at 0 or above. */
void pw_balance_take_out(const struct pw_balance_input *in, const struct pw_balance_role *roles,
                         int64_t *series, size_t stride);

#endif
