/* What process 0 concludes from replaying the run: rows of /whatif, /critical_path and /hosts, and
 * the stragglers' gains. */
#ifndef PW_AGGREGATE_FINDINGS_WHATIF_H
#define PW_AGGREGATE_FINDINGS_WHATIF_H

#include "aggregate/findings/graph.h"
#include "analysis/groups.h"

struct pw_whatif {
    struct pw_row_c_whatif *rows;
    size_t nrows, capacity;
    struct pw_row_c_path *path;
    size_t npath;
    struct pw_row_c_host *hosts;
    size_t nhosts;
    int64_t ideal_network_ns, elapsed_ns; /* -1: not replayed */
    int64_t most_work_ns;                 /* the busiest rank's own work in what was replayed */
};

/* Work multiplied by factors, [nsteps * nranks] of the job. */
struct pw_whatif_change {
    const char *scope;
    const float *factor;
};

struct pw_whatif_changes {
    struct pw_whatif_change of[2];
    size_t n;
    const float *peers; /* what brings a rank to its peers; NULL: the others' median work does */
};

/* Replays `graph` (NULL: there is none). `stragglers` are `n` rows about `found`, whose steps are
 * indices into `rows_of`, indices of the job's steps: their gain becomes the replayed one where
 * their steps were replayed. `changes` are replayed, too. 0 or
 * -ENOMEM. */
int pw_whatif_make(struct pw_whatif *out, const struct pw_graph *graph, const struct pw_job *job,
                   const struct pw_straggler_found *found, const size_t *rows_of,
                   struct pw_row_c_straggler *stragglers, size_t n,
                   const struct pw_whatif_changes *changes);

void pw_whatif_fini(struct pw_whatif *whatif);

#endif
