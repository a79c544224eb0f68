/* Describes work that differs by design, and what sharing it out evenly would be; see imbalance.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/imbalancework.h"
#include "analysis/statistics.h"
#include "core/sentence.h"

#define LEAST_MORE 1.05 /* times the usual amount */
#define LEAST_PEAK 1.01 /* times the mean of the step, of what is no guess */

/* What a rank has more than the mean of the step's amounts. */
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

/* ---- what is told ---- */

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

/* "0-3, 8 and 5 more", of the ranks that are marked. */
static void list_ranks(const uint8_t *marked, size_t nranks, char out[64])
{
    enum { ROOM = 34 }; /* for the last runs, and how many are left */
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
                 f->job->ranks[first].hostname);
}

/* Medians over the steps of the rank's amount and work. */
static int64_t usual(struct pw_imbalance_work *f, const int64_t *series, size_t rank)
{
    size_t n = 0;
    for (size_t s = 0; s < f->m->nsteps; s++)
        if (series[s * f->m->nranks + rank] >= 0)
            f->scratch[n++] = series[s * f->m->nranks + rank];
    return n ? pw_median_i64(f->scratch, n) : -1;
}

/* Of the ranks that are not marked; `marked` NULL: of all. */
static int64_t median_of_ranks(struct pw_imbalance_work *f, const int64_t *of_rank,
                               const uint8_t *marked)
{
    size_t n = 0;
    for (size_t r = 0; r < f->m->nranks; r++)
        if (of_rank[r] >= 0 && !(marked && marked[r]))
            f->scratch[n++] = of_rank[r];
    return n ? pw_median_i64(f->scratch, n) : -1;
}

/* Most of a step's amount over their mean, as a mean over the steps. */
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

/* The ranks that always have more than the others; where the most is another rank's in each step,
 * none. */
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
        marked[r] = (double)amount_of[r] >= LEAST_MORE * (double)amount;
        n += marked[r];
    }
    const double peak = usual_peak(f);
    const int64_t work = median_of_ranks(f, work_of, marked);
    if (!n && peak < (f->amount.is_guessed ? LEAST_MORE : LEAST_PEAK))
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
    /* A role with less is told where none has more than the median rank. */
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
