/* What a rank does while it works, as nested ranges: a block (user), a function's frame in it, and
 * in that operators, of which the heavy ones call a kernel. Their lengths share out the work's.
 * stage.c asks how much longer slow operators make work; runwrite.c has the ranges handed to it for
 * the rank files, and truth.c for its sums; params.c looks operators up by name. It moves no clock
 * of the run. */
#ifndef PW_SIM_WORKRANGES_H
#define PW_SIM_WORKRANGES_H

#include "sim/play.h"

/* /strings of a synthetic rank file; the first are the phases' names by enum pw_phase. */
const char *pw_sim_text(uint32_t row); /* NULL behind the last */

/* `range` in file order, innermost first; self_ns as docs/metrics.md defines it. */
typedef void pw_sim_range_taker(void *context, int64_t rank, const struct pw_row_range *range,
                                int64_t self_ns);

/* The ranges of a piece of work, which is too short for any when it is < 1 us. */
void pw_sim_operators_tell(const struct pw_sim_params *params, const struct pw_sim_piece *piece,
                           pw_sim_range_taker *take, void *context);

/* The phase in which an operator of this name runs, or PW_PHASE_NONE. */
enum pw_phase pw_sim_operator_phase(const char *name);

/* How many times as long a piece of work takes through slow operators; bit i of `without` leaves
 * fault i out. */
double pw_sim_operators_growth(const struct pw_sim_params *params, uint32_t without, int64_t rank,
                               int64_t step, enum pw_phase phase);

#endif
