/* Makes the file of a rank of what msprof-analyze computed, where there are no profiles:
 * /msprof/steps, /hccl/times and /hccl/links; see msprof.h and format.h. It has no events, and no
 * steps: msprof-analyze has how long they were, but not when. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "import/ascend.h"
#include "import/ascend_beside.h"
#include "import/msprof.h"

static void write_steps(struct pw_trace *trace, const struct pw_msprof *m)
{
    for (size_t i = 0; i < m->nsteps; i++) {
        if (m->steps[i].rank != trace->rank)
            continue;
        pw_rankfile_append(trace->file, PW_TABLE_msprof_step, &m->steps[i].row);
        trace->counts.events++;
        trace->counts.taken++;
    }
}

static void write_times(struct pw_trace_window *w, const struct pw_msprof *m)
{
    struct pw_trace *trace = w->trace;
    for (size_t i = 0; i < m->ntimes; i++) {
        const struct pw_msprof_time *t = &m->times[i];
        uint16_t op = 0;
        if (t->rank != trace->rank)
            continue;
        struct pw_row_hccl_time row = {
            .step = t->step,
            .comm = pw_ascend_comm_of(trace, t->group),
            .seq = -1,
            .name = pw_names_find(&trace->names, t->name, strlen(t->name)),
            .start = t->start_ns,
            .elapsed_ns = t->elapsed_ns,
            .transfer_ns = t->transfer_ns,
            .wait_ns = t->wait_ns,
            .sync_ns = t->sync_ns,
        };
        pw_ascend_operation(t->name, strlen(t->name), &op, &row.seq);
        row.op = op;
        pw_rankfile_append(trace->file, PW_TABLE_hccl_time, &row);
        trace->counts.events++;
        trace->counts.taken++;
        if (t->start_ns <= 0)
            continue;
        const int64_t end = pw_sum(t->start_ns, t->elapsed_ns);
        w->start_ns = t->start_ns < w->start_ns ? t->start_ns : w->start_ns;
        w->end_ns = end > w->end_ns ? end : w->end_ns;
    }
}

static void write_links(struct pw_trace *trace, const struct pw_msprof *m)
{
    for (size_t i = 0; i < m->nlinks; i++) {
        const struct pw_msprof_link *l = &m->links[i];
        if (l->src != trace->rank)
            continue;
        const struct pw_row_hccl_link row = {
            .step = l->step,
            .comm = pw_ascend_comm_of(trace, l->group),
            .name = pw_names_find(&trace->names, l->name, strlen(l->name)),
            .src = l->src,
            .dst = l->dst,
            .transport = pw_names_find(&trace->names, l->transport, strlen(l->transport)),
            .bytes = l->bytes,
            .transfer_ns = l->transfer_ns,
        };
        pw_rankfile_append(trace->file, PW_TABLE_hccl_link, &row);
        trace->counts.events++;
        trace->counts.taken++;
    }
}

/* It is found by plan.c, in directories. */
static int look(const char *path, struct pw_import_head *out)
{
    (void)path;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    return -EINVAL;
}

static int read_rank(const char *path, struct pw_trace_window *window,
                     const struct pw_import_progress *progress, char *problem, size_t size)
{
    const struct pw_msprof *m = window->trace->msprof;
    (void)path;
    (void)progress;
    if (!m)
        return -EINVAL;
    write_steps(window->trace, m);
    write_times(window, m);
    write_links(window->trace, m);
    if (m->problem[0]) {
        snprintf(problem, size, "%s", m->problem);
        window->trace->counts.cut_files++;
    }
    return 0;
}

static const char *const files[] = {NULL};

const struct pw_import_format pw_import_msprof = {
    .name = "msprof-analyze",
    .what = "what msprof-analyze computed from profiles (cluster_analysis_output)",
    .files = files,
    .look = look,
    .read = read_rank,
};
