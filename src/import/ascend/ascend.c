/* Profiles of MindSpore and of Ascend's devices: whose a trace_view.json is, the two passes over
 * it, the files beside it (ascend.h), and the tables of kernels that take its place; see format.h
 * and ascend_events.h. */
#include "import/ascend/ascend.h"

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
#include "core/readlimit.h"
#include "core/safefile.h"
#include "core/sort.h"
#include "import/ascend/ascend_db.h"
#include "import/ascend/ascend_events.h"
#include "import/ascend/ascend_profile.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonfile.h"
#include "import/trace/communicators.h"
#include "import/trace/format.h"
#include "import/trace/stepsums.h"

/* The first two are of Ascend/msprof (analysis/msparser/cluster), as torch_npu and MindSpore divide
 * them by steps. */

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

/* Reads the files in `directory`, an ASCEND_PROFILER_OUTPUT, but the one named `main_file`, which
 * has the events. 0 or -errno; for a file that is damaged 0, with a sentence in `problem`. */
static int ascend_sidefiles_read(const char *directory, const char *main_file,
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

/* ---- kernel_details.csv, for a profile that has neither a trace nor a database ----
 *
 * Its columns are those of torch_npu and MindSpore
 * (profiler/analysis), of which are used: Step Id (of MindSpore Step ID), Device_id, Stream ID,
 * Name, Accelerator Core, Start Time(us) and Duration(us). Operations of HCCL are rows, too, whose
 * names have the last three digits of the number of their group: 483 in hcom_allReduce__483_2_1.
 * Before a kernel's name MindSpore writes that of the operator that launched it, and a slash. */

/* The layers, by the numbers of their processes. */
enum { DEVICE = 1, HCCL, LAYERS };

/* What a step's kernels span. */
struct span {
    int64_t step, start, end;
};

struct pass {
    struct pw_ascend *a;
    struct pw_ascend_layers layers;
    struct pw_ascend_process processes[LAYERS - 1];
    struct span *spans;
    size_t nspans, capacity;
};

static int is_kernels(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "kernel_details.csv") == 0;
}

/* ---- operations of HCCL, and their groups ---- */

/* The name of a row: of an operation of HCCL without the operator that launched it. */
static const char *ascend_name_of(const struct pw_csv_row *row)
{
    const char *name = pw_csv_cell(row, "Name"), *operation = strstr(name, "/hcom_");
    return operation ? operation + 1 : name;
}

static int is_operation(const struct pw_csv_row *row)
{
    const char *core = pw_csv_cell(row, "Accelerator Core");
    return strcmp(core, "HCCL") == 0 || strcmp(core, "COMMUNICATION") == 0 ||
           strncmp(ascend_name_of(row), "hcom_", 5) == 0;
}

/* The digits of its group in an operation's name, as text and as a number; -1: it has none. */
static int64_t ascend_group_of(const char *name, char out[24])
{
    const char *at = strstr(name, "__");
    const size_t n = at ? strspn(at + 2, "0123456789") : 0;
    if (!n || n > 18 || at[2 + n] != '_')
        return -1;
    snprintf(out, 24, "%.*s", (int)n, at + 2);
    return strtoll(out, NULL, 10);
}

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strspn(text, "0123456789") == n && strcmp(text + n - m, end) == 0;
}

/* The number of the only group that ends with these digits, else the digits. */
static const char *full_group(const struct pw_group *groups, size_t n, const char *digits)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (ends_with(groups[i].name, digits)) {
            if (found)
                return digits;
            found = groups[i].name;
        }
    return found ? found : digits;
}

static int take_group(void *context, const struct pw_csv_row *row)
{
    struct pw_import_head *head = context;
    char digits[24];
    if (is_operation(row) && ascend_group_of(ascend_name_of(row), digits) >= 0)
        pw_import_add_group_name(head, full_group(head->groups, head->ngroups, digits));
    return 0;
}

static int kernels_look(const char *path, struct pw_import_head *out)
{
    return pw_csv_read(path, "Name", take_group, out) == -ENOMEM ? -ENOMEM : 0;
}

/* Returns the number of the thread of a group, which it adds if there is none. -ENOMEM on
 * failure. */
static int64_t thread_of(struct pass *p, const char *name)
{
    char digits[24] = "";
    const int64_t tid = ascend_group_of(name, digits) + 1; /* 0: no group is told */
    struct pw_ascend_layers *l = &p->layers;
    const struct pw_trace *trace = p->a->trace;
    size_t at = 0;
    while (at < l->nthreads && l->threads[at].tid < tid)
        at++;
    if (at < l->nthreads && l->threads[at].tid == tid)
        return tid;
    struct pw_ascend_thread *more = realloc(l->threads, (l->nthreads + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    l->threads = more;
    memmove(&more[at + 1], &more[at], (l->nthreads++ - at) * sizeof(*more));
    more[at] = (struct pw_ascend_thread){.pid = HCCL, .tid = tid, .is_group = 1};
    snprintf(more[at].group, sizeof(more[at].group), "%s",
             *digits ? full_group(trace->groups, trace->ngroups, digits) : "");
    return tid;
}

/* ---- steps ---- */

/* A step lasts from its first kernel to that of the next step. */
static int add_to_step(struct pass *p, const char *word)
{
    int64_t step;
    if (pw_decimal_scale(word, strlen(word), 0, &step) || step < 0)
        return 0;
    size_t i = p->nspans;
    while (i && p->spans[i - 1].step != step)
        i--;
    if (i) {
        struct span *span = &p->spans[i - 1];
        span->start = p->a->start < span->start ? p->a->start : span->start;
        span->end = p->a->end > span->end ? p->a->end : span->end;
        return 0;
    }
    if (p->nspans == p->capacity) {
        const size_t capacity = p->capacity ? 2 * p->capacity : 64;
        struct span *more = realloc(p->spans, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        p->spans = more;
        p->capacity = capacity;
    }
    p->spans[p->nspans++] = (struct span){step, p->a->start, p->a->end};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void write_steps(struct pass *p)
{
    struct pw_trace_window *window = p->a->window;
    pw_sort(p->spans, p->nspans, sizeof(*p->spans), by_start);
    for (size_t i = 0; i < p->nspans; i++) {
        const int64_t end = i + 1 < p->nspans ? p->spans[i + 1].start : p->spans[i].end;
        pw_trace_add_step(window, p->spans[i].step, p->spans[i].start, end);
    }
}

/* ---- rows as events ---- */

static int take_row(void *context, const struct pw_csv_row *row)
{
    struct pass *p = context;
    struct pw_ascend *a = p->a;
    const char *name = ascend_name_of(row), *step = pw_csv_cell(row, "Step Id");
    const int is_hccl = is_operation(row);
    const int64_t thread = is_hccl ? thread_of(p, name) : 0;
    int64_t device;
    char pid[8], tid[24];
    if (thread < 0)
        return -ENOMEM;
    const char *device_text = pw_csv_cell(row, "Device_id");
    if (pw_decimal_scale(device_text, strlen(device_text), 0, &device) == 0 && device >= 0 &&
        device < 65536)
        p->processes[0].device = p->processes[1].device = (int32_t)device;
    snprintf(pid, sizeof(pid), "%d", is_hccl ? HCCL : DEVICE);
    snprintf(tid, sizeof(tid), "%lld", (long long)thread);
    a->json.object.n = 0;
    pw_ascend_set_item(&a->json.object, "ph", "X", 0);
    pw_ascend_set_item(&a->json.object, "pid", pid, 0);
    pw_ascend_set_item(&a->json.object, "tid", is_hccl ? tid : pw_csv_cell(row, "Stream ID"), 0);
    pw_ascend_set_item(&a->json.object, "ts", pw_csv_cell(row, "Start Time(us)"), 0);
    pw_ascend_set_item(&a->json.object, "dur", pw_csv_cell(row, "Duration(us)"), 0);
    if (*name)
        pw_ascend_set_item(&a->json.object, "name", name, 0);
    pw_ascend_set_item(&a->json.object, "Task Type", pw_csv_cell(row, "Accelerator Core"), 1);
    a->trace->counts.events++;
    const int omitted = pw_ascend_take(a);
    if (omitted)
        pw_trace_omit(a->trace, (enum pw_omission)omitted);
    return omitted ? 0 : add_to_step(p, *step ? step : pw_csv_cell(row, "Step ID"));
}

static int kernels_read(const char *path, struct pw_trace_window *window, char *problem,
                        size_t size)
{
    struct pw_ascend *a = calloc(1, sizeof(*a));
    struct pass p = {.a = a,
                     .processes = {{.pid = DEVICE, .layer = PW_LAYER_DEVICE, .device = -1},
                                   {.pid = HCCL, .layer = PW_LAYER_HCCL, .device = -1}}};
    if (!a)
        return -ENOMEM;
    p.layers.processes = p.processes;
    p.layers.nprocesses = LAYERS - 1;
    *a = (struct pw_ascend){.window = window, .trace = window->trace, .layers = &p.layers};
    const int64_t before = window->trace->counts.events;
    int err = pw_csv_read(path, "Name", take_row, &p);
    if (err != -ENOMEM && window->trace->counts.events == before)
        snprintf(problem, size, "has no kernel: it is empty, or half written");
    else if (err && err != -ENOMEM)
        snprintf(problem, size, "is not read to its end: %s", pw_csv_error(err));
    err = err == -ENOMEM ? err : 0;
    write_steps(&p);
    free(p.spans);
    free(p.layers.threads);
    free(a);
    return err;
}

/* ---- whose it is ---- */

static int is_known(const struct pw_ascend_layers *layers)
{
    for (size_t i = 0; i < layers->nprocesses; i++)
        if (layers->processes[i].layer > PW_LAYER_MARKS ||
            layers->processes[i].layer == PW_LAYER_CPU_OPERATORS ||
            strcmp(layers->processes[i].name, "MindSpore") == 0)
            return 1;
    return 0;
}

static int look(const char *path, struct pw_import_head *out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char profile[PW_ASCEND_PATH];
    struct pw_ascend_layers layers;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    const int in_profile = pw_ascend_profile_of(path, profile, sizeof(profile)) == 0;
    if (pw_ascend_is_db(path)) {
        int db_err = pw_ascend_db_look(path, out);
        if (!db_err && in_profile)
            pw_ascend_profile_read(profile, out);
        return db_err;
    }
    if (in_profile && fnmatch("*.db", name, 0) == 0) {
        snprintf(out->problem, sizeof(out->problem),
                 "is no database: it is empty, or half written");
        return -ENOTSUP;
    }
    if (in_profile && is_kernels(path)) {
        pw_ascend_profile_read(profile, out);
        return kernels_look(path, out);
    }
    if (!in_profile && fnmatch("*trace_view*", name, 0) != 0 && fnmatch("msprof*", name, 0) != 0)
        return -EINVAL;
    int err = pw_ascend_layers_read(path, &layers);
    if (err == -EINVAL)
        snprintf(out->problem, sizeof(out->problem), "is no JSON");
    if (!err && !in_profile && !is_known(&layers))
        err = -EINVAL;
    if (!err) {
        out->first_ns = layers.first_ns;
        if (in_profile)
            pw_ascend_profile_read(profile, out);
        for (size_t i = 0; i < layers.nthreads; i++)
            if (layers.threads[i].is_group)
                pw_import_add_group_name(out, layers.threads[i].group);
    }
    pw_ascend_layers_fini(&layers);
    return err;
}

/* ---- its events ---- */

static int take_event(void *context)
{
    return pw_ascend_take(context);
}

/* What the profile has beside the trace, if the trace is in one. */
static int read_beside(const char *path, struct pw_trace_window *window, char *problem, size_t size)
{
    char directory[PW_ASCEND_PATH];
    const char *slash = strrchr(path, '/');
    if (pw_ascend_profile_of(path, directory, sizeof(directory)))
        return 0;
    if ((size_t)snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) : 1,
                         slash ? path : ".") >= sizeof(directory))
        return -ENAMETOOLONG;
    return ascend_sidefiles_read(directory, slash ? slash + 1 : path, window, problem, size);
}

static int read_trace(const char *path, struct pw_trace_window *window,
                      const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct pw_ascend_layers layers;
    if (pw_ascend_is_db(path)) {
        int db_err = pw_ascend_db_read(path, window, problem, size);
        return db_err ? db_err : read_beside(path, window, problem, size);
    }
    if (is_kernels(path)) {
        int csv_err = kernels_read(path, window, problem, size);
        window->trace->counts.cut_files += !csv_err && problem[0];
        return csv_err ? csv_err : read_beside(path, window, problem, size);
    }
    struct pw_ascend *a = calloc(1, sizeof(*a));
    int err = a ? pw_ascend_layers_read(path, &layers) : -ENOMEM;
    if (a && !err) {
        *a = (struct pw_ascend){
            .json.take = take_event, .window = window, .trace = window->trace, .layers = &layers};
        const struct pw_jsonfile_taker taker = {
            .context = a,
            .is_list = pw_jsonfile_is_events,
            .member = pw_jsonfile_ignore_member,
            .element = pw_import_take_element,
            .progress = progress,
        };
        err = pw_import_read_json(path, window, &taker, problem, size);
    }
    if (a)
        pw_ascend_layers_fini(&layers);
    free(a);
    return err ? err : read_beside(path, window, problem, size);
}

static const char *const files[] = {"trace_view.json", "trace_view.json.gz",    "msprof_*.json",
                                    "msprof_*.db",     "ascend_*_profiler*.db", NULL};

const struct pw_import_format pw_import_ascend = {
    .name = "ascend",
    .what = "profiles of MindSpore and of Ascend's devices (directories *_ascend_ms, *_ascend_pt)",
    .files = files,
    .look = look,
    .read = read_trace,
};
