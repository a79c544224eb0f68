/* The nested ranges of a rank's work: a block (user), a function's frame in it, and operators in
 * the frame, of which the heavy ones call a kernel. The work's time is divided among them. stage.c
 * calls it for the effect of slow operators, runwrite.c for the ranges in rank files, truth.c for
 * their sums, and params.c to look up operators by name. It changes no clock of the run. */
#ifndef PW_SIM_WORKRANGES_H
#define PW_SIM_WORKRANGES_H

#include "sim/play.h"

/* /strings of a synthetic rank file; the first are the phases' names by enum pw_phase. */
const char *pw_sim_text(uint32_t row); /* NULL after the last row */

/* `range` in file order, innermost first; self_ns as docs/metrics.md defines it. */
typedef void pw_sim_range_taker(void *context, int64_t rank, const struct pw_row_range *range,
                                int64_t self_ns);

/* Calls `take` for the ranges of a piece of work; work below 1 us has none. */
void pw_sim_operators_tell(const struct pw_sim_params *params, const struct pw_sim_piece *piece,
                           pw_sim_range_taker *take, void *context);

/* Returns the phase in which an operator of this name runs, or PW_PHASE_NONE. */
enum pw_phase pw_sim_operator_phase(const char *name);

/* Returns the factor by which slow operators lengthen work; bit i of `without` ignores fault i. */
double pw_sim_operators_growth(const struct pw_sim_params *params, uint32_t without, int64_t rank,
                               int64_t step, enum pw_phase phase);

#endif
