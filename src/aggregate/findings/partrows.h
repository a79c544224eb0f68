/* Writes the rows of ranks that held the job back outside the steps. Called by stretches.c on
 * process 0. No MPI, no I/O. */
#ifndef PW_AGGREGATE_FINDINGS_PARTROWS_H
#define PW_AGGREGATE_FINDINGS_PARTROWS_H

#include "aggregate/findings/findings.h"
#include "analysis/parts.h"

/* Fills *row with what analysis/parts.h has found. Returns 0 when the ranks cannot be compared in
 * that part, or the loss is too small for a part whose length is only known from samples. */
int pw_partrows_enter(const struct pw_world *world, const struct pw_matrix *matrix,
                      const struct pw_partloss *found, struct pw_row_c_straggler *row);

#endif
