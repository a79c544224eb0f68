/* Reads the samples of the data pipeline: how much CPU time it used, and how full its queues were;
 * see mindinsight_files.h. */
#include "import/mindinsight/mindinsight_files.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "core/readlimit.h"
#include "core/safefile.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonobject.h"

enum { MOST_OPERATORS = PW_MINDINSIGHT_OPERATORS, MS = 6, US = 3, NS = 0 };

/* ---- CPU time of the host, the process and each operator: minddata_cpu_utilization_N.json ----
 *
 * MindSpore (minddata/dataset/engine/perf/cpu_sampling.cc, in later versions cpu_sampler.cc)
 * samples every sampling_interval ms. time_stamp has the times of all samples, and each other list
 * one value for the interval up to a sample, so none for the first. device_info has percentages of
 * all CPUs of the host, in whole numbers; process_info, and op_info for each operator, those of one
 * CPU: 250 are two and a half CPUs. The operator -1 stands for threads of none. process_info counts
 * the processes that operators have started, too. */

/* One list of percentages for each, of as many intervals as the shortest has. */
struct lists {
    const json_t *user, *system, *idle, *waiting;
    size_t n;
};

struct cpu_pass {
    struct pw_mindinsight *m;
    int64_t *times; /* [ntimes] on the clock of the steps, ns; -1: not known */
    size_t ntimes;
    int64_t cpus;
};

/* Loads minddata_cpu_utilization_N.json; NULL: there is none, or it is damaged. Its path is written
 * to `path`, which may be NULL. */
static json_t *load_cpu(const struct pw_mindinsight *m, char *path, size_t size)
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

/* The times of its samples, ns of the host's clock, -1: not possible, malloc'ed. Returns how many.
 */
static size_t cpu_stamps(const json_t *cpu, int64_t **out)
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
static int find_interval(const struct cpu_pass *p, const struct lists *l, size_t i, int64_t span[2])
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
static int is_taken(struct cpu_pass *p, const struct lists *l, size_t i, int64_t span[2])
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

static void add_host(struct cpu_pass *p, const struct lists *l)
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

static void add_process(struct cpu_pass *p, const struct lists *l)
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

static void name_operator(const struct cpu_pass *p, int64_t id, char *name, size_t size,
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

static void add_operator(struct cpu_pass *p, const json_t *operator, const struct lists * l)
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

static void add_all(struct cpu_pass *p, const json_t *all)
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
    struct cpu_pass p = {.m = m};
    json_t *all = load_cpu(m, path, sizeof(path));
    if (!all) {
        if (stat(path, &status) == 0)
            pw_mindinsight_complain(m, path, -EBADMSG);
        return 0;
    }
    p.ntimes = cpu_stamps(all, &p.times);
    for (size_t i = 0; i < p.ntimes; i++)
        p.times[i] = pw_mindinsight_convert(m, p.times[i]);
    add_all(&p, all);
    free(p.times);
    json_decref(all);
    return 0;
}

/* ---- queues ----
 *
 * device_queue_profiling_N.txt and dataset_iterator_profiling_N.txt
 * (minddata/dataset/engine/perf/profiling.cc, Tracing::Record) have lines "type extra batch value
 * time": type 1 is the size `value` of the last host queue when batch `batch` was taken from it,
 * its capacity is `extra`; type 0 are times of the batch in ms. `time` is in ms of the host's
 * steady clock. minddata_aicpu_N.txt (profiler/parser/minddata_parser.py) has node_name,
 * start_time, end_time and queue_size, of the device's queue when a step took its batch.
 * minddata_pipeline_raw_N.csv (minddata_pipeline_parser.py) has for each operator the sizes of its
 * output queue, which were sampled every sample_interval ms, and minddata_cpu_utilization_N.json
 * the times of these samples, on the host's clock, too.
 *
 * The clocks of host and device have nothing in common but the numbers of batches and steps. As in
 * MindInsight (minddata_cpu_utilization_analyser.py), the first batch is that of the first step,
 * and a sample is of the step whose batch was the last that was taken before it. */

struct dataset_op {
    int64_t id, child; /* the only child; -1: it has none, or several */
    int64_t capacity, interval_ms;
    char type[32], queue[48];
    int32_t *sizes;
    size_t nsizes;
    int is_trunk;
};

struct pass {
    struct pw_mindinsight *m;
    struct dataset_op operators[MOST_OPERATORS];
    size_t noperators;
    size_t capacity; /* of m->batches */
    int64_t *stamps; /* times of the samples, ns of the host's clock */
    size_t nstamps;
    int64_t first_batch; /* the number of the first; -1: not known yet */
    int64_t taken;       /* rows of the device's queue */
    int err;             /* -ENOMEM */
};

static int64_t scaled(const char *text, int power)
{
    int64_t value;
    return pw_decimal_scale(text, strlen(text), power, &value) == 0 && value >= 0 &&
                   pw_is_possible(value)
               ? value
               : -1;
}

/* A sample at a time, ns; -1: its step is not known. */
static void add_sample(struct pass *p, const char *queue, int64_t time,
                       const int64_t size_and_capacity[2])
{
    struct pw_trace *trace = p->m->trace;
    struct pw_trace_window *w = p->m->window;
    trace->counts.events++;
    if (time < 0 || size_and_capacity[0] < 0) {
        pw_trace_omit(trace, time < 0 ? PW_OMIT_UNPLACED : PW_OMIT_INCOMPLETE);
        return;
    }
    const struct pw_row_queue row = {
        .time = time,
        .queue = pw_names_find(&trace->names, queue, strlen(queue)),
        .size = size_and_capacity[0],
        .capacity = size_and_capacity[1] > 0 ? size_and_capacity[1] : 0,
    };
    pw_rankfile_append(trace->file, PW_TABLE_queue, &row);
    trace->counts.taken++;
    w->start_ns = time < w->start_ns ? time : w->start_ns;
    w->end_ns = time > w->end_ns ? time : w->end_ns;
}

/* The time of a sample of a step: its start. Without steps, that of the sample itself. */
static int64_t time_of_step(const struct pass *p, int64_t step, int64_t own)
{
    if (!p->m->nsteps)
        return own;
    return step >= 0 && (size_t)step < p->m->nsteps ? p->m->steps[step].start : -1;
}

/* ---- minddata_pipeline_raw_N.csv ---- */

/* The numbers of "[4, 0, 3]". Returns how many there are, -1: memory is short. */
static ptrdiff_t read_list(const char *text, int32_t **out)
{
    size_t n = 0, capacity = 0;
    *out = NULL;
    for (const char *at = text; (at += strcspn(at, "0123456789"), *at); n++) {
        char *end;
        const long long value = strtoll(at, &end, 10);
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            int32_t *more = realloc(*out, capacity * sizeof(*more));
            if (!more)
                return -1;
            *out = more;
        }
        (*out)[n] = value > INT32_MAX ? INT32_MAX : (int32_t)value;
        at = end;
    }
    return (ptrdiff_t)n;
}

static int take_operator(void *context, const struct pw_csv_row *row)
{
    struct pass *p = context;
    const char *type = pw_csv_cell(row, "op_type");
    struct dataset_op op = {
        .id = scaled(pw_csv_cell(row, "op_id"), 0),
        .child = -1,
        .capacity = scaled(pw_csv_cell(row, "output_queue_length"), 0),
        .interval_ms = scaled(pw_csv_cell(row, "sample_interval"), 0),
    };
    int32_t *children;
    if (op.id < 0 || !*type || strpbrk(type, "[]") || p->noperators == MOST_OPERATORS) {
        p->m->trace->counts.events++;
        pw_trace_omit(p->m->trace, PW_OMIT_INCOMPLETE);
        return 0;
    }
    const ptrdiff_t nchildren = read_list(pw_csv_cell(row, "children_id"), &children),
                    nsizes = read_list(pw_csv_cell(row, "output_queue_size"), &op.sizes);
    op.child = nchildren == 1 ? children[0] : -1;
    op.nsizes = nsizes > 0 ? (size_t)nsizes : 0;
    free(children);
    snprintf(op.type, sizeof(op.type), "%s", type);
    snprintf(op.queue, sizeof(op.queue), "%s_%lld", op.type, (long long)op.id);
    p->operators[p->noperators++] = op;
    struct pw_mindinsight_operator *known = &p->m->operators[p->m->noperators++];
    known->id = op.id;
    known->workers = scaled(pw_csv_cell(row, "num_workers"), 0);
    snprintf(known->name, sizeof(known->name), "%s", op.queue);
    return nchildren < 0 || nsizes < 0 ? -ENOMEM : 0;
}

static struct dataset_op *find_operator(struct pass *p, int64_t id)
{
    for (size_t i = 0; i < p->noperators; i++)
        if (p->operators[i].id == id)
            return &p->operators[i];
    return NULL;
}

/* Marks the operators from the last one, 0, to the first that has several before it, and describes
 * them for the merge, from the source on. */
static void follow_trunk(struct pass *p, int has_device_queue)
{
    struct dataset_op *trunk[MOST_OPERATORS];
    char text[4096] = "";
    size_t n = 0, used = 0;
    for (struct dataset_op *op = find_operator(p, 0); op && !op->is_trunk;
         op = find_operator(p, op->child)) {
        op->is_trunk = 1;
        trunk[n++] = op;
    }
    if (!n)
        return;
    for (size_t i = n; i-- > 0;)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 trunk[i]->nsizes ? "%s [%s] " : "%s ", trunk[i]->type,
                                 trunk[i]->queue);
    snprintf(text + used, sizeof(text) - used, "%s", has_device_queue ? "[device queue]" : "");
    struct pw_names *names = &p->m->trace->names;
    const struct pw_row_metadata row = {.time = -1,
                                        .key = pw_names_find(names, "pipeline", 8),
                                        .value = pw_names_find(names, text, strlen(text))};
    pw_rankfile_append(p->m->trace->file, PW_TABLE_metadata, &row);
}

/* The last operator that has a queue: the sizes at each batch are of this queue. The operators of a
 * damaged file may be in a circle. */
static struct dataset_op *last_of_host(struct pass *p)
{
    struct dataset_op *op = find_operator(p, 0);
    for (size_t i = 0; i < p->noperators && op && op->is_trunk; i++) {
        if (op->nsizes)
            return op;
        op = find_operator(p, op->child);
    }
    return NULL;
}

/* ---- sizes at each batch ---- */

/* Calls `take` for each line, cut into words. */
static void read_lines(struct pass *p, const char *path,
                       void (*take)(struct pass *p, char **words, size_t n))
{
    enum { WORDS = 8 };
    char line[4096], *words[WORDS], *rest;
    FILE *in = pw_fopen_regular(path);
    while (in && fgets(line, sizeof(line), in)) {
        const int has_end = strchr(line, '\n') != NULL;
        size_t n = 0;
        for (char *word = strtok_r(line, " \t\r\n", &rest); word && n < WORDS;
             word = strtok_r(NULL, " \t\r\n", &rest))
            words[n++] = word;
        if (n && has_end) {
            take(p, words, n);
        } else if (n) {
            p->m->trace->counts.events++;
            pw_trace_omit(p->m->trace, PW_OMIT_INCOMPLETE);
        }
    }
    if (!in || ferror(in))
        pw_mindinsight_complain(p->m, path, -EIO);
    if (in)
        fclose(in);
}

static void keep_batch(struct pass *p, int64_t step, int64_t time)
{
    if (p->m->nbatches == p->capacity) {
        const size_t capacity = p->capacity ? 2 * p->capacity : 256;
        struct pw_mindinsight_batch *more = realloc(p->m->batches, capacity * sizeof(*more));
        if (!more) {
            p->err = -ENOMEM;
            return;
        }
        p->m->batches = more;
        p->capacity = capacity;
    }
    p->m->batches[p->m->nbatches++] = (struct pw_mindinsight_batch){step, time};
}

static void take_batch(struct pass *p, char **words, size_t n)
{
    const int64_t number = n > 3 ? scaled(words[2], 0) : -1;
    const int is_size = n > 3 && strcmp(words[0], "1") == 0;
    if (number < 0 || (!is_size && strcmp(words[0], "0") != 0)) {
        p->m->trace->counts.events++;
        pw_trace_omit(p->m->trace, PW_OMIT_INCOMPLETE);
        return;
    }
    p->first_batch = p->first_batch < 0 ? number : p->first_batch;
    if (!is_size) {
        p->m->trace->counts.events++;
        pw_trace_omit(p->m->trace, PW_OMIT_BATCH_TIME);
        return;
    }
    const struct dataset_op *op = last_of_host(p);
    const int64_t step = number - p->first_batch, time = n > 4 ? scaled(words[4], MS) : -1;
    const int64_t values[] = {scaled(words[3], 0), scaled(words[1], 0)};
    add_sample(p, op ? op->queue : "host queue", time_of_step(p, step, time), values);
    keep_batch(p, step, time);
}

/* ---- the device's queue ---- */

static void take_get(struct pass *p, char **words, size_t n, int power)
{
    if (strncmp(words[0], "GetNext", 7) != 0 || n < 4) {
        const int is_head = strcmp(words[0], "node_name") == 0;
        p->m->trace->counts.events += !is_head;
        if (!is_head)
            pw_trace_omit(p->m->trace, PW_OMIT_UNKNOWN);
        return;
    }
    /* its clock is not that of the host's queue */
    const int64_t own = p->m->nbatches ? -1 : scaled(words[2], power);
    const int64_t values[] = {scaled(words[3], 0), 0};
    add_sample(p, "device queue", time_of_step(p, p->taken++, own), values);
}

static void take_get_us(struct pass *p, char **words, size_t n)
{
    take_get(p, words, n, US);
}

static void take_get_ns(struct pass *p, char **words, size_t n)
{
    take_get(p, words, n, NS);
}

/* ---- sizes that were sampled ---- */

static void read_stamps(struct pass *p)
{
    json_t *all = load_cpu(p->m, NULL, 0);
    p->nstamps = cpu_stamps(all, &p->stamps);
    json_decref(all);
}

int64_t pw_mindinsight_convert(const struct pw_mindinsight *m, int64_t time)
{
    size_t low = 0, high = m->nbatches;
    if (!m->nsteps || time < 0)
        return time;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->batches[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || m->batches[low - 1].time < 0)
        return -1;
    const struct pw_mindinsight_batch *batch = &m->batches[low - 1];
    if (batch->step < 0 || (size_t)batch->step >= m->nsteps)
        return -1;
    const struct pw_mindinsight_step *step = &m->steps[batch->step];
    const double length =
        low < m->nbatches ? (double)(m->batches[low].time - batch->time) : (double)INT64_MAX;
    const double share = length > 0 ? (double)(time - batch->time) / length : 0;
    return step->start + pw_whole(share * (double)(step->end - step->start));
}

static int64_t time_of_sample(const struct pass *p, const struct dataset_op *op, size_t i)
{
    if (p->nstamps == op->nsizes)
        return pw_mindinsight_convert(p->m, p->stamps[i]);
    if (p->m->nsteps || op->interval_ms < 0)
        return -1;
    const int64_t begin = p->m->nbatches && p->m->batches[0].time > 0 ? p->m->batches[0].time : 0;
    const int64_t interval = op->interval_ms < PW_LIMIT / 1000000 ? op->interval_ms * 1000000 : 0;
    int64_t time;
    return __builtin_mul_overflow(interval, (int64_t)i, &time) ? -1 : pw_sum(begin, time);
}

static void add_sampled(struct pass *p, const struct dataset_op *op)
{
    const int is_twice = p->m->nbatches && op == last_of_host(p);
    for (size_t i = 0; i < op->nsizes; i++) {
        const int64_t values[] = {op->sizes[i], op->capacity};
        if (op->is_trunk && !is_twice) {
            add_sample(p, op->queue, time_of_sample(p, op, i), values);
            continue;
        }
        p->m->trace->counts.events++;
        pw_trace_omit(p->m->trace, is_twice ? PW_OMIT_TWICE : PW_OMIT_BRANCH);
    }
}

/* ---- all of them ---- */

static void read_pipeline(struct pass *p, int has_device_queue)
{
    char path[PW_ASCEND_PATH];
    if (!pw_mindinsight_has(p->m, PW_MINDINSIGHT_PIPELINE, path, sizeof(path)))
        return;
    const int err = pw_csv_read(path, "op_id", take_operator, p);
    if (err == -ENOMEM)
        p->err = err;
    else if (err)
        pw_mindinsight_complain(p->m, path, err);
    follow_trunk(p, has_device_queue);
}

int pw_mindinsight_read_queues(struct pw_mindinsight *m)
{
    char path[PW_ASCEND_PATH];
    struct pass *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->m = m;
    p->first_batch = -1;
    const int has_us = pw_mindinsight_has(m, PW_MINDINSIGHT_GOT, path, sizeof(path)),
              has_ns = pw_mindinsight_has(m, PW_MINDINSIGHT_GOT_GPU, path, sizeof(path));
    read_pipeline(p, has_us || has_ns);
    if (pw_mindinsight_has(m, PW_MINDINSIGHT_SENT, path, sizeof(path)) ||
        pw_mindinsight_has(m, PW_MINDINSIGHT_FED, path, sizeof(path)))
        read_lines(p, path, take_batch);
    if (pw_mindinsight_has(m, PW_MINDINSIGHT_GOT, path, sizeof(path)))
        read_lines(p, path, take_get_us);
    else if (pw_mindinsight_has(m, PW_MINDINSIGHT_GOT_GPU, path, sizeof(path)))
        read_lines(p, path, take_get_ns);
    read_stamps(p);
    for (size_t i = 0; i < p->noperators; i++)
        add_sampled(p, &p->operators[i]);
    for (size_t i = 0; i < p->noperators; i++)
        free(p->operators[i].sizes);
    const int err = p->err;
    free(p->stamps);
    free(p);
    return err;
}
