/* Sums up /samples/flops by step and rank; see flops.h and the formulas in docs/metrics.md. */
#include "aggregate/findings/flops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/cursor.h"
#include "aggregate/input/missing.h"
#include "analysis/gpu.h"
#include "core/limits.h"
#include "core/sort.h"

struct pass {
    struct pw_job *job;
    const struct pw_share *share;
    const struct pw_flops_given *given;
    double *cells;               /* [nsteps] FLOPs of the rank that is being read; -1: not known */
    double *flops, *nranks;      /* [nsteps] sums over ranks */
    struct pw_row_c_flops *rows; /* of this process's ranks */
    size_t nrows;
};

static void clear(struct pass *p)
{
    for (size_t s = 0; s < p->job->world.nsteps; s++)
        p->cells[s] = -1;
}

/* Sets the FLOPs from the merge's option in each step that the rank ran. */
static void give(struct pass *p, const struct pw_input *input)
{
    for (size_t i = 0; i < input->nsteps; i++) {
        const ptrdiff_t s = pw_world_step_index(&p->job->world, input->steps[i].step);
        if (s >= 0)
            p->cells[s] = p->given->per_step;
    }
}

static void forget_lost(struct pass *p, const struct pw_input *input)
{
    struct pw_spans lost = {0};
    pw_lost_find(input, 1U << PW_LOST_RANGE | 1U << PW_LOST_STEP, &lost);
    for (size_t i = 0; i < input->nsteps && lost.n; i++) {
        const ptrdiff_t s = pw_world_step_index(&p->job->world, input->steps[i].step);
        if (s >= 0 && pw_lost_in(&lost, &input->steps[i]))
            p->cells[s] = -1;
    }
    pw_spans_fini(&lost);
}

static int read_said(struct pass *p, const struct pw_input *input)
{
    struct pw_cursor c;
    ptrdiff_t near = -1;
    int err = pw_cursor_at(&c, input, &input->flops_rows, PW_TABLE_flops);
    for (const struct pw_row_flops *row; !err && (row = pw_cursor_next(&c));) {
        const ptrdiff_t step = pw_input_step_near(input, row->time, &near);
        const ptrdiff_t s =
            step < 0 ? -1 : pw_world_step_index(&p->job->world, input->steps[step].step);
        if (s >= 0 && row->flops > 0 && row->flops < PW_MOST_FLOPS)
            p->cells[s] = (p->cells[s] < 0 ? 0 : p->cells[s]) + row->flops;
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

/* The peak FLOP/s of all GPUs that the rank used; without a recorded GPU, the peak that the option
 * gives. */
static double find_peak(const struct pass *p, int64_t rank, struct pw_row_c_flops *row)
{
    double sum = 0;
    for (size_t i = 0; i < p->share->ngpu_devices; i++) {
        const struct pw_row_c_gpu_device *gpu = &p->share->gpu_devices[i];
        if (gpu->rank != rank)
            continue;
        const double peak = p->given->peak > 0
                                ? p->given->peak
                                : pw_peak_flops(gpu->name, gpu->multiprocessors, p->given->type);
        sum = peak < 0 || sum < 0 ? -1 : sum + peak;
        row->gpus++;
    }
    if (row->gpus)
        return sum;
    return p->given->peak > 0 ? p->given->peak : -1;
}

static void add_rank(struct pass *p, const struct pw_input *input)
{
    const size_t column = (size_t)input->rank - p->share->first;
    struct pw_row_c_flops row = {.rank = (int32_t)input->rank};
    struct pw_mfu sum = {0};
    for (size_t s = 0; s < p->job->world.nsteps && column < p->share->count; s++) {
        const int64_t ns = pw_rowpack_value(&p->share->steps, column, s, PW_STEP_MEMBER(total_ns));
        const int64_t before = sum.steps;
        if (p->cells[s] < 0 || p->share->step_recorded[s] != PW_RECORDED_ACTIVE)
            continue;
        pw_mfu_add(&sum, p->cells[s], ns);
        p->flops[s] += sum.steps > before ? p->cells[s] : 0;
        p->nranks[s] += sum.steps > before;
    }
    if (!sum.steps)
        return;
    row.ranks = 1;
    row.steps = sum.steps;
    row.flops = sum.flops;
    row.ns = sum.ns;
    row.flops_per_s = pw_mfu_rate(&sum);
    row.peak_flops = find_peak(p, input->rank, &row);
    row.mfu = pw_mfu_share(row.flops_per_s, row.peak_flops);
    p->rows[p->nrows++] = row;
}

static void read_rank(struct pass *p, const struct pw_input *input)
{
    clear(p);
    if (input->flops_rows.rows) {
        if (read_said(p, input))
            pw_job_note(p->job, input->rank, "damaged", 1,
                        "its numbers of FLOPs cannot be read to the end");
        forget_lost(p, input);
    } else if (p->given->per_step > 0) {
        give(p, input);
    }
    add_rank(p, input);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_flops *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The row of all ranks. Its peak is the sum over the ranks with FLOPs; it is unknown when that of
 * one rank is. */
static struct pw_row_c_flops sum_up(const struct pw_row_c_flops *rows, size_t n)
{
    struct pw_row_c_flops all = {.rank = -1};
    for (size_t i = 0; i < n; i++) {
        all.ranks++;
        all.steps = rows[i].steps > all.steps ? rows[i].steps : all.steps;
        all.flops += rows[i].flops;
        all.ns = rows[i].ns > all.ns ? rows[i].ns : all.ns;
        all.flops_per_s += rows[i].flops_per_s;
        all.gpus += rows[i].gpus;
        all.peak_flops =
            all.peak_flops < 0 || rows[i].peak_flops < 0 ? -1 : all.peak_flops + rows[i].peak_flops;
    }
    all.mfu = pw_mfu_share(all.flops_per_s, all.peak_flops);
    return all;
}

/* The row of a step. Without the FLOPs of all these ranks it has no share of the peak. */
static struct pw_row_c_step_flops step_row(const struct pass *p, size_t s,
                                           const struct pw_row_c_flops *all)
{
    struct pw_mfu sum = {0};
    pw_mfu_add(&sum, p->flops[s], pw_difference(p->share->step_end[s], p->share->step_start[s]));
    const double rate = pw_mfu_rate(&sum);
    return (struct pw_row_c_step_flops){
        .step = p->job->world.step_numbers[s],
        .ranks = (int32_t)p->nranks[s],
        .flops = p->flops[s],
        .flops_per_s = rate,
        .mfu = p->nranks[s] == all->ranks ? pw_mfu_share(rate, all->peak_flops) : -1,
    };
}

static int make_rows(struct pw_flops *out, const struct pass *p, const struct pw_row_c_flops *rows,
                     size_t n)
{
    out->ranks = calloc(n + 1, sizeof(*out->ranks));
    out->steps = calloc(p->job->world.nsteps + 1, sizeof(*out->steps));
    if (!out->ranks || !out->steps)
        return -ENOMEM;
    out->ranks[0] = sum_up(rows, n);
    memcpy(out->ranks + 1, rows, n * sizeof(*rows));
    out->nranks = n + 1;
    for (size_t i = 0; i < out->nranks; i++)
        snprintf(out->ranks[i].type, sizeof(out->ranks[i].type), "%s", p->given->type);
    for (size_t s = 0; s < p->job->world.nsteps; s++)
        if (p->nranks[s] > 0)
            out->steps[out->nsteps++] = step_row(p, s, &out->ranks[0]);
    return 0;
}

static int gather(struct pw_flops *out, struct pass *p)
{
    void *all;
    const int root = p->job->procs.process == 0, nsteps = (int)p->job->world.nsteps;
    const size_t n = pw_procs_allgather(&p->job->procs, p->rows, p->nrows, sizeof(*p->rows), &all);
    pw_sort(all, n, sizeof(*p->rows), by_rank);
    pw_ex_reduce(root ? PW_EX_IN_PLACE : p->flops, p->flops, nsteps, PW_EX_DOUBLE, PW_EX_SUM, 0,
                 p->job->procs.comm);
    pw_ex_reduce(root ? PW_EX_IN_PLACE : p->nranks, p->nranks, nsteps, PW_EX_DOUBLE, PW_EX_SUM, 0,
                 p->job->procs.comm);
    const int err = root && n ? make_rows(out, p, all, n) : 0;
    free(all);
    return pw_procs_all_ok(&p->job->procs, !err) ? 0 : -ENOMEM;
}

static void release(struct pass *p)
{
    free(p->cells);
    free(p->flops);
    free(p->nranks);
    free(p->rows);
}

int pw_flops_make(struct pw_flops *out, struct pw_job *job, const struct pw_share *share,
                  const struct pw_flops_given *given)
{
    struct pass p = {.job = job,
                     .share = share,
                     .given = given,
                     .cells = malloc(sizeof(double) * (job->world.nsteps + 1)),
                     .flops = calloc(job->world.nsteps + 1, sizeof(double)),
                     .nranks = calloc(job->world.nsteps + 1, sizeof(double)),
                     .rows = calloc(job->ninputs + 1, sizeof(*p.rows))};
    *out = (struct pw_flops){0};
    int err = p.cells && p.flops && p.nranks && p.rows ? 0 : -ENOMEM;
    err = pw_procs_all_ok(&job->procs, !err) ? 0 : -ENOMEM;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        read_rank(&p, &job->inputs[i]);
    err = err ? err : gather(out, &p);
    release(&p);
    return err;
}

void pw_flops_fini(struct pw_flops *flops)
{
    free(flops->ranks);
    free(flops->steps);
    *flops = (struct pw_flops){0};
}
