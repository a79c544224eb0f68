/* The directories of MindSpore's profiler before version 2.4, which MindInsight shows: whose a file
 * is, and the steps. see format.h and mindinsight_files.h.
 *
 * step_trace_raw_N_detail_time.csv is written by MindSpore's profiler/parser/step_trace_parser.py
 * (up to 2.1, and for GPUs) and ascend_steptrace_generator.py (2.2 and 2.3), and read by
 * mindinsight/profiler/analyser/step_trace_analyser.py. Its points and lengths are in units of 10
 * ns ("one sys count takes 10 ns"), of a clock of the device. The columns are step_num,
 * start_point, end_point, total, fp_point, bp_point, iteration_interval, fp_and_bp, tail, and for
 * each operation between devices NAME, NAME_start_point and NAME_end_point, where NAME is
 * stream_STREAM_NUMBER_OPERATOR, in 2.2 also hccl_NUMBER. Without training there is no bp_point and
 * no tail, and fp takes the place of fp_and_bp. The last row has averages, and "-" as its
 * number. */
#include "import/mindinsight/mindinsight_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "core/readlimit.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/format.h"

/* ---- whose it is ---- */

/* profiler_info_N.json: the number of ranks, and the version. */
static void read_info(const char *directory, int64_t rank, struct pw_import_head *head)
{
    char path[PW_ASCEND_PATH + 64];
    struct stat status;
    snprintf(path, sizeof(path), "%s/profiler_info_%lld.json", directory, (long long)rank);
    json_t *info = stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < 1 << 24
                       ? json_load_file(path, 0, NULL)
                       : NULL;
    const json_t *ranks = json_object_get(info, "rank_size");
    const char *version = json_string_value(json_object_get(info, "ms_version"));
    if (json_is_integer(ranks) && json_integer_value(ranks) > 0 &&
        json_integer_value(ranks) < 1 << 24)
        head->world_size = (int64_t)json_integer_value(ranks);
    if (version && *version)
        snprintf(head->maker, sizeof(head->maker), "MindSpore %.32s", version);
    json_decref(info);
}

static int look(const char *path, struct pw_import_head *out)
{
    char directory[PW_ASCEND_PATH], main_path[PW_ASCEND_PATH];
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    const enum pw_mindinsight_file file = pw_mindinsight_file_of(path, &out->rank);
    if (file == PW_MINDINSIGHT_FILES ||
        pw_mindinsight_directory(path, directory, sizeof(directory)))
        return -EINVAL;
    const enum pw_mindinsight_file first = pw_mindinsight_main(directory, out->rank);
    if (first < file &&
        pw_mindinsight_path(directory, first, out->rank, main_path, sizeof(main_path)) == 0) {
        snprintf(out->problem, sizeof(out->problem),
                 "is read with %.80s beside it: give the directory",
                 main_path + strlen(directory) + 1);
        return -ENOTSUP;
    }
    snprintf(out->backend, sizeof(out->backend), "MindSpore");
    read_info(directory, out->rank, out);
    return 0;
}

/* ---- steps ---- */

enum { UNIT = 1 }; /* a point is in units of 10^UNIT ns */

/* The point in a cell, ns; -1: there is none. */
static int64_t point(const char *cell)
{
    int64_t ns;
    return pw_decimal_scale(cell, strlen(cell), UNIT, &ns) == 0 && ns >= 0 && pw_is_possible(ns)
               ? ns
               : -1;
}

/* A range to be added. */
struct part {
    int32_t lane;
    enum pw_kind kind;
    const char *name, *category;
    int64_t start, end;
};

static void add_range(struct pw_mindinsight *m, const struct part *part)
{
    struct pw_names *names = &m->trace->names;
    struct pw_host_record record =
        pw_host_record_make(PW_HOST_RANGE, part->lane, part->start, part->end,
                            pw_names_find(names, part->name, strlen(part->name)));
    record.kind = (uint8_t)part->kind;
    if (part->category)
        record.category = pw_names_find(names, part->category, strlen(part->category));
    pw_trace_add_host(m->window, &record);
    m->trace->counts.taken--;
}

/* Whether a column's name is that of an all-reduce of gradients. */
static int is_all_reduce(const char *name)
{
    return strcasestr(name, "allreduce") || strcasestr(name, "_parallel");
}

/* An operation between devices: those of a stream follow each other. */
static void add_reduce(struct pw_mindinsight *m, const char *name, int64_t start, int64_t end)
{
    enum { STREAMS = 1 };
    const char *stream = name + strcspn(name, "0123456789");
    const int32_t lane =
        pw_names_lane(&m->trace->names, STREAMS,
                      strncmp(name, "stream_", 7) == 0 ? strtoll(stream, NULL, 10) : -1);
    const int is_phase = is_all_reduce(name);
    add_range(m, &(struct part){lane, is_phase ? PW_KIND_PHASE : PW_KIND_USER,
                                is_phase ? "allreduce" : name, is_phase ? name : NULL, start, end});
}

static int is_sum(const char *a, const char *b, const char *sum)
{
    const size_t n = strlen(a);
    return strncmp(a, sum, n) == 0 && strcmp(sum + n, b) == 0;
}

/* NAME, NAME_start_point and NAME_end_point are beside each other; a step without the operation has
 * zeros. */
static void add_reduces(struct pw_mindinsight *m, const struct pw_csv_row *row)
{
    for (size_t i = 0; i + 2 < row->n; i++) {
        if (!is_sum(row->names[i], "_start_point", row->names[i + 1]) ||
            !is_sum(row->names[i], "_end_point", row->names[i + 2]))
            continue;
        const int64_t start = point(row->cells[i + 1]), end = point(row->cells[i + 2]);
        if (start > 0 && end >= start)
            add_reduce(m, row->names[i], start, end);
        i += 2;
    }
}

/* The ranges of a step, from its points: start, fp, bp (-1: no training) and end. Where forward
 * ends and backward begins is not told: a range without a length is the boundary of its phase, and
 * gives it no time. */
static void add_parts(struct pw_mindinsight *m, const int64_t points[4])
{
    const int32_t lane = pw_names_lane(&m->trace->names, 0, 0);
    const int64_t start = points[0], forward = points[1], backward = points[2], end = points[3];
    const struct part training[] = {
        {lane, PW_KIND_STEP, "step", NULL, start, end},
        {lane, PW_KIND_PHASE, "data", "iteration_interval", start, forward},
        {lane, PW_KIND_PHASE, "forward", "fp_and_bp", forward, backward},
        {lane, PW_KIND_MARK, "backward", "fp_and_bp", backward, backward},
        {lane, PW_KIND_PHASE, "optimizer", "tail", backward, end},
    };
    const struct part inference = {lane, PW_KIND_PHASE, "forward", "fp", forward, end};
    const size_t n = backward < 0 ? 2 : sizeof(training) / sizeof(training[0]);
    for (size_t i = 0; i < n; i++)
        add_range(m, &training[i]);
    if (backward < 0)
        add_range(m, &inference);
}

static int add_step(struct pw_mindinsight *m, int64_t number, int64_t start, int64_t end)
{
    if (m->nsteps == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 256;
        struct pw_mindinsight_step *more = realloc(m->steps, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        m->steps = more;
        m->capacity = capacity;
    }
    m->steps[m->nsteps++] = (struct pw_mindinsight_step){start, end};
    pw_trace_add_step(m->window, number, start, end);
    return 0;
}

static int take_step(void *context, const struct pw_csv_row *row)
{
    struct pw_mindinsight *m = context;
    const char *word = pw_csv_cell(row, "step_num");
    const int64_t start = point(pw_csv_cell(row, "start_point")),
                  end = point(pw_csv_cell(row, "end_point")),
                  forward = point(pw_csv_cell(row, "fp_point")),
                  backward = point(pw_csv_cell(row, "bp_point"));
    int64_t number;
    m->trace->counts.events++;
    if (strcmp(word, "-") == 0) {
        pw_trace_omit(m->trace, PW_OMIT_AVERAGE);
        return 0;
    }
    if (pw_decimal_scale(word, strlen(word), 0, &number) || number < 0) {
        pw_trace_omit(m->trace, PW_OMIT_INCOMPLETE);
        return 0;
    }
    if (start < 0 || forward < start || end < forward ||
        (backward >= 0 && (backward < forward || end < backward))) {
        pw_trace_omit(m->trace, PW_OMIT_NO_TIME);
        return 0;
    }
    m->trace->counts.taken++;
    add_parts(m, (const int64_t[]){start, forward, backward, end});
    add_reduces(m, row);
    return add_step(m, number, start, end);
}

/* ---- all files of the rank ---- */

static int is_of_rank(const char *name, int64_t rank)
{
    int64_t number;
    return pw_mindinsight_file_of(name, &number) < PW_MINDINSIGHT_FILES && number == rank;
}

/* The number of a rank between signs of a name, "flops_0.txt", is this one. */
static int has_number(const char *name, int64_t rank)
{
    char word[32], pattern[64];
    snprintf(word, sizeof(word), "_%lld", (long long)rank);
    snprintf(pattern, sizeof(pattern), "*%s[._]*", word);
    return fnmatch(pattern, name, 0) == 0;
}

static void name_others(struct pw_mindinsight *m)
{
    struct dirent **entries;
    const int n = scandir(m->directory, &entries, NULL, alphasort);
    char *list = m->trace->counts.files_omitted;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (has_number(name, m->rank) && !is_of_rank(name, m->rank) &&
            strncmp(name, "profiler_info_", 14) != 0)
            pw_names_list(list, sizeof(m->trace->counts.files_omitted), name, strlen(name));
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static int read_steps(struct pw_mindinsight *m)
{
    char path[PW_ASCEND_PATH];
    if (!pw_mindinsight_has(m, PW_MINDINSIGHT_STEPS, path, sizeof(path)))
        return 0;
    const int err = pw_csv_read(path, "step_num", take_step, m);
    if (!m->nsteps && !m->problem[0])
        snprintf(m->problem, m->size, "has no step: it is empty, or half written");
    if (err && err != -ENOMEM)
        pw_mindinsight_complain(m, path, err);
    return err == -ENOMEM ? err : 0;
}

static int read_rank(const char *path, struct pw_trace_window *window,
                     const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct pw_mindinsight *m = calloc(1, sizeof(*m));
    (void)progress;
    if (!m)
        return -ENOMEM;
    m->window = window;
    m->trace = window->trace;
    m->problem = problem;
    m->size = size;
    pw_mindinsight_file_of(path, &m->rank);
    int err = pw_mindinsight_directory(path, m->directory, sizeof(m->directory));
    err = err ? err : read_steps(m);
    err = err ? err : pw_mindinsight_read_kernels(m);
    err = err ? err : pw_mindinsight_read_queues(m);
    err = err ? err : pw_mindinsight_read_cpu(m);
    if (!err)
        name_others(m);
    if (!err && problem[0])
        window->trace->counts.cut_files++;
    free(m->batches);
    free(m->steps);
    free(m);
    return err;
}

/* In directories they are found by their names. */
static const char *const files[] = {NULL};

const struct pw_import_format pw_import_mindinsight = {
    .name = "mindinsight",
    .what = "directories of MindSpore's profiler before 2.4 (step_trace_raw_N_detail_time.csv)",
    .files = files,
    .look = look,
    .read = read_rank,
};
