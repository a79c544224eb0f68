/* Parses the list of steps, then moves the rows that are kept to the front of their tables; see
 * restrict.h. */
#include "analysis/figures/restrict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collectives.h"
#include "core/sort.h"

enum { MOST_SPANS = 256, MOST_DIGITS = 18 };

struct spans {
    size_t n;
    struct {
        int64_t first, last;
    } v[MOST_SPANS];
};

/* Reads a whole number and moves *at past it. Returns -1 when there is none. */
static int64_t read_step(const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    int64_t step = digits > 0 && digits <= MOST_DIGITS ? strtoll(*at, NULL, 10) : -1;
    *at += digits;
    return step;
}

static bool read_spans(const char *text, struct spans *spans)
{
    for (spans->n = 0; spans->n < MOST_SPANS; text++) {
        int64_t first = read_step(&text), last = first;
        if (*text == '-') {
            text++;
            last = read_step(&text);
        }
        if (first < 0 || last < first || (*text && *text != ','))
            return false;
        spans->v[spans->n].first = first;
        spans->v[spans->n++].last = last;
        if (!*text)
            return true;
    }
    return false;
}

static bool has_step(const struct spans *spans, int64_t step)
{
    for (size_t i = 0; i < spans->n; i++)
        if (step >= spans->v[i].first && step <= spans->v[i].last)
            return true;
    return false;
}

static bool meets(const struct spans *spans, int64_t first, int64_t last)
{
    for (size_t i = 0; i < spans->n; i++)
        if (first <= spans->v[i].last && last >= spans->v[i].first)
            return true;
    return false;
}

/* Returns 0 or -ENOMEM. */
static int keep_steps(struct pw_cluster *c, const struct spans *spans)
{
    size_t kept = 0, *rows = malloc((c->nstep_rows + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (has_step(spans, c->steps[s].step)) {
            c->steps[kept] = c->steps[s];
            rows[kept++] = s;
        }
    int err = pw_cells_keep_steps(&c->step_trace, rows, kept);
    err = err ? err : pw_cells_keep_steps(&c->phase_trace, rows, kept);
    err = err ? err : pw_cells_keep_steps(&c->gpu_trace, rows, kept);
    free(rows);
    c->nstep_rows = kept;
    c->nsteps = (int64_t)kept;
    c->nrank_means = 0; /* they are of all steps */
    return err;
}

static void keep_collectives(struct pw_cluster *c, const struct spans *spans)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->ncollectives; i++)
        if (c->collectives[i].step >= 0 && has_step(spans, c->collectives[i].step))
            c->collectives[kept++] = c->collectives[i];
    c->ncollectives = kept;
}

static void keep_stragglers(struct pw_cluster *c, const struct spans *spans)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->nstragglers; i++)
        if (meets(spans, c->stragglers[i].first_step, c->stragglers[i].last_step))
            c->stragglers[kept++] = c->stragglers[i];
    c->nstragglers = kept;
}

static void keep_trends(struct pw_cluster *c, const struct spans *spans)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->ntrends; i++)
        if (meets(spans, c->trends[i].first_step, c->trends[i].last_step))
            c->trends[kept++] = c->trends[i];
    c->ntrends = kept;
}

static void keep_network(struct pw_cluster *c, const struct spans *spans)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->nnetwork; i++)
        if (meets(spans, c->network[i].first_step, c->network[i].last_step))
            c->network[kept++] = c->network[i];
    c->nnetwork = kept;
}

/* ---- sums over collectives ---- */

static int by_group(const void *a, const void *b)
{
    const struct pw_row_c_collective *x = a, *y = b;
    int64_t size_x = pw_size_class(x->bytes), size_y = pw_size_class(y->bytes);
    if (x->comm_uid != y->comm_uid)
        return x->comm_uid < y->comm_uid ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (size_x != size_y)
        return size_x < size_y ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

static struct pw_row_c_collective row_at(const void *context, size_t i)
{
    return ((const struct pw_row_c_collective *)context)[i];
}

/* Lists the complete collectives, sorted by group. Returns how many. */
static size_t list_complete(const struct pw_cluster *c, struct pw_row_c_collective *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < c->ncollectives; i++)
        if (c->collectives[i].complete && c->collectives[i].nranks > 0)
            rows[n++] = c->collectives[i];
    pw_sort(rows, n, sizeof(*rows), by_group);
    return n;
}

static int sum_up_collectives(struct pw_cluster *c)
{
    struct pw_row_c_collective *rows = malloc(sizeof(*rows) * (c->ncollectives + 1));
    struct pw_row_c_collective_stat *stats = malloc(sizeof(*stats) * (c->ncollectives + 1));
    void *values = malloc(sizeof(int64_t) * (c->ncollectives + 1));
    size_t groups = 0, n = rows ? list_complete(c, rows) : 0;
    int err = rows && stats && values ? 0 : -ENOMEM;
    for (size_t at = 0, end; !err && at < n; at = end) {
        for (end = at + 1; end < n && by_group(&rows[at], &rows[end]) == 0;)
            end++;
        const struct pw_collective_group group = {row_at, rows + at, end - at, values};
        stats[groups++] = pw_collectives_sum_up(&group);
    }
    free(rows);
    free(values);
    if (err) {
        free(stats);
        return err;
    }
    pw_sort(stats, groups, sizeof(*stats), pw_collectives_by_wait);
    free(c->collective_stats);
    c->collective_stats = stats;
    c->ncollective_stats = groups;
    return 0;
}

static bool has_any_step(const struct pw_cluster *c, const struct spans *spans)
{
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (has_step(spans, c->steps[s].step))
            return true;
    return false;
}

static int refuse_steps(const struct pw_cluster *c, const char *steps, char *problem, size_t size)
{
    if (c->nstep_rows == 0)
        snprintf(problem, size,
                 "--steps is '%.64s', but the run has no steps that are known: leave it out",
                 steps);
    else
        snprintf(problem, size,
                 "--steps is '%.64s', but the run has none of them: its steps are %" PRId64
                 " to %" PRId64,
                 steps, c->steps[0].step, c->steps[c->nstep_rows - 1].step);
    return -EINVAL;
}

int pw_cluster_restrict(struct pw_cluster *c, const char *steps, char *problem, size_t size)
{
    static struct spans spans;
    if (!read_spans(steps, &spans)) {
        snprintf(problem, size, "--steps is '%.64s', but takes A-B or A-B,C-D", steps);
        return -EINVAL;
    }
    if (!has_any_step(c, &spans))
        return refuse_steps(c, steps, problem, size);
    if (keep_steps(c, &spans))
        return -ENOMEM;
    keep_collectives(c, &spans);
    keep_stragglers(c, &spans);
    keep_trends(c, &spans);
    keep_network(c, &spans);
    snprintf(c->restricted_to, sizeof(c->restricted_to), "%s", steps);
    return sum_up_collectives(c);
}
