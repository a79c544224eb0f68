/* Sums up msprof-analyze's steps by rank, and finds who computes longest; see msprof.h. */
#include "analysis/figures/msprof.h"

#include <errno.h>
#include <stdlib.h>

#include "core/limits.h"
#include "core/sort.h"

static int by_step(const void *a, const void *b)
{
    const struct pw_row_c_msprof_step *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_msprof_step *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : by_step(a, b);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_share(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_computing(const void *a, const void *b)
{
    const struct pw_msprof_rank *x = a, *y = b;
    const int64_t p = x->mean_ns[PW_MSPROF_COMPUTING], q = y->mean_ns[PW_MSPROF_COMPUTING];
    return p != q ? (p > q ? -1 : 1) : (x->rank > y->rank) - (x->rank < y->rank);
}

static void parts_of(const struct pw_row_c_msprof_step *row, int64_t out[PW_MSPROF_PARTS])
{
    const int64_t parts[PW_MSPROF_PARTS] = {
        row->computing_ns, row->comm_ns,  row->exposed_ns, row->overlapped_ns,
        row->free_ns,      row->stage_ns, row->bubble_ns,  row->exposed_no_receive_ns,
        row->preparing_ns};
    for (int i = 0; i < PW_MSPROF_PARTS; i++)
        out[i] = pw_is_possible(parts[i]) && parts[i] >= 0 ? parts[i] : -1;
}

/* ---- ranks ---- */

/* `rows` are sorted by rank. */
static void sum_ranks(const struct pw_row_c_msprof_step *rows, size_t n, struct pw_msprof *out)
{
    int64_t counts[PW_MSPROF_PARTS] = {0}, parts[PW_MSPROF_PARTS];
    for (size_t i = 0; i < n; i++) {
        struct pw_msprof_rank *r = out->nranks ? &out->ranks[out->nranks - 1] : NULL;
        if (!r || r->rank != rows[i].rank) {
            r = &out->ranks[out->nranks++];
            *r = (struct pw_msprof_rank){.rank = rows[i].rank};
            for (int p = 0; p < PW_MSPROF_PARTS; p++)
                r->mean_ns[p] = counts[p] = 0;
        }
        r->steps++;
        parts_of(&rows[i], parts);
        for (int p = 0; p < PW_MSPROF_PARTS; p++)
            if (parts[p] >= 0) {
                counts[p]++;
                r->mean_ns[p] = pw_sum(r->mean_ns[p], parts[p]);
                out->has_bubbles |= p == PW_MSPROF_BUBBLE && parts[p] > 0;
            }
        if (i + 1 == n || rows[i + 1].rank != r->rank)
            for (int p = 0; p < PW_MSPROF_PARTS; p++)
                r->mean_ns[p] = counts[p] ? r->mean_ns[p] / counts[p] : -1;
    }
}

/* ---- steps ---- */

/* The rank that computes longest in the n rows of a step. `times` has room for them. */
static void find_longest(const struct pw_row_c_msprof_step *rows, size_t n, int64_t *times,
                         struct pw_msprof *out)
{
    const struct pw_row_c_msprof_step *longest = NULL;
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (pw_is_possible(rows[i].computing_ns) && rows[i].computing_ns >= 0 &&
            (!longest || rows[i].computing_ns > longest->computing_ns))
            longest = &rows[i];
    for (size_t i = 0; i < n; i++)
        if (&rows[i] != longest && pw_is_possible(rows[i].computing_ns) &&
            rows[i].computing_ns >= 0)
            times[others++] = rows[i].computing_ns;
    if (!others)
        return;
    pw_sort(times, others, sizeof(*times), by_value);
    const int64_t low = times[(others - 1) / 2], high = times[others / 2];
    out->steps[out->nsteps++] = (struct pw_msprof_longest){
        .step = rows[0].step,
        .rank = longest->rank,
        .computing_ns = longest->computing_ns,
        .others_ns = low + (high - low) / 2,
        .nranks = (int64_t)others + 1,
    };
}

static void find_steps(const struct pw_row_c_msprof_step *rows, size_t n, int64_t *times,
                       struct pw_msprof *out)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && rows[end].step == rows[i].step; end++)
            ;
        find_longest(rows + i, end - i, times, out);
    }
}

static void find_rank(struct pw_msprof *m, double *shares)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nsteps; i++)
        for (size_t r = 0; r < m->nranks; r++)
            m->ranks[r].longest += m->ranks[r].rank == m->steps[i].rank;
    m->rank = -1;
    for (size_t r = 0; r < m->nranks; r++)
        if (m->ranks[r].longest > m->hits) {
            m->hits = m->ranks[r].longest;
            m->rank = m->ranks[r].rank;
        }
    for (size_t i = 0; i < m->nsteps; i++) {
        const struct pw_msprof_longest *s = &m->steps[i];
        if (s->rank == m->rank && s->others_ns > 0)
            shares[n++] = (double)s->computing_ns / (double)s->others_ns - 1;
    }
    pw_sort(shares, n, sizeof(*shares), by_share);
    m->excess = n ? (shares[(n - 1) / 2] + shares[n / 2]) / 2 : -1;
}

int pw_msprof_make(const struct pw_cluster *cluster, struct pw_msprof *out)
{
    const size_t n = cluster->nmsprof_steps;
    struct pw_row_c_msprof_step *rows = malloc((n + 1) * sizeof(*rows));
    int64_t *times = malloc((n + 1) * sizeof(*times));
    double *shares = malloc((n + 1) * sizeof(*shares));
    *out = (struct pw_msprof){.rank = -1, .excess = -1};
    out->ranks = calloc(n + 1, sizeof(*out->ranks));
    out->steps = calloc(n + 1, sizeof(*out->steps));
    const int ok = rows && times && shares && out->ranks && out->steps;
    for (size_t i = 0; ok && i < n; i++)
        rows[i] = cluster->msprof_steps[i];
    if (ok) {
        pw_sort(rows, n, sizeof(*rows), by_rank);
        sum_ranks(rows, n, out);
        pw_sort(rows, n, sizeof(*rows), by_step);
        find_steps(rows, n, times, out);
        pw_sort(out->ranks, out->nranks, sizeof(*out->ranks), by_computing);
        find_rank(out, shares);
    } else {
        pw_msprof_fini(out);
    }
    free(rows);
    free(times);
    free(shares);
    return ok ? 0 : -ENOMEM;
}

void pw_msprof_fini(struct pw_msprof *msprof)
{
    free(msprof->ranks);
    free(msprof->steps);
    *msprof = (struct pw_msprof){.rank = -1};
}
