/* What the CPUs that a straggler may use, and the bins of the run near its steps, say of why it was
 * slow. Called by stretches.c on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_STRETCHCAUSES_H
#define PW_AGGREGATE_FINDINGS_STRETCHCAUSES_H

#include "aggregate/findings/findings.h"
#include "analysis/bound.h"

/* Measures, in *bound, which boundrows_free() frees. 0 or -ENOMEM. */
int pw_boundrows_measure(const struct pw_bound_input *in, struct pw_bound *bound);
void pw_boundrows_free(struct pw_bound *bound);

/* Enters cpus, others_share and bound_ns of all rows, and says so in the evidence of those whose
 * cause is contention for a CPU. */
void pw_boundrows_enter(struct pw_findings *f, const struct pw_world *world,
                        const struct pw_bound_input *in, const struct pw_bound *bound,
                        int64_t *scratch);

/* The rank lacked a CPU, was bound beside processes that are no ranks, and the others of its host
 * may use twice as many CPUs or more: they go to its CPUs and leave them again. */
int pw_boundrows_is_narrow(const struct pw_row_c_straggler *row);

/* Causes that a straggler's steps have too few samples for, from the bins of the run near them. */

/* Gives rows by steps whose cause is unknown that of which their rank has more than the median of
 * the others, within a sample of the steps, by half of what the row lost. It judges the first rows
 * only. `scratch` has room for a value of each rank. */
void pw_bincauses_find(struct pw_findings *findings, const struct pw_world *world,
                       const struct pw_matrix *matrix, int64_t *scratch);

#endif
