/* Finds which layer each process of a trace_view.json is, and which group of HCCL each thread; see
 * ascend.h. Names may come behind the events that they are for, so that they need a pass of their
 * own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"
#include "import/ascend.h"
#include "import/jsonfile.h"

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

const struct pw_ascend_process *pw_ascend_process_find(const struct pw_ascend_layers *layers,
                                                       int64_t pid)
{
    const struct pw_ascend_process key = {.pid = pid};
    return layers->nprocesses
               ? bsearch(&key, layers->processes, layers->nprocesses, sizeof(key), by_pid)
               : NULL;
}

const struct pw_ascend_thread *pw_ascend_thread_find(const struct pw_ascend_layers *layers,
                                                     int64_t pid, int64_t tid)
{
    const struct pw_ascend_thread key = {.pid = pid, .tid = tid};
    return layers->nthreads
               ? bsearch(&key, layers->threads, layers->nthreads, sizeof(key), by_thread)
               : NULL;
}
