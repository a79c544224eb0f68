/* Whether a late rank stands out from the others. Called by straggler.c only. Pure arithmetic: no
 * I/O, no allocation.
 *
 * On machines that are shared or uneven, many ranks differ a little, and the slowest of them is no
 * straggler. The company of a rank are the ranks whose sum of excess is above a third of the rank's
 * in the steps that it held back, or above half of it in as many other successive steps. Except for
 * a one-off, each step counts up to 2.7 times the rank's usual excess there, as in the search for
 * windows: a rank that stalled once in these steps is no company of one that was slow in all of
 * them. The rank stands out
 *   - alone or with a company of at most a quarter of the ranks;
 *   - with a company on its own host, and at most half of the ranks: then the host is slow;
 *   - of two ranks, when its excess is two fifths of its steps, or one fifth of marked steps; or a
 *     tenth of the steps, if it changed (pw_standout_has_changed()).
 *
 * Of 3 to 7 ranks one alone may be slow by this rule. So with them, a rank that does not stand out
 * is judged once more, beside the ranks that do: these are no company of it. Besides,
 *   - at least half of its excess must be in steps in which none of them was slow, and only these
 *     count: ranks that are slow at different times are several faults, not an uneven machine;
 *   - or it was slow for a time only: at least a fifth of the steps are before or after, and at
 *     most a quarter of these are as slow.
 * Of those that are left, as many as possible are named that stand out beside each other. At
 * most every second rank is named so; of 2 and 3 ranks two, if these have changed, or if the
 * added one stalled while the other was normal. */
#ifndef PW_ANALYSIS_STANDOUT_H
#define PW_ANALYSIS_STANDOUT_H

#include "analysis/excess.h"

enum { PW_STANDOUT_FEW = 7 }; /* ranks that are judged beside each other */

static inline double pw_clipped(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Ranks that stand out. */
struct pw_named {
    const struct pw_straggler_found *found;
    size_t n;
};

int pw_named_has(const struct pw_named *named, size_t rank);

/* 1 when the rank was slow for a time, and the begin and the end of it show in its own work, not in
 * that of the ranks that are not named. So it is known which one changed, whatever is normal. */
int pw_standout_has_changed(const struct pw_excess *w, const struct pw_straggler_found *f,
                            const struct pw_named *named);

/* 1 when the rank of `f` stands out by itself. */
int pw_standout(const struct pw_excess *w, const struct pw_straggler_found *f);

/* 1 when the rank, which does not stand out by itself, does so beside those named. */
int pw_standout_beside(const struct pw_excess *w, const struct pw_straggler_found *f,
                       const struct pw_named *named);

#endif
