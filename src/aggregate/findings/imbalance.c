/* Finds work that differs by design, and subtracts it; see imbalance.h. */
#include "aggregate/findings/imbalance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/excess.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/sort.h"

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
    int err = pw_imbalance_find_varying(&f);
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
        err = pw_imbalance_describe(&f);
        pw_imbalance_describe_varying(&f);
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
static int64_t level_of(struct peers *w, size_t n, int64_t *spread)
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
            level_of(w, known, &spreads[n++]);
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
        const int64_t level = level_of(w, known, &spread);
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
    const int64_t outside = level_of(w, known, &spread);
    const int64_t less = outside < 0 ? outside : 0; /* too much was subtracted before */
    known = fill_excess(w, USEFUL, w->found->rank, 1);
    const int64_t level = level_of(w, known, &spread);
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
