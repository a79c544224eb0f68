/* Runs the second pass rank by rank, and gathers its columns on process 0 step by step; see
 * matrix.h. */
#include "aggregate/secondpass/matrix.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/operators/opread.h"
#include "aggregate/secondpass/gputrace.h"

/* Chooses the ranks of this process's columns: from its first rank with a file up to the first of
 * the next process. Process 0 begins with rank 0. So every rank without a file is in the columns of
 * one process. */
static void choose_columns(struct pw_share *share, const struct pw_job *job)
{
    int64_t mine = job->ninputs ? job->inputs[0].rank : -1;
    int64_t *first = malloc(sizeof(*first) * (size_t)job->procs.processes);
    pw_ex_allgather(&mine, 1, PW_EX_INT64_T, first, 1, PW_EX_INT64_T, job->procs.comm);
    int64_t next = job->world.nranks;
    for (int p = job->procs.processes - 1; p >= 0; p--) {
        int64_t begin = p == 0 ? 0 : first[p] < 0 || first[p] > next ? next : first[p];
        if (p == job->procs.process) {
            share->first = (size_t)begin;
            share->count = (size_t)(next - begin);
        }
        next = begin;
    }
    free(first);
}

/* Allocates the grids of GPU time if any rank has GPU rows. Collective. Returns 0 or -ENOMEM. */
static int allocate_gpu(struct pw_share *share, const struct pw_job *job)
{
    size_t cells = job->world.nsteps * share->count;
    int some = 0, any;
    for (size_t i = 0; i < job->ninputs; i++)
        some |= pw_input_has_gpu(&job->inputs[i]);
    pw_ex_allreduce(&some, &any, 1, PW_EX_INT, PW_EX_MAX, job->procs.comm);
    if (!any)
        return 0;
    share->gpu = malloc(sizeof(*share->gpu) * (cells + 1));
    share->gpu_ranks = calloc(job->ninputs + 1, sizeof(*share->gpu_ranks));
    if (!share->gpu || !share->gpu_ranks)
        return -ENOMEM;
    memset(share->gpu, 0xff, sizeof(*share->gpu) * cells);
    return 0;
}

static int allocate(struct pw_share *share, const struct pw_world *world)
{
    const size_t nsteps = world->nsteps, bins = world->bins.n * share->count;
    const size_t cells = nsteps * share->count;
    share->bins = malloc(sizeof(*share->bins) * (bins + 1));
    share->received = calloc(bins + 1, sizeof(*share->received));
    share->phases = malloc(sizeof(*share->phases) * (cells + 1));
    share->step_start = malloc(sizeof(int64_t) * (nsteps + 1));
    share->step_end = malloc(sizeof(int64_t) * (nsteps + 1));
    share->step_recorded = malloc(sizeof(int64_t) * (nsteps + 1));
    share->is_silent = calloc(share->count + 1, 1);
    share->parts = malloc(sizeof(*share->parts) * (PW_PART_END * share->count + 1));
    if (!share->bins || !share->received || !share->parts || !share->phases || !share->step_start ||
        !share->step_end || !share->step_recorded || !share->is_silent ||
        pw_rowpack_init(&share->steps, nsteps, share->count, PW_STEP_MEMBERS))
        return -ENOMEM;
    memset(share->phases, 0xff, sizeof(*share->phases) * cells); /* -1: not known */
    memset(share->bins, 0xff, sizeof(*share->bins) * bins);
    memset(share->parts, 0xff, sizeof(*share->parts) * PW_PART_END * share->count);
    for (size_t s = 0; s < nsteps; s++) {
        share->step_start[s] = INT64_MAX;
        share->step_end[s] = INT64_MIN;
        share->step_recorded[s] = -1;
    }
    return 0;
}

/* Returns 0 or -ENOMEM. */
static int take_trace(struct pw_share *share, const struct pw_world *world, size_t column,
                      const struct pw_ranktrace *trace)
{
    for (size_t i = 0; i < world->bins.n; i++) {
        share->bins[i * share->count + column] = trace->bins[i];
        share->received[i * share->count + column] = trace->received[i];
    }
    for (size_t i = 0; i < PW_PART_END; i++)
        share->parts[i * share->count + column] = trace->parts[i];
    for (size_t s = 0; s < world->nsteps; s++) {
        share->phases[s * share->count + column] = trace->phases[s];
        if (trace->steps[s].total_ns < 0)
            continue;
        if (trace->recorded[3 * s] < share->step_start[s])
            share->step_start[s] = trace->recorded[3 * s];
        if (trace->recorded[3 * s + 1] > share->step_end[s])
            share->step_end[s] = trace->recorded[3 * s + 1];
        if (trace->recorded[3 * s + 2] > share->step_recorded[s])
            share->step_recorded[s] = trace->recorded[3 * s + 2];
    }
    return pw_rowpack_put(&share->steps, column, (const int64_t *)(const void *)trace->steps);
}

void pw_share_rows(const struct pw_share *share, size_t column, size_t first, size_t count,
                   struct pw_row_c_step_trace *rows)
{
    const struct pw_rowpack_span span = {first, count};
    pw_rowpack_get(&share->steps, column, span, (int64_t *)(void *)rows);
    const uint8_t lack = share->is_silent[column];
    for (size_t s = 0; s < count && lack == PW_SHARE_NO_COMMUNICATION; s++)
        rows[s].wait_ns = rows[s].comm_ns = rows[s].comm_exposed_ns = rows[s].compute_ns = -1;
    for (size_t s = 0; s < count && lack == PW_SHARE_NO_WAITS; s++)
        rows[s].wait_ns = rows[s].own_ns = -1;
}

static int take_gpu(struct pw_share *share, const struct pw_world *world, size_t column,
                    const struct pw_gputrace *gpu)
{
    for (size_t s = 0; s < world->nsteps; s++)
        share->gpu[s * share->count + column] = gpu->steps[s];
    share->gpu_ranks[share->ngpu_ranks++] = gpu->rank;
    if (!gpu->ndevices)
        return 0;
    const size_t n = share->ngpu_devices + gpu->ndevices;
    struct pw_row_c_gpu_device *rows = realloc(share->gpu_devices, n * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    memcpy(rows + share->ngpu_devices, gpu->devices, gpu->ndevices * sizeof(*rows));
    share->gpu_devices = rows;
    share->ngpu_devices = n;
    return 0;
}

/* Computes one rank's GPU time, and changes its trace to it. Returns 0 or -ENOMEM. */
static int build_gpu(struct pw_share *share, struct pw_job *job, const struct pw_input *input,
                     struct pw_ranktrace *trace, struct pw_optree *kernels)
{
    struct pw_gputrace gpu;
    size_t column = (size_t)input->rank - share->first;
    if (!pw_input_has_gpu(input))
        return 0;
    int err = pw_gputrace_build(&job->world, input, trace, kernels, &gpu);
    if (err && err != -ENOMEM) {
        pw_job_note(job, input->rank, "damaged", 1, "its GPU events cannot be read to the end");
        err = 0;
    }
    if (!err && gpu.late)
        pw_job_note(job, input->rank, "gpu_disorder", gpu.late,
                    "GPU events that come too late in the file count only partly as GPU time");
    if (!err && column < share->count)
        err = take_gpu(share, &job->world, column, &gpu);
    pw_gputrace_fini(&gpu);
    return err;
}

/* Bounds forward and backward by operators. Returns 0 or -ENOMEM. */
static int apply_points(struct pw_job *job, const struct pw_input *input,
                        struct pw_ranktrace *trace)
{
    struct pw_points_lack lack[2];
    if (!trace->points.host)
        return 0; /* its ranges could not be read */
    int err = pw_points_apply(&trace->points, &job->world, trace->steps, lack);
    if (!err)
        pw_points_note(job, input->rank, trace->points.names, lack);
    return err;
}

static int build_rank(struct pw_share *share, struct pw_job *job, const struct pw_input *input,
                      const struct pw_share_parts *parts)
{
    struct pw_ranktrace trace;
    int err = pw_ranktrace_build(job, input, parts, &trace);
    const struct pw_opread_from from = {input, &trace.points.texts, &trace.wait, trace.ranges};
    err = err ? err : pw_opread_rank(parts->operators, &from);
    if (err && err != -ENOMEM) {
        pw_job_note(job, input->rank, "damaged", 1,
                    "its events or ranges cannot be read to the end");
        err = 0;
    }
    err = err ? err : build_gpu(share, job, input, &trace, parts->kernels);
    err = err ? err : apply_points(job, input, &trace);
    size_t column = (size_t)input->rank - share->first;
    if (!err && column < share->count)
        err = take_trace(share, &job->world, column, &trace);
    else if (!err)
        pw_job_note(job, input->rank, "left_out", 1,
                    "its steps are ignored: its file has the name of another rank");
    pw_ranktrace_fini(&trace);
    return err;
}

int pw_share_build(struct pw_share *share, struct pw_job *job, const struct pw_share_parts *parts)
{
    *share = (struct pw_share){0};
    choose_columns(share, job);
    int err = allocate(share, &job->world), gpu = allocate_gpu(share, job);
    err = err ? err : gpu;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = build_rank(share, job, &job->inputs[i], parts);
    int worst;
    worst = pw_procs_worst(&job->procs, err);
    if (worst)
        return worst;
    pw_ex_allreduce(PW_EX_IN_PLACE, share->step_start, (int)job->world.nsteps, PW_EX_INT64_T,
                    PW_EX_MIN, job->procs.comm);
    pw_ex_allreduce(PW_EX_IN_PLACE, share->step_end, (int)job->world.nsteps, PW_EX_INT64_T,
                    PW_EX_MAX, job->procs.comm);
    pw_ex_allreduce(PW_EX_IN_PLACE, share->step_recorded, (int)job->world.nsteps, PW_EX_INT64_T,
                    PW_EX_MAX, job->procs.comm);
    return 0;
}

enum { BLOCK = 64 }; /* steps of a rank that are read at once */

static int is_measured(const struct pw_share *share, size_t step)
{
    const int64_t recorded = share->step_recorded[step];
    return recorded <= 0 || recorded == PW_RECORDED_ACTIVE;
}

static struct pw_step_sums sum_rank(const struct pw_world *world, const struct pw_share *share,
                                    size_t column)
{
    struct pw_step_sums sums = {.rank = (int64_t)(share->first + column)};
    struct pw_row_c_step_trace rows[BLOCK];
    for (size_t s = 0; s < world->nsteps; s++) {
        const size_t left = world->nsteps - s, n = left < BLOCK ? left : BLOCK;
        int64_t values[PW_STEP_MEMBERS];
        if (s % BLOCK == 0)
            pw_share_rows(share, column, s, n, rows);
        if (!is_measured(share, s))
            continue;
        memcpy(values, &rows[s % BLOCK], sizeof(values));
        for (size_t i = 0; i < PW_STEP_MEMBERS; i++)
            pw_mean_add(&sums.members[i], values[i]);
    }
    return sums;
}

/* Step by step, as the phases are in memory. */
static void sum_phases(const struct pw_world *world, const struct pw_share *share,
                       struct pw_step_sums *sums)
{
    for (size_t s = 0; s < world->nsteps; s++)
        for (size_t r = 0; r < share->count && is_measured(share, s); r++) {
            int64_t values[PW_PHASES];
            memcpy(values, &share->phases[s * share->count + r], sizeof(values));
            for (size_t i = 0; i < PW_PHASES; i++)
                pw_mean_add(&sums[r].phases[i], values[i]);
        }
}

void pw_share_sum_up(struct pw_share *share, const struct pw_job *job)
{
    struct pw_step_sums *mine = malloc((share->count + 1) * sizeof(*mine));
    void *all;
    for (size_t i = 0; mine && i < share->count; i++)
        mine[i] = sum_rank(&job->world, share, i);
    if (mine)
        sum_phases(&job->world, share, mine);
    share->nsums = pw_procs_allgather(&job->procs, mine, share->count, sizeof(*mine), &all);
    share->sums = all;
    free(mine);
}

static void add_sums(struct pw_mean *to, const struct pw_mean *more, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i].sum += more[i].sum;
        to[i].count += more[i].count;
    }
}

static struct pw_row_c_rank_mean mean_row(const struct pw_step_sums *sums)
{
    enum { VALUES = PW_STEP_MEMBERS + PW_PHASES };
    struct pw_row_c_rank_mean row = {.rank = sums->rank,
                                     .steps = sums->members[PW_STEP_MEMBER(total_ns)].count};
    int64_t values[VALUES];
    static_assert(sizeof(row) - offsetof(struct pw_row_c_rank_mean, interval_ns) == sizeof(values),
                  "a row ends with those of steps and of phases");
    for (size_t i = 0; i < PW_STEP_MEMBERS; i++)
        values[i] = pw_mean_value(&sums->members[i]);
    for (size_t i = 0; i < PW_PHASES; i++)
        values[PW_STEP_MEMBERS + i] = pw_mean_value(&sums->phases[i]);
    memcpy((char *)&row + offsetof(struct pw_row_c_rank_mean, interval_ns), values, sizeof(values));
    return row;
}

void pw_share_means(const struct pw_step_sums *sums, size_t n, struct pw_row_c_rank_mean *rows)
{
    struct pw_step_sums all = {.rank = -1};
    for (size_t i = 0; i < n; i++) {
        rows[i] = mean_row(&sums[i]);
        add_sums(all.members, sums[i].members, PW_STEP_MEMBERS);
        add_sums(all.phases, sums[i].phases, PW_PHASES);
    }
    rows[n] = mean_row(&all);
}

void pw_share_fini(struct pw_share *share)
{
    free(share->bins);
    free(share->received);
    free(share->parts);
    pw_rowpack_fini(&share->steps);
    free(share->phases);
    free(share->gpu);
    free(share->gpu_ranks);
    free(share->gpu_devices);
    free(share->step_start);
    free(share->step_end);
    free(share->step_recorded);
    free(share->is_silent);
    free(share->sums);
    *share = (struct pw_share){0};
}

static_assert(sizeof(struct pw_row_c_step_trace) == sizeof(int64_t) * PW_STEP_MEMBERS &&
                  sizeof(struct pw_row_c_step_trace) <= sizeof(int64_t) * PW_ROWPACK_MEMBERS,
              "a row of steps is integers of 64 bits");
static_assert(sizeof(struct pw_row_c_phase_trace) == sizeof(int64_t) * PW_PHASES &&
                  offsetof(struct pw_row_c_phase_trace, other_ns) == 5 * sizeof(int64_t),
              "a row of phases is as in pw_matrix");

enum { OWN, TOTAL, USEFUL, PHASE_0, CELL = PHASE_0 + PW_PHASES };

static int64_t useful_of(int64_t total_ns, int64_t comm_exposed_ns)
{
    return total_ns < 0 ? -1 : total_ns - comm_exposed_ns;
}

/* Reads what the matrix has of a cell of the step trace: OWN, TOTAL and USEFUL. */
static void read_times(const struct pw_share *share, size_t column, size_t step, int64_t *times)
{
    const struct pw_rowpack *rows = &share->steps;
    const int64_t total = pw_rowpack_value(rows, column, step, PW_STEP_MEMBER(total_ns));
    times[OWN] = pw_rowpack_value(rows, column, step, PW_STEP_MEMBER(own_ns));
    times[TOTAL] = total;
    times[USEFUL] =
        useful_of(total, pw_rowpack_value(rows, column, step, PW_STEP_MEMBER(comm_exposed_ns)));
}

static void pack_phases(const struct pw_row_c_phase_trace *phase, int64_t cell[CELL])
{
    cell[PHASE_0] = phase->data_ns;
    cell[PHASE_0 + 1] = phase->forward_ns;
    cell[PHASE_0 + 2] = phase->backward_ns;
    cell[PHASE_0 + 3] = phase->allreduce_ns;
    cell[PHASE_0 + 4] = phase->optimizer_ns;
    cell[PHASE_0 + 5] = phase->other_ns;
}

static void unpack_cell(struct pw_matrix *m, size_t at, const int64_t cell[CELL])
{
    m->own_ns[at] = cell[OWN];
    m->total_ns[at] = cell[TOTAL];
    m->useful_ns[at] = cell[USEFUL];
    memcpy(&m->phase_ns[at * PW_PHASES], &cell[PHASE_0], sizeof(int64_t) * PW_PHASES);
}

static int allocate_matrix(struct pw_matrix *m)
{
    size_t cells = m->nsteps * m->nranks + 1;
    m->own_ns = malloc(sizeof(int64_t) * cells);
    m->total_ns = malloc(sizeof(int64_t) * cells);
    m->useful_ns = malloc(sizeof(int64_t) * cells);
    if (!m->is_borrowed) {
        m->phase_ns = malloc(sizeof(int64_t) * cells * PW_PHASES);
        m->bins = malloc(sizeof(*m->bins) * (m->nbins * m->nranks + 1));
        m->received = malloc(sizeof(*m->received) * (m->nbins * m->nranks + 1));
        m->parts = malloc(sizeof(*m->parts) * (PW_PART_END * m->nranks + 1));
    }
    return m->bins && m->received && m->parts && m->own_ns && m->total_ns && m->useful_ns &&
                   m->phase_ns
               ? 0
               : -ENOMEM;
}

struct gathering {
    const struct pw_job *job;
    const struct pw_share *share;
    int *counts, *starts; /* [processes] number of ranks of each, and the first */
    int64_t *send, *receive;
};

static pw_ex_type type_of(size_t size)
{
    pw_ex_type type;
    pw_ex_type_contiguous((int)size, PW_EX_BYTE, &type);
    return type;
}

/* Gathers the step trace one step at a time, so that messages and buffers do not grow with the
 * number of steps. */
static void gather_steps(struct pw_matrix *m, const struct gathering *g)
{
    const struct pw_share *share = g->share;
    pw_ex_type type = type_of(sizeof(int64_t) * CELL);
    for (size_t s = 0; s < g->job->world.nsteps; s++) {
        for (size_t c = 0; c < share->count; c++) {
            read_times(share, c, s, g->send + c * CELL);
            pack_phases(&share->phases[s * share->count + c], g->send + c * CELL);
        }
        pw_ex_gatherv(g->send, (int)share->count, type, g->receive, g->counts, g->starts, type, 0,
                      g->job->procs.comm);
        for (size_t r = 0; r < m->nranks; r++)
            unpack_cell(m, s * m->nranks + r, g->receive + r * CELL);
    }
    pw_ex_type_free(&type);
}

/* The same for one process, which has all columns. Its phases, bins and parts stay where they are.
 */
static void take_steps(struct pw_matrix *m, const struct pw_share *share)
{
    static const size_t members[] = {PW_STEP_MEMBER(own_ns), PW_STEP_MEMBER(total_ns),
                                     PW_STEP_MEMBER(comm_exposed_ns)};
    for (size_t first = 0; first < m->nsteps; first += BLOCK)
        for (size_t r = 0; r < m->nranks; r++) {
            const size_t left = m->nsteps - first;
            const struct pw_rowpack_span span = {first, left < BLOCK ? left : BLOCK};
            int64_t times[3][BLOCK];
            for (size_t i = 0; i < 3; i++)
                pw_rowpack_get_member(&share->steps, r, members[i], span, times[i]);
            for (size_t s = 0; s < span.count; s++) {
                const size_t at = (first + s) * m->nranks + r;
                m->own_ns[at] = times[0][s];
                m->total_ns[at] = times[1][s];
                m->useful_ns[at] = useful_of(times[1][s], times[2][s]);
            }
        }
}

/* Gathers n rows of `size` bytes for each rank, one bin or part at a time. */
static void gather_rows(const struct gathering *g, size_t n, size_t size, const void *mine,
                        void *all)
{
    const size_t nranks = g->job->procs.process == 0 ? (size_t)g->job->world.nranks : 0;
    const size_t count = g->share->count;
    pw_ex_type type = type_of(size);
    for (size_t i = 0; i < n; i++)
        pw_ex_gatherv((const char *)mine + i * count * size, (int)count, type,
                      (char *)all + i * nranks * size, g->counts, g->starts, type, 0,
                      g->job->procs.comm);
    pw_ex_type_free(&type);
}

/* Frees the tables of the share that the matrix has copied. */
static void forget(struct pw_share *share)
{
    free(share->phases);
    free(share->bins);
    free(share->received);
    free(share->parts);
    share->phases = NULL;
    share->bins = NULL;
    share->received = NULL;
    share->parts = NULL;
}

int pw_matrix_gather(struct pw_matrix *m, const struct pw_job *job, struct pw_share *share)
{
    *m = (struct pw_matrix){.nsteps = job->world.nsteps, .nbins = job->world.bins.n};
    m->nranks = job->procs.process == 0 ? (size_t)job->world.nranks : 0;
    if (job->procs.processes == 1) {
        m->phase_ns = (int64_t *)(void *)share->phases; /* a row is its six numbers */
        m->bins = share->bins;
        m->received = share->received;
        m->parts = share->parts;
        m->is_borrowed = 1;
    }
    struct gathering g = {job, share, NULL, NULL, NULL, NULL};
    g.counts = calloc(2 * (size_t)job->procs.processes, sizeof(*g.counts));
    g.starts = g.counts + job->procs.processes;
    g.send = malloc(sizeof(int64_t) * CELL * (share->count + 1));
    g.receive = malloc(sizeof(int64_t) * CELL * (m->nranks + 1));
    const int mine = (int)share->count;
    const int worst =
        pw_procs_worst(&job->procs, g.counts && g.send && g.receive ? allocate_matrix(m) : -ENOMEM);
    if (!worst) {
        pw_ex_gather(&mine, 1, PW_EX_INT, g.counts, 1, PW_EX_INT, 0, job->procs.comm);
        for (int p = 1; p < job->procs.processes; p++)
            g.starts[p] = g.starts[p - 1] + g.counts[p - 1];
        if (m->is_borrowed) {
            take_steps(m, share);
        } else {
            gather_steps(m, &g);
            gather_rows(&g, m->nbins, sizeof(*m->bins), share->bins, m->bins);
            gather_rows(&g, m->nbins, sizeof(*m->received), share->received, m->received);
            gather_rows(&g, PW_PART_END, sizeof(*m->parts), share->parts, m->parts);
            forget(share);
        }
    }
    free(g.counts);
    free(g.send);
    free(g.receive);
    return worst;
}

void pw_matrix_fini(struct pw_matrix *m)
{
    free(m->own_ns);
    free(m->total_ns);
    free(m->useful_ns);
    if (!m->is_borrowed) {
        free(m->phase_ns);
        free(m->bins);
        free(m->received);
        free(m->parts);
    }
    *m = (struct pw_matrix){0};
}
