/* The matched collectives of the job. Instance i is one (communicator uid, sequence number); all
 * processes hold all instances, each folds in the ranks whose files it reads, and MPI_Allreduce
 * with operations of our own joins what the processes know. aggregate.c calls number, build and
 * share_waits, in this order; the passes over events find instances when they are numbered. Results
 * are integers and do not depend on the number of processes. */
#ifndef PW_AGGREGATE_MATCH_INSTANCES_H
#define PW_AGGREGATE_MATCH_INSTANCES_H

#include <mpi.h>

#include "aggregate/input/job.h"

/* Times are ns since the job's epoch. */
struct pw_instance {
    int64_t first_enter, last_enter, penultimate_enter; /* penultimate_enter: last but one */
    int64_t first_exit, last_exit;
    int64_t root_enter; /* INT64_MAX: no root, or not seen */
    int64_t bytes;      /* the most that any rank sent or received */
    int64_t error_ns;   /* largest clock error bound of the members seen */
    int64_t step;       /* index, -1 outside */
    int32_t root;       /* world rank, -1: none, or not seen */
    int32_t pad;
    int32_t last_rank; /* the lowest of those that entered last */
    int32_t nranks;    /* members seen */
    uint16_t op;
    uint8_t source;
    uint8_t mixed; /* 1 when members disagree about the operation: not matched */
};

/* The rank that the others wait for: the root where data comes from one, else the last to enter. */
int32_t pw_instance_blamed(const struct pw_instance *instance);

/* What the ranks waited in it, filled by the second pass. */
struct pw_instance_wait {
    int64_t sum_ns, max_ns;
};

/* A communicator of more than one rank. Its collectives from number `base` to collectives - 1 are
 * the instances from `first` on; no rank recorded earlier ones. */
struct pw_comm_group {
    uint64_t uid;
    int64_t first, base, collectives;
    int32_t size, pad;
};

struct pw_instances {
    struct pw_comm_group *comms; /* sorted by uid */
    size_t ncomms;
    struct pw_instance *items;
    struct pw_instance_wait *waits;
    size_t n;
};

/* Reads the communicators and numbers their collectives. Collective over job->comm. */
void pw_instances_number(struct pw_instances *instances, struct pw_job *job);

/* Folds all collectives of numbered instances. Collective over job->comm. 0 or -ENOMEM. */
int pw_instances_build(struct pw_instances *instances, struct pw_job *job);

/* Joins the waits of all processes. Collective. */
void pw_instances_share_waits(struct pw_instances *instances, const struct pw_procs *procs);

/* Index of the instance that an event of `input` belongs to, or -1 (not a collective, a
 * communicator of one rank, or a sequence number that its file does not vouch for). */
int64_t pw_instances_find(const struct pw_instances *instances, const struct pw_input *input,
                          const struct pw_row_comm_event *event);

const struct pw_comm_group *pw_instances_comm(const struct pw_instances *instances,
                                              size_t instance);

void pw_instances_fini(struct pw_instances *instances);

/* The merge's own MPI reductions. All are exact (integers) and do not depend on the order in which
 * the processes are joined, so that the result is the same for every number of processes. */

/* into = into joined with one; an instance with nranks 0 is empty. */
void pw_instance_join(struct pw_instance *into, const struct pw_instance *one);

/* ---- rows of /collectives and /collective_stats ---- */

/* One row of /collectives. */
struct pw_row_c_collective pw_collective_row(const struct pw_world *world,
                                             const struct pw_instances *instances, size_t i);

/* What collectives lost for one rank's doing. */
struct pw_blame {
    int64_t blame_ns;    /* what all ranks waited */
    int64_t critical_ns; /* of which the job would have gained, to first order */
};

/* Adds up the instances that waited for `rank` and whose last member entered at `from` or later and
 * before `until`, ns since the epoch. */
struct pw_blame pw_collective_sum_blame(const struct pw_instances *instances, int32_t rank,
                                        int64_t from, int64_t until);

/* Complete instances only; rows sorted by total wait, longest first. *rows is malloc'ed. 0 or
 * -ENOMEM. */
int pw_collectivestats_make(const struct pw_world *world, const struct pw_instances *instances,
                            struct pw_row_c_collective_stat **rows, size_t *count);

#endif
