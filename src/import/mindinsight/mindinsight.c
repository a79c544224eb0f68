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
#include "core/safefile.h"
#include "import/mindinsight/mindinsight_files.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/format.h"

/* Reads the operators that ran on the device, one by one.
 *
 * output_timeline_data_N.txt (MindSpore's profiler/parser/optime_parser.py and
 * ascend_op_generator.py) has op_name, stream_id, start_time(ms) or start_time(us), and
 * duration(ms). aicpu_intermediate_N.csv (aicpu_data_parser.py with integrator.py, or
 * ascend_op_generator.py) has serial_number, op_type, total_time, dispatch_time, execution_time,
 * run_start and run_end: the first three times are in ms; run_start is in us up to 2.1, and in ms
 * in 2.2. Some versions of 2.2 wrote ms below start_time(us), too. All are of the clock of the
 * steps, so the unit is the one by which the first of them is nearer to the steps.
 *
 * activity_execute_timestamp_N.txt (gpu_data_saver.cc) has a line "kernel;stream;start;length" for
 * each kernel of a GPU: ns, and us.
 *
 * aicore_intermediate_N_detail.csv and _type.csv (integrator.py) are sums of the former by name and
 * by type, without times: full_op_name, execution_time (the mean, ms) and, in later versions,
 * execution_frequency; op_type, execution_time or total_time, execution_frequency and percent. With
 * total_time it is the sum of all executions; before, that of the operators' means. */

enum { MS = 6, US = 3, NS = 0, UNKNOWN = -1 }; /* as powers of 10 ns */

struct pass {
    struct pw_mindinsight *m;
    const char *start; /* the column of the start */
    int unit;
};

static int64_t scaled(const char *cell, int power)
{
    int64_t ns;
    return pw_decimal_scale(cell, strlen(cell), power, &ns) == 0 && ns >= 0 && pw_is_possible(ns)
               ? ns
               : -1;
}

/* ---- the unit of starts ---- */

/* How far a time is from the steps, ns; 0: in them. */
static int64_t distance_of(const struct pw_mindinsight *m, int64_t time)
{
    const int64_t first = m->steps[0].start, last = m->steps[m->nsteps - 1].end;
    return time < 0       ? INT64_MAX
           : time < first ? pw_difference(first, time)
           : time > last  ? pw_difference(time, last)
                          : 0;
}

/* Returns US or MS, by which the first start is nearer to the steps; without steps `told`, which
 * the head says. */
static int unit_of(const struct pw_mindinsight *m, const char *start, int told)
{
    if (!m->nsteps)
        return told;
    const int64_t us = distance_of(m, scaled(start, US)), ms = distance_of(m, scaled(start, MS));
    return us == ms ? told : us < ms ? US : MS;
}

/* By how long the row ran, which up to 2.1 is run_end - run_start in us, and in 2.2 total_time is
 * it in ms. */
static int unit_by_length(const struct pw_csv_row *row)
{
    const int64_t start = scaled(pw_csv_cell(row, "run_start"), MS),
                  end = scaled(pw_csv_cell(row, "run_end"), MS),
                  total = scaled(pw_csv_cell(row, "total_time"), MS),
                  ran = scaled(pw_csv_cell(row, "execution_time"), MS);
    const int64_t near = 10000; /* as digits are rounded */
    if (start < 0 || end < start)
        return UNKNOWN;
    const int64_t if_ms = end - start, if_us = (end - start) / 1000;
    const int is_ms = total >= 0 && if_ms >= total - near && if_ms <= total + near;
    const int is_us = ran >= 0 && if_us >= ran - near && if_us <= ran + near;
    return is_us == is_ms ? UNKNOWN : is_us ? US : MS;
}

/* ---- rows ---- */

static void add_kernel(struct pass *p, const char *name, const char *stream, const int64_t span[2])
{
    int64_t number;
    if (pw_decimal_scale(stream, strlen(stream), 0, &number) || number < 0 || number > UINT32_MAX)
        number = 0;
    struct pw_device_record record = pw_trace_device(PW_DEVICE_KERNEL, span[0], span[1]);
    record.device = 0;
    record.name = pw_names_find(&p->m->trace->names, name, strlen(name));
    record.stream = (uint32_t)number;
    pw_trace_add_device(p->m->window, &record);
}

static int take(struct pass *p, const struct pw_csv_row *row, const char *name, int64_t ran)
{
    const int64_t start = scaled(pw_csv_cell(row, p->start), p->unit);
    p->m->trace->counts.events++;
    if (!*name)
        pw_trace_omit(p->m->trace, PW_OMIT_INCOMPLETE);
    else if (p->unit == UNKNOWN || start < 0 || ran < 0)
        pw_trace_omit(p->m->trace, PW_OMIT_NO_TIME);
    else
        add_kernel(p, name, pw_csv_cell(row, "stream_id"),
                   (const int64_t[]){start, pw_sum(start, ran)});
    return 0;
}

static int take_timeline(void *context, const struct pw_csv_row *row)
{
    struct pass *p = context;
    if (!p->start) {
        const int is_us = *pw_csv_cell(row, "start_time(us)") != '\0';
        p->start = is_us ? "start_time(us)" : "start_time(ms)";
        p->unit = unit_of(p->m, pw_csv_cell(row, p->start), is_us ? US : MS);
    }
    return take(p, row, pw_csv_cell(row, "op_name"), scaled(pw_csv_cell(row, "duration(ms)"), MS));
}

static int take_aicpu(void *context, const struct pw_csv_row *row)
{
    struct pass *p = context;
    if (!p->start) {
        p->start = "run_start";
        p->unit = unit_of(p->m, pw_csv_cell(row, p->start), unit_by_length(row));
    }
    return take(p, row, pw_csv_cell(row, "op_type"),
                scaled(pw_csv_cell(row, "execution_time"), MS));
}

/* ---- kernels of a GPU ---- */

/* Cuts "kernel;stream;start;length" at its last three signs. 0: it has fewer. */
static int cut_line(char *line, const char *fields[4])
{
    line[strcspn(line, "\r\n")] = '\0';
    fields[0] = line;
    for (int i = 3; i > 0; i--) {
        char *sign = strrchr(line, ';');
        if (!sign)
            return 0;
        *sign = '\0';
        fields[i] = sign + 1;
    }
    return 1;
}

static int read_gpu(struct pw_mindinsight *m, const char *path)
{
    struct pass p = {.m = m};
    const char *fields[4];
    char line[1 << 14];
    FILE *in = pw_fopen_regular(path);
    while (in && fgets(line, sizeof(line), in)) {
        m->trace->counts.events++;
        const int has_end = strchr(line, '\n') != NULL;
        const int is_whole = cut_line(line, fields) && *fields[0] && has_end;
        const int64_t start = is_whole ? scaled(fields[2], NS) : -1,
                      ran = is_whole ? scaled(fields[3], US) : -1;
        if (start < 0 || ran < 0)
            pw_trace_omit(m->trace, is_whole ? PW_OMIT_NO_TIME : PW_OMIT_INCOMPLETE);
        else
            add_kernel(&p, fields[0], fields[1], (const int64_t[]){start, pw_sum(start, ran)});
    }
    const int err = !in || ferror(in) ? -EIO : 0;
    if (in)
        fclose(in);
    return err;
}

/* ---- sums ---- */

/* A number of ms in us, by the arithmetic of MindInsight; -1: there is none. */
static double time_of(const char *cell)
{
    char *end;
    const double ms = strtod(cell, &end);
    return end != cell && !*end && ms >= 0 && ms < (double)PW_LIMIT ? ms * 1e3 : -1;
}

static void add_sum(struct pass *p, const struct pw_csv_row *row, const char *name,
                    const char *type, const char *time)
{
    struct pw_trace *trace = p->m->trace;
    const char *calls = pw_csv_cell(row, "execution_frequency");
    struct pw_row_mindinsight_sum sum = {.time_us = time_of(time), .calls = -1};
    trace->counts.events++;
    if (!*name && !*type) {
        pw_trace_omit(trace, PW_OMIT_INCOMPLETE);
        return;
    }
    if (sum.time_us < 0) {
        pw_trace_omit(trace, PW_OMIT_NO_TIME);
        return;
    }
    if (pw_decimal_scale(calls, strlen(calls), 0, &sum.calls) || sum.calls < 0)
        sum.calls = -1;
    sum.name = pw_names_find(&trace->names, name, strlen(name));
    sum.type = pw_names_find(&trace->names, type, strlen(type));
    pw_rankfile_append(trace->file, PW_TABLE_mindinsight_sum, &sum);
    trace->counts.taken++;
}

static int take_detail(void *context, const struct pw_csv_row *row)
{
    add_sum(context, row, pw_csv_cell(row, "full_op_name"), "", pw_csv_cell(row, "execution_time"));
    return 0;
}

static int take_type(void *context, const struct pw_csv_row *row)
{
    const char *total = pw_csv_cell(row, "total_time");
    add_sum(context, row, "", pw_csv_cell(row, "op_type"),
            *total ? total : pw_csv_cell(row, "execution_time"));
    return 0;
}

static int read_kernels(struct pw_mindinsight *m)
{
    static const struct {
        enum pw_mindinsight_file file;
        const char *column;
        int (*take)(void *context, const struct pw_csv_row *row);
    } readers[] = {
        {PW_MINDINSIGHT_TIMELINE, "op_name", take_timeline},
        {PW_MINDINSIGHT_AICPU, "op_type", take_aicpu},
        {PW_MINDINSIGHT_DETAIL, "full_op_name", take_detail},
        {PW_MINDINSIGHT_TYPES, "op_type", take_type},
    };
    char path[PW_ASCEND_PATH];
    int err = 0;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]) && err != -ENOMEM; i++) {
        struct pass p = {.m = m, .unit = UNKNOWN};
        if (!pw_mindinsight_has(m, readers[i].file, path, sizeof(path)))
            continue;
        err = pw_csv_read(path, readers[i].column, readers[i].take, &p);
        if (err && err != -ENOMEM)
            pw_mindinsight_complain(m, path, err);
    }
    if (err != -ENOMEM && pw_mindinsight_has(m, PW_MINDINSIGHT_GPU, path, sizeof(path)) &&
        read_gpu(m, path))
        pw_mindinsight_complain(m, path, -EIO);
    return err == -ENOMEM ? err : 0;
}

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
    err = err ? err : read_kernels(m);
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
