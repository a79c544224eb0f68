/* Work that varies from step to step without anything that tells its amounts: a row of
 * /imbalances, and what sharing each step's work out evenly would be; see imbalance.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/findings/imbalancework.h"
#include "analysis/statistics.h"

/* Most of a step's work over their mean, as a mean over the steps; each by what is usual for its
 * rank. */
static double usual_peak(struct pw_imbalance_work *f)
{
    const size_t nranks = f->m->nranks, nsteps = f->m->nsteps;
    struct pw_peak peak = {0};
    for (size_t r = 0; r < nranks; r++) {
        size_t n = 0;
        for (size_t s = 0; s < nsteps; s++)
            if (f->m->useful_ns[s * nranks + r] > 0)
                f->scratch[n++] = f->m->useful_ns[s * nranks + r];
        f->series[r] = n ? pw_median_i64(f->scratch, n) : -1;
    }
    for (size_t s = 0; s < nsteps; s++) {
        for (size_t r = 0; r < nranks; r++) {
            const double work = (double)f->m->useful_ns[s * nranks + r] / (double)f->series[r];
            if (f->series[r] > 0 && work > 0)
                pw_peak_add(&peak, work);
        }
        pw_peak_next(&peak);
    }
    return pw_peak_value(&peak);
}

static void add_row(struct pw_imbalance *out, double peak)
{
    struct pw_row_c_imbalance *row = &out->rows[out->n++];
    *row = (struct pw_row_c_imbalance){.first_rank = -1,
                                       .work_ns = -1,
                                       .others_ns = -1,
                                       .ratio = -1,
                                       .amount_ratio = peak,
                                       .gain_ns = -1};
    snprintf(row->kind, sizeof(row->kind), "amount");
    snprintf(row->how, sizeof(row->how), "phases");
    snprintf(row->verdict, sizeof(row->verdict), "imbalance");
}

static int find(const struct pw_varying_input *in, struct pw_varying *out, int *is_varying)
{
    double *scratch = malloc(sizeof(*scratch) * (pw_varying_scratch(in->nsteps, in->nranks) + 1));
    *is_varying = scratch && pw_varying_find(in, out, scratch);
    free(scratch);
    return scratch ? 0 : -ENOMEM;
}

int pw_imbalance_find_varying(struct pw_imbalance_work *f)
{
    const struct pw_varying_input in = {f->m->nsteps, f->m->nranks, f->m->phase_ns};
    return find(&in, &f->out->varying, &f->out->is_varying);
}

void pw_imbalance_describe_varying(struct pw_imbalance_work *f)
{
    f->out->is_varying &= f->cost <= 0; /* else amounts explain it */
    if (f->out->is_varying)
        add_row(f->out, usual_peak(f));
}

/* ---- shared out ---- */

enum { MOST_STRAGGLERS = 32 };

struct sharing {
    const struct pw_replay_graph *graph;
    const size_t *rows;
    const int32_t *role_of; /* NULL: all have the same */
    size_t nroles;
    struct pw_varying varying;
    double *work; /* [nsteps * nranks] ns, that varies; 0: not known */
};

static void fill_work(const struct sharing *h, const int64_t *works)
{
    for (size_t i = 0; i < h->graph->nsteps * h->graph->nranks; i++) {
        h->work[i] = 0;
        for (size_t p = 0; p < PW_PHASES; p++)
            if (h->varying.phases >> p & 1)
                h->work[i] += (double)works[i * PW_PHASES + p];
    }
}

static int is_in(const struct sharing *h, const struct pw_straggler_found *found, size_t step)
{
    return step >= h->rows[found->first] && step <= h->rows[found->last];
}

/* Mean work of the other ranks in the step; -1: not known. */
static double others_mean(const struct sharing *h, size_t step, size_t rank)
{
    double sum = 0, n = 0;
    for (size_t r = 0; r < h->graph->nranks; r++) {
        const double work = h->work[step * h->graph->nranks + r];
        sum += r == rank ? 0 : work;
        n += r != rank && work > 0;
    }
    return n > 0 ? sum / n : -1;
}

/* What a straggler has more in the steps that it held back, by more than chance, is not shared out.
 */
static void take_excess_out(const struct sharing *h, const struct pw_straggler_found *found)
{
    struct pw_varying_level in = {0}, out = {0};
    for (size_t s = 0; s < h->graph->nsteps; s++) {
        const double work = h->work[s * h->graph->nranks + found->rank];
        const double others = others_mean(h, s, found->rank);
        struct pw_varying_level *level = is_in(h, found, s) ? &in : &out;
        if (work <= 0 || others <= 0)
            continue;
        level->n++;
        level->sum += work - others;
        level->squares += (work - others) * (work - others);
    }
    const double more = pw_varying_difference(&in, &out);
    for (size_t s = 0; s < h->graph->nsteps && more > 0; s++) {
        double *work = &h->work[s * h->graph->nranks + found->rank];
        if (is_in(h, found, s))
            *work = *work > more ? *work - more : 0;
    }
}

/* Logarithms, less the step's mean; NAN: not known. */
static void fill_logs(const struct sharing *h, double *logs)
{
    const size_t nranks = h->graph->nranks;
    for (size_t s = 0; s < h->graph->nsteps; s++) {
        double sum = 0, n = 0;
        for (size_t r = 0; r < nranks; r++) {
            const double work = h->work[s * nranks + r];
            logs[s * nranks + r] = work > 0 ? log(work) : NAN;
            sum += work > 0 ? logs[s * nranks + r] : 0;
            n += work > 0;
        }
        for (size_t r = 0; r < nranks; r++)
            logs[s * nranks + r] -= sum / n;
    }
}

static struct pw_varying_level level_of(const struct sharing *h, const double *logs, size_t rank)
{
    struct pw_varying_level level = {0};
    for (size_t s = 0; s < h->graph->nsteps; s++) {
        const double value = logs[s * h->graph->nranks + rank];
        if (isnan(value))
            continue;
        level.n++;
        level.sum += value;
        level.squares += value * value;
    }
    return level;
}

/* Each rank's work by what is usual for it. */
static int fill_shares(const struct sharing *h, double *shares)
{
    const size_t nranks = h->graph->nranks;
    struct pw_varying_level *levels = calloc(nranks + 1, sizeof(*levels));
    double *usual = malloc(sizeof(*usual) * (nranks + 1));
    double *scratch = malloc(sizeof(*scratch) * (PW_VARYING_SUMS * h->nroles + 1));
    const int ok = levels && usual && scratch;
    if (ok) {
        fill_logs(h, shares);
        for (size_t r = 0; r < nranks; r++)
            levels[r] = level_of(h, shares, r);
        pw_varying_usual(levels, nranks, h->role_of, h->nroles, usual, scratch);
    }
    for (size_t i = 0; i < h->graph->nsteps * nranks && ok; i++)
        shares[i] = isnan(shares[i]) ? -1 : exp(shares[i] - usual[i % nranks]);
    free(levels);
    free(usual);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}

static void share(const struct sharing *h, const double *shares, double *factors, float *more_ns)
{
    const size_t nranks = h->graph->nranks;
    for (size_t s = 0; s < h->graph->nsteps; s++) {
        pw_varying_share(&h->varying, shares + s * nranks, nranks, factors);
        for (size_t r = 0; r < nranks; r++)
            more_ns[s * nranks + r] = (float)((1 - factors[r]) * h->work[s * nranks + r]);
    }
}

int pw_imbalance_share_steps(struct pw_imbalance *out, const struct pw_graph *graph,
                             const struct pw_roles *roles, const size_t *rows,
                             const struct pw_straggler_found *found, size_t n)
{
    const struct pw_replay_graph *g = &graph->replay;
    const size_t cells = g->nsteps * g->nranks;
    if (!out->is_varying)
        return 0;
    int64_t *all = malloc(sizeof(*all) * (cells * PW_PHASES + 1));
    double *shares = malloc(sizeof(*shares) * (cells + 1));
    double *factors = malloc(sizeof(*factors) * (g->nranks + 1));
    struct sharing h = {.graph = g, .rows = rows, .varying = out->varying};
    h.work = malloc(sizeof(*h.work) * (cells + 1));
    h.role_of = roles->nroles ? roles->role_of : NULL;
    h.nroles = roles->nroles ? roles->nroles : 1;
    int err = all && shares && factors && h.work ? 0 : -ENOMEM, is_varying = 0;
    if (!err) {
        /* Without transfers noise is known better. */
        const struct pw_varying_input in = {g->nsteps, g->nranks, all};
        struct pw_varying better;
        pw_replay_sum_works(g, all);
        err = find(&in, &better, &is_varying);
        if (is_varying && better.phases == out->varying.phases)
            h.varying = better;
    }
    if (!err) {
        fill_work(&h, all);
        for (size_t i = 0; i < n && i < MOST_STRAGGLERS; i++)
            take_excess_out(&h, &found[i]);
        err = fill_shares(&h, shares);
    }
    if (!err) {
        share(&h, shares, factors, out->amounts);
        out->changes.of[out->changes.n++] = (struct pw_whatif_change){
            .scope = "amounts", .more_ns = out->amounts, .phases = h.varying.phases, .parts = 1};
    }
    free(all);
    free(shares);
    free(factors);
    free(h.work);
    return err;
}
