/* Reads the CSV and JSON files of a cluster_analysis_output; see msprof_rows.h. They are written by
 * msprof-analyze's cluster_analyse/analysis: step_trace_time_analysis.py, which takes us from the
 * profiles' step_trace_time.csv, communication_analysis.py and comm_matrix_analysis.py: ms and MB
 * by group, step, operation, and rank or link. */
#include "import/msprof/msprof_rows.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/safefile.h"
#include "core/sort.h"
#include "import/ascend/ascend_events.h"
#include "import/ascend/ascend_sidefiles.h"
#include "import/parsers/csvfile.h"

static const char output[] = "cluster_analysis_output";
enum { PATH_SIZE = 4096 };

/* ---- where it is ---- */

static int is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int pw_msprof_find(const char *path, char *directory, size_t size)
{
    char full[PATH_MAX], *slash;
    if (!realpath(path, full))
        return -ENOENT;
    if (is_directory(full)) {
        slash = strrchr(full, '/');
        if (strcmp(slash + 1, output) == 0)
            return (size_t)snprintf(directory, size, "%s", path) < size ? 0 : -ENOENT;
        return (size_t)snprintf(directory, size, "%s/%s", path, output) < size &&
                       is_directory(directory)
                   ? 0
                   : -ENOENT;
    }
    slash = strrchr(full, '/');
    const int is_own = fnmatch("cluster_step_trace_time.csv", slash + 1, 0) == 0 ||
                       fnmatch("cluster_communication*.json", slash + 1, 0) == 0 ||
                       fnmatch("cluster_analysis*.db", slash + 1, 0) == 0;
    *slash = '\0';
    return is_own && (size_t)snprintf(directory, size, "%s", *full ? full : "/") < size ? 0
                                                                                        : -ENOENT;
}

int pw_msprof_is(const char *path)
{
    char full[PATH_MAX], directory[PATH_SIZE];
    return pw_msprof_find(path, directory, sizeof(directory)) == 0 && realpath(path, full) &&
           (!is_directory(full) || strcmp(strrchr(full, '/') + 1, output) == 0);
}

/* ---- cluster_step_trace_time.csv ---- */

static int64_t cell_ns(const struct pw_csv_row *row, const char *name)
{
    const double us = 1e3;
    const char *cell = pw_csv_cell(row, name);
    char *end;
    const double number = strtod(cell, &end);
    return end != cell && !*end ? pw_msprof_scaled(number, us) : -1;
}

static int32_t number_of(const char *text)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && pw_msprof_is_rank(number) ? (int32_t)number : -1;
}

static int take_step(void *context, const struct pw_csv_row *row)
{
    struct pw_msprof *m = context;
    const char *type = pw_csv_cell(row, "Type");
    if (strcmp(type, "stage") == 0)
        return 0; /* the most of its ranks */
    const struct pw_msprof_step step = {
        .rank = strcmp(type, "rank") == 0 ? number_of(pw_csv_cell(row, "Index")) : -1,
        .row = {.step = pw_msprof_step_of(pw_csv_cell(row, "Step")),
                .computing_ns = cell_ns(row, "Computing"),
                .comm_ns = cell_ns(row, "Communication"),
                .exposed_ns = cell_ns(row, "Communication(Not Overlapped)"),
                .overlapped_ns = cell_ns(row, "Overlapped"),
                .free_ns = cell_ns(row, "Free"),
                .stage_ns = cell_ns(row, "Stage"),
                .bubble_ns = cell_ns(row, "Bubble"),
                .exposed_no_receive_ns =
                    cell_ns(row, "Communication(Not Overlapped and Exclude Receive)"),
                .preparing_ns = cell_ns(row, "Preparing")}};
    pw_msprof_add_step(m, &step);
    return m->failed ? -ENOMEM : 0;
}

static void read_steps(struct pw_msprof *m, const char *path)
{
    const int err = pw_csv_read(path, "Computing", take_step, m);
    m->failed |= err == -ENOMEM;
    if (err)
        pw_msprof_complain(m, "cluster_step_trace_time.csv is not read to its end: %s",
                           pw_csv_error(err));
}

/* ---- the files of JSON: by group, step and operation ---- */

static int64_t scaled(const json_t *object, const char *key, double unit)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? pw_msprof_scaled(json_number_value(value), unit) : -1;
}

static void take_ranks(struct pw_msprof *m, struct pw_msprof_time *time, json_t *ranks)
{
    const double us = 1e3, ms = 1e6;
    const char *rank;
    json_t *one;
    json_object_foreach(ranks, rank, one)
    {
        const json_t *info = json_object_get(one, "Communication Time Info");
        time->rank = number_of(rank);
        time->start_ns = scaled(info, "Start Timestamp(us)", us);
        time->elapsed_ns = scaled(info, "Elapse Time(ms)", ms);
        time->transfer_ns = scaled(info, "Transit Time(ms)", ms);
        time->wait_ns = scaled(info, "Wait Time(ms)", ms);
        time->sync_ns = scaled(info, "Synchronization Time(ms)", ms);
        pw_msprof_add_time(m, time);
    }
}

static void take_links(struct pw_msprof *m, struct pw_msprof_link *link, json_t *links)
{
    const double mb = 1e6, ms = 1e6;
    const char *key;
    json_t *one;
    json_object_foreach(links, key, one)
    {
        const char *transport = json_string_value(json_object_get(one, "Transport Type"));
        int src = -1, dst = -1, end = 0;
        if (sscanf(key, "%8d-%8d%n", &src, &dst, &end) != 2 || key[end])
            src = -1;
        link->src = src;
        link->dst = dst;
        link->transport =
            pw_msprof_text(m, transport ? transport : "", transport ? strlen(transport) : 0);
        link->bytes = scaled(one, "Transit Size(MB)", mb);
        link->transfer_ns = scaled(one, "Transit Time(ms)", ms);
        pw_msprof_add_link(m, link);
    }
}

/* Of the sums by kind that newer versions write, the fastest and slowest are parts. */
static int is_part(const char *name)
{
    return strncmp(name, "Total", 5) == 0 || strstr(name, "-top") || strstr(name, "-middle") ||
           strstr(name, "-bottom");
}

static void take_operations(struct pw_msprof *m, const char *ranks, int64_t step,
                            json_t *operations, int of_links)
{
    const char *key;
    json_t *operation;
    json_object_foreach(operations, key, operation)
    {
        const char *at = strrchr(key, '@');
        if (is_part(key))
            continue;
        const char *name = pw_msprof_text(m, key, at ? (size_t)(at - key) : strlen(key));
        const char *group = pw_msprof_text(m, at ? at + 1 : "", at ? strlen(at + 1) : 0);
        pw_msprof_add_group(m, group, ranks);
        struct pw_msprof_time time = {.name = name, .group = group, .step = step};
        struct pw_msprof_link link = {.name = name, .group = group, .step = step};
        if (of_links)
            take_links(m, &link, operation);
        else
            take_ranks(m, &time, operation);
    }
}

static void read_json(struct pw_msprof *m, const char *path, int of_links)
{
    enum { MOST_JSON = 256 << 20 };
    const char *name = strrchr(path, '/') + 1, *ranks, *step;
    struct stat status;
    json_t *groups = NULL, *steps, *operations;
    FILE *in = pw_fopen_regular(path);
    if (in && fstat(fileno(in), &status) == 0 && status.st_size > MOST_JSON)
        pw_msprof_complain(m, "%s is larger than 256 MiB, and is not read", name);
    else if (!in || !(groups = json_loadf(in, 0, NULL)))
        pw_msprof_complain(m, "%s ends early, or is no JSON, and is not read", name);
    if (in)
        fclose(in);
    json_object_foreach(groups, ranks, steps)
    {
        json_object_foreach(steps, step, operations)
        {
            take_operations(m, ranks, pw_msprof_step_of(step), operations, of_links);
        }
    }
    json_decref(groups);
}

static void read_times(struct pw_msprof *m, const char *path)
{
    read_json(m, path, 0);
}

static void read_links(struct pw_msprof *m, const char *path)
{
    read_json(m, path, 1);
}

/* ---- all ---- */

static int by_rank(const void *a, const void *b)
{
    const struct pw_msprof_step *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->row.step > y->row.step) - (x->row.step < y->row.step);
}

static int times_by_rank(const void *a, const void *b)
{
    const struct pw_msprof_time *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int links_by_source(const void *a, const void *b)
{
    const struct pw_msprof_link *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->dst != y->dst ? (x->dst < y->dst ? -1 : 1) : strcmp(x->name, y->name);
}

static void read_file(struct pw_msprof *m, const char *name,
                      void (*read)(struct pw_msprof *m, const char *path))
{
    char path[PATH_SIZE];
    const size_t used = strlen(m->files);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", m->directory, name) >= sizeof(path) ||
        access(path, F_OK))
        return;
    const size_t rows = m->nsteps + m->ntimes + m->nlinks;
    read(m, path);
    if (m->nsteps + m->ntimes + m->nlinks > rows)
        snprintf(m->files + used, sizeof(m->files) - used, "%s%s", used ? ", " : "", name);
}

int pw_msprof_read(const char *directory, struct pw_msprof **out)
{
    struct pw_msprof *m = calloc(1, sizeof(*m));
    *out = m;
    if (!m || !(m->directory = strdup(directory)))
        return -ENOMEM;
    m->world_size = -1;
    read_file(m, "cluster_step_trace_time.csv", read_steps);
    read_file(m, "cluster_communication.json", read_times);
    read_file(m, "cluster_communication_matrix.json", read_links);
    read_file(m, "cluster_analysis.db", pw_msprof_read_db); /* what the files do not have */
    pw_sort(m->steps, m->nsteps, sizeof(*m->steps), by_rank);
    pw_sort(m->times, m->ntimes, sizeof(*m->times), times_by_rank);
    pw_sort(m->links, m->nlinks, sizeof(*m->links), links_by_source);
    return m->failed ? -ENOMEM : m->files[0] ? 0 : -ENOENT;
}

void pw_msprof_destroy(struct pw_msprof *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->ntexts; i++)
        free(m->texts[i]);
    for (size_t i = 0; i < m->ngroups; i++)
        free(m->groups[i].members);
    free(m->texts);
    free(m->groups);
    free(m->steps);
    free(m->times);
    free(m->links);
    free(m->hosts);
    free(m->directory);
    free(m);
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t pw_msprof_ranks(const struct pw_msprof *m, int32_t **out)
{
    size_t n = 0, used = 0;
    int32_t *ranks = malloc((m->nsteps + m->ntimes + m->nlinks + 1) * sizeof(*ranks));
    *out = ranks;
    if (!ranks)
        return 0;
    for (size_t i = 0; i < m->nsteps; i++)
        ranks[n++] = m->steps[i].rank;
    for (size_t i = 0; i < m->ntimes; i++)
        ranks[n++] = m->times[i].rank;
    for (size_t i = 0; i < m->nlinks; i++)
        ranks[n++] = m->links[i].src;
    pw_sort(ranks, n, sizeof(*ranks), by_number);
    for (size_t i = 0; i < n; i++)
        if (!used || ranks[used - 1] != ranks[i])
            ranks[used++] = ranks[i];
    return used;
}

/* ---- the file of a rank of what msprof-analyze computed, where there are no profiles ----
 *
 * It has /msprof/steps, /hccl/times and /hccl/links, no events, and no steps: msprof-analyze has
 * how long they were, but not when. */

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

/* It is found by planner.c, in directories. */
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
