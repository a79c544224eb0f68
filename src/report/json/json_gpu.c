/* GPU time and kernels as JSON; see json_keys.h. */
#include "report/json/json_keys.h"

#include <stdbool.h>
#include <string.h>

#include "report/content/gpulist.h"
#include "report/json/json_row.h"
#include "report/report.h"

/* Per step the ranks' GPU time, null where a rank has none. */
static json_t *make_steps(const struct pw_cluster *c)
{
    json_t *steps = json_array();
    bool bad = !steps;
    for (size_t s = 0; s < c->nstep_rows && c->gpu_trace && !bad; s++) {
        json_t *step = json_object(), *ranks = json_array();
        for (size_t r = 0; r < c->nrank_rows && !bad; r++) {
            const struct pw_row_c_gpu_trace *row = &c->gpu_trace[s * c->nrank_rows + r];
            bad |= json_array_append_new(ranks, row->span_ns < 0
                                                    ? json_null()
                                                    : pw_json_row(PW_TABLE_c_gpu_trace, row)) != 0;
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
