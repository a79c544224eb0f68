/* Computes counts and means of the tables of a cluster; see figures.h. Sums are of type double, so
 * that a damaged file cannot overflow an integer. */
#include "analysis/figures/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/figures/cellmeans.h"
#include "analysis/statistics.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t add_known(int64_t sum, int64_t value)
{
    return value < 0 ? sum : sum > INT64_MAX - value ? INT64_MAX : sum + value;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int find_clock_error(struct pw_figures *f)
{
    size_t known = 0, unknown = 0;
    int64_t *errors = malloc((f->nranks + 1) * sizeof(*errors));
    if (!errors)
        return -ENOMEM;
    for (size_t r = 0; r < f->nranks; r++)
        if (f->cluster->ranks[r].clock_error_ns >= 0)
            errors[known++] = f->cluster->ranks[r].clock_error_ns;
        else
            unknown += f->cluster->ranks[r].present != 0;
    qsort(errors, known, sizeof(*errors), compare_times);
    f->clock_error_median_ns = known ? errors[known / 2] : -1;
    f->clock_error_max_ns = larger(f->cluster->clock_error_max_ns, known ? errors[known - 1] : -1);
    if (unknown)
        f->clock_error_max_ns = -1; /* a clock that is not aligned may have any error */
    free(errors);
    return 0;
}

static int64_t count_hosts(const struct pw_cluster *c)
{
    int64_t hosts = 0;
    if (c->nhosts >= 0)
        return c->nhosts;
    for (size_t r = 0; r < c->nrank_rows && r < 4096; r++) {
        size_t first = 0;
        while (strncmp(c->ranks[first].hostname, c->ranks[r].hostname, sizeof(pw_type_S64)) != 0)
            first++;
        hosts += first == r;
    }
    return hosts;
}

static void sum_ranks(struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    f->expected = larger(c->nranks, (int64_t)c->nrank_rows);
    f->nhosts = count_hosts(c);
    f->run_ns = -1;
    for (size_t r = 0; r < f->nranks; r++) {
        const struct pw_row_c_rank *rank = &c->ranks[r];
        f->present += rank->present != 0;
        f->unclosed += rank->present && rank->complete != 1 && f->cluster->snapshot <= 0;
        f->failed += rank->present && (rank->exit_code > 0 || rank->exit_signal > 0);
        f->events = add_known(f->events, rank->events);
        f->dropped_events = add_known(f->dropped_events, rank->dropped_events);
        f->run_ns = larger(f->run_ns, rank->run_ns);
        if (rank->overhead_ns >= 0 && rank->run_ns > 0) {
            f->overhead_ns = add_known(f->overhead_ns, rank->overhead_ns);
            f->overhead_of_ns = add_known(f->overhead_of_ns, rank->run_ns);
        }
    }
    int64_t start = c->start_unix_ns, end = c->end_unix_ns;
    if (f->run_ns <= 0)
        f->run_ns = start > 0 && end > start ? end - start : -1;
}

static void sum_steps(struct pw_figures *f)
{
    struct pw_mean duration = {0};
    f->step_min_ns = f->step_max_ns = f->first_step = f->last_step = -1;
    for (size_t s = 0; s < f->cluster->nstep_rows; s++) {
        const struct pw_row_c_step *step = &f->cluster->steps[s];
        if (step->recorded != PW_RECORDED_ACTIVE) {
            f->warmup++;
            continue;
        }
        f->first_step = f->measured ? f->first_step : step->step;
        f->last_step = step->step;
        f->measured++;
        pw_mean_add(&duration, step->duration_ns);
        f->step_max_ns = larger(f->step_max_ns, step->duration_ns);
        if (step->duration_ns >= 0 && (f->step_min_ns < 0 || step->duration_ns < f->step_min_ns))
            f->step_min_ns = step->duration_ns;
    }
    f->step_mean_ns = pw_mean_value(&duration);
}

/* Writes the mean of each field to a row, in which all fields are int64_t. */
static void put_means(const struct pw_table *info, const struct pw_mean *means, void *row)
{
    for (size_t i = 0; i < info->nfields; i++) {
        const int64_t value = pw_mean_value(&means[i]);
        memcpy((char *)row + info->fields()[i].offset, &value, sizeof(value));
    }
}

/* Computes the means of every field (all are int64_t) of a table by step and rank over the measured
 * steps: out[] for each rank, *all over all ranks. Returns the sums, by rank and field, which the
 * caller frees; NULL when memory is short. */
static struct pw_mean *mean_cells(const struct pw_figures *f, const struct pw_cells *cells,
                                  void *out, void *all)
{
    const struct pw_table *info = pw_table_borrow(cells->table);
    const size_t n = info->nfields;
    struct pw_mean *means = calloc((f->nranks + 1) * n, sizeof(*means));
    if (!means)
        return NULL;
    for (size_t i = 0; i < n && pw_cells_is_known(cells); i++)
        pw_cellmeans_of_ranks(cells, info->fields()[i].offset, f->cluster->steps, &means[i], n);
    struct pw_mean *total = &means[f->nranks * n];
    for (size_t r = 0; r < f->nranks; r++) {
        put_means(info, &means[r * n], (char *)out + r * info->row_size);
        for (size_t i = 0; i < n; i++) {
            total[i].sum += means[r * n + i].sum;
            total[i].count += means[r * n + i].count;
        }
    }
    put_means(info, total, all);
    return means;
}

/* The row of struct pw_row_c_rank_mean has these two one after the other. */
static void take_mean(const struct pw_row_c_rank_mean *row, struct pw_row_c_step_trace *trace,
                      struct pw_row_c_phase_trace *phases)
{
    const char *values = (const char *)row;
    memcpy(trace, values + offsetof(struct pw_row_c_rank_mean, interval_ns), sizeof(*trace));
    memcpy(phases, values + offsetof(struct pw_row_c_rank_mean, data_ns), sizeof(*phases));
}

/* Takes the means from the cluster file. Returns 0 when it lacks them, as older files do. */
static int take_means(struct pw_figures *f)
{
    const struct pw_row_c_rank_mean *rows = f->cluster->rank_means;
    if (!pw_figures_has_means(f->cluster))
        return 0;
    for (size_t r = 0; r < f->nranks; r++) {
        take_mean(&rows[r], &f->trace[r], &f->phases[r]);
        f->samples[r] = rows[r].steps;
    }
    take_mean(&rows[f->nranks], &f->trace_mean, &f->phase_mean);
    return 1;
}

/* Sets the means of ranks, and the numbers of steps whose total time is known. 0 or -ENOMEM. */
static int mean_ranks(struct pw_figures *f)
{
    const struct pw_table *info = pw_table_borrow(PW_TABLE_c_step_trace);
    const struct pw_cluster *c = f->cluster;
    struct pw_mean *trace = mean_cells(f, &c->step_trace, f->trace, &f->trace_mean);
    struct pw_mean *phases = mean_cells(f, &c->phase_trace, f->phases, &f->phase_mean);
    size_t total = 0;
    while (info->fields()[total].offset != offsetof(struct pw_row_c_step_trace, total_ns))
        total++;
    for (size_t r = 0; trace && r < f->nranks; r++)
        f->samples[r] = trace[r * info->nfields + total].count;
    const int err = trace && phases ? 0 : -ENOMEM;
    free(trace);
    free(phases);
    return err;
}

static void find_shares(struct pw_figures *f)
{
    f->wait_share = pw_figures_share(f->trace_mean.wait_ns, f->trace_mean.total_ns);
    f->data_wait_share = pw_figures_share(f->trace_mean.data_wait_ns, f->trace_mean.total_ns);
}

/* Makes waits unknown when no communication was recorded: then the merge found none, but there may
 * have been some. */
static void forget_waits(struct pw_figures *f)
{
    struct pw_unrecorded_sum sum;
    pw_unrecorded_sum(f->cluster, &sum);
    f->is_silent = sum.is_silent;
    f->has_silent_ranks = sum.is_silent || sum.silent_ranks > 0;
    if (!f->has_silent_ranks)
        return;
    f->trace_mean.wait_ns = f->trace_mean.comm_ns = f->trace_mean.comm_exposed_ns = -1;
    for (size_t r = 0; r < f->nranks; r++) {
        struct pw_row_c_step_trace *mean = &f->trace[r];
        if (sum.is_silent || pw_unrecorded_is_silent(f->cluster, f->cluster->ranks[r].rank))
            mean->wait_ns = mean->comm_ns = mean->comm_exposed_ns = -1;
    }
}

const struct pw_row_c_efficiency *pw_figures_efficiency(const struct pw_figures *f)
{
    return f->cluster->nefficiency && !f->has_silent_ranks ? &f->cluster->efficiency[0] : NULL;
}

int pw_figures_has_means(const struct pw_cluster *cluster)
{
    const size_t n = cluster->nrank_rows;
    return cluster->nrank_means == n + 1 && cluster->rank_means[n].rank < 0;
}

int pw_figures_create(const struct pw_cluster *cluster, struct pw_figures **out)
{
    struct pw_figures *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->cluster = cluster;
    f->nranks = cluster->nrank_rows;
    f->trace = calloc(f->nranks + 1, sizeof(*f->trace));
    f->phases = calloc(f->nranks + 1, sizeof(*f->phases));
    f->samples = calloc(f->nranks + 1, sizeof(*f->samples));
    if (!f->trace || !f->phases || !f->samples || find_clock_error(f)) {
        pw_figures_destroy(f);
        return -ENOMEM;
    }
    sum_ranks(f);
    sum_steps(f);
    if (!take_means(f) && mean_ranks(f)) {
        pw_figures_destroy(f);
        return -ENOMEM;
    }
    forget_waits(f);
    find_shares(f);
    *out = f;
    return 0;
}

void pw_figures_destroy(struct pw_figures *figures)
{
    if (!figures)
        return;
    free(figures->trace);
    free(figures->phases);
    free(figures->samples);
    free(figures);
}

void pw_figures_mean_ranks(const struct pw_figures *figures, size_t step,
                           struct pw_row_c_step_trace *mean)
{
    const struct pw_table *info = pw_table_borrow(PW_TABLE_c_step_trace);
    for (size_t i = 0; i < info->nfields; i++) {
        size_t offset = info->fields()[i].offset;
        struct pw_mean sum = {0};
        if (figures->nranks)
            pw_cellmeans_of_steps(&figures->cluster->step_trace, offset, step, 1, &sum);
        const int64_t value = pw_mean_value(&sum);
        memcpy((char *)mean + offset, &value, sizeof(value));
    }
}

double pw_figures_share(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? -1 : (double)part / (double)whole;
}

int pw_figures_is_lossy(const struct pw_figures *figures, size_t row)
{
    const struct pw_row_c_rank *rank = &figures->cluster->ranks[row];
    return !rank->present || rank->complete != 1 || rank->dropped_events > 0;
}

int64_t pw_figures_row(const struct pw_figures *figures, int64_t rank)
{
    const struct pw_row_c_rank *ranks = figures->cluster->ranks;
    for (size_t r = 0; r < figures->nranks; r++)
        if (ranks[r].rank == rank)
            return (int64_t)r;
    return -1;
}

struct pw_advice_input pw_figures_advice(const struct pw_figures *figures)
{
    struct pw_advice_input input = {
        .cluster = figures->cluster,
        .trace = figures->trace,
        .mean = figures->trace_mean,
    };
    pw_advice_prepare(&input);
    return input;
}

int pw_figures_is_unresolved(const struct pw_figures *figures, int64_t ns)
{
    return ns > 0 && ns < figures->clock_error_max_ns;
}

struct keyed {
    double key;
    size_t row;
};

/* Sorts by key, largest first; equal ones in file order. */
static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static double p2p_key(const struct pw_figures *f, size_t row)
{
    return (double)f->cluster->p2p[row].bytes;
}

static double collective_key(const struct pw_figures *f, size_t row)
{
    const struct pw_row_c_collective_stat *stat = &f->cluster->collective_stats[row];
    return (double)stat->count * ((double)stat->wait_mean_ns + (double)stat->transfer_mean_ns);
}

static double rank_key(const struct pw_figures *f, size_t row)
{
    return (double)f->trace[row].own_ns;
}

int pw_figures_order(const struct pw_figures *f, size_t count, pw_figures_key *key,
                     size_t **ordered)
{
    struct keyed *rows = malloc((count + 1) * sizeof(*rows));
    size_t *out = malloc((count + 1) * sizeof(*out));
    if (!rows || !out) {
        free(rows);
        free(out);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct keyed){key(f, i), i};
    qsort(rows, count, sizeof(*rows), compare_keyed);
    for (size_t i = 0; i < count; i++)
        out[i] = rows[i].row;
    free(rows);
    *ordered = out;
    return 0;
}

int pw_figures_order_p2p(const struct pw_figures *figures, size_t **ordered)
{
    return pw_figures_order(figures, figures->cluster->np2p, p2p_key, ordered);
}

int pw_figures_order_collectives(const struct pw_figures *figures, size_t **ordered)
{
    return pw_figures_order(figures, figures->cluster->ncollective_stats, collective_key, ordered);
}

double pw_figures_hccl_slowness(const struct pw_figures *f, size_t row)
{
    const struct pw_row_c_hccl_link *link = &f->cluster->hccl_links[row];
    return link->bandwidth > 0 && link->usual_bandwidth > 0
               ? link->usual_bandwidth / link->bandwidth
               : -1;
}

int pw_figures_order_hccl_links(const struct pw_figures *figures, size_t **ordered)
{
    return pw_figures_order(figures, figures->cluster->nhccl_links, pw_figures_hccl_slowness,
                            ordered);
}

int pw_figures_order_ranks(const struct pw_figures *figures, size_t **ordered)
{
    return pw_figures_order(figures, figures->nranks, rank_key, ordered);
}
