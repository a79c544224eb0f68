/* The layers of a trace_view.json, and what the events of each become; see ascend_events.h. What
 * the arguments of events are is that of msprof's assemblers (Ascend/msprof,
 * analysis/csrc/application/timeline) and of the wheel of MindSpore 2.10
 * (mindspore/profiler/analysis).
 */
#include "import/ascend/ascend_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"
#include "import/parsers/jsonfile.h"

/* ---- which layer each process is, and which group of HCCL each thread ----
 *
 * Names may come behind the events that they are for, so that they need a pass of their own. */

/* Processes and threads that are kept; a trace has some ten and some hundred. */
enum { MOST_PROCESSES = 4096, MOST_THREADS = 1 << 16 };

static const struct {
    const char *name;
    enum pw_ascend_layer layer;
} layer_names[] = {
    {"CPU OP", PW_LAYER_CPU_OPERATORS},   {"MindSpore", PW_LAYER_FRAMEWORK},
    {"Python", PW_LAYER_FRAMEWORK},       {"python", PW_LAYER_MARKS},
    {"python3", PW_LAYER_MARKS},          {"CANN", PW_LAYER_CANN},
    {"Ascend Hardware", PW_LAYER_DEVICE}, {"HCCL", PW_LAYER_HCCL},
    {"Communication", PW_LAYER_HCCL},     {"Overlap Analysis", PW_LAYER_DERIVED},
    {"Scope Layer", PW_LAYER_DERIVED},
};

struct pass {
    struct pw_ascend_layers *layers;
    struct pw_json_parser *parser;
    struct pw_json_object object;
};

static int by_pid(const void *a, const void *b)
{
    const struct pw_ascend_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_thread(const void *a, const void *b)
{
    const struct pw_ascend_thread *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The process of this number; a new one where there is none yet. NULL: there are too many. */
static struct pw_ascend_process *process_of(struct pw_ascend_layers *l, int64_t pid)
{
    for (size_t i = l->nprocesses; i-- > 0;)
        if (l->processes[i].pid == pid)
            return &l->processes[i];
    if (l->nprocesses == l->processes_capacity) {
        size_t capacity = l->processes_capacity ? 2 * l->processes_capacity : 16;
        struct pw_ascend_process *more =
            capacity > MOST_PROCESSES ? NULL : realloc(l->processes, capacity * sizeof(*more));
        if (!more)
            return NULL;
        l->processes = more;
        l->processes_capacity = capacity;
    }
    l->processes[l->nprocesses] = (struct pw_ascend_process){.pid = pid, .device = -1};
    return &l->processes[l->nprocesses++];
}

static void take_process(struct pw_ascend_layers *l, int64_t pid, const struct pw_json_item *name)
{
    struct pw_ascend_process *process = process_of(l, pid);
    if (!process)
        return;
    pw_json_copy(name, process->name, sizeof(process->name));
    for (size_t i = 0; i < sizeof(layer_names) / sizeof(layer_names[0]); i++)
        if (strcmp(layer_names[i].name, process->name) == 0)
            process->layer = layer_names[i].layer;
}

/* "NPU 3", or "NPU" where the number is not told. */
static void take_label(struct pw_ascend_layers *l, int64_t pid, const struct pw_json_item *label)
{
    struct pw_ascend_process *process = process_of(l, pid);
    char text[32];
    int device;
    if (process && sscanf(pw_json_copy(label, text, sizeof(text)), "NPU %d", &device) == 1 &&
        device >= 0 && device < 65536)
        process->device = device;
}

/* "Group 9350434047717501483 Communication", "Communication", or "Plane 2". */
static void take_thread(struct pw_ascend_layers *l, int64_t pid, int64_t tid,
                        const struct pw_json_item *name)
{
    struct pw_ascend_thread thread = {.pid = pid, .tid = tid};
    char text[128];
    pw_json_copy(name, text, sizeof(text));
    char *end = strstr(text, "Communication");
    if (l->nthreads == MOST_THREADS)
        return;
    if (l->nthreads == l->threads_capacity) {
        size_t capacity = l->threads_capacity ? 2 * l->threads_capacity : 64;
        struct pw_ascend_thread *more = realloc(l->threads, capacity * sizeof(*more));
        l->failed |= !more;
        if (!more)
            return;
        l->threads = more;
        l->threads_capacity = capacity;
    }
    thread.is_group = end != NULL;
    if (end && strncmp(text, "Group ", 6) == 0 && end > text + 7) {
        end[-1] = '\0';
        snprintf(thread.group, sizeof(thread.group), "%.63s", text + 6);
    }
    l->threads[l->nthreads++] = thread;
}

/* What names a layer, and the time of the first event. */
static int take_element(void *context, const char *text, size_t length, int64_t offset)
{
    struct pass *p = context;
    struct pw_ascend_layers *l = p->layers;
    int64_t pid, tid, time;
    (void)offset;
    int is_metadata = memmem(text, length, "_name\"", 6) || memmem(text, length, "_labels\"", 8);
    if (!is_metadata && l->first_ns != INT64_MAX)
        return 0;
    if (pw_json_parse(p->parser, text, length, &p->object))
        return 0;
    const struct pw_json_item *name = pw_json_find(&p->object, 0, "name"),
                              *ts = pw_json_find(&p->object, 0, "ts"),
                              *phase = pw_json_find(&p->object, 0, "ph");
    if (ts && pw_decimal_scale(ts->text, ts->length, 3, &time) == 0 && time > 0 &&
        time < l->first_ns)
        l->first_ns = time;
    if (!phase || phase->length != 1 || phase->text[0] != 'M' || !name ||
        pw_json_to_int(pw_json_find(&p->object, 0, "pid"), &pid))
        return 0;
    char key[24];
    pw_json_copy(name, key, sizeof(key));
    if (strcmp(key, "process_name") == 0)
        take_process(l, pid, pw_json_find(&p->object, 1, "name"));
    else if (strcmp(key, "process_labels") == 0)
        take_label(l, pid, pw_json_find(&p->object, 1, "labels"));
    else if (strcmp(key, "thread_name") == 0 &&
             pw_json_to_int(pw_json_find(&p->object, 0, "tid"), &tid) == 0)
        take_thread(l, pid, tid, pw_json_find(&p->object, 1, "name"));
    return l->failed ? -ENOMEM : 0;
}

/* Planes follow the group that they are of. */
static void name_planes(struct pw_ascend_layers *l)
{
    for (size_t i = 1; i < l->nthreads; i++)
        if (!l->threads[i].is_group && l->threads[i].pid == l->threads[i - 1].pid)
            memcpy(l->threads[i].group, l->threads[i - 1].group, sizeof(l->threads[i].group));
}

int pw_ascend_layers_read(const char *path, struct pw_ascend_layers *out)
{
    *out = (struct pw_ascend_layers){.first_ns = INT64_MAX};
    struct pass *p = malloc(sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->layers = out;
    p->parser = pw_json_parser_create();
    const struct pw_jsonfile_taker taker = {.context = p,
                                            .is_list = pw_jsonfile_is_events,
                                            .member = pw_jsonfile_ignore_member,
                                            .element = take_element};
    struct pw_jsonfile_end end;
    int err = p->parser ? pw_jsonfile_read(path, &taker, &end) : -ENOMEM;
    pw_json_parser_destroy(p->parser);
    free(p);
    pw_sort(out->processes, out->nprocesses, sizeof(*out->processes), by_pid);
    pw_sort(out->threads, out->nthreads, sizeof(*out->threads), by_thread);
    name_planes(out);
    return err;
}

void pw_ascend_layers_fini(struct pw_ascend_layers *layers)
{
    free(layers->processes);
    free(layers->threads);
    *layers = (struct pw_ascend_layers){0};
}

/* NULL: it is not known. */
static const struct pw_ascend_process *ascend_process_find(const struct pw_ascend_layers *layers,
                                                           int64_t pid)
{
    const struct pw_ascend_process key = {.pid = pid};
    return layers->nprocesses
               ? bsearch(&key, layers->processes, layers->nprocesses, sizeof(key), by_pid)
               : NULL;
}

static const struct pw_ascend_thread *ascend_thread_find(const struct pw_ascend_layers *layers,
                                                         int64_t pid, int64_t tid)
{
    const struct pw_ascend_thread key = {.pid = pid, .tid = tid};
    return layers->nthreads
               ? bsearch(&key, layers->threads, layers->nthreads, sizeof(key), by_thread)
               : NULL;
}

/* ---- an event ---- */

static int is_word(const struct pw_json_item *item, const char *word)
{
    return item && item->length == strlen(word) && memcmp(item->text, word, item->length) == 0;
}

static int begins(const char *text, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

static const struct pw_json_item *argument(const struct pw_ascend *a, const char *key)
{
    return pw_json_find(&a->json.object, 1, key);
}

static int64_t number_of(const struct pw_ascend *a, const char *key, int64_t most,
                         int64_t otherwise)
{
    int64_t value;
    if (pw_json_to_int(argument(a, key), &value) || value < 0 || value > most)
        return otherwise;
    return value;
}

static uint32_t text_of(struct pw_ascend *a, const struct pw_json_item *item)
{
    return item && item->length ? pw_names_find(&a->trace->names, item->text, item->length) : 0;
}

/* Of all layers of the host: what is around what is told by the number of the system's thread. */
static int32_t host_lane(struct pw_ascend *a)
{
    return pw_names_lane(&a->trace->names, 0, a->tid);
}

/* ---- the host ---- */

static struct pw_host_record host_record(struct pw_ascend *a, enum pw_host_type type)
{
    return pw_host_record_make(type, host_lane(a), a->start, a->end, text_of(a, a->name));
}

/* "Default/network-Net/MatMul-op3" is of the type "MatMul". */
static uint32_t type_of_operator(struct pw_ascend *a)
{
    const char *text = a->name->text, *end = text + a->name->length, *at = end;
    while (at > text && at[-1] != '/')
        at--;
    const char *number = memmem(at, (size_t)(end - at), "-op", 3);
    return pw_names_find(&a->trace->names, at, (size_t)((number ? number : end) - at));
}

static int take_cpu_operator(struct pw_ascend *a)
{
    struct pw_host_record record = host_record(a, PW_HOST_RANGE);
    record.thread = pw_names_lane(&a->trace->names, a->pid, a->tid);
    record.kind = PW_KIND_OPERATOR;
    record.category = a->name ? type_of_operator(a) : 0;
    pw_trace_add_host(a->window, &record);
    return 0;
}

/* The number of "ProfilerStep#12", whatever is before it; -1: it is no step. */
static int64_t step_of(const struct pw_json_item *name)
{
    static const char word[] = "ProfilerStep#";
    const char *at = name ? memmem(name->text, name->length, word, sizeof(word) - 1) : NULL;
    struct pw_json_item digits = {.type = PW_JSON_NUMBER};
    int64_t number;
    if (!at)
        return -1;
    digits.text = at + sizeof(word) - 1;
    digits.length = (uint32_t)(name->text + name->length - digits.text);
    return pw_json_to_int(&digits, &number) == 0 && number >= 0 ? number : -1;
}

/* "aten::mm" is of the type "aten", "KernelLaunch::Add" of "KernelLaunch". */
static uint32_t type_of_call(struct pw_ascend *a)
{
    const char *colons = a->name ? memmem(a->name->text, a->name->length, "::", 2) : NULL;
    return colons ? pw_names_find(&a->trace->names, a->name->text, (size_t)(colons - a->name->text))
                  : 0;
}

static int take_framework(struct pw_ascend *a)
{
    struct pw_host_record record = host_record(a, PW_HOST_RANGE);
    const int64_t step = step_of(a->name);
    const int is_queue = is_word(a->category, "enqueue") || is_word(a->category, "dequeue");
    record.kind = step >= 0                                             ? PW_KIND_STEP
                  : is_word(a->category, "python_function")             ? PW_KIND_FUNCTION
                  : is_queue || is_word(a->category, "user_annotation") ? PW_KIND_USER
                                                                        : PW_KIND_OPERATOR;
    record.sequence = step >= 0 ? step : number_of(a, "Sequence number", INT64_MAX, -1);
    record.shapes = text_of(a, argument(a, "Input Dims"));
    if (record.kind == PW_KIND_OPERATOR)
        record.category = type_of_call(a);
    else if (is_queue)
        record.category = text_of(a, a->category);
    pw_trace_add_host(a->window, &record);
    if (step >= 0)
        pw_trace_add_step(a->window, step, a->start, a->end);
    return 0;
}

static int take_mark(struct pw_ascend *a)
{
    struct pw_host_record record = host_record(a, PW_HOST_RANGE);
    record.kind = PW_KIND_USER;
    pw_trace_add_host(a->window, &record);
    return 0;
}

/* Tasks and the calls that launched them have one number. */
static int64_t connection_of(const struct pw_ascend *a)
{
    enum { NONE = 0 };
    const int64_t none = UINT32_MAX; /* what msprof writes where there is none */
    int64_t number = number_of(a, "connection_id", INT64_MAX, NONE);
    return number == none ? NONE : number;
}

/* The calls in which the program waits for a device. */
static uint8_t sync_of_call(const struct pw_json_item *name)
{
    static const struct {
        const char *word;
        uint8_t kind;
    } waits[] = {
        {"SynchronizeDevice", PW_SYNC_CONTEXT},
        {"SynchronizeStream", PW_SYNC_STREAM},
        {"SynchronizeEvent", PW_SYNC_EVENT},
    };
    for (size_t i = 0; name && i < sizeof(waits) / sizeof(waits[0]); i++)
        if (memmem(name->text, name->length, waits[i].word, strlen(waits[i].word)))
            return waits[i].kind;
    return 0;
}

static int take_runtime_call(struct pw_ascend *a)
{
    struct pw_host_record record = host_record(a, PW_HOST_CALL);
    record.id = (uint64_t)connection_of(a);
    record.sync = sync_of_call(a->name);
    pw_trace_add_host(a->window, &record);
    if (!a->trace->keep_cuda_calls) {
        a->trace->counts.taken--;
        return PW_OMIT_CUDA_CALL;
    }
    return 0;
}

/* ---- the device ---- */

static struct pw_device_record device_record(struct pw_ascend *a, enum pw_device_type type)
{
    const int64_t connection = connection_of(a);
    struct pw_device_record record = pw_trace_device(type, a->start, a->end);
    record.key[0] = connection;
    record.correlation = (uint64_t)connection;
    record.device = a->process->device < 0 ? 0 : a->process->device;
    record.name = text_of(a, a->name);
    record.stream = a->tid >= 0 && a->tid <= UINT32_MAX ? (uint32_t)a->tid : 0;
    return record;
}

/* Tasks that compute, by their type. */
static int is_kernel(const struct pw_json_item *type)
{
    static const char *const types[] = {
        "AI_CORE",        "AI_VECTOR_CORE", "AI_CPU",        "MIX_AIC",      "MIX_AIV",
        "FFTS_PLUS",      "DSA_SQE",        "KERNEL_AICORE", "KERNEL_AIVEC", "KERNEL_AICPU",
        "KERNEL_MIX_AIC", "KERNEL_MIX_AIV", "KERNEL_SIMT",
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (is_word(type, types[i]))
            return 1;
    return 0;
}

static int is_copy(const struct pw_json_item *type)
{
    return is_word(type, "MEMCPY_ASYNC") || is_word(type, "SDMA_SQE") ||
           is_word(type, "PCIE_DMA_SQE");
}

static uint8_t direction_of(const struct pw_json_item *operation)
{
    static const struct {
        const char *word;
        uint8_t kind;
    } directions[] = {
        {"host to host", PW_COPY_HTOH},      {"host to device", PW_COPY_HTOD},
        {"device to host", PW_COPY_DTOH},    {"device to device", PW_COPY_DTOD},
        {"host to device ex", PW_COPY_HTOD}, {"device to host ex", PW_COPY_DTOH},
    };
    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++)
        if (is_word(operation, directions[i].word))
            return directions[i].kind;
    return PW_COPY_UNKNOWN;
}

/* Kernels by which HCCL does an operation are in that operation's time. */
static int is_part_of_operation(const struct pw_json_item *name)
{
    return name && (begins(name->text, name->length, "hcom_") ||
                    memmem(name->text, name->length, "AicpuKernel", 11) ||
                    memmem(name->text, name->length, "AivKernel", 9));
}

static int take_task(struct pw_ascend *a)
{
    const struct pw_json_item *type = argument(a, "Task Type");
    if (is_part_of_operation(a->name))
        return PW_OMIT_HCCL_TASK;
    if (!is_kernel(type) && !is_copy(type)) {
        pw_trace_name_omitted(a->trace, type ? type->text : "", type ? type->length : 0);
        return PW_OMIT_TASK;
    }
    struct pw_device_record record =
        device_record(a, is_copy(type) ? PW_DEVICE_MEMCPY : PW_DEVICE_KERNEL);
    if (is_copy(type)) {
        record.bytes = number_of(a, "size(B)", PW_LIMIT, -1);
        record.copy = direction_of(argument(a, "operation"));
        record.asynchronous = 1;
    }
    pw_trace_add_device(a->window, &record);
    return 0;
}

/* ---- HCCL ---- */

void pw_ascend_operation(const char *name, size_t length, uint16_t *op, int64_t *number)
{
    const char *end = name + length, *at = memmem(name, length, "__", 2);
    size_t skip = begins(name, length, "hcom_") ? 5 : begins(name, length, "Hccl") ? 4 : 0;
    *op = pw_collective_op(name + skip, length - skip);
    *number = -1;
    at = at ? memchr(at + 2, '_', (size_t)(end - at - 2)) : NULL;
    if (!at)
        return;
    const char *digits = at + 1;
    for (at = digits; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    const struct pw_json_item item = {
        .text = digits, .length = (uint32_t)(at - digits), .type = PW_JSON_NUMBER};
    if (pw_json_to_int(&item, number) || *number < 0)
        *number = -1;
}

/* "hcom_allReduce" of "hcom_allReduce__483_2_1": what kernels are that are counted as one. */
static uint32_t name_of_operation(struct pw_ascend *a)
{
    const char *text = a->name->text, *end = memmem(text, a->name->length, "__", 2);
    char name[96];
    size_t length = end ? (size_t)(end - text) : a->name->length;
    if (begins(text, length, "hcom_"))
        return pw_names_find(&a->trace->names, text, length);
    /* MindSpore's graphs name them by their operators, "Default/AllReduce-op3" */
    const char *at = text + length;
    while (at > text && at[-1] != '/')
        at--;
    const char *number = memmem(at, (size_t)(text + length - at), "-op", 3);
    int n = snprintf(name, sizeof(name), "hcom_%.*s", (int)((number ? number : text + length) - at),
                     at);
    return pw_names_find(&a->trace->names, name,
                         (size_t)n < sizeof(name) ? (size_t)n : sizeof(name) - 1);
}

/* What goes in and comes out, where `count` is what HCCL's functions are called with. */
static void set_counts(struct pw_device_record *record, uint16_t op, int64_t count, int64_t nranks)
{
    int64_t all = -1;
    if (count < 0 || nranks < 1 || __builtin_mul_overflow(count, nranks, &all) || all > PW_LIMIT)
        all = -1;
    record->count_in = op == PW_OP_Reduce_scatter_block ? all : op == PW_OP_Recv ? 0 : count;
    record->count_out = op == PW_OP_Allgather ? all : op == PW_OP_Send ? 0 : count;
}

static const struct pw_group *find_group(const struct pw_trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->ngroups; i++)
        if (strcmp(trace->groups[i].name, name) == 0)
            return &trace->groups[i];
    return NULL;
}

/* Which of the device's groups a thread is of: their streams are not told. */
static uint32_t group_number(const struct pw_ascend *a, const struct pw_ascend_thread *thread)
{
    uint32_t number = 0;
    for (const struct pw_ascend_thread *t = a->layers->threads; t < thread; t++)
        number += t->pid == thread->pid && t->is_group;
    return number;
}

static int take_operation(struct pw_ascend *a, const struct pw_ascend_thread *thread)
{
    const struct pw_json_item *type = argument(a, "data_type"),
                              *algorithm = argument(a, "alg_type");
    struct pw_device_record record = device_record(a, PW_DEVICE_KERNEL);
    struct pw_collective c = {
        .library = PW_LIBRARY_HCCL,
        .group = pw_names_find(&a->trace->names, thread->group, strlen(thread->group)),
        .group_size = (int32_t)number_of(a, "rank_size", 1 << 24, -1),
        .peer = -1,
        .first = -1,
        .stride = -1,
        .my_rank = -1,
        .algorithm = text_of(a, algorithm),
    };
    const struct pw_group *group = find_group(a->trace, thread->group);
    if (!a->name)
        return PW_OMIT_INCOMPLETE;
    pw_ascend_operation(a->name->text, a->name->length, &c.op, &record.seq);
    if (group && group->size)
        c.group_size = (int32_t)group->size;
    if (type) {
        c.element_bytes = pw_collective_element(type->text, type->length);
        c.datatype = c.element_bytes ? text_of(a, type) : 0;
    }
    set_counts(&record, c.op, number_of(a, "count", PW_LIMIT, -1), c.group_size);
    record.stream = group_number(a, thread);
    record.name = name_of_operation(a);
    record.is_nccl = 1;
    record.is_numbered = record.seq >= 0;
    record.collective = pw_collectives_find(&a->trace->collectives, &c);
    pw_trace_add_device(a->window, &record);
    return 0;
}

static int take_hccl(struct pw_ascend *a)
{
    const struct pw_ascend_thread *thread = ascend_thread_find(a->layers, a->pid, a->tid);
    return thread && thread->is_group ? take_operation(a, thread) : PW_OMIT_HCCL_TASK;
}

/* ---- which is which ---- */

/* 1 when the event says when it was: microseconds with decimals, in quotes where MindSpore writes
 * them. */
static int read_span(struct pw_ascend *a)
{
    const struct pw_json_item *ts = pw_json_find(&a->json.object, 0, "ts"),
                              *dur = pw_json_find(&a->json.object, 0, "dur");
    int64_t length;
    if (!ts || !dur || pw_decimal_scale(ts->text, ts->length, 3, &a->start) ||
        pw_decimal_scale(dur->text, dur->length, 3, &length) || length < 0 ||
        !pw_is_possible(pw_sum(a->start, length)))
        return 0;
    a->end = a->start + length;
    return 1;
}

static int take_complete(struct pw_ascend *a)
{
    static int (*const takers[])(struct pw_ascend * a) = {
        [PW_LAYER_CPU_OPERATORS] = take_cpu_operator,
        [PW_LAYER_FRAMEWORK] = take_framework,
        [PW_LAYER_MARKS] = take_mark,
        [PW_LAYER_CANN] = take_runtime_call,
        [PW_LAYER_DEVICE] = take_task,
        [PW_LAYER_HCCL] = take_hccl,
    };
    const enum pw_ascend_layer layer = a->process ? a->process->layer : PW_LAYER_UNKNOWN;
    if (layer == PW_LAYER_DERIVED)
        return PW_OMIT_DERIVED;
    if (layer == PW_LAYER_UNKNOWN) {
        const char *name = a->process ? a->process->name : "";
        pw_trace_name_omitted(a->trace, name, strlen(name));
        return PW_OMIT_LAYER;
    }
    return read_span(a) ? takers[layer](a) : PW_OMIT_NO_TIME;
}

/* Names of the host's threads. */
static int take_metadata(struct pw_ascend *a)
{
    const enum pw_ascend_layer layer = a->process ? a->process->layer : PW_LAYER_UNKNOWN;
    struct pw_row_thread_name row = {.time = -1};
    if (!is_word(a->name, "thread_name") || a->tid < INT32_MIN || a->tid > INT32_MAX ||
        (layer != PW_LAYER_CPU_OPERATORS && layer != PW_LAYER_FRAMEWORK))
        return PW_OMIT_HINT;
    row.tid = (int32_t)a->tid;
    row.thread = layer == PW_LAYER_CPU_OPERATORS ? pw_names_lane(&a->trace->names, a->pid, a->tid)
                                                 : host_lane(a);
    row.name = text_of(a, argument(a, "name"));
    pw_rankfile_append(a->trace->file, PW_TABLE_thread_name, &row);
    a->trace->counts.taken++;
    return 0;
}

int pw_ascend_take(struct pw_ascend *a)
{
    const struct pw_json_item *phase = pw_json_find(&a->json.object, 0, "ph");
    a->name = pw_json_find(&a->json.object, 0, "name");
    a->category = pw_json_find(&a->json.object, 0, "cat");
    if (pw_json_to_int(pw_json_find(&a->json.object, 0, "pid"), &a->pid))
        a->pid = -1;
    if (pw_json_to_int(pw_json_find(&a->json.object, 0, "tid"), &a->tid))
        a->tid = -1;
    a->process = ascend_process_find(a->layers, a->pid);
    switch (phase && phase->length == 1 ? phase->text[0] : '\0') {
    case 'X':
        return take_complete(a);
    case 'i':
    case 'I':
        return PW_OMIT_MARK;
    case 'M':
        return take_metadata(a);
    case 'C':
        return PW_OMIT_COUNTER;
    case 's':
    case 't':
    case 'f':
        return PW_OMIT_FLOW;
    default:
        return PW_OMIT_UNKNOWN;
    }
}

void pw_ascend_set_item(struct pw_json_object *object, const char *key, const char *text, int depth)
{
    const int is_number = *text && strspn(text, "-0123456789") == strlen(text);
    object->items[object->n++] = (struct pw_json_item){
        .key = key,
        .key_length = (uint32_t)strlen(key),
        .text = text,
        .length = (uint32_t)strlen(text),
        .type = is_number ? PW_JSON_NUMBER : PW_JSON_TEXT,
        .depth = (uint8_t)depth,
    };
}
