/* In which phase a rank that holds the job back is late. */
#ifndef PW_ANALYSIS_STRAGGLERPHASE_H
#define PW_ANALYSIS_STRAGGLERPHASE_H

#include "analysis/excess.h"

static inline int pw_straggler_is_outside(const struct pw_straggler_found *f, size_t step)
{
    return step < f->first || step > f->last;
}

/* The phase with most of the excess of the steps that are above `least` ns, else the one that has
 * grown most compared with the steps outside f's window, when it explains a quarter of
 * f->excess_ns. Time in the allreduce phase follows from being late before it (the last to arrive
 * sees all of the transfer), so that phase is named only when no other is, and it explains half. */
enum pw_phase pw_straggler_phase(struct pw_excess *w, const struct pw_straggler_found *f,
                                 int64_t least);

#endif
