/* What process 0 concludes from replaying the run: rows of /whatif, /critical_path and /hosts, and
 * the stragglers' gains. Called by findings.c; the graph stays as it is. No MPI, no I/O. */
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
    size_t nhosts, nsteps;                /* nsteps: replayed */
    int64_t ideal_network_ns, elapsed_ns; /* -1: not replayed */
    int64_t most_work_ns;                 /* the busiest rank's own work in what was replayed */
};

/* Work that is shared out evenly: between roles, or what each rank has more of in a step. */
struct pw_whatif_change {
    const char *scope;
    const int32_t *role_of; /* [nranks] of `nroles`; NULL: see more_ns */
    size_t nroles;
    const uint8_t
        *is_slow;         /* [nranks] 1: of its role another rank says what is usual; NULL: none */
    const float *more_ns; /* [nsteps * nranks] of the job */
    uint32_t phases;      /* in which it is, a bit each; 0: where there is more with it */
    int parts;            /* 1: the parts of collectives like Alltoallv become equal, too */
};

/* What a straggler has more than its peers, in which phases. */
struct pw_whatif_peer {
    float *more_ns;           /* [nsteps] of the job */
    double phases[PW_PHASES]; /* shares of it; all 0: in all phases alike */
};

struct pw_whatif_changes {
    struct pw_whatif_change of[2];
    size_t n;
    const struct pw_whatif_peer *peers; /* [npeers] of the first stragglers; NULL: what they have
                                           more than the others' median in each step and phase */
    size_t npeers;
};

/* What is replayed. */
struct pw_whatif_run {
    const struct pw_graph *graph; /* NULL: there is none */
    const struct pw_world *world;
    const struct pw_instances *instances;
};

/* Stragglers as they were found in the measured steps. */
struct pw_whatif_stragglers {
    const struct pw_straggler_found *found;
    size_t n;
    const size_t *rows; /* step of the job for each measured step */
};

/* Replays the run without what each of the stragglers has more than others, and with `changes`. The
 * gain of the stragglers' rows becomes the replayed one where their steps were replayed. 0 or
 * -ENOMEM. */
int pw_whatif_make(struct pw_whatif *out, const struct pw_whatif_run *run,
                   const struct pw_whatif_stragglers *stragglers, struct pw_row_c_straggler *rows,
                   const struct pw_whatif_changes *changes);

void pw_whatif_fini(struct pw_whatif *whatif);

#endif
