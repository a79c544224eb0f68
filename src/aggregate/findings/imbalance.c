/* Finds work that differs by design, and subtracts it; see imbalance.h. */
#include "aggregate/findings/imbalance.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/excess.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/sort.h"
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

/* Makes the rows and the changes to replay, after amounts and roles were subtracted. Returns 0 or
 * -ENOMEM. */
static int imbalance_describe(struct pw_imbalance_work *f)
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

/* Finds whether work varies from step to step; uses only `out`, `world` and `m`. Returns 0 or
 * -ENOMEM. */
static int imbalance_find_varying(struct pw_imbalance_work *f)
{
    const struct pw_varying_input in = {f->m->nsteps, f->m->nranks, f->m->phase_ns};
    return find(&in, &f->out->varying, &f->out->is_varying);
}

/* Adds a row about the varying work that was found, when no amounts explain it. */
static void imbalance_describe_varying(struct pw_imbalance_work *f)
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

static size_t cells_of(const struct pw_imbalance_work *f)
{
    return f->m->nsteps * f->m->nranks;
}

/* ---- memory ---- */

static int64_t *copy_of(const int64_t *values, size_t n)
{
    int64_t *copy = malloc(sizeof(*copy) * (n + 1));
    if (copy)
        memcpy(copy, values, sizeof(*copy) * n);
    return copy;
}

static int allocate(struct pw_imbalance_work *f, const struct pw_amounts *amounts)
{
    const size_t cells = cells_of(f), all = f->world->nsteps * f->m->nranks;
    const size_t nroles = f->roles->nroles + 1;
    struct pw_imbalance *out = f->out;
    f->balance.nroles = f->roles->nroles;
    size_t scratch = pw_amount_scratch(f->m->nsteps, f->m->nranks);
    size_t more = pw_balance_scratch(&f->balance);
    f->scratch = malloc(sizeof(*f->scratch) * ((scratch > more ? scratch : more) + 1));
    f->series = malloc(sizeof(*f->series) * (cells + 1));
    f->amounts = malloc(sizeof(*f->amounts) * (cells + 1));
    f->host_of = calloc(f->m->nranks + 1, sizeof(*f->host_of));
    f->found = calloc(nroles, sizeof(*f->found));
    f->other = calloc(nroles, sizeof(*f->other));
    out->adjusted.own_ns = copy_of(f->m->own_ns, cells);
    out->adjusted.useful_ns = copy_of(f->m->useful_ns, cells);
    out->adjusted.phase_ns = copy_of(f->m->phase_ns, cells * PW_PHASES);
    out->rows = calloc(nroles + 1, sizeof(*out->rows));
    out->amounts = calloc(all + 1, sizeof(*out->amounts));
    for (size_t s = 0; f->amounts && s < f->m->nsteps; s++)
        for (size_t r = 0; r < f->m->nranks; r++)
            f->amounts[s * f->m->nranks + r] =
                amounts->amount ? amounts->amount[f->rows[s] * f->m->nranks + r] : -1;
    return f->scratch && f->series && f->amounts && f->host_of && f->found && f->other &&
                   out->adjusted.own_ns && out->adjusted.useful_ns && out->adjusted.phase_ns &&
                   out->rows && out->amounts
               ? 0
               : -ENOMEM;
}

struct placed {
    const char *hostname;
    int32_t rank;
};

static int by_host(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    int order = strncmp(x->hostname, y->hostname, 64);
    return order ? order : x->rank - y->rank;
}

static int number_hosts(struct pw_imbalance_work *f)
{
    size_t n = f->m->nranks;
    struct placed *placed = malloc(sizeof(*placed) * (n + 1));
    int32_t host = 0;
    if (!placed)
        return -ENOMEM;
    for (size_t r = 0; r < n; r++)
        placed[r] = (struct placed){f->world->ranks[r].hostname, (int32_t)r};
    pw_sort(placed, n, sizeof(*placed), by_host);
    for (size_t i = 0; i < n; i++) {
        host += i && strncmp(placed[i].hostname, placed[i - 1].hostname, 64) != 0;
        f->host_of[placed[i].rank] = host;
    }
    free(placed);
    return 0;
}

/* ---- amounts ---- */

static void gather_phase(struct pw_imbalance_work *f, size_t phase)
{
    for (size_t i = 0; i < cells_of(f); i++)
        f->series[i] = f->out->adjusted.phase_ns[i * PW_PHASES + phase];
}

/* Subtracts work that the amounts explain. The cost of a unit is fitted to the work outside
 * communication, and again to each phase, so that a phase whose work does not depend on the amount
 * does not change. */
static void take_amounts_out(struct pw_imbalance_work *f)
{
    struct pw_matrix *a = &f->out->adjusted;
    struct pw_amount_input in = f->amount;
    in.own_ns = f->m->useful_ns;
    f->cost = pw_amount_cost(&in, f->scratch);
    if (f->cost <= 0)
        return;
    pw_amount_take_out(&in, f->cost, a->useful_ns, f->scratch);
    in.is_guessed = 0;
    in.own_ns = f->m->own_ns;
    pw_amount_take_out(&in, f->cost, a->own_ns, f->scratch);
    in.own_ns = f->series;
    for (size_t p = 0; p < PW_PHASES; p++) {
        gather_phase(f, p);
        double cost = pw_amount_cost(&in, f->scratch);
        for (size_t s = 0; cost > 0 && s < f->m->nsteps; s++) {
            int64_t median = pw_amount_of_step(&in, s, f->scratch);
            for (size_t r = 0; r < f->m->nranks; r++) {
                int64_t *value = &a->phase_ns[(s * f->m->nranks + r) * PW_PHASES + p];
                int64_t amount = f->amounts[s * f->m->nranks + r];
                if (*value < 0 || amount < 0)
                    continue;
                *value -= (int64_t)(cost * (double)(amount - median));
                *value = *value < 0 ? 0 : *value;
            }
        }
    }
}

/* ---- roles ---- */

static void keep_unequal(struct pw_imbalance_work *f)
{
    for (size_t k = 0; k < f->roles->nroles; k++)
        if (f->found[k].state == PW_BALANCE_EVEN)
            f->other[k].offset_ns = 0;
        else
            f->other[k].state = f->found[k].state;
}

static void take_roles_out(struct pw_imbalance_work *f)
{
    struct pw_matrix *a = &f->out->adjusted;
    pw_balance_judge(&f->balance, a->useful_ns, 1, f->found, f->scratch);
    pw_balance_take_out(&f->balance, f->found, a->useful_ns, 1);
    pw_balance_judge(&f->balance, a->own_ns, 1, f->other, f->scratch);
    keep_unequal(f);
    pw_balance_take_out(&f->balance, f->other, a->own_ns, 1);
    for (size_t p = 0; p < PW_PHASES; p++) {
        pw_balance_judge(&f->balance, a->phase_ns + p, PW_PHASES, f->other, f->scratch);
        keep_unequal(f);
        pw_balance_take_out(&f->balance, f->other, a->phase_ns + p, PW_PHASES);
    }
}

static int64_t largest_difference(const int64_t *error_ns, size_t n)
{
    int64_t most = 0, second = 0;
    for (size_t r = 0; r < n; r++) {
        if (error_ns[r] < 0)
            return INT64_MAX;
        if (error_ns[r] > most) {
            second = most;
            most = error_ns[r];
        } else if (error_ns[r] > second) {
            second = error_ns[r];
        }
    }
    return most + second;
}

int pw_imbalance_find(struct pw_imbalance *out, const struct pw_measured *of,
                      const struct pw_roles *roles, const struct pw_amounts *amounts,
                      const int64_t *error_ns)
{
    const struct pw_matrix *measured = of->matrix;
    struct pw_imbalance_work f = {
        .out = out, .world = of->world, .m = measured, .rows = of->rows, .roles = roles};
    *out = (struct pw_imbalance){0};
    if (measured->nsteps < PW_EXCESS_LEAST_STEPS || measured->nranks < 2)
        return 0;
    int err = imbalance_find_varying(&f);
    if (err || (!roles->nroles && !amounts->amount && !out->is_varying))
        return err;
    f.balance = (struct pw_balance_input){
        .nsteps = measured->nsteps,
        .nranks = measured->nranks,
        .role_of = roles->role_of,
        .total_ns = measured->total_ns,
        .clock_ns = largest_difference(error_ns, measured->nranks),
        .is_given = roles->is_given,
    };
    f.how = amounts->how;
    err = allocate(&f, amounts);
    err = err ? err : number_hosts(&f);
    f.balance.host_of = f.host_of;
    f.amount = (struct pw_amount_input){
        .nsteps = measured->nsteps,
        .nranks = measured->nranks,
        .amount = f.amounts,
        .is_guessed = amounts->how && strcmp(amounts->how, "messages") == 0,
    };
    if (!err) {
        if (amounts->amount)
            take_amounts_out(&f);
        if (roles->nroles)
            take_roles_out(&f);
        err = imbalance_describe(&f);
        imbalance_describe_varying(&f);
    }
    free(f.host_of);
    free(f.found);
    free(f.other);
    free(f.amounts);
    free(f.series);
    free(f.scratch);
    return err;
}

static int by_gain(const void *a, const void *b)
{
    const struct pw_row_c_imbalance *x = a, *y = b;
    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    if (x->ratio > y->ratio || x->ratio < y->ratio)
        return x->ratio > y->ratio ? -1 : 1;
    return (x->first_rank > y->first_rank) - (x->first_rank < y->first_rank);
}

static int64_t extrapolated(int64_t gain_ns, double times)
{
    const double gain = times * (double)gain_ns;
    return gain <= 0 ? 0 : gain < (double)PW_LIMIT ? (int64_t)gain : PW_LIMIT;
}

void pw_imbalance_price(struct pw_imbalance *imbalance, const struct pw_whatif *whatif,
                        const struct pw_world *world)
{
    const double steps = whatif->nsteps ? (double)world->nsteps / (double)whatif->nsteps : 1;
    for (size_t i = 0; i < imbalance->n; i++) {
        struct pw_row_c_imbalance *row = &imbalance->rows[i];
        const char *scope = strcmp(row->kind, "role") == 0 ? "roles" : "amounts";
        for (size_t k = 0; k < whatif->nrows; k++)
            if (strcmp(whatif->rows[k].scope, scope) == 0)
                row->gain_ns = extrapolated(whatif->rows[k].gain_ns, steps);
    }
    pw_sort(imbalance->rows, imbalance->n, sizeof(*imbalance->rows), by_gain);
}

void pw_imbalance_fini(struct pw_imbalance *imbalance)
{
    pw_matrix_fini(&imbalance->adjusted);
    free(imbalance->rows);
    free(imbalance->amounts);
    free(imbalance->more);
    free(imbalance->is_slow);
    free(imbalance->peers);
    *imbalance = (struct pw_imbalance){0};
}

/* ---- for the replay: how much more work a straggler has than its peers, when work differs by
 * design ---- */

enum { MOST_OTHERS = 64, MOST_PEERS = 32 };

/* The series whose excess is computed: the phases 0 .. PW_PHASES - 1, and then useful time. */
enum { USEFUL = PW_PHASES, NSERIES };

struct peers {
    const struct pw_matrix *m;
    const struct pw_straggler_found *found;
    int64_t *works;            /* [nranks] */
    int64_t *excess;           /* [nsteps] of one rank */
    int64_t *values;           /* [nsteps] */
    struct pw_middle *middles; /* [NSERIES * nsteps] filled as needed; low is INT64_MIN before */
};

static int64_t work_of(const struct pw_matrix *m, size_t series, size_t step, size_t rank)
{
    const size_t cell = step * m->nranks + rank;
    return series == USEFUL ? m->useful_ns[cell] : m->phase_ns[cell * PW_PHASES + series];
}

/* The middle of all ranks' works in a step. */
static const struct pw_middle *middle_of(struct peers *w, size_t series, size_t step)
{
    struct pw_middle *middle = &w->middles[series * w->m->nsteps + step];
    size_t n = 0;
    if (middle->low != INT64_MIN)
        return middle;
    for (size_t r = 0; r < w->m->nranks; r++) {
        w->works[n] = work_of(w->m, series, step, r);
        n += w->works[n] >= 0;
    }
    *middle = pw_middle_of(w->works, n);
    return middle;
}

/* Fills `excess` for the steps inside the straggler's window, or outside of it, and `values` with
 * the known ones of these. Returns how many are known. */
static size_t fill_excess(struct peers *w, size_t series, size_t rank, int inside)
{
    size_t n = 0;
    for (size_t s = 0; s < w->m->nsteps; s++) {
        if ((s >= w->found->first && s <= w->found->last) != inside)
            continue;
        const int64_t mine = work_of(w->m, series, s, rank);
        const int64_t median = mine < 0 ? -1 : pw_middle_without(middle_of(w, series, s), mine);
        w->excess[s] = median < 0 ? 0 : mine - median;
        if (median >= 0)
            w->values[n++] = w->excess[s];
    }
    return n;
}

/* Median of the n `values`; *spread: their median deviation. */
static int64_t imbalance_level_of(struct peers *w, size_t n, int64_t *spread)
{
    const int64_t level = n ? pw_median_i64(w->values, n) : 0;
    for (size_t i = 0; i < n; i++)
        w->values[i] = w->values[i] < level ? level - w->values[i] : w->values[i] - level;
    *spread = n ? pw_median_i64(w->values, n) : 0;
    return level;
}

/* The median spread of the excess of at most MOST_OTHERS other ranks. */
static int64_t usual_spread(struct peers *w)
{
    int64_t spreads[MOST_OTHERS];
    const size_t nranks = w->m->nranks, stride = nranks / MOST_OTHERS + 1;
    size_t n = 0;
    for (size_t r = 0; r < nranks && n < MOST_OTHERS; r += stride)
        if (r != w->found->rank) {
            size_t known = fill_excess(w, USEFUL, r, 1);
            imbalance_level_of(w, known, &spreads[n++]);
        }
    return n ? pw_median_i64(spreads, n) : 0;
}

/* Fills the share of each phase in the excess; all 0: not known. */
static void find_phases(struct peers *w, double shares[PW_PHASES])
{
    double sum = 0, kept = 0;
    for (size_t p = 0; p < PW_PHASES; p++) {
        int64_t spread;
        size_t known = fill_excess(w, p, w->found->rank, 1);
        const int64_t level = imbalance_level_of(w, known, &spread);
        shares[p] = level > 0 && p + PW_PHASE_DATA != PW_PHASE_ALLREDUCE ? (double)level : 0;
        sum += shares[p];
    }
    for (size_t p = 0; p < PW_PHASES; p++) {
        shares[p] = shares[p] < PW_PEER_PHASE * sum ? 0 : shares[p];
        kept += shares[p];
    }
    for (size_t p = 0; p < PW_PHASES && kept > 0; p++)
        shares[p] /= kept;
}

static void find_peer(struct peers *w, const size_t *rows, struct pw_whatif_peer *out)
{
    int64_t spread;
    const int64_t usual = usual_spread(w);
    size_t known = fill_excess(w, USEFUL, w->found->rank, 0);
    const int64_t outside = imbalance_level_of(w, known, &spread);
    const int64_t less = outside < 0 ? outside : 0; /* too much was subtracted before */
    known = fill_excess(w, USEFUL, w->found->rank, 1);
    const int64_t level = imbalance_level_of(w, known, &spread);
    const int is_constant = (double)spread <= PW_PEER_SPREAD * (double)usual;
    for (size_t s = w->found->first; s <= w->found->last; s++)
        out->more_ns[rows[s]] = (float)((is_constant ? level : w->excess[s]) - less);
    find_phases(w, out->phases);
}

/* Marks the stragglers whose role has other ranks. Returns 0 or -ENOMEM. */
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

int pw_imbalance_find_peers(struct pw_imbalance *out, const struct pw_measured *measured,
                            const struct pw_straggler_found *found, size_t n)
{
    const size_t nsteps = measured->world->nsteps;
    const struct pw_matrix *m = out->adjusted.nsteps ? &out->adjusted : measured->matrix;
    struct peers w = {.m = m};
    if ((!out->adjusted.nsteps && !out->is_varying) || !n)
        return 0;
    n = n < MOST_PEERS ? n : MOST_PEERS;
    w.works = malloc(sizeof(int64_t) * (m->nranks + 1));
    w.excess = malloc(sizeof(int64_t) * (m->nsteps + 1));
    w.values = malloc(sizeof(int64_t) * (m->nsteps + 1));
    w.middles = malloc(sizeof(*w.middles) * (m->nsteps * NSERIES + 1));
    out->peers = calloc(n + 1, sizeof(*out->peers));
    out->more = calloc(n * nsteps + 1, sizeof(*out->more));
    const int ok = w.works && w.excess && w.values && w.middles && out->peers && out->more;
    for (size_t i = 0; ok && i < m->nsteps * NSERIES; i++)
        w.middles[i].low = INT64_MIN;
    for (size_t i = 0; i < n && ok; i++) {
        w.found = &found[i];
        out->peers[i].more_ns = out->more + i * nsteps;
        find_peer(&w, measured->rows, &out->peers[i]);
    }
    out->changes.peers = ok ? out->peers : NULL;
    out->changes.npeers = ok ? n : 0;
    free(w.works);
    free(w.excess);
    free(w.values);
    free(w.middles);
    return ok ? mark_slow(out, m->nranks, found, n) : -ENOMEM;
}
