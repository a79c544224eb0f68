/* Reads communication.json, communication_matrix.json and operator_memory.csv; see
 * ascend_sidefiles.h. The first two are of Ascend/msprof (analysis/msparser/cluster), as torch_npu
 * and MindSpore divide them by steps. */
#include "import/ascend/ascend_sidefiles.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "core/safefile.h"
#include "import/ascend/ascend_events.h"
#include "import/parsers/csvfile.h"
#include "import/trace/communicators.h"
#include "import/trace/stepsums.h"

struct beside {
    struct pw_trace_window *window;
    struct pw_trace *trace;
    const char *directory;
    int64_t step;
};

/* ---- values ---- */

/* Of a JSON number in units of `unit`; -1: it is none, or not possible. */
static int64_t scaled(const json_t *object, const char *key, double unit)
{
    const json_t *value = json_object_get(object, key);
    double number = json_is_number(value) ? json_number_value(value) * unit : -1;
    return number >= 0 && number < (double)PW_LIMIT ? llround(number) : -1;
}

/* "hcom_allReduce__483_2@9350434047717501483": the name, and the group behind the sign. */
static const char *group_of(const char *key)
{
    const char *at = strrchr(key, '@');
    return at ? at + 1 : "";
}

static uint32_t name_of(struct beside *b, const char *key)
{
    const char *at = strrchr(key, '@');
    return pw_names_find(&b->trace->names, key, at ? (size_t)(at - key) : strlen(key));
}

int32_t pw_ascend_comm_of(struct pw_trace *trace, const char *group)
{
    struct pw_collective c = {
        .library = PW_LIBRARY_HCCL,
        .group = pw_names_find(&trace->names, group, strlen(group)),
        .group_size = -1,
        .peer = -1,
        .first = -1,
        .stride = -1,
        .my_rank = -1,
    };
    for (size_t i = 0; i < trace->ngroups; i++)
        if (strcmp(trace->groups[i].name, group) == 0 && trace->groups[i].size)
            c.group_size = (int32_t)trace->groups[i].size;
    return pw_comm_table_of_group(trace, &c);
}

/* ---- communication.json ---- */

static int64_t plus(int64_t sum, int64_t ns)
{
    return ns > 0 ? pw_sum(sum, ns) : sum;
}

static void sum_times(struct beside *b, const struct pw_row_hccl_time *row)
{
    struct pw_hcclsum *sum =
        b->trace->sums ? pw_stepsums_operations(b->trace->sums, row->step) : NULL;
    if (!sum)
        return;
    sum->operations++;
    sum->elapsed_ns = plus(sum->elapsed_ns, row->elapsed_ns);
    sum->transfer_ns = plus(sum->transfer_ns, row->transfer_ns);
    sum->wait_ns = plus(sum->wait_ns, row->wait_ns);
    sum->sync_ns = plus(sum->sync_ns, row->sync_ns);
}

static void sum_link(struct beside *b, const struct pw_row_hccl_link *row)
{
    struct pw_linksum *sum =
        b->trace->sums ? pw_stepsums_link(b->trace->sums, row->src, row->dst) : NULL;
    if (!sum)
        return;
    sum->rows++;
    sum->bytes = plus(sum->bytes, row->bytes);
    sum->transfer_ns = plus(sum->transfer_ns, row->transfer_ns);
}

static void take_times(struct beside *b, const char *key, const json_t *operation)
{
    const double us = 1e3, ms = 1e6;
    const json_t *info = json_object_get(operation, "Communication Time Info");
    struct pw_row_hccl_time row = {
        .step = b->step,
        .name = name_of(b, key),
        .start = scaled(info, "Start Timestamp(us)", us),
        .elapsed_ns = scaled(info, "Elapse Time(ms)", ms),
        .transfer_ns = scaled(info, "Transit Time(ms)", ms),
        .wait_ns = scaled(info, "Wait Time(ms)", ms),
        .sync_ns = scaled(info, "Synchronization Time(ms)", ms),
        .seq = -1,
    };
    uint16_t op;
    if (!json_is_object(info) || row.elapsed_ns < 0) {
        pw_trace_omit(b->trace, PW_OMIT_INCOMPLETE);
        return;
    }
    const char *name = pw_rankfile_borrow_text(b->trace->file, row.name);
    pw_ascend_operation(name, strlen(name), &op, &row.seq);
    row.op = op;
    row.comm = pw_ascend_comm_of(b->trace, group_of(key));
    pw_rankfile_append(b->trace->file, PW_TABLE_hccl_time, &row);
    sum_times(b, &row);
    b->trace->counts.taken++;
}

/* ---- communication_matrix.json ---- */

/* Newer versions sum up an operation's kind, and list its fastest and slowest beside the sum. */
static int is_one_of_a_sum(const char *key)
{
    return strstr(key, "-top") || strstr(key, "-middle") || strstr(key, "-bottom");
}

/* The ranks of "2-3", which are the group's. */
static int read_link(struct beside *b, const char *link, struct pw_row_hccl_link *row)
{
    int src, dst, end = 0;
    if (sscanf(link, "%8d-%8d%n", &src, &dst, &end) != 2 || link[end] || src < 0 || dst < 0)
        return 0;
    row->src = pw_comm_table_world_rank(b->trace, row->comm, src);
    row->dst = pw_comm_table_world_rank(b->trace, row->comm, dst);
    return row->src >= 0 && row->dst >= 0;
}

static void take_links(struct beside *b, const char *key, json_t *operation)
{
    const double mb = 1e6, ms = 1e6;
    const char *name;
    json_t *link;
    struct pw_row_hccl_link row = {.step = b->step, .name = name_of(b, key)};
    row.comm = pw_ascend_comm_of(b->trace, group_of(key));
    json_object_foreach(operation, name, link)
    {
        const char *transport = json_string_value(json_object_get(link, "Transport Type"));
        b->trace->counts.events++;
        row.bytes = scaled(link, "Transit Size(MB)", mb);
        row.transfer_ns = scaled(link, "Transit Time(ms)", ms);
        if (!read_link(b, name, &row) || row.bytes < 0 || row.transfer_ns < 0) {
            pw_trace_omit(b->trace, PW_OMIT_INCOMPLETE);
            continue;
        }
        row.transport =
            transport ? pw_names_find(&b->trace->names, transport, strlen(transport)) : 0;
        pw_rankfile_append(b->trace->file, PW_TABLE_hccl_link, &row);
        sum_link(b, &row);
        b->trace->counts.taken++;
    }
}

/* ---- both: by step, and by collective and p2p ---- */

static void take_operations(struct beside *b, json_t *kinds, int of_links)
{
    const char *kind, *key;
    json_t *operations, *operation;
    json_object_foreach(kinds, kind, operations)
    {
        json_object_foreach(operations, key, operation)
        {
            if (strncmp(key, "Total", 5) == 0 || (of_links && is_one_of_a_sum(key)))
                continue; /* sums of the others */
            if (of_links) {
                take_links(b, key, operation);
                continue;
            }
            b->trace->counts.events++;
            take_times(b, key, operation);
        }
    }
}

/* What is read of JSON at once: some 10000 operations are 13 MB. */
enum { MOST_JSON = 256 << 20 };

static json_t *load(const char *path, const char **why)
{
    FILE *in = pw_fopen_regular(path);
    struct stat status;
    json_error_t error;
    json_t *out = NULL;
    *why = "cannot be read";
    if (!in)
        return NULL;
    if (fstat(fileno(in), &status) == 0 && status.st_size > MOST_JSON) {
        *why = "is larger than 256 MiB, and is not read";
    } else {
        *why = "ends early, or is no JSON, and is not read";
        out = json_loadf(in, 0, &error);
    }
    fclose(in);
    return out;
}

static const char *read_communication(struct beside *b, const char *path, int of_links)
{
    const char *why, *step;
    json_t *steps = load(path, &why), *kinds;
    if (!steps)
        return why;
    json_object_foreach(steps, step, kinds)
    {
        const char *digits = step + strcspn(step, "0123456789");
        b->step = *digits ? strtoll(digits, NULL, 10) : -1;
        take_operations(b, kinds, of_links);
    }
    json_decref(steps);
    return NULL;
}

static const char *read_times(struct beside *b, const char *path)
{
    return read_communication(b, path, 0);
}

static const char *read_links(struct beside *b, const char *path)
{
    return read_communication(b, path, 1);
}

/* ---- operator_memory.csv ---- */

static int decimal(const char *text, int power, int64_t *out)
{
    return pw_decimal_scale(text, strlen(text), power, out);
}

static int64_t mebibytes(const char *text)
{
    int64_t thousandths;
    if (decimal(text, 3, &thousandths) || thousandths < 0 || thousandths > PW_LIMIT >> 21)
        return -1;
    return (int64_t)((double)thousandths / 1e3 * (1 << 20));
}

static void add_memory(struct beside *b, const struct pw_csv_row *row, const char *time,
                       const char *total, int64_t bytes)
{
    struct pw_host_record record = {
        .thread = pw_names_lane(&b->trace->names, -2, 0), /* of no thread that has ranges */
        .sequence = bytes,
        .device = 0,
        .type = PW_HOST_MEMORY,
    };
    int device;
    if (decimal(pw_csv_cell(row, time), 3, &record.start) || !pw_is_possible(record.start))
        return;
    record.minus_end = -record.start;
    record.count_in = mebibytes(pw_csv_cell(row, total));
    if (sscanf(pw_csv_cell(row, "Device Type"), "NPU:%5d", &device) == 1 && device >= 0)
        record.device = device;
    pw_trace_add_host(b->window, &record);
    b->trace->counts.taken--;
}

static int take_memory(void *context, const struct pw_csv_row *row)
{
    struct beside *b = context;
    int64_t hundredths; /* of a KB */
    b->trace->counts.events++;
    if (decimal(pw_csv_cell(row, "Size(KB)"), 3, &hundredths) || hundredths > PW_LIMIT >> 11 ||
        hundredths < -(PW_LIMIT >> 11)) {
        pw_trace_omit(b->trace, PW_OMIT_INCOMPLETE);
        return 0;
    }
    int64_t bytes = (int64_t)((double)hundredths / 1e3 * 1024);
    add_memory(b, row, "Allocation Time(us)", "Allocation Total Allocated(MB)", bytes);
    add_memory(b, row, "Release Time(us)", "Release Total Allocated(MB)", -bytes);
    b->trace->counts.taken++;
    return 0;
}

static const char *read_memory(struct beside *b, const char *path)
{
    const int err = pw_csv_read(path, "Size(KB)", take_memory, b);
    return !err              ? NULL
           : err == -ENODATA ? "is empty, or ends in the middle of a row, which is left out"
           : err == -ENOTSUP ? "has other columns, and is not read"
                             : "cannot be read to its end";
}

/* ---- which is which ---- */

static const struct {
    const char *name;
    const char *(*read)(struct beside *b, const char *path); /* why not, or NULL */
} readers[] = {
    {"communication.json", read_times},
    {"communication_matrix.json", read_links},
    {"operator_memory.csv", read_memory},
};

static void read_file(struct beside *b, const char *name, char *problem, size_t size)
{
    char path[4200];
    const char *why = NULL;
    size_t i = 0;
    while (i < sizeof(readers) / sizeof(readers[0]) && strcmp(readers[i].name, name) != 0)
        i++;
    if (i == sizeof(readers) / sizeof(readers[0])) {
        pw_names_list(b->trace->counts.files_omitted, sizeof(b->trace->counts.files_omitted), name,
                      strlen(name));
        return;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", b->directory, name) < sizeof(path))
        why = readers[i].read(b, path);
    if (why && !problem[0])
        snprintf(problem, size, "its %s %s", name, why);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "trace_view.json") != 0 &&
           fnmatch("ascend_*_profiler*.db", entry->d_name, 0) != 0;
}

int pw_ascend_sidefiles_read(const char *directory, const char *main_file,
                             struct pw_trace_window *window, char *problem, size_t size)
{
    struct beside b = {.window = window, .trace = window->trace, .directory = directory};
    struct dirent **entries;
    int n = scandir(directory, &entries, is_visible, alphasort);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        if (strcmp(entries[i]->d_name, main_file) != 0)
            read_file(&b, entries[i]->d_name, problem, size);
        free(entries[i]);
    }
    free(entries);
    return 0;
}
