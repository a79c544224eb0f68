/* Means of GPU time by rank, and kernels by rank; see html_gpu.h. */
#include "report/html/html_gpu.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/gputime.h"
#include "analysis/statistics.h"
#include "report/json/json_gpu.h"
#include "report/json/json_row.h"

enum { HEAT_KERNELS = 24, HEAT_CELLS = 1 << 16 };

static json_t *value_or_null(json_t *value, bool failed)
{
    if (!failed)
        return value;
    json_decref(value);
    return NULL;
}

/* Of one rank over the measured steps, an int64 field of /gpu_trace. */
static int64_t mean_of(const struct pw_cluster *c, size_t rank, size_t offset)
{
    struct pw_mean mean = {0};
    for (size_t s = 0; s < c->nstep_rows; s++) {
        int64_t value;
        const char *row = (const char *)&c->gpu_trace[s * c->nrank_rows + rank];
        memcpy(&value, row + offset, sizeof(value));
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE)
            pw_mean_add(&mean, value);
    }
    return pw_mean_value(&mean);
}

static json_t *make_step(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_table *table = pw_table_borrow(PW_TABLE_c_gpu_trace);
    if (!c->gpu_trace)
        return json_null();
    json_t *step = json_object();
    bool bad = !step;
    for (size_t i = 0; i < table->nfields && !bad; i++) {
        const struct pw_field *field = &table->fields()[i];
        json_t *means = json_array();
        bad = json_object_set_new(step, field->name, means) != 0;
        for (size_t r = 0; r < f->nranks && !bad; r++)
            bad = json_array_append_new(means, pw_json_int(mean_of(c, r, field->offset))) != 0;
    }
    return value_or_null(step, bad);
}

json_t *pw_html_gpu(const struct pw_figures *f)
{
    if (!f->cluster->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = json_object_set_new(all, "ranks", pw_json_gpu_ranks(f)) != 0;
    bad |= json_object_set_new(all, "step", make_step(f)) != 0;
    return value_or_null(all, bad);
}

/* Rows [first, end) are one kernel's, in the order of ranks; null where a rank has not run it. */
static json_t *make_line(const struct pw_cluster *c, size_t first, size_t end)
{
    json_t *line = json_array();
    bool bad = !line;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++) {
        while (first < end && c->kernel_ranks[first].rank < c->gpu_ranks[i].rank)
            first++;
        bool has = first < end && c->kernel_ranks[first].rank == c->gpu_ranks[i].rank;
        bad = json_array_append_new(line,
                                    pw_json_int(has ? c->kernel_ranks[first].total_ns : -1)) != 0;
    }
    return value_or_null(line, bad);
}

static json_t *make_heat(const struct pw_cluster *c)
{
    json_t *heat = json_object(), *name = json_array(), *total = json_array(), *rank = json_array();
    bool bad = json_object_set_new(heat, "name", name) != 0;
    bad |= json_object_set_new(heat, "total_ns", total) != 0;
    bad |= json_object_set_new(heat, "rank", rank) != 0;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++)
        bad = json_array_append_new(rank, json_integer(c->gpu_ranks[i].rank)) != 0;
    size_t lines = 0;
    for (size_t at = 0, end; at < c->nkernel_ranks && !bad; at = end) {
        int32_t row = c->kernel_ranks[at].kernel_row;
        for (end = at + 1; end < c->nkernel_ranks && c->kernel_ranks[end].kernel_row == row;)
            end++;
        if (lines == HEAT_KERNELS || (lines + 1) * c->ngpu_ranks > HEAT_CELLS)
            break;
        const struct pw_row_c_kernel *kernel = &c->kernels[row];
        if (pw_gpu_is_comm(kernel->name))
            continue;
        bad |= json_array_append_new(name, pw_json_text(kernel->name, sizeof(kernel->name))) != 0;
        bad |= json_array_append_new(total, make_line(c, at, end)) != 0;
        lines++;
    }
    return value_or_null(heat, bad);
}

json_t *pw_html_kernels(const struct pw_figures *f)
{
    json_t *kernels = pw_json_kernels(f);
    if (!json_is_object(kernels))
        return kernels;
    bool bad = json_object_del(kernels, "by_rank") != 0; /* the heatmap has what can be shown */
    bad |= json_object_set_new(kernels, "heat", make_heat(f->cluster)) != 0;
    return value_or_null(kernels, bad);
}
