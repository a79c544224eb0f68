/* What a phase range says of its step: own work by phase, and the boundaries of forward and
 * backward (docs/metrics.md). */
#ifndef PW_AGGREGATE_INPUT_PHASES_H
#define PW_AGGREGATE_INPUT_PHASES_H

#include "analysis/intervals.h"
#include "core/tables.h"

/* The member of a phase row, or NULL for a value that is no phase. */
int64_t *pw_phase_member(struct pw_row_c_phase_trace *row, int phase);

/* The phase with that name, or PW_PHASE_NONE. */
int pw_phase_of_name(const char *name);

/* True for the range in which PyTorch's DataLoader gets a batch. */
int pw_phase_is_loader(const char *name);

/* Notes one range of a step that began at step_start; *backward_end is the caller's, per step, and
 * begins as INT64_MIN. */
void pw_phase_mark(struct pw_row_c_step_trace *row, int phase, int64_t step_start,
                   struct pw_interval window, int64_t *backward_end);

/* Fills what follows once all ranges of the step are known. */
void pw_phase_close(struct pw_row_c_step_trace *row, int64_t step_start, int64_t step_end,
                    int64_t backward_end);

#endif
