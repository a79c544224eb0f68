/* In which phase a straggler is late, for the straggler analysis; see stragglerphase.h. */
#include "analysis/stragglerphase.h"

#include "analysis/statistics.h"

static int64_t phase_value(const struct pw_straggler_input *in, size_t step, size_t rank, int phase)
{
    return in->phase_ns[(step * in->nranks + rank) * PW_PHASES + (size_t)phase];
}

/* The rank's work in a phase minus the other ranks' median in it. */
static int64_t phase_excess_at(struct pw_excess *w, size_t step, size_t rank, int phase)
{
    const struct pw_straggler_input *in = w->in;
    int64_t mine = phase_value(in, step, rank, phase);
    size_t others = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (r != rank && phase_value(in, step, r, phase) >= 0)
            w->values[others++] = phase_value(in, step, r, phase);
    return mine < 0 || !others ? PW_EXCESS_UNKNOWN : mine - pw_median_i64(w->values, others);
}

/* Median of that over the hits. */
static int64_t phase_excess(struct pw_excess *w, const struct pw_straggler_found *f, int64_t least,
                            int phase)
{
    int64_t clock = pw_excess_clock_limit(w, f->rank);
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++) {
        int64_t excess = pw_excess_is_above(w, s, f->rank, clock, least)
                             ? phase_excess_at(w, s, f->rank, phase)
                             : PW_EXCESS_UNKNOWN;
        if (excess != PW_EXCESS_UNKNOWN)
            w->others[n++] = excess;
    }
    return n ? pw_median_i64(w->others, n) : 0;
}

/* Median of that over the steps outside the window: what is usual for the rank. 0 when there are
 * too few to say. */
static int64_t usual_phase_excess(struct pw_excess *w, const struct pw_straggler_found *f,
                                  int phase)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t excess = pw_straggler_is_outside(f, s) ? phase_excess_at(w, s, f->rank, phase)
                                                       : PW_EXCESS_UNKNOWN;
        if (excess != PW_EXCESS_UNKNOWN)
            w->others[n++] = excess;
    }
    return n >= PW_EXCESS_LEAST_STEPS ? pw_median_i64(w->others, n) : 0;
}

static const enum pw_phase phases[PW_PHASES] = {PW_PHASE_DATA,      PW_PHASE_FORWARD,
                                                PW_PHASE_BACKWARD,  PW_PHASE_ALLREDUCE,
                                                PW_PHASE_OPTIMIZER, PW_PHASE_OTHER};

/* The phase but allreduce with most of it, if that is a quarter of the excess. */
static enum pw_phase largest_phase(const int64_t ns[PW_PHASES], int64_t excess_ns)
{
    int64_t most = 0;
    enum pw_phase phase = PW_PHASE_NONE;
    for (int p = 0; p < PW_PHASES; p++)
        if (phases[p] != PW_PHASE_ALLREDUCE && ns[p] > most) {
            most = ns[p];
            phase = phases[p];
        }
    return 4 * most >= excess_ns ? phase : PW_PHASE_NONE;
}

enum pw_phase pw_straggler_phase(struct pw_excess *w, const struct pw_straggler_found *f,
                                 int64_t least)
{
    int64_t ns[PW_PHASES], allreduce = 0;
    for (int p = 0; p < PW_PHASES; p++) {
        ns[p] = phase_excess(w, f, least, p);
        allreduce = phases[p] == PW_PHASE_ALLREDUCE ? ns[p] : allreduce;
    }
    enum pw_phase phase = largest_phase(ns, f->excess_ns);
    if (phase != PW_PHASE_NONE)
        return phase;
    for (int p = 0; p < PW_PHASES; p++)
        ns[p] -= usual_phase_excess(w, f, p);
    phase = largest_phase(ns, f->excess_ns);
    if (phase != PW_PHASE_NONE)
        return phase;
    return 2 * allreduce >= f->excess_ns ? PW_PHASE_ALLREDUCE : PW_PHASE_NONE;
}
