/* What stragglers have more than their peers, where work differs by design: for the replay without
 * it; see imbalance.h. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/findings/imbalance.h"
#include "analysis/excess.h"
#include "analysis/statistics.h"

/* A rank's excess is the same in all steps when it is spread by no more than so many times the
 * others' is. */
#define MOST_SPREAD 1.5
#define LEAST_SHARE 0.1 /* of the excess: a phase with less has none */

enum { MOST_OTHERS = 64, MOST_PEERS = 32 };

struct peers {
    const struct pw_matrix *m;
    const struct pw_straggler_found *found;
    int64_t *sorted; /* [nranks] */
    int64_t *excess; /* [nsteps] of one rank */
    int64_t *values; /* [nsteps] */
    int64_t *series; /* [nsteps * nranks] one phase's work */
};

/* Fills `excess` in the straggler's window, or outside of it; how many are known, in `values`. */
static size_t fill_excess(struct peers *w, const int64_t *own_ns, size_t rank, int inside)
{
    const struct pw_straggler_input in = {
        .nsteps = w->m->nsteps, .nranks = w->m->nranks, .own_ns = own_ns};
    size_t n = 0;
    for (size_t s = 0; s < in.nsteps; s++) {
        if ((s >= w->found->first && s <= w->found->last) != inside)
            continue;
        const size_t known = pw_excess_sort_step(&in, s, w->sorted);
        const int64_t median = pw_excess_others_median(&in, s, rank, w->sorted, known);
        w->excess[s] = median < 0 ? 0 : own_ns[s * in.nranks + rank] - median;
        if (median >= 0)
            w->values[n++] = w->excess[s];
    }
    return n;
}

/* Median of the n `values`, and of their distances to it. */
static int64_t level_of(struct peers *w, size_t n, int64_t *spread)
{
    const int64_t level = n ? pw_median_i64(w->values, n) : 0;
    for (size_t i = 0; i < n; i++)
        w->values[i] = w->values[i] < level ? level - w->values[i] : w->values[i] - level;
    *spread = n ? pw_median_i64(w->values, n) : 0;
    return level;
}

/* The median spread of other ranks, of whom at most some are looked at. */
static int64_t usual_spread(struct peers *w)
{
    int64_t spreads[MOST_OTHERS];
    const size_t nranks = w->m->nranks, stride = nranks / MOST_OTHERS + 1;
    size_t n = 0;
    for (size_t r = 0; r < nranks && n < MOST_OTHERS; r += stride)
        if (r != w->found->rank) {
            size_t known = fill_excess(w, w->m->useful_ns, r, 1);
            level_of(w, known, &spreads[n++]);
        }
    return n ? pw_median_i64(spreads, n) : 0;
}

/* In which phases it is, as shares of 1; all 0: not known. */
static void find_phases(struct peers *w, double shares[PW_PHASES])
{
    double sum = 0, kept = 0;
    for (size_t p = 0; p < PW_PHASES; p++) {
        int64_t spread;
        for (size_t i = 0; i < w->m->nsteps * w->m->nranks; i++)
            w->series[i] = w->m->phase_ns[i * PW_PHASES + p];
        size_t known = fill_excess(w, w->series, w->found->rank, 1);
        const int64_t level = level_of(w, known, &spread);
        shares[p] = level > 0 && p + PW_PHASE_DATA != PW_PHASE_ALLREDUCE ? (double)level : 0;
        sum += shares[p];
    }
    for (size_t p = 0; p < PW_PHASES; p++) {
        shares[p] = shares[p] < LEAST_SHARE * sum ? 0 : shares[p];
        kept += shares[p];
    }
    for (size_t p = 0; p < PW_PHASES && kept > 0; p++)
        shares[p] /= kept;
}

static void find_peer(struct peers *w, const size_t *rows, struct pw_whatif_peer *out)
{
    int64_t spread;
    const int64_t usual = usual_spread(w);
    size_t known = fill_excess(w, w->m->useful_ns, w->found->rank, 0);
    const int64_t outside = level_of(w, known, &spread);
    const int64_t less = outside < 0 ? outside : 0; /* too much was taken out as by design */
    known = fill_excess(w, w->m->useful_ns, w->found->rank, 1);
    const int64_t level = level_of(w, known, &spread);
    const int is_constant = (double)spread <= MOST_SPREAD * (double)usual;
    for (size_t s = w->found->first; s <= w->found->last; s++)
        out->more_ns[rows[s]] = (float)((is_constant ? level : w->excess[s]) - less);
    find_phases(w, out->phases);
}

/* Stragglers of roles that have other ranks. */
static int mark_slow(struct pw_imbalance *out, size_t nranks,
                     const struct pw_straggler_found *found, size_t n)
{
    for (size_t i = 0; i < out->changes.n; i++) {
        struct pw_whatif_change *change = &out->changes.of[i];
        if (!change->role_of || out->is_slow)
            continue;
        size_t *left = calloc(change->nroles + 1, sizeof(*left));
        out->is_slow = calloc(nranks + 1, 1);
        if (!left || !out->is_slow) {
            free(left);
            return -ENOMEM;
        }
        for (size_t r = 0; r < nranks; r++)
            left[change->role_of[r]]++;
        for (size_t k = 0; k < n; k++)
            if (left[change->role_of[found[k].rank]] > 1) {
                left[change->role_of[found[k].rank]]--;
                out->is_slow[found[k].rank] = 1;
            }
        change->is_slow = out->is_slow;
        free(left);
    }
    return 0;
}

int pw_imbalance_find_peers(struct pw_imbalance *out, const struct pw_job *job,
                            const struct pw_matrix *measured, const size_t *rows,
                            const struct pw_straggler_found *found, size_t n)
{
    const struct pw_matrix *m = out->adjusted.nsteps ? &out->adjusted : measured;
    struct peers w = {.m = m};
    if ((!out->adjusted.nsteps && !out->is_varying) || !n)
        return 0;
    n = n < MOST_PEERS ? n : MOST_PEERS;
    w.sorted = malloc(sizeof(int64_t) * (m->nranks + 1));
    w.excess = malloc(sizeof(int64_t) * (m->nsteps + 1));
    w.values = malloc(sizeof(int64_t) * (m->nsteps + 1));
    w.series = malloc(sizeof(int64_t) * (m->nsteps * m->nranks + 1));
    out->peers = calloc(n + 1, sizeof(*out->peers));
    out->more = calloc(n * job->nsteps + 1, sizeof(*out->more));
    const int ok = w.sorted && w.excess && w.values && w.series && out->peers && out->more;
    for (size_t i = 0; i < n && ok; i++) {
        w.found = &found[i];
        out->peers[i].more_ns = out->more + i * job->nsteps;
        find_peer(&w, rows, &out->peers[i]);
    }
    out->changes.peers = ok ? out->peers : NULL;
    out->changes.npeers = ok ? n : 0;
    free(w.sorted);
    free(w.excess);
    free(w.values);
    free(w.series);
    return ok ? mark_slow(out, m->nranks, found, n) : -ENOMEM;
}
