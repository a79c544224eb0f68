/* Reads minddata_cpu_utilization_N.json: how much CPU time the host, the process and each operator
 * of the data pipeline used; see mindinsight.h.
 *
 * MindSpore (minddata/dataset/engine/perf/cpu_sampling.cc, in later versions cpu_sampler.cc)
 * samples every sampling_interval ms. time_stamp has the times of all samples, and each other list
 * one value for the interval up to a sample, so none for the first. device_info has percentages of
 * all CPUs of the host, in whole numbers; process_info, and op_info for each operator, those of one
 * CPU: 250 are two and a half CPUs. The operator -1 stands for threads of none. process_info counts
 * the processes that operators have started, too. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "import/jsonobject.h"
#include "import/mindinsight.h"

enum { MS = 6 };

/* One list of percentages for each, of as many intervals as the shortest has. */
struct lists {
    const json_t *user, *system, *idle, *waiting;
    size_t n;
};

struct pass {
    struct pw_mindinsight *m;
    int64_t *times; /* [ntimes] on the clock of the steps, ns; -1: not known */
    size_t ntimes;
    int64_t cpus;
};

json_t *pw_mindinsight_load_cpu(const struct pw_mindinsight *m, char *path, size_t size)
{
    enum { MOST_BYTES = 64 << 20 };
    char own[PW_ASCEND_PATH + 64];
    struct stat status;
    path = path ? path : own;
    size = path == own ? sizeof(own) : size;
    if ((size_t)snprintf(path, size, "%s/minddata_cpu_utilization_%lld.json", m->directory,
                         (long long)m->rank) >= size ||
        stat(path, &status) || !S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
        return NULL;
    return json_load_file(path, 0, NULL);
}

static int64_t time_of(const json_t *stamp)
{
    const char *text = json_string_value(stamp);
    int64_t ns = -1;
    if (text && (pw_decimal_scale(text, strlen(text), MS, &ns) || ns < 0 || !pw_is_possible(ns)))
        return -1;
    const double ms = json_is_number(stamp) ? json_number_value(stamp) : -1;
    return text ? ns : pw_whole(ms >= 0 && ms < (double)PW_LIMIT / 1e6 ? ms * 1e6 : -1);
}

size_t pw_mindinsight_stamps(const json_t *cpu, int64_t **out)
{
    const json_t *list = json_object_get(cpu, "time_stamp");
    const size_t n = json_array_size(list);
    *out = n ? calloc(n, sizeof(**out)) : NULL;
    for (size_t i = 0; *out && i < n; i++)
        (*out)[i] = time_of(json_array_get(list, i));
    return *out ? n : 0;
}

/* ---- values ---- */

/* The share of a percentage; -1: it is none. */
static double share_of(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    const double percent = json_is_number(value) ? json_number_value(value) : -1, most = 1e7;
    return percent >= 0 && percent < most ? percent / 100 : -1;
}

static int find_lists(const json_t *object, struct lists *out)
{
    *out = (struct lists){.user = json_object_get(object, "user_utilization"),
                          .system = json_object_get(object, "sys_utilization"),
                          .idle = json_object_get(object, "idle_utilization"),
                          .waiting = json_object_get(object, "io_utilization")};
    const size_t user = json_array_size(out->user), system = json_array_size(out->system);
    out->n = user < system ? user : system;
    return out->n > 0;
}

/* The interval of value `i`: values are as many as samples, or one fewer. 0: its times are not
 * known. */
static int find_interval(const struct pass *p, const struct lists *l, size_t i, int64_t span[2])
{
    const size_t end = p->ntimes >= l->n ? i + (p->ntimes - l->n) : p->ntimes;
    if (end >= p->ntimes || !end)
        return 0;
    span[0] = p->times[end - 1];
    span[1] = p->times[end];
    return span[0] >= 0 && span[1] > span[0];
}

static int64_t part_of(double share, int64_t ns)
{
    return pw_whole(share * (double)ns + 0.5);
}

/* Counts a value that is not imported. Returns 1 if it is. */
static int is_taken(struct pass *p, const struct lists *l, size_t i, int64_t span[2])
{
    struct pw_trace *trace = p->m->trace;
    trace->counts.events++;
    if (share_of(l->user, i) < 0 || share_of(l->system, i) < 0)
        pw_trace_omit(trace, PW_OMIT_INCOMPLETE);
    else if (!find_interval(p, l, i, span))
        pw_trace_omit(trace, PW_OMIT_UNPLACED_CPU);
    else
        trace->counts.taken++;
    return share_of(l->user, i) >= 0 && share_of(l->system, i) >= 0 && find_interval(p, l, i, span);
}

/* ---- the host and the process: counters that grow by the share of each interval ---- */

static void add_host(struct pass *p, const struct lists *l)
{
    struct pw_row_host row = {.steal_ns = -1, .throttled_ns = -1};
    int64_t span[2];
    for (size_t i = 0, n = 0; i < l->n; i++) {
        if (!is_taken(p, l, i, span))
            continue;
        row.time = span[0];
        if (!n++)
            pw_rankfile_append(p->m->trace->file, PW_TABLE_host, &row);
        const int64_t all = pw_whole((double)p->cpus * (double)(span[1] - span[0]));
        const double waiting = share_of(l->waiting, i), told = share_of(l->idle, i);
        const double busy = share_of(l->user, i) + share_of(l->system, i);
        const double idle =
            told < 0 ? (busy < 1 ? 1 - busy : 0) : told + (waiting > 0 ? waiting : 0);
        row.time = span[1];
        /* what is neither is busy: interrupts, and user code of low priority */
        row.busy_ns = pw_sum(row.busy_ns, part_of(idle < 1 ? 1 - idle : 0, all));
        row.idle_ns = pw_sum(row.idle_ns, part_of(idle < 1 ? idle : 1, all));
        pw_rankfile_append(p->m->trace->file, PW_TABLE_host, &row);
    }
}

static void add_process(struct pass *p, const struct lists *l)
{
    struct pw_row_process row = {.rss_bytes = -1,
                                 .minor_faults = -1,
                                 .major_faults = -1,
                                 .voluntary_cs = -1,
                                 .involuntary_cs = -1,
                                 .runq_wait_ns = -1,
                                 .read_bytes = -1,
                                 .write_bytes = -1,
                                 .threads = -1,
                                 .main_cpu_ns = -1,
                                 .processor = -1};
    int64_t span[2];
    for (size_t i = 0, n = 0; i < l->n; i++) {
        if (!is_taken(p, l, i, span))
            continue;
        row.time = span[0];
        if (!n++)
            pw_rankfile_append(p->m->trace->file, PW_TABLE_process, &row);
        row.time = span[1];
        row.cpu_user_ns = pw_sum(row.cpu_user_ns, part_of(share_of(l->user, i), span[1] - span[0]));
        row.cpu_sys_ns = pw_sum(row.cpu_sys_ns, part_of(share_of(l->system, i), span[1] - span[0]));
        pw_rankfile_append(p->m->trace->file, PW_TABLE_process, &row);
    }
}

/* ---- operators ---- */

static void name_operator(const struct pass *p, int64_t id, char *name, size_t size,
                          int32_t *workers)
{
    snprintf(name, size, id < 0 ? "(no operator)" : "operator %lld", (long long)id);
    *workers = -1;
    for (size_t i = 0; i < p->m->noperators; i++) {
        const struct pw_mindinsight_operator *op = &p->m->operators[i];
        if (op->id != id)
            continue;
        snprintf(name, size, "%s", op->name);
        *workers = op->workers > 0 && op->workers < INT32_MAX ? (int32_t)op->workers : -1;
    }
}

static void add_operator(struct pass *p, const json_t *operator, const struct lists * l)
{
    struct pw_trace *trace = p->m->trace;
    const json_t *id = json_object_get(operator, "op_id");
    char name[64];
    struct pw_row_pipeline_cpu row;
    int64_t span[2];
    memset(&row, 0, sizeof(row));
    name_operator(p, json_is_integer(id) ? (int64_t)json_integer_value(id) : -1, name, sizeof(name),
                  &row.workers);
    row.name = pw_names_find(&trace->names, name, strlen(name));
    for (size_t i = 0; i < l->n; i++) {
        if (!is_taken(p, l, i, span))
            continue;
        row.time = span[1];
        row.user_share = share_of(l->user, i);
        row.sys_share = share_of(l->system, i);
        pw_rankfile_append(trace->file, PW_TABLE_pipeline_cpu, &row);
    }
}

static void add_all(struct pass *p, const json_t *all)
{
    const json_t *operators = json_object_get(all, "op_info"), *cpus;
    struct lists l;
    cpus = json_object_get(all, "cpu_processor_num");
    p->cpus =
        json_is_integer(cpus) && json_integer_value(cpus) > 0 && json_integer_value(cpus) < 1 << 20
            ? (int64_t)json_integer_value(cpus)
            : 1;
    if (find_lists(json_object_get(all, "device_info"), &l))
        add_host(p, &l);
    if (find_lists(json_object_get(all, "process_info"), &l))
        add_process(p, &l);
    for (size_t i = 0; i < json_array_size(operators); i++) {
        const json_t *one = json_array_get(operators, i);
        if (find_lists(json_object_get(one, "metrics"), &l))
            add_operator(p, one, &l);
    }
}

int pw_mindinsight_read_cpu(struct pw_mindinsight *m)
{
    char path[PW_ASCEND_PATH + 64];
    struct stat status;
    struct pass p = {.m = m};
    json_t *all = pw_mindinsight_load_cpu(m, path, sizeof(path));
    if (!all) {
        if (stat(path, &status) == 0)
            pw_mindinsight_complain(m, path, -EBADMSG);
        return 0;
    }
    p.ntimes = pw_mindinsight_stamps(all, &p.times);
    for (size_t i = 0; i < p.ntimes; i++)
        p.times[i] = pw_mindinsight_convert(m, p.times[i]);
    add_all(&p, all);
    free(p.times);
    json_decref(all);
    return 0;
}
