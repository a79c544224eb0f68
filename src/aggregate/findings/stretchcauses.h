/* Finds causes of stragglers from the CPUs that they may use, and from the bins of the run near
 * their steps. Called by stretches.c on process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_STRETCHCAUSES_H
#define PW_AGGREGATE_FINDINGS_STRETCHCAUSES_H

#include "aggregate/findings/findings.h"
#include "analysis/cause.h"

/* Compares the CPUs that each rank may use with those of the other ranks of its host, into *bound,
 * which pw_boundrows_free() frees. Returns 0 or -ENOMEM. */
int pw_boundrows_measure(const struct pw_bound_input *in, struct pw_bound *bound);
void pw_boundrows_free(struct pw_bound *bound);

/* Fills cpus, others_share and bound_ns of all rows, and adds them to the evidence of rows whose
 * cause is CPU contention. */
void pw_boundrows_enter(struct pw_findings *f, const struct pw_world *world,
                        const struct pw_bound_input *in, const struct pw_bound *bound,
                        int64_t *scratch);

/* 1 when the rank lacked a CPU because it is bound to CPUs that other processes use, too, while the
 * other ranks of its host may use at least twice as many CPUs. Those ranks can move to other CPUs;
 * this rank cannot. */
int pw_boundrows_is_narrow(const struct pw_row_c_straggler *row);

/* ---- causes from bins, for stragglers with too few samples in their steps ---- */

/* Sets the cause of rows that were found from steps and have no cause yet. The bins near the steps
 * (within the interval of samples) are searched for a kind of time of which the rank has more than
 * the median of the other ranks. It becomes the cause when the difference is at least half of the
 * loss. Only the first 32 rows are judged. Returns 0 or -ENOMEM. */
int pw_bincauses_find(struct pw_findings *findings, const struct pw_world *world,
                      const struct pw_matrix *matrix);

/* Turns CPU contention of a row into throttling where the quota of a cgroup that several ranks
 * share was used up for a third of the time that the rank was ready without a CPU. host_of[rank] is
 * the number of its host. Called last, since such a cause, unlike a quota of one rank, explains no
 * other row. Returns 0 or -ENOMEM. */
int pw_quotacauses_find(struct pw_findings *findings, const struct pw_world *world,
                        const struct pw_matrix *matrix, const int64_t *host_of);

#endif
