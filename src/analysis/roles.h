/* Which ranks have the same part in the job, from who talks to whom: the stages of a pipeline.
 *
 * Ranks that share a communicator of only a part of the job, and have collectives on it, work on
 * the same stage (its tensor and data parallel groups). Where the groups that come about so send
 * each other messages along chains of equal length, or rings of them, have none inside, and every
 * rank sends some, the place in the chain is the stage. A halo exchange along one axis looks the
 * same when every group is one rank: then a pipeline is one only if what comes from one side is
 * there before it is sent on to the other (pw_roles_are_passed_on). */
#ifndef PW_ANALYSIS_ROLES_H
#define PW_ANALYSIS_ROLES_H

#include <stddef.h>
#include <stdint.h>

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

/* Of calls by rank and then time: 1 when stages send on what they have received: the k-th message
 * to one neighbour begins after the k-th from the other is there, in 95 % of 10 or more messages of
 * stages that have two neighbours. Scratch: 2 * nstages values. */
int pw_roles_are_passed_on(const struct pw_roles_call *calls, size_t n, const int32_t *stage_of,
                           int32_t nstages, int64_t *scratch);

#endif
