/* Reads the operators that ran on the device, one by one; see mindinsight_files.h.
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
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/safefile.h"
#include "import/mindinsight/mindinsight_files.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonobject.h"

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

int pw_mindinsight_read_kernels(struct pw_mindinsight *m)
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
