/* A queue of records in the order in which they came; see gpu_held.h. */
#include "collectors/gpu/gpu_held.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* At most HELD records are held, and none longer than a limit of the device's time. The oldest are
 * checked after every LOOK_EACH records. */
enum { HELD = 1 << 16, LOOK_EACH = 256, MOST_NAMES = 1 << 20, CONTEXTS = 64 };
#define HOLD_NS ((int64_t)10000000000)

struct event {
    struct pw_record record;
    int64_t start, end;
    uint32_t name; /* row of /strings */
};

struct pw_gpu_held {
    struct pw_rankfile *file;
    struct pw_gpu_launches *launches;
    struct event *events; /* [HELD], NULL before the first */
    uint64_t first, next;
    int64_t newest_ns;
    bool has_no_calls;
    size_t ncontexts;
    struct {
        uint32_t context;
        int32_t device;
    } contexts[CONTEXTS];
    uint64_t names[MOST_NAMES / 64]; /* bit per row of /strings: the name of a kernel */
};

struct pw_gpu_held *pw_gpu_held_create(struct pw_rankfile *file, struct pw_gpu_launches *launches)
{
    struct pw_gpu_held *h = calloc(1, sizeof(*h));
    if (h) {
        h->file = file;
        h->launches = launches;
    }
    return h;
}

void pw_gpu_held_expect(struct pw_gpu_held *h, bool calls)
{
    h->has_no_calls = !calls;
}

/* ---- contexts ---- */

/* Returns the device of a context; -1: not known yet. */
static int32_t device_of(const struct pw_gpu_held *h, uint32_t context)
{
    for (size_t i = 0; i < h->ncontexts; i++)
        if (h->contexts[i].context == context)
            return h->contexts[i].device;
    return -1;
}

static void note_context(struct pw_gpu_held *h, const struct pw_record *record)
{
    const uint32_t context =
        record->type == PW_REC_GPU_KERNEL ? record->kernel.context : record->copy.context;
    if (h->ncontexts == CONTEXTS || device_of(h, context) >= 0)
        return;
    h->contexts[h->ncontexts].context = context;
    h->contexts[h->ncontexts++].device = record->op;
}

/* ---- rows ---- */

/* The fields that the rows of kernels, copies and memsets have in common: when and where it ran,
 * and what launched it. */
#define WORK_FIELDS(part)                                                             \
    .start = e->start, .end = e->end, .device = r->op, .context = r->part.context,    \
    .stream = r->part.stream, .correlation = r->part.correlation,                     \
    .graph_node = r->part.graph_node, .launch = launch->time, .thread = launch->lane, \
    .launched_by = launch->name

static void append_kernel(struct pw_gpu_held *h, const struct event *e,
                          const struct pw_gpu_launch *launch)
{
    const struct pw_record *r = &e->record;
    const struct pw_row_kernel row = {
        WORK_FIELDS(kernel),
        .graph = r->flags & PW_GPU_GRAPH_ABOVE ? (uint32_t)(r->kernel.graph_node >> 32) : 0,
        .name = e->name,
        .grid_x = (int32_t)r->kernel.grid_x,
        .grid_y = r->kernel.grid_y,
        .grid_z = r->kernel.grid_z,
        .block_x = r->kernel.block_x,
        .block_y = r->kernel.block_y,
        .block_z = r->kernel.block_z,
        .cluster_x = r->kernel.cluster_x + 1,
        .cluster_y = r->kernel.cluster_y + 1,
        .cluster_z = r->kernel.cluster_z + 1,
        .registers = r->flags & PW_GPU_NO_REGISTERS ? -1 : r->kernel.registers,
        .static_shared_bytes = r->kernel.static_shared,
        .dynamic_shared_bytes = (int32_t)r->kernel.dynamic_shared,
    };
    pw_rankfile_append(h->file, PW_TABLE_kernel, &row);
}

static void append_copy(struct pw_gpu_held *h, const struct event *e,
                        const struct pw_gpu_launch *launch)
{
    const struct pw_record *r = &e->record;
    const unsigned kind = r->flags & PW_GPU_COPY_KIND;
    const struct pw_row_memcpy row = {
        WORK_FIELDS(copy),
        .kind = (uint8_t)(kind <= PW_COPY_PTOP ? kind : PW_COPY_UNKNOWN),
        .bytes = (int64_t)(r->copy.bytes & INT64_MAX),
        .src_device = r->copy.src_device,
        .dst_device = r->copy.dst_device,
        .asynchronous = (r->flags & PW_GPU_ASYNCHRONOUS) != 0,
    };
    pw_rankfile_append(h->file, PW_TABLE_memcpy, &row);
}

static void append_set(struct pw_gpu_held *h, const struct event *e,
                       const struct pw_gpu_launch *launch)
{
    const struct pw_record *r = &e->record;
    const struct pw_row_memset row = {
        WORK_FIELDS(copy),
        .bytes = (int64_t)(r->copy.bytes & INT64_MAX),
        .value = r->copy.value,
    };
    pw_rankfile_append(h->file, PW_TABLE_memset, &row);
}

/* Whether CUPTI's number means "no context" or "no stream". It is UINT32_MAX or 0, depending on
 * CUPTI's version. */
static bool is_none(uint32_t number)
{
    return number == UINT32_MAX || number == 0;
}

/* Returns the stream; -1 when the wait was not for a stream. */
static int64_t stream_of(const struct pw_record *r)
{
    const bool has = r->op == PW_SYNC_STREAM || r->op == PW_SYNC_STREAM_WAITS;
    return !has || is_none(r->sync.stream) ? -1 : (int64_t)r->sync.stream;
}

static int64_t event_of(const struct pw_record *r)
{
    const bool has = r->op == PW_SYNC_EVENT || r->op == PW_SYNC_STREAM_WAITS;
    return !has || r->sync.event == UINT32_MAX ? -1 : (int64_t)r->sync.event;
}

static void append_sync(struct pw_gpu_held *h, const struct event *e)
{
    const struct pw_record *r = &e->record;
    const struct pw_row_cuda_sync row = {
        .start = e->start,
        .end = e->end,
        .kind = (uint8_t)r->op,
        .device = device_of(h, r->sync.context),
        .stream = stream_of(r),
        .event = event_of(r),
        .correlation = r->sync.correlation,
    };
    pw_rankfile_append(h->file, PW_TABLE_cuda_sync, &row);
}

static void append(struct pw_gpu_held *h, const struct event *e, const struct pw_gpu_launch *launch)
{
    if (e->record.type == PW_REC_GPU_KERNEL)
        append_kernel(h, e, launch);
    else if (e->record.type == PW_REC_GPU_COPY)
        append_copy(h, e, launch);
    else if (e->record.type == PW_REC_GPU_SET)
        append_set(h, e, launch);
    else
        append_sync(h, e);
}

/* ---- the queue ---- */

/* Whether everything that the row needs is known, including the launch. */
static bool is_known(struct pw_gpu_held *h, const struct pw_record *record,
                     struct pw_gpu_launch *launch)
{
    if (record->type == PW_REC_GPU_SYNC)
        return is_none(record->sync.context) || device_of(h, record->sync.context) >= 0;
    const uint32_t correlation =
        record->type == PW_REC_GPU_KERNEL ? record->kernel.correlation : record->copy.correlation;
    return pw_gpu_launches_find(h->launches, correlation, launch) || h->has_no_calls;
}

static void release(struct pw_gpu_held *h, bool all)
{
    for (; h->first < h->next; h->first++) {
        const struct event *e = &h->events[h->first & (HELD - 1)];
        struct pw_gpu_launch launch;
        if (!is_known(h, &e->record, &launch) && !all && h->newest_ns - e->end < HOLD_NS)
            break;
        append(h, e, &launch);
    }
}

/* Writes the oldest record to make room. */
static void release_one(struct pw_gpu_held *h)
{
    const uint64_t next = h->next;
    h->next = h->first + 1;
    release(h, true);
    h->next = next;
}

void pw_gpu_held_add(struct pw_gpu_held *h, const struct pw_record *record,
                     const struct pw_origin *origin)
{
    if (!h->events)
        h->events = malloc(HELD * sizeof(*h->events));
    if (!h->events) {
        pw_rankfile_count_dropped(h->file, 1);
        return;
    }
    if (h->next - h->first == HELD)
        release_one(h);
    struct event *e = &h->events[h->next++ & (HELD - 1)];
    e->record = *record;
    e->start = origin->start;
    e->end = origin->end;
    e->name = record->type == PW_REC_GPU_KERNEL ? pw_origin_name(origin, record->stack) : 0;
    if (e->name < MOST_NAMES)
        h->names[e->name / 64] |= UINT64_C(1) << (e->name % 64);
    if (record->type != PW_REC_GPU_SYNC)
        note_context(h, record);
    h->newest_ns = e->end > h->newest_ns ? e->end : h->newest_ns;
    if (h->next % LOOK_EACH == 0)
        release(h, false);
}

/* ---- the end ---- */

/* Demangles the kernels' names with the C++ library, which is loaded for it because profwrap is not
 * linked with it. */
static void make_readable(struct pw_gpu_held *h)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
    void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&demangle, &found, sizeof(found));
    const uint32_t n = pw_rankfile_texts(h->file);
    for (uint32_t row = 1; demangle && row < n && row < MOST_NAMES; row++) {
        if (!(h->names[row / 64] >> (row % 64) & 1))
            continue;
        const char *name = pw_rankfile_borrow_text(h->file, row);
        /* Only names with _Z: the function would read a C kernel named `f` as the type float. */
        char *readable = strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, NULL) : NULL;
        if (readable)
            pw_rankfile_retext(h->file, row, readable);
        free(readable);
    }
}

void pw_gpu_held_finish(struct pw_gpu_held *h)
{
    release(h, true);
    if (h->events)
        make_readable(h);
}

void pw_gpu_held_destroy(struct pw_gpu_held *h)
{
    if (!h)
        return;
    free(h->events);
    free(h);
}
