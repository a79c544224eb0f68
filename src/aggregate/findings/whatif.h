/* Replays the run with changes, and makes the rows of /whatif, /critical_path and /hosts, and the
 * stragglers' gains. Called by findings.c on process 0. The graph of the run is not changed. No
 * MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_WHATIF_H
#define PW_AGGREGATE_FINDINGS_WHATIF_H

#include "aggregate/findings/graph.h"
#include "analysis/straggler.h"

struct pw_whatif {
    struct pw_row_c_whatif *rows;
    size_t nrows, capacity;
    struct pw_row_c_path *path;
    size_t npath;
    struct pw_row_c_host *hosts;
    size_t nhosts, nsteps;                /* nsteps: the number of replayed steps */
    int64_t ideal_network_ns, elapsed_ns; /* -1: not replayed */
    int64_t most_work_ns;                 /* own work of the busiest rank in the replayed steps */
};

/* A change that balances work: between roles, or between ranks in each step. */
struct pw_whatif_change {
    const char *scope;
    const int32_t *role_of; /* [nranks] 0 .. nroles - 1; NULL: more_ns is used */
    size_t nroles;
    const uint8_t *is_slow; /* [nranks] 1: the rank does not count in the usual work of its role;
                               NULL: all count */
    /* [nsteps * nranks] work to subtract from each rank in each step of the job */
    const float *more_ns;
    uint32_t phases; /* bit P: the phase P changes; 0: the phases that pw_share_amounts()
                        (analysis/replay.h) finds */
    int parts;       /* 1: also makes the unequal parts of a collective (Alltoallv) equal */
};

/* The excess of a straggler over its peers, and its phases. */
struct pw_whatif_peer {
    float *more_ns;           /* [nsteps] excess in each step of the job */
    double phases[PW_PHASES]; /* share of each phase; all 0: in proportion to the work */
};

struct pw_whatif_changes {
    struct pw_whatif_change of[2];
    size_t n;
    const struct pw_whatif_peer *peers; /* [npeers] row i is of straggler i. NULL: the excess of a
                                           straggler is what it takes over the median of the other
                                           ranks in each step and phase */
    size_t npeers;
};

/* The run to replay. */
struct pw_whatif_run {
    const struct pw_graph *graph; /* NULL: there is none */
    const struct pw_world *world;
    const struct pw_instances *instances;
};

/* The stragglers, as found in the measured steps. */
struct pw_whatif_stragglers {
    const struct pw_straggler_found *found;
    size_t n;
    const size_t *rows; /* [measured steps] index of each among the steps of the job */
};

/* Replays the run without the excess of each straggler, and with each of the `changes`. Sets the
 * gain of the stragglers' rows from the replay if their steps were replayed. Returns 0 or
 * -ENOMEM. */
int pw_whatif_make(struct pw_whatif *out, const struct pw_whatif_run *run,
                   const struct pw_whatif_stragglers *stragglers, struct pw_row_c_straggler *rows,
                   const struct pw_whatif_changes *changes);

/* Whether the row is the replay without one straggler. */
int pw_whatif_is_of_straggler(const struct pw_row_c_whatif *row);

/* Drops the replay without all stragglers at once: some of them were none. */
void pw_whatif_drop_together(struct pw_whatif *whatif);

/* The same if those that were none lost more than a quarter of its gain in all. Else subtracts what
 * they lost, ns, which is the most that they can have added to the gain. */
void pw_whatif_keep_together(struct pw_whatif *whatif, int64_t dropped_ns);

void pw_whatif_fini(struct pw_whatif *whatif);

#endif
