/* Makes the rows about work that differs by design, and the change that would balance it; see
 * imbalancerows.h. */
#include "aggregate/findings/imbalancerows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/text.h"

/* Fills out->amounts with the work that a rank has above the mean of the step, by the amounts. */
static void share_amounts(struct pw_imbalance_work *f)
{
    for (size_t s = 0; s < f->m->nsteps; s++) {
        double sum = 0;
        size_t n = 0;
        for (size_t r = 0; r < f->m->nranks; r++) {
            int64_t amount = f->amounts[s * f->m->nranks + r];
            sum += amount >= 0 ? (double)amount : 0;
            n += amount >= 0;
        }
        for (size_t r = 0; r < f->m->nranks; r++) {
            size_t at = s * f->m->nranks + r;
            if (f->amounts[at] >= 0)
                f->out->amounts[f->rows[s] * f->m->nranks + r] =
                    (float)(f->cost * ((double)f->amounts[at] - sum / (double)n));
        }
    }
}

/* ---- rows ---- */

static struct pw_row_c_imbalance *add_row(struct pw_imbalance_work *f, const char *kind,
                                          const char *how)
{
    struct pw_row_c_imbalance *row = &f->out->rows[f->out->n++];
    row->amount_ratio = -1;
    row->gain_ns = -1;
    snprintf(row->kind, sizeof(row->kind), "%s", kind);
    snprintf(row->how, sizeof(row->how), "%s", how);
    snprintf(row->verdict, sizeof(row->verdict), "imbalance");
    return row;
}

/* Writes the marked ranks, as "0-3, 8 and 5 more". */
static void list_ranks(const uint8_t *marked, size_t nranks, char out[64])
{
    enum { ROOM = 34 }; /* bytes for the last ranges, and for "and N more" */
    struct pw_sentence s = pw_sentence_on(out, 64);
    size_t left = 0;
    for (size_t r = 0; r < nranks; r++)
        left += marked[r];
    for (size_t r = 0; r < nranks && left; r++) {
        size_t end = r;
        if (!marked[r])
            continue;
        if (s.used > ROOM) {
            pw_sentence_add(&s, " and %zu more", left);
            return;
        }
        while (end + 1 < nranks && marked[end + 1])
            end++;
        pw_sentence_add(&s, end > r ? "%s%zu-%zu" : "%s%zu", s.used ? ", " : "", r, end);
        left -= end - r + 1;
        r = end;
    }
}

static void describe_role(struct pw_imbalance_work *f, size_t k, uint8_t *marked)
{
    const struct pw_balance_role *role = &f->found[k];
    size_t first = f->m->nranks;
    for (size_t r = f->m->nranks; r-- > 0;) {
        marked[r] = f->roles->role_of[r] == (int32_t)k;
        first = marked[r] ? r : first;
    }
    struct pw_row_c_imbalance *row = add_row(f, "role", f->roles->rows[first].how);
    memcpy(row->name, f->roles->rows[first].role, sizeof(row->name));
    list_ranks(marked, f->m->nranks, row->ranks);
    row->nranks = (int32_t)role->nranks;
    row->first_rank = (int32_t)first;
    row->work_ns = role->work_ns;
    row->others_ns = role->others_ns;
    row->ratio = role->others_ns > 0 ? (double)role->work_ns / (double)role->others_ns : -1;
    if (role->state == PW_BALANCE_UNEQUAL)
        return;
    snprintf(row->verdict, sizeof(row->verdict), "cannot_tell");
    if (role->state == PW_BALANCE_ALONE)
        snprintf(row->reason, sizeof(row->reason),
                 "rank %zu is the only one of its role: it may have more to do, or be slow", first);
    else
        snprintf(row->reason, sizeof(row->reason),
                 "its ranks are all on host %.64s, which has no others: the role may have more to "
                 "do, or the host be slow",
                 f->world->ranks[first].hostname);
}

/* Median of a series over the steps of the rank; -1: not known. */
static int64_t usual(struct pw_imbalance_work *f, const int64_t *series, size_t rank)
{
    size_t n = 0;
    for (size_t s = 0; s < f->m->nsteps; s++)
        if (series[s * f->m->nranks + rank] >= 0)
            f->scratch[n++] = series[s * f->m->nranks + rank];
    return n ? pw_median_i64(f->scratch, n) : -1;
}

/* Median over the ranks that are not marked, or all ranks when `marked` is NULL; -1: none is
 * known. */
static int64_t median_of_ranks(struct pw_imbalance_work *f, const int64_t *of_rank,
                               const uint8_t *marked)
{
    size_t n = 0;
    for (size_t r = 0; r < f->m->nranks; r++)
        if (of_rank[r] >= 0 && !(marked && marked[r]))
            f->scratch[n++] = of_rank[r];
    return n ? pw_median_i64(f->scratch, n) : -1;
}

/* The largest amount of a step / the mean amount, as a mean over the steps. */
static double usual_peak(const struct pw_imbalance_work *f)
{
    struct pw_peak peak = {0};
    for (size_t s = 0; s < f->m->nsteps; s++) {
        for (size_t r = 0; r < f->m->nranks; r++) {
            const int64_t amount = f->amounts[s * f->m->nranks + r];
            if (amount >= 0)
                pw_peak_add(&peak, (double)amount);
        }
        pw_peak_next(&peak);
    }
    return pw_peak_value(&peak);
}

/* Adds a row about the ranks whose usual amount is larger than the others'; without such ranks,
 * about amounts that differ from step to step. Returns 1 when it added one. */
static int describe_amounts(struct pw_imbalance_work *f, uint8_t *marked, int64_t *amount_of,
                            int64_t *work_of)
{
    const size_t nranks = f->m->nranks;
    size_t worst = 0, n = 0;
    for (size_t r = 0; r < nranks; r++) {
        amount_of[r] = usual(f, f->amounts, r);
        work_of[r] = usual(f, f->m->useful_ns, r);
        worst = amount_of[r] > amount_of[worst] ? r : worst;
    }
    const int64_t amount = median_of_ranks(f, amount_of, NULL);
    for (size_t r = 0; r < nranks; r++) {
        marked[r] = (double)amount_of[r] >= PW_IMBALANCE_MORE * (double)amount;
        n += marked[r];
    }
    const double peak = usual_peak(f);
    const int64_t work = median_of_ranks(f, work_of, marked);
    if (!n && peak < (f->amount.is_guessed ? PW_IMBALANCE_MORE : PW_IMBALANCE_PEAK))
        return 0;
    struct pw_row_c_imbalance *row = add_row(f, "amount", f->how);
    row->nranks = (int32_t)n;
    row->first_rank = n ? (int32_t)worst : -1;
    list_ranks(marked, nranks, row->ranks);
    row->work_ns = n ? work_of[worst] : -1;
    row->others_ns = work;
    row->ratio = n && work > 0 ? (double)work_of[worst] / (double)work : -1;
    row->amount_ratio = n ? (double)amount_of[worst] / (double)amount : peak;
    return 1;
}

int pw_imbalance_describe(struct pw_imbalance_work *f)
{
    const size_t nranks = f->m->nranks;
    uint8_t *marked = calloc(nranks + 1, 1);
    int64_t *usual_of = calloc(2 * nranks + 1, sizeof(*usual_of));
    struct pw_whatif_changes *changes = &f->out->changes;
    int ok = marked && usual_of, unequal = 0, has_more = 0;
    if (ok && f->cost > 0 && describe_amounts(f, marked, usual_of, usual_of + nranks)) {
        share_amounts(f);
        changes->of[changes->n++] =
            (struct pw_whatif_change){.scope = "amounts", .more_ns = f->out->amounts, .parts = 1};
    }
    for (size_t k = 0; ok && k < f->roles->nroles; k++) {
        unequal |= f->found[k].state != PW_BALANCE_EVEN;
        has_more |= f->found[k].offset_ns > 0;
    }
    /* A role with less work gets a row only when no role has more than the median rank. */
    for (size_t k = 0; ok && k < f->roles->nroles; k++)
        if (f->found[k].offset_ns > 0 || (f->found[k].offset_ns < 0 && !has_more))
            describe_role(f, k, marked);
    if (unequal)
        changes->of[changes->n++] = (struct pw_whatif_change){
            .scope = "roles", .role_of = f->roles->role_of, .nroles = f->roles->nroles};
    if (unequal || f->cost > 0) {
        f->out->adjusted.nsteps = f->m->nsteps;
        f->out->adjusted.nranks = nranks;
    }
    free(marked);
    free(usual_of);
    return ok ? 0 : -ENOMEM;
}

/* ---- work that varies from step to step, with unknown amounts ---- */

/* The largest work of a step / the mean work, as a mean over the steps; each work is divided by its
 * rank's median. */
static double usual_step_peak(struct pw_imbalance_work *f)
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

static void add_step_row(struct pw_imbalance *out, double peak)
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
    f->out->is_varying &= f->cost <= 0; /* otherwise the amounts explain it */
    if (f->out->is_varying)
        add_step_row(f->out, usual_step_peak(f));
}

/* ---- balanced work ---- */

enum { MOST_STRAGGLERS = 32 };

struct sharing {
    const struct pw_replay_graph *graph;
    const size_t *rows;
    const int32_t *role_of; /* NULL: all ranks have one role */
    size_t nroles;
    struct pw_varying varying;
    double *work; /* [nsteps * nranks] work in the varying phases, ns; 0: not known */
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

/* Subtracts the straggler's excess, if it is more than chance, in the steps that it held back:
 * balancing does not remove it. */
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

/* Fills logs[] with the logarithm of the work minus the mean of the step; NAN: not known. */
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

/* Fills shares[] with the work / the usual work of the rank; -1: not known. Returns 0 or
 * -ENOMEM. */
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
        pw_varying_usual(levels, nranks, (struct pw_varying_roles){h->role_of, h->nroles}, usual,
                         scratch);
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
                             const struct pw_roles *roles,
                             const struct pw_whatif_stragglers *stragglers)
{
    const struct pw_replay_graph *g = &graph->replay;
    const size_t cells = g->nsteps * g->nranks;
    if (!out->is_varying)
        return 0;
    int64_t *all = malloc(sizeof(*all) * (cells * PW_PHASES + 1));
    double *shares = malloc(sizeof(*shares) * (cells + 1));
    double *factors = malloc(sizeof(*factors) * (g->nranks + 1));
    struct sharing h = {.graph = g, .rows = stragglers->rows, .varying = out->varying};
    h.work = malloc(sizeof(*h.work) * (cells + 1));
    h.role_of = roles->nroles ? roles->role_of : NULL;
    h.nroles = roles->nroles ? roles->nroles : 1;
    int err = all && shares && factors && h.work ? 0 : -ENOMEM, is_varying = 0;
    if (!err) {
        /* The graph's work has no transfers, so it gives the noise more exactly. */
        const struct pw_varying_input in = {g->nsteps, g->nranks, all};
        struct pw_varying better;
        pw_replay_sum_works(g, all);
        err = find(&in, &better, &is_varying);
        if (is_varying && better.phases == out->varying.phases)
            h.varying = better;
    }
    if (!err) {
        fill_work(&h, all);
        for (size_t i = 0; i < stragglers->n && i < MOST_STRAGGLERS; i++)
            take_excess_out(&h, &stragglers->found[i]);
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
