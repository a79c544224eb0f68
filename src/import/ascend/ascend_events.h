/* The events of profiles of MindSpore and of Ascend's devices (torch_npu, CANN), as in a
 * trace_view.json: its layers are found in a first pass, its events are taken in a second. ascend.c
 * calls this for a trace, and it and ascend_db.c for rows that they make events of. Nothing here is
 * for other formats. */
#ifndef PW_IMPORT_ASCEND_EVENTS_H
#define PW_IMPORT_ASCEND_EVENTS_H

#include "import/trace/format.h"
#include "import/trace/trace.h"

/* What the processes of a trace_view.json are: each is a layer of the system. */
enum pw_ascend_layer {
    PW_LAYER_UNKNOWN,
    PW_LAYER_CPU_OPERATORS, /* MindSpore's operators on the host */
    PW_LAYER_FRAMEWORK,     /* MindSpore's or PyTorch's calls, and steps */
    PW_LAYER_MARKS,         /* ranges and marks of mstx */
    PW_LAYER_CANN,          /* calls of the runtime, which launch tasks */
    PW_LAYER_DEVICE,        /* tasks of the device */
    PW_LAYER_HCCL,          /* operations, and the tasks that they are made of */
    PW_LAYER_DERIVED,       /* made by the profiler from the events of other layers */
};

struct pw_ascend_process {
    int64_t pid;
    enum pw_ascend_layer layer;
    int32_t device; /* -1: not told */
    char name[40];
};

/* A thread of the layer of HCCL: the operations of a group, or the tasks of one of its planes. */
struct pw_ascend_thread {
    int64_t pid, tid;
    int is_group;
    char group[64]; /* its name, or a number of 20 digits that stands for it; "": not told */
};

struct pw_ascend_layers {
    struct pw_ascend_process *processes; /* by pid */
    struct pw_ascend_thread *threads;    /* by pid and tid */
    size_t nprocesses, nthreads, processes_capacity, threads_capacity;
    int64_t first_ns; /* the least time of the events; INT64_MAX: there is none */
    int failed;       /* memory was short */
};

/* Reads the layers of the trace. 0 or -errno; `out` must be passed to pw_ascend_layers_fini(). */
int pw_ascend_layers_read(const char *path, struct pw_ascend_layers *out);
void pw_ascend_layers_fini(struct pw_ascend_layers *layers);

/* An event while it is taken. */
struct pw_ascend {
    struct pw_import_event json; /* its members; also of an event that is made of a row */
    struct pw_trace_window *window;
    struct pw_trace *trace;
    const struct pw_ascend_layers *layers;
    const struct pw_json_item *name, *category;
    int64_t pid, tid, start, end;
    const struct pw_ascend_process *process;
};

/* Adds a member at this depth to an event that is made of a row; a text of digits is a number. */
void pw_ascend_set_item(struct pw_json_object *object, const char *key, const char *text,
                        int depth);

/* Takes a->json.object. 0, or the enum pw_omission to count. */
int pw_ascend_take(struct pw_ascend *a);

/* The name of an operation of HCCL, "hcom_allReduce__483_2_1": *op, and its number in its group, 2,
 * which all ranks count alike; -1: the name has none. */
void pw_ascend_operation(const char *name, size_t length, uint16_t *op, int64_t *number);

#endif
