/* The matched collectives of the job. An instance is a collective, identified by communicator uid
 * and sequence number. All processes hold all instances; each adds the events of the ranks whose
 * files it reads, and MPI_Allreduce with user-defined operations joins the processes' values.
 * aggregate.c calls number, build and share_waits, in this order; after number, the passes over
 * events can look up instances. Results are integers and do not depend on the number of
 * processes. */
#ifndef PW_AGGREGATE_MATCH_INSTANCES_H
#define PW_AGGREGATE_MATCH_INSTANCES_H

#include "aggregate/input/job.h"

/* Times are ns since the job's epoch. */
struct pw_instance {
    /* penultimate_enter: of the rank that entered last but one */
    int64_t first_enter, last_enter, penultimate_enter;
    int64_t first_exit, last_exit;
    int64_t root_enter; /* INT64_MAX: there is no root, or it recorded nothing */
    int64_t bytes;      /* largest number of bytes that a rank sent or received */
    int64_t error_ns;   /* largest clock error bound of the recorded members; -1: not aligned */
    int64_t step;       /* index of the step; -1: outside the steps */
    int32_t root;       /* world rank; -1: there is no root, or it recorded nothing */
    int32_t untimed;    /* 1: for some member, only the time of the host's request is known */
    int32_t last_rank;  /* the rank that entered last; the lowest of several */
    int32_t nranks;     /* number of members that recorded it */
    uint16_t op;
    uint8_t source;
    uint8_t mixed; /* 1: members disagree about the operation, and it is not matched */
};

/* Returns the rank that the others wait for: the root when data come from it, else the last to
 * enter. */
int32_t pw_instance_blamed(const struct pw_instance *instance);

/* How long the ranks waited in an instance; the second pass fills it. */
struct pw_instance_wait {
    int64_t sum_ns, max_ns;
};

/* A communicator of more than one rank. Its collectives with numbers base .. collectives - 1 are
 * the instances from index `first` on. No rank recorded earlier collectives. */
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

/* Fills the numbered instances from the events. Collective over job->comm. Returns 0 or -ENOMEM. */
int pw_instances_build(struct pw_instances *instances, struct pw_job *job);

/* Adds up the waits of all processes. Collective. */
void pw_instances_share_waits(struct pw_instances *instances, const struct pw_procs *procs);

/* Returns the index of the instance of an event of `input`; -1 when the event is no collective, its
 * communicator has one rank, or its sequence number is not among those that the file counts. */
int64_t pw_instances_find(const struct pw_instances *instances, const struct pw_input *input,
                          const struct pw_row_comm_event *event);

const struct pw_comm_group *pw_instances_comm(const struct pw_instances *instances,
                                              size_t instance);

void pw_instances_fini(struct pw_instances *instances);

/* ---- the reduction ----
 *
 * It uses only integers, so its result does not depend on the order in
 * which processes are joined, and is the same for every number of processes. */

/* Joins `one` into `into`; an instance with nranks 0 is empty. */
void pw_instance_join(struct pw_instance *into, const struct pw_instance *one);

/* ---- rows of /collectives and /collective_stats ---- */

/* Returns the row of instance i in /collectives. */
struct pw_row_c_collective pw_collective_row(const struct pw_world *world,
                                             const struct pw_instances *instances, size_t i);

/* The time lost in collectives because of one rank. */
struct pw_blame {
    int64_t blame_ns;    /* total wait of all ranks */
    int64_t critical_ns; /* first-order estimate of the job's gain without these waits */
    int64_t longest_ns;  /* sum of the longest wait of each */
    int64_t all_ns;      /* total wait of all ranks, for any rank */
};

/* Sums over the instances in which the ranks waited for `rank` (all_ns: for any rank) and whose
 * longest wait overlaps [from, until), ns since the epoch. */
struct pw_blame pw_collective_sum_blame(const struct pw_instances *instances, int32_t rank,
                                        int64_t from, int64_t until);

/* Makes the rows of /collective_stats from the complete instances, sorted by total wait, longest
 * first. *rows is malloc'ed. Returns 0 or -ENOMEM. */
int pw_collectivestats_make(const struct pw_world *world, const struct pw_instances *instances,
                            struct pw_row_c_collective_stat **rows, size_t *count);

#endif
