/* Queues, processes, memory, GPUs, kernels and advice as JSON; see json_keys.h. */
#include "report/json/json_keys.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/pipeline.h"
#include "report/content/gpulist.h"
#include "report/json/json_row.h"
#include "report/report.h"

static json_t *rows_of(int table, const void *rows, size_t n)
{
    return n > PW_REPORT_JSON_CELLS ? json_null() : pw_json_rows(table, rows, n);
}

/* Sets slopes, which may be negative; elsewhere, negative means "not known". */
static int set_slopes(json_t *row, const struct pw_row_c_memory *m)
{
    int known = m->steps > 1;
    int bad = json_object_set_new(row, "bytes_per_step",
                                  known ? json_real(m->bytes_per_step) : json_null());
    return bad | json_object_set_new(row, "later_bytes_per_step",
                                     known ? json_real(m->later_bytes_per_step) : json_null());
}

static json_t *queue_name(const struct pw_row_c_queue *queue)
{
    return queue ? pw_json_text(queue->queue, sizeof(queue->queue)) : json_null();
}

static json_t *make_operators(const struct pw_pipeline *p)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < p->noperators && !bad; i++) {
        const struct pw_pipeline_operator *op = &p->operators[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "operator", pw_json_text(op->name, sizeof(pw_type_S64)));
        bad |= json_object_set_new(row, "left", queue_name(op->left));
        bad |= json_object_set_new(row, "right", queue_name(op->right));
        bad |= json_object_set_new(row, "suspect", json_boolean(op->suspect));
        bad |= json_array_append_new(array, row);
    }
    return pw_json_or_null(array, bad);
}

/* Returns the ranks whose own data pipeline is too slow. */
static json_t *slow_ranks(const struct pw_cluster *c, size_t nall)
{
    json_t *array = json_array();
    size_t n;
    int bad = !array;
    for (size_t i = nall; i < c->nqueues && !bad; i += n ? n : 1) {
        struct pw_pipeline p;
        const struct pw_row_c_queue *rows =
            pw_pipeline_of_rank(c->queues, c->nqueues, c->queues[i].rank, &n);
        pw_pipeline_judge(rows, n, &p);
        if (p.verdict >= PW_PIPELINE_PROCESSING)
            bad = json_array_append_new(array, json_integer(c->queues[i].rank));
    }
    return pw_json_or_null(array, bad);
}

json_t *pw_json_data_pipeline(const struct pw_figures *f)
{
    static const char *const verdicts[] = {
        [PW_PIPELINE_UNKNOWN] = "unknown",
        [PW_PIPELINE_FINE] = "fine",
        [PW_PIPELINE_PROCESSING] = "processing",
        [PW_PIPELINE_TRANSFER] = "transfer",
    };
    const struct pw_cluster *c = f->cluster;
    struct pw_pipeline p;
    size_t nall;
    if (!c->nqueues)
        return json_null();
    const struct pw_row_c_queue *all = pw_pipeline_of_rank(c->queues, c->nqueues, -1, &nall);
    pw_pipeline_judge(all, nall, &p);
    json_t *object = json_object();
    int bad = json_object_set_new(object, "verdict", json_string(verdicts[p.verdict]));
    bad |= json_object_set_new(object, "ranks_slow", slow_ranks(c, nall));
    bad |= json_object_set_new(object, "queues", pw_json_rows(PW_TABLE_c_queue, all, nall));
    bad |= json_object_set_new(object, "operators", make_operators(&p));
    bad |= json_object_set_new(
        object, "ranks",
        rows_of(PW_TABLE_c_queue, all + nall, c->nqueues - nall - (size_t)(all - c->queues)));
    bad |= json_object_set_new(object, "series",
                               rows_of(PW_TABLE_c_queue_series, c->queue_series, c->nqueue_series));
    return pw_json_or_null(object, bad);
}

json_t *pw_json_utilisation(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nutilisation)
        return json_null();
    json_t *object = json_object();
    int bad = json_object_set_new(
        object, "ranks", pw_json_rows(PW_TABLE_c_utilisation, c->utilisation, c->nutilisation));
    bad |= json_object_set_new(
        object, "series",
        rows_of(PW_TABLE_c_utilisation_series, c->utilisation_series, c->nutilisation_series));
    bad |= json_object_set_new(object, "network_cards",
                               rows_of(PW_TABLE_c_netcard, c->netcards, c->nnetcards));
    return pw_json_or_null(object, bad);
}

json_t *pw_json_memory(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nmemory)
        return json_null();
    json_t *array = pw_json_rows(PW_TABLE_c_memory, c->memory, c->nmemory);
    int bad = !array;
    for (size_t i = 0; i < c->nmemory && !bad; i++)
        bad = set_slopes(json_array_get(array, i), &c->memory[i]);
    return pw_json_or_null(array, bad);
}

static json_t *make_one(const struct pw_advice_input *input, const struct pw_advice *advice)
{
    struct pw_row_c_advice row = pw_advice_row(input, advice);
    json_t *object = json_object(), *ranks = json_array();
    int bad = !ranks;
    for (size_t r = 0; r < pw_advice_listed(advice); r++)
        bad |= json_array_append_new(ranks, json_integer(advice->ranks[r]));
    bad |= json_object_set_new(object, "rule", json_string(advice->rule));
    bad |= json_object_set_new(object, "text", pw_json_text(row.text, sizeof(row.text)));
    bad |=
        json_object_set_new(object, "evidence", pw_json_text(row.evidence, sizeof(row.evidence)));
    bad |= json_object_set_new(object, "saves_ns", pw_json_int(row.saves_ns));
    bad |= json_object_set_new(object, "share", pw_json_real(row.share));
    bad |= json_object_set_new(object, "ranks", ranks);
    bad |= json_object_set_new(object, "ranks_total", json_integer((json_int_t)advice->nranks));
    bad |= json_object_set_new(object, "docs", pw_json_text(row.docs, sizeof(row.docs)));
    return pw_json_or_null(object, bad);
}

json_t *pw_json_advice(const struct pw_figures *f)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_advice_input input = pw_figures_advice(f);
    size_t n = pw_advice_collect(&input, advice);
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < n && !bad; i++)
        bad = json_array_append_new(array, make_one(&input, &advice[i]));
    return pw_json_or_null(array, bad);
}

/* ---- GPUs and kernels ---- */

/* Returns the GPU time of each rank in each step; null for a rank without any. */
static json_t *make_steps(const struct pw_cluster *c)
{
    json_t *steps = json_array();
    bool bad = !steps;
    for (size_t s = 0; s < c->nstep_rows && pw_cells_is_known(&c->gpu_trace) && !bad; s++) {
        json_t *step = json_object(), *ranks = json_array();
        for (size_t r = 0; r < c->nrank_rows && !bad; r++) {
            struct pw_row_c_gpu_trace row;
            pw_cells_rows(&c->gpu_trace, &(struct pw_cells_area){s, 1, r, 1}, &row);
            bad |= json_array_append_new(ranks, row.span_ns < 0
                                                    ? json_null()
                                                    : pw_json_row(PW_TABLE_c_gpu_trace, &row)) != 0;
        }
        bad |= json_object_set_new(step, "step", json_integer(c->steps[s].step)) != 0;
        bad |= json_object_set_new(step, "ranks", ranks) != 0;
        bad |= json_array_append_new(steps, step) != 0;
    }
    return pw_json_or_null(steps, bad);
}

static json_t *make_rank(const struct pw_cluster *c, const struct pw_row_c_gpu_rank *from)
{
    json_t *row = pw_json_row(PW_TABLE_c_gpu_rank, from);
    const char *name = from->kernel_row >= 0 ? c->kernels[from->kernel_row].name : "";
    double overlap =
        from->comm_ns > 0 ? 1 - (double)from->comm_exposed_ns / (double)from->comm_ns : -1;
    bool bad = !row;
    bad |= bad ||
           json_object_set_new(row, "slowest_kernel", pw_json_text(name, strnlen(name, 256))) != 0;
    bad |= bad || json_object_set_new(row, "comm_overlap", pw_json_real(overlap)) != 0;
    return pw_json_or_null(row, bad);
}

json_t *pw_json_gpu_ranks(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *ranks = json_array();
    bool bad = !ranks;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++)
        bad |= json_array_append_new(ranks, make_rank(c, &c->gpu_ranks[i])) != 0;
    return pw_json_or_null(ranks, bad);
}

static json_t *make_gpu(const struct pw_gpulist_row *gpu)
{
    json_t *row = pw_json_row(PW_TABLE_c_gpu_device, &gpu->all), *roof = json_null();
    bool bad = !row;
    if (gpu->roof.name)
        roof = json_pack("{s:s, s:f}", "name", gpu->roof.name, "share", gpu->roof.share);
    bad |= json_object_del(row, "rank") != 0;
    bad |= json_object_set_new(row, "hostname", pw_json_text(gpu->hostname, 64)) != 0;
    bad |= json_object_set_new(row, "ranks", json_string(gpu->ranks)) != 0;
    bad |= json_object_set_new(row, "nranks", json_integer((json_int_t)gpu->nranks)) != 0;
    bad |= json_object_set_new(row, "nearest_roof", roof) != 0;
    return pw_json_or_null(row, bad);
}

json_t *pw_json_gpu_list(const struct pw_figures *f)
{
    struct pw_gpulist list;
    json_t *all = json_array();
    bool bad = !all || pw_gpulist_make(f, &list) != 0;
    if (bad)
        return pw_json_or_null(all, true);
    for (size_t i = 0; i < list.n && !bad; i++)
        bad |= json_array_append_new(all, make_gpu(&list.rows[i])) != 0;
    pw_gpulist_fini(&list);
    return pw_json_or_null(all, bad);
}

json_t *pw_json_gpu(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = !all;
    bad |= json_object_set_new(all, "ranks", pw_json_gpu_ranks(f)) != 0;
    bad |= json_object_set_new(
               all, "devices",
               pw_json_rows(PW_TABLE_c_gpu_device, c->gpu_devices, c->ngpu_devices)) != 0;
    bad |= json_object_set_new(all, "gpus", pw_json_gpu_list(f)) != 0;
    bad |= json_object_set_new(all, "steps", make_steps(c)) != 0;
    json_t *series = c->ngpu_series > PW_REPORT_JSON_CELLS
                         ? json_null()
                         : pw_json_rows(PW_TABLE_c_gpu_series, c->gpu_series, c->ngpu_series);
    bad |= json_object_set_new(all, "series", series) != 0;
    return pw_json_or_null(all, bad);
}

json_t *pw_json_kernels(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    size_t n = c->nkernels < PW_REPORT_JSON_OPERATORS ? c->nkernels : PW_REPORT_JSON_OPERATORS;
    if (!c->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = !all;
    bad |= json_object_set_new(all, "names", json_integer((json_int_t)c->nkernels)) != 0;
    bad |= json_object_set_new(all, "by_name", pw_json_rows(PW_TABLE_c_kernel, c->kernels, n)) != 0;
    bad |= json_object_set_new(
               all, "by_rank",
               pw_json_rows(PW_TABLE_c_kernel_rank, c->kernel_ranks, c->nkernel_ranks)) != 0;
    return pw_json_or_null(all, bad);
}

json_t *pw_json_flops(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nflops)
        return json_null();
    json_t *all = pw_json_row(PW_TABLE_c_flops, &c->flops[0]);
    json_t *steps = c->nstep_flops > PW_REPORT_JSON_STEPS
                        ? json_null()
                        : pw_json_rows(PW_TABLE_c_step_flops, c->step_flops, c->nstep_flops);
    bool bad = !all || json_object_del(all, "rank") != 0;
    bad |= json_object_set_new(all, "by_rank",
                               pw_json_rows(PW_TABLE_c_flops, c->flops + 1, c->nflops - 1)) != 0;
    bad |= json_object_set_new(all, "per_step", steps) != 0;
    return pw_json_or_null(all, bad);
}
