/* The tables of Kineto's categories, and of other tools' marks; see foreign.h. */
#include "import/foreign.h"

#include <string.h>

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

static const struct pw_foreign horovod = {"a timeline of Horovod",
                                          "record the job itself, mpirun profwrap python FILE"};
static const struct pw_foreign xla = {"a trace of JAX, or of TensorFlow's profiler (XLA)",
                                      "record the job itself, mpirun profwrap python FILE"};
static const struct pw_foreign tensorflow = {"a timeline of TensorFlow",
                                             "record the job itself, mpirun profwrap python FILE"};
static const struct pw_foreign viztracer = {
    "a trace of VizTracer", "record the job itself, mpirun profwrap python FILE, or with "
                            "torch.profiler"};
static const struct pw_foreign nsight = {
    "an export of Nsight Systems", "record the job itself, mpirun profwrap PROGRAM, which records "
                                   "GPUs and NVTX"};
static const struct pw_foreign rocprof = {
    "an export of rocprof", "record the job itself, mpirun profwrap PROGRAM, which records GPUs"};
static const struct pw_foreign onnx = {"a profile of ONNX Runtime",
                                       "record the job itself, mpirun profwrap PROGRAM"};
static const struct pw_foreign chrome = {"a trace of Chrome, or one that Perfetto exported",
                                         "open it in Perfetto"};
static const struct pw_foreign own = {"a timeline that profwrap exported",
                                      "use the rank files that it was made of"};

/* What a mark is: an event's category, its name, the name of a process in an event of metadata, or
 * a member beside the list. */
enum place { CATEGORY, NAME, PROCESS, MEMBER };

static const struct mark {
    enum place place;
    const char *text;
    int is_begin; /* 1: of a longer text */
    const struct pw_foreign *tool;
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
    {CATEGORY, "Session", 0, &onnx},
    {CATEGORY, "Node", 0, &onnx},
    {CATEGORY, "toplevel", 0, &chrome},
    {CATEGORY, "__metadata", 0, &chrome},
    {CATEGORY, "blink", 1, &chrome},
    {CATEGORY, "devtools.timeline", 1, &chrome},
    {CATEGORY, "disabled-by-default-", 1, &chrome},
};

/* Categories that other tools have, too. */
static int is_ambiguous(const char *category)
{
    return category[0] >= 'A' && category[0] <= 'Z';
}

static int is_mark(const struct mark *mark, const char *text, size_t length)
{
    const size_t n = strlen(mark->text);
    return (mark->is_begin ? length > n : length == n) && memcmp(mark->text, text, n) == 0;
}

static const struct pw_foreign *find(enum place place, const struct pw_json_item *item)
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

int pw_foreign_is_kineto(const struct pw_json_object *event, int has_foreign)
{
    const struct pw_json_item *category = pw_json_find(event, 0, "cat");
    const struct pw_json_item *name = pw_json_find(event, 0, "name");
    static const char step[] = "ProfilerStep#"; /* torch.profiler's, of any category */
    for (size_t i = 0; category && i < sizeof(categories) / sizeof(categories[0]); i++)
        if (is_text(category, categories[i]) && !(has_foreign && is_ambiguous(categories[i])))
            return 1;
    return (name && name->length >= sizeof(step) &&
            memcmp(name->text, step, sizeof(step) - 1) == 0) ||
           (!category && is_text(pw_json_find(event, 0, "pid"), "CPU functions"));
}

const struct pw_foreign *pw_foreign_of_event(const struct pw_json_object *event)
{
    const struct pw_json_item *name = pw_json_find(event, 0, "name");
    const struct pw_foreign *found = find(CATEGORY, pw_json_find(event, 0, "cat"));
    if (!found && is_text(name, "process_name"))
        found = find(PROCESS, pw_json_find(event, 1, "name"));
    for (size_t i = 0; i < event->n && !found; i++) { /* Nsight's lines have no events of Chrome */
        const struct pw_json_item key = {.text = event->items[i].key,
                                         .length = event->items[i].key_length};
        found = event->items[i].depth == 0 ? find(MEMBER, &key) : NULL;
    }
    return found ? found : find(NAME, name);
}

int pw_foreign_is_kineto_member(const char *key, size_t length)
{
    static const char *const members[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                          "baseTimeNanoseconds"};
    const struct pw_json_item item = {.text = key, .length = (uint32_t)length};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (is_text(&item, members[i]))
            return 1;
    return 0;
}

const struct pw_foreign *pw_foreign_of_member(const char *key, size_t key_length, const char *value,
                                              size_t length)
{
    const struct pw_json_item item = {.text = key, .length = (uint32_t)key_length};
    /* As src/timeline/jsonwriter.c writes it. */
    if (is_text(&item, "otherData") && memmem(value, length, "\"job\":", 6) &&
        memmem(value, length, "\"command\":", 10))
        return &own;
    return find(MEMBER, &item);
}
