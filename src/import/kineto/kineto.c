/* The format of torch.profiler's traces (Kineto): finds a trace's rank and job in its outermost
 * members and first events, and reads its events one by one. It recognises traces of other tools,
 * which are not imported. See format.h; kineto_events.c imports each event. */
#include "import/kineto/kineto_events.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "import/parsers/jsonfile.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/format.h"

static int is_key(const char *key, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(key, wanted, length) == 0;
}

/* ---- what a list of Chrome trace events is: a trace of Kineto, by the categories of its events,
 * or one of another tool, by a table of marks ---- */

/* A tool whose traces are not imported, and what to use instead. */
struct tool {
    const char *what, *instead;
};

/* Categories of activities in Kineto (libkineto/src/ActivityType.cpp), then those of PyTorch's
 * first versions with Kineto. */
static const char *const categories[] = {
    "cpu_op",
    "user_annotation",
    "gpu_user_annotation",
    "gpu_memcpy",
    "gpu_memset",
    "kernel",
    "cuda_runtime",
    "cuda_driver",
    "cpu_instant_event",
    "python_function",
    "overhead",
    "cuda_sync",
    "cuda_event",
    "mtia_runtime",
    "mtia_ccp_events",
    "mtia_insight",
    "glow_runtime",
    "hpu_op",
    "xpu_runtime",
    "xpu_driver",
    "collective_comm",
    "hip_runtime",
    "hip_driver",
    "privateuse1_runtime",
    "privateuse1_driver",
    "Trace",
    "Operator",
    "Kernel",
    "Runtime",
    "Memcpy",
    "Memset",
};

static const struct tool horovod = {"a timeline of Horovod",
                                    "record the job itself, mpirun profwrap python FILE"};
static const struct tool xla = {"a trace of JAX, or of TensorFlow's profiler (XLA)",
                                "record the job itself, mpirun profwrap python FILE"};
static const struct tool tensorflow = {"a timeline of TensorFlow",
                                       "record the job itself, mpirun profwrap python FILE"};
static const struct tool viztracer = {"a trace of VizTracer",
                                      "record the job itself, mpirun profwrap python FILE, or with "
                                      "torch.profiler"};
static const struct tool nsight = {"an export of Nsight Systems",
                                   "record the job itself, mpirun profwrap PROGRAM, which records "
                                   "GPUs and NVTX"};
static const struct tool rocprof = {
    "an export of rocprof", "record the job itself, mpirun profwrap PROGRAM, which records GPUs"};
static const struct tool unitrace = {"a trace of Intel's unitrace",
                                     "record the job with torch.profiler, which also records XPUs"};
static const struct tool megascan = {"a trace of MegaScan (MegatronApp)",
                                     "record the job with torch.profiler, Megatron's --profile "
                                     "--use-pytorch-profiler"};
static const struct tool onnx = {"a profile of ONNX Runtime",
                                 "record the job itself, mpirun profwrap PROGRAM"};
static const struct tool chrome = {"a trace of Chrome, or one that Perfetto exported",
                                   "open it in Perfetto"};
static const struct tool own = {"a timeline that profwrap exported",
                                "use the rank files that it was made of"};

/* What a mark is: an event's category, its name, the name of a process in an event of metadata, or
 * a member beside the list. */
enum place { CATEGORY, NAME, PROCESS, MEMBER };

static const struct mark {
    enum place place;
    const char *text;
    int is_begin; /* 1: of a longer text */
    const struct tool *tool;
} marks[] = {
    {NAME, "NEGOTIATE_", 1, &horovod},
    {NAME, "MEMCPY_IN_FUSION_BUFFER", 0, &horovod},
    {NAME, "WAIT_FOR_OTHER_TENSOR_DATA", 0, &horovod},
    {NAME, "HOROVOD_", 1, &horovod},
    {PROCESS, "/device:", 1, &xla},
    {PROCESS, "/host:", 1, &xla},
    {PROCESS, "/job:", 1, &tensorflow},
    {CATEGORY, "Op", 0, &tensorflow},
    {CATEGORY, "FEE", 0, &viztracer},
    {CATEGORY, "fee", 0, &viztracer},
    {MEMBER, "viztracer_metadata", 0, &viztracer},
    {CATEGORY, "nvtx", 0, &nsight},
    {CATEGORY, "nvtx-kernel", 0, &nsight},
    {MEMBER, "CudaEvent", 0, &nsight},
    {MEMBER, "NvtxEvent", 0, &nsight},
    {MEMBER, "TraceProcessEvent", 0, &nsight},
    {MEMBER, "rocprofiler-sdk-tool", 0, &rocprof},
    {PROCESS, "CPU HIP API", 0, &rocprof},
    {PROCESS, "CPU HSA API", 0, &rocprof},
    {PROCESS, "HOST<", 1, &unitrace},
    {PROCESS, "RANK ", 1, &unitrace},
    {CATEGORY, "gpu_op", 0, &unitrace},
    {NAME, "iteration begin", 0, &megascan},
    {MEMBER, "rel_ts", 0, &megascan}, /* of each rank's file, before it is aggregated */
    {MEMBER, "pad_before", 0, &megascan},
    {CATEGORY, "Session", 0, &onnx},
    {CATEGORY, "Node", 0, &onnx},
    {CATEGORY, "toplevel", 0, &chrome},
    {CATEGORY, "__metadata", 0, &chrome},
    {CATEGORY, "blink", 1, &chrome},
    {CATEGORY, "devtools.timeline", 1, &chrome},
    {CATEGORY, "disabled-by-default-", 1, &chrome},
};

/* Categories that the other tool has, too. */
static int is_ambiguous(const char *category, const struct tool *foreign)
{
    return foreign && ((category[0] >= 'A' && category[0] <= 'Z') ||
                       (foreign == &unitrace && strcmp(category, "cpu_op") == 0));
}

static int is_mark(const struct mark *mark, const char *text, size_t length)
{
    const size_t n = strlen(mark->text);
    return (mark->is_begin ? length > n : length == n) && memcmp(mark->text, text, n) == 0;
}

static const struct tool *find(enum place place, const struct pw_json_item *item)
{
    for (size_t i = 0; item && i < sizeof(marks) / sizeof(marks[0]); i++)
        if (marks[i].place == place && is_mark(&marks[i], item->text, item->length))
            return marks[i].tool;
    return NULL;
}

static int is_text(const struct pw_json_item *item, const char *text)
{
    return item && item->length == strlen(text) && memcmp(item->text, text, item->length) == 0;
}

/* Returns 1 when the event is one of Kineto's, by its category, or of PyTorch without Kineto.
 * `foreign`: the tool whose mark was found before, so categories that both have do not tell. */
static int is_kineto_event(const struct pw_json_object *event, const struct tool *foreign)
{
    const struct pw_json_item *category = pw_json_find(event, 0, "cat");
    const struct pw_json_item *name = pw_json_find(event, 0, "name");
    static const char step[] = "ProfilerStep#"; /* torch.profiler's, of any category */
    for (size_t i = 0; category && i < sizeof(categories) / sizeof(categories[0]); i++)
        if (is_text(category, categories[i]) && !is_ambiguous(categories[i], foreign))
            return 1;
    return (name && name->length >= sizeof(step) &&
            memcmp(name->text, step, sizeof(step) - 1) == 0) ||
           (!category && is_text(pw_json_find(event, 0, "pid"), "CPU functions"));
}

/* Returns the tool that wrote the event, NULL when it does not tell. */
static const struct tool *tool_of_event(const struct pw_json_object *event)
{
    const struct pw_json_item *name = pw_json_find(event, 0, "name");
    const struct tool *found = find(CATEGORY, pw_json_find(event, 0, "cat"));
    if (!found && is_text(name, "process_name"))
        found = find(PROCESS, pw_json_find(event, 1, "name"));
    for (size_t i = 0; i < event->n && !found; i++) { /* Nsight's lines have no events of Chrome */
        const struct pw_json_item key = {.text = event->items[i].key,
                                         .length = event->items[i].key_length};
        found = event->items[i].depth == 0 ? find(MEMBER, &key) : NULL;
    }
    return found ? found : find(NAME, name);
}

/* Returns 1 when only Kineto's files have this member beside the list of events. */
static int is_kineto_member(const char *key, size_t length)
{
    static const char *const members[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                          "baseTimeNanoseconds"};
    const struct pw_json_item item = {.text = key, .length = (uint32_t)length};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (is_text(&item, members[i]))
            return 1;
    return 0;
}

/* Returns the tool whose files have this member beside the list of events, NULL for others. */
static const struct tool *tool_of_member(const char *key, size_t key_length, const char *value,
                                         size_t length)
{
    const struct pw_json_item item = {.text = key, .length = (uint32_t)key_length};
    /* As src/timeline/jsonwriter.c writes it. */
    if (is_text(&item, "otherData") && memmem(value, length, "\"job\":", 6) &&
        memmem(value, length, "\"command\":", 10))
        return &own;
    return find(MEMBER, &item);
}

/* ---- whose trace it is ---- */

/* The most events that are searched for the id of the process; the first event has it in
 * general. */
enum { MOST_LOOKED_AT = 100000 };

struct look {
    struct pw_import_head *head;
    struct pw_json_parser *parser;
    int has_events;
    struct {
        const char *host;
        int host_length;
        int64_t process; /* -1: the name has another form, or was compared already */
    } named;             /* the host and process in the file's name */
    int64_t looked_at;
    int is_kineto; /* an event or a member tells */
    const struct tool *foreign;
    int64_t events;
};

/* Reads host and process id from HOST_PROCESS.TIME.pt.trace.json, the name that torch's tensorboard
 * handler gives to files. */
static void read_name(struct look *look, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".pt.trace.json"), *dot = end;
    look->named.process = -1;
    if (!end)
        return;
    while (dot > name && isdigit((unsigned char)dot[-1]))
        dot--;
    dot = dot < end && dot > name && dot[-1] == '.' ? dot - 1 : end; /* the time may be missing */
    const char *digits = dot;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    if (digits == dot || dot - digits > 18 || digits <= name + 1 || digits[-1] != '_')
        return;
    look->named.host = name;
    look->named.host_length = (int)(digits - 1 - name);
    look->named.process = strtoll(digits, NULL, 10);
}

/* Events of the host, whose pid is the process. */
static int is_of_host(const struct pw_json_object *object)
{
    static const char *const of_hosts[] = {"cpu_op",   "user_annotation", "python_function",
                                           "Operator", "cuda_runtime",    "Runtime"};
    const struct pw_json_item *category = pw_json_find(object, 0, "cat");
    for (size_t i = 0; category && i < sizeof(of_hosts) / sizeof(of_hosts[0]); i++)
        if (is_key(category->text, category->length, of_hosts[i]))
            return 1;
    return 0;
}

/* Takes the host from the file's name only when the events have the process id of the name: a name
 * such as "worker0_step_12" has the same form without being a host and a process id. */
static void compare_process(struct look *look, const struct pw_json_object *object)
{
    int64_t process;
    look->looked_at++;
    if (is_of_host(object) && pw_json_to_int(pw_json_find(object, 0, "pid"), &process) == 0) {
        if (process == look->named.process && !look->head->hostname[0])
            snprintf(look->head->hostname, sizeof(look->head->hostname), "%.*s",
                     look->named.host_length, look->named.host);
        look->named.process = -1;
        return;
    }
    if (look->looked_at == MOST_LOOKED_AT)
        look->named.process = -1;
}

static int look_for_events(void *context, const char *key, size_t length)
{
    struct look *look = context;
    int yes = is_key(key, length, "traceEvents");
    if (!look->foreign) /* a list that is longer than a member may be */
        look->foreign = tool_of_member(key, length, "", 0);
    look->has_events |= yes;
    return yes;
}

static int64_t get_int(const json_t *object, const char *key, int64_t least, int64_t most,
                       int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    int64_t number = json_is_integer(value) ? (int64_t)json_integer_value(value) : least - 1;
    return number >= least && number <= most ? number : otherwise;
}

static void add_group(struct pw_import_head *head, const json_t *config)
{
    const json_t *ranks = json_object_get(config, "ranks");
    const char *name = json_string_value(json_object_get(config, "pg_name"));
    const char *backend = json_string_value(json_object_get(config, "backend_config"));
    struct pw_group *group =
        name && json_array_size(ranks) ? pw_import_add_group(head, name, ranks) : NULL;
    if (group)
        group->is_gloo = !backend || strstr(backend, "gloo");
}

static void read_distributed(struct pw_import_head *head, const json_t *info)
{
    const char *backend = json_string_value(json_object_get(info, "backend"));
    const json_t *groups = json_object_get(info, "pg_config"), *group;
    size_t i;
    head->rank = get_int(info, "rank", 0, 1 << 24, -1);
    head->world_size = get_int(info, "world_size", 1, 1 << 24, -1);
    if (backend)
        snprintf(head->backend, sizeof(head->backend), "%s", backend);
    json_array_foreach(groups, i, group)
    {
        add_group(head, group);
    }
}

static int look_at_member(void *context, const char *key, size_t key_length, const char *value,
                          size_t length)
{
    struct look *look = context;
    json_t *info = NULL;
    look->is_kineto |= is_kineto_member(key, key_length);
    if (!look->foreign)
        look->foreign = tool_of_member(key, key_length, value, length);
    if (is_key(key, key_length, "distributedInfo") && look->head->rank < 0)
        info = json_loadb(value, length, 0, NULL);
    if ((is_key(key, key_length, "host_name") || is_key(key, key_length, "hostname")) &&
        length > 2 && value[0] == '"' && !memchr(value, '\\', length))
        snprintf(look->head->hostname, sizeof(look->head->hostname), "%.*s", (int)length - 2,
                 value + 1);
    if (info)
        read_distributed(look->head, info);
    json_decref(info);
    return 0;
}

/* Looks for what tells that the event is one of Kineto's, or of another tool. */
static void recognise(struct look *look, const struct pw_json_object *object)
{
    if (look->is_kineto)
        return;
    look->is_kineto = is_kineto_event(object, look->foreign);
    if (!look->is_kineto && !look->foreign)
        look->foreign = tool_of_event(object);
}

/* Returns 1 to stop when time, rank and host are known, and that it is a trace of Kineto. When the
 * members before the events do not have the rank, members after the events may, so the rest of the
 * file is skimmed. */
static int look_at_event(void *context, const char *text, size_t length, int64_t offset)
{
    struct look *look = context;
    struct pw_json_object object;
    (void)offset;
    look->has_events = 1;
    look->events++;
    const int needs_time = look->head->first_ns == INT64_MAX, needs_host = look->named.process >= 0;
    if (!needs_time && !needs_host && look->is_kineto)
        return look->head->rank >= 0;
    if (!look->parser || pw_json_parse(look->parser, text, length, &object))
        return 0;
    const struct pw_json_item *ts = needs_time ? pw_json_find(&object, 0, "ts") : NULL;
    int64_t time;
    recognise(look, &object);
    if (!look->head->pid && is_of_host(&object) &&
        pw_json_to_int(pw_json_find(&object, 0, "pid"), &look->head->pid))
        look->head->pid = 0;
    if (ts && pw_decimal_scale(ts->text, ts->length, 3, &time) == 0)
        look->head->first_ns = time;
    if (needs_host)
        compare_process(look, &object);
    return look->is_kineto && look->head->first_ns != INT64_MAX && look->head->rank >= 0 &&
           look->named.process < 0;
}

/* Says what the file is, if it is no trace of Kineto. In a damaged one the events of Kineto may be
 * lost. Returns 0 or -ENOTSUP. */
static int refuse_foreign(const struct look *look, const struct pw_jsonfile_end *end)
{
    struct pw_import_head *head = look->head;
    char tool[160] = "";
    if (look->is_kineto)
        return 0;
    if (look->foreign)
        snprintf(tool, sizeof(tool), "; it is %s: %s", look->foreign->what, look->foreign->instead);
    snprintf(head->problem, sizeof(head->problem),
             look->events
                 ? "no trace of PyTorch: none of its %lld events has a category of Kineto%s"
                 : "no trace of PyTorch: it has %lld events%s",
             (long long)look->events,
             tool[0] ? tool : "; profwrap import --help lists what is imported");
    head->is_other = end->cut_at < 0;
    head->tool = look->foreign ? look->foreign->what : NULL;
    return -ENOTSUP;
}

/* Finds the rank and job of a trace: from the members before the events, or from the whole file
 * when the rank is not there; see struct pw_import_format. */
static int pw_kineto_look(const char *path, struct pw_import_head *out)
{
    struct look look = {.head = out, .parser = pw_json_parser_create()};
    struct pw_jsonfile_taker taker = {
        .context = &look,
        .text = out->text,
        .is_list = look_for_events,
        .member = look_at_member,
        .element = look_at_event,
    };
    struct pw_jsonfile_end end;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    read_name(&look, path);
    int err = look.parser ? pw_jsonfile_read(path, &taker, &end) : -ENOMEM;
    pw_json_parser_destroy(look.parser);
    if (!err && !look.has_events && !look.foreign) {
        if (end.cut_at >= 0)
            snprintf(out->problem, sizeof(out->problem), "has no traceEvents: %s, at byte %lld",
                     end.problem, (long long)end.cut_at);
        else
            snprintf(out->problem, sizeof(out->problem), "has no traceEvents");
        out->is_other = end.cut_at < 0;
        err = -EINVAL;
    } else if (err == -EINVAL && end.is_scalar) {
        snprintf(out->problem, sizeof(out->problem), "has no traceEvents");
        out->is_other = 1;
    } else if (err == -EINVAL) {
        snprintf(out->problem, sizeof(out->problem),
                 "is no JSON, and of no format that is imported (profwrap import --help)");
    }
    return err ? err : refuse_foreign(&look, &end);
}

/* ---- what goes to the rank's file ---- */

static void add_device(struct pw_trace *trace, const json_t *device)
{
    const char *name = json_string_value(json_object_get(device, "name"));
    struct pw_row_device row = {
        .device = (int32_t)get_int(device, "id", 0, 65535, -1),
        .memory_bytes = get_int(device, "totalGlobalMem", 0, PW_LIMIT, -1),
        .multiprocessors = (int32_t)get_int(device, "numSms", 0, 1 << 24, -1),
    };
    snprintf(row.name, sizeof(row.name), "%.63s", name ? name : "");
    pw_rankfile_append(trace->file, PW_TABLE_device, &row);
}

static void add_metadata(struct pw_trace *trace, const char *key, size_t key_length,
                         const char *value, size_t length)
{
    struct pw_row_metadata row = {
        .key = pw_names_find(&trace->names, key, key_length),
        .value = pw_names_find(&trace->names, value, length),
    };
    pw_rankfile_append(trace->file, PW_TABLE_metadata, &row);
}

/* Takes a member of the outermost object: writes devices and metadata to the rank's file, and sets
 * the window's base of times. */
static void add_member(struct pw_trace_window *window, const char *key, size_t key_length,
                       const char *value, size_t length)
{
    struct pw_trace *trace = window->trace;
    int64_t base;
    if (is_key(key, key_length, "baseTimeNanoseconds") &&
        pw_decimal_scale(value, length, 0, &base) == 0 && base >= 0)
        window->base_ns = base;
    if (trace->described)
        return; /* an earlier file of the rank had the same members */
    if (!is_key(key, key_length, "deviceProperties")) {
        int quoted = length >= 2 && value[0] == '"';
        add_metadata(trace, key, key_length, value + quoted, length - 2 * (size_t)quoted);
        return;
    }
    json_t *devices = json_loadb(value, length, 0, NULL), *device;
    size_t i;
    json_array_foreach(devices, i, device)
    {
        add_device(trace, device);
    }
    json_decref(devices);
}

static int take_member(void *context, const char *key, size_t key_length, const char *value,
                       size_t length)
{
    struct pw_kineto *k = context;
    add_member(k->window, key, key_length, value, length);
    return 0;
}

static int take_event(void *context)
{
    struct pw_kineto *k = context;
    pw_kineto_event_sort(&k->index, &k->json.object, &k->event);
    return k->event.duplicate ? PW_OMIT_DUPLICATE_KEY : pw_kineto_take(k);
}

static int read_trace(const char *path, struct pw_trace_window *window,
                      const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct pw_kineto *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    *k = (struct pw_kineto){
        .json.take = take_event,
        .window = window,
        .trace = window->trace,
        .last = {.lane = -1},
    };
    pw_kineto_index_init(&k->index);
    const struct pw_jsonfile_taker taker = {
        .context = k,
        .is_list = pw_jsonfile_is_events,
        .member = take_member,
        .element = pw_import_take_element,
        .progress = progress,
    };
    int err = pw_import_read_json(path, window, &taker, problem, size);
    free(k);
    return err;
}

static const char *const files[] = {"*.json", "*.json.gz", NULL};

const struct pw_import_format pw_import_kineto = {
    .name = "kineto",
    .what = "traces of torch.profiler (Chrome trace events, .json or .json.gz)",
    .files = files,
    .look = pw_kineto_look,
    .read = read_trace,
};
