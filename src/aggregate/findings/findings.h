/* The findings of process 0 from the gathered data, as rows of the cluster file. Called by
 * aggregate.c. pw_findings_make() neither reads files nor communicates;
 * evidence.c, stretches.c and opgrowth.c then complete its stragglers, in this order. */
#ifndef PW_AGGREGATE_FINDINGS_FINDINGS_H
#define PW_AGGREGATE_FINDINGS_FINDINGS_H

#include "aggregate/findings/flops.h"
#include "aggregate/findings/imbalance.h"
#include "aggregate/findings/slownetwork.h"
#include "aggregate/findings/trends.h"
#include "aggregate/findings/whatif.h"
#include "aggregate/gpu/kernelrows.h"
#include "aggregate/match/messages.h"
#include "aggregate/operators/operators.h"
#include "aggregate/output/clusterfile.h"
#include "aggregate/samples/samples.h"
#include "aggregate/secondpass/matrix.h"

enum { PW_MOST_STRAGGLERS = 1024 };

struct pw_findings {
    struct pw_row_c_step *steps;
    size_t nsteps;
    struct pw_row_c_straggler *stragglers;
    size_t nstragglers;
    uint8_t *inside; /* [ranks] 1: a straggler inside communication only (analysis/straggler.h) */
    struct pw_row_c_efficiency efficiency;
    size_t nefficiency;
    struct pw_trends trends;
    struct pw_network network;
    struct pw_row_c_collective_stat *stats;
    size_t nstats;
    struct pw_whatif whatif;
    struct pw_imbalance imbalance;
    struct pw_operators operators;
    struct pw_kernels kernels;
    struct pw_pairs pairs;
    struct pw_samples samples;
    struct pw_flops flops;
};

/* The gathered data, on process 0. */
struct pw_findings_input {
    const struct pw_world *world;
    const struct pw_share *share;
    const struct pw_matrix *matrix;
    const struct pw_instances *instances;
    struct pw_graph_parts *parts; /* of the dependency graph; pw_findings_make() frees them */
    /* These two distinguish slow ranks from ranks whose work differs by design. */
    const struct pw_roles *roles;
    const struct pw_amounts *amounts;
};

/* Returns 0 or -ENOMEM. Not collective: for process 0. */
int pw_findings_make(struct pw_findings *findings, const struct pw_findings_input *input);

void pw_findings_fini(struct pw_findings *findings);

/* A row of /stragglers of which rank and loss are known. All that makes such a row begins with it:
 * here a column gets its value for "not known". */
struct pw_row_c_straggler pw_findings_straggler(const struct pw_world *world, size_t rank,
                                                int64_t lost_ns);

/* Tells which stragglers lost time every so many steps. No MPI, no I/O. */

/* Writes to numbers[most] the steps from first_step to last_step of the straggler in which its own
 * work was above the other ranks' median by half of its excess or more, in order. Returns how many
 * there are; 0: more than that, or memory is short. */
size_t pw_findings_lost_steps(const struct pw_findings *findings, const struct pw_matrix *matrix,
                              const struct pw_row_c_straggler *row, int64_t *numbers, size_t most);

/* Fills `period` of the stragglers. Returns 0 or -ENOMEM. */
int pw_periods_find(struct pw_findings *findings, const struct pw_matrix *matrix);

#endif
