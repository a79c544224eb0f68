/* One function per kind of rocprofiler's records; see rocm_records.h. */
#include "collectors/rocm/rocm_records.h"

#include <string.h>

#include "collectors/rocm/rocm_memory.h"
#include "collectors/rocm/rocm_names.h"
#include "rank/probe/attach.h"
#include "rank/probe/recording.h"

struct pw_rocm pw_rocm;

struct pw_rocm_reading pw_rocm_read_clocks(void)
{
    enum { READINGS = 5 };
    struct pw_rocm_reading best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t ns = 0;
        const uint64_t before = pw_probe_now();
        pw_rocm.rocp->timestamp(&ns);
        const uint64_t took = pw_probe_now() - before;
        if (took >= least)
            continue;
        least = took;
        best = (struct pw_rocm_reading){before + took / 2, ns};
    }
    return best;
}

/* Longest wait for room in the ring for a whole buffer: the program may have to wait as long. */
enum { PATIENCE_MS = 50 };

struct batch {
    struct pw_thread *thread;
    struct pw_rocm_reading now;
    struct pw_recording_turns turns;
    int patience_ms;
};

static uint64_t ticks_of(const struct batch *b, uint64_t ns)
{
    return pw_rocm_clock_ticks(&pw_rocm.clock, b->now, ns);
}

static void put(struct batch *b, const struct pw_record *record)
{
    if (!pw_recording_was_open(&b->turns, record->start))
        return;
    if (!pw_ring_has_room(&b->thread->ring, 1) && b->patience_ms) {
        pw_gpu_put(b->thread, record, b->patience_ms);
        b->patience_ms = 0; /* wait only once per buffer */
        return;
    }
    pw_gpu_put(b->thread, record, 0);
}

/* Whether the times are known: not 0, and in order. */
static bool is_timed(uint64_t start, uint64_t end)
{
    const bool is = start && end >= start;
    if (!is)
        pw_gpu_lose(&pw_rocm.untimed, 1);
    return is;
}

/* Returns the number of the stream; 0: not known. */
static uint32_t stream_of(uint64_t external, uint64_t queue)
{
    return external ? (uint32_t)(external - 1) : queue ? pw_rocm_queue(queue) : 0;
}

static uint16_t at_most(uint64_t value, uint16_t most)
{
    return value > most ? most : (uint16_t)value;
}

/* Returns the number of groups of this size that the work-items need. */
static uint32_t groups_of(uint32_t items, uint32_t group)
{
    return group ? items / group + (items % group != 0) : items;
}

static void take_dispatch(struct batch *b, const struct pw_rocp_dispatch *d)
{
    const struct pw_rocp_dispatch_info *i = &d->info;
    const int device = pw_rocm_device(i->agent);
    enum { MOST_SHARED = (1 << 20) - 1 };
    uint32_t group_bytes;
    if (device == PW_ROCM_HOST || !is_timed(d->start, d->end))
        return;
    const uint32_t name = pw_rocm_kernel(b->thread, i->kernel, &group_bytes);
    const uint32_t is_static = group_bytes < i->group_bytes ? group_bytes : i->group_bytes;
    const uint32_t dynamic = i->group_bytes - is_static;
    const struct pw_record record = {
        .type = PW_REC_GPU_KERNEL,
        .flags = PW_GPU_NO_REGISTERS,
        .op = (uint16_t)device,
        .start = ticks_of(b, d->start),
        .end = ticks_of(b, d->end),
        .stack = name,
        .kernel = {.correlation = (uint32_t)d->correlation.internal,
                   .stream = stream_of(d->correlation.external, i->queue),
                   .grid_x = groups_of(i->grid.x, i->workgroup.x),
                   .grid_y = at_most(groups_of(i->grid.y, i->workgroup.y), UINT16_MAX),
                   .grid_z = at_most(groups_of(i->grid.z, i->workgroup.z), UINT16_MAX),
                   .block_x = at_most(i->workgroup.x, UINT16_MAX),
                   .block_y = at_most(i->workgroup.y, UINT16_MAX),
                   .block_z = (uint8_t)at_most(i->workgroup.z, UINT8_MAX),
                   .static_shared = at_most(is_static, UINT16_MAX),
                   .dynamic_shared = dynamic < MOST_SHARED ? dynamic : MOST_SHARED},
    };
    put(b, &record);
}

static uint8_t kind_of_copy(int32_t operation, int source, int target)
{
    switch (operation) {
    case PW_ROCP_COPY_HOST_TO_HOST:
        return PW_COPY_HTOH;
    case PW_ROCP_COPY_HOST_TO_DEVICE:
        return PW_COPY_HTOD;
    case PW_ROCP_COPY_DEVICE_TO_HOST:
        return PW_COPY_DTOH;
    case PW_ROCP_COPY_DEVICE_TO_DEVICE:
        return source == target ? PW_COPY_DTOD : PW_COPY_PTOP;
    default:
        return PW_COPY_UNKNOWN;
    }
}

static void take_copy(struct batch *b, const struct pw_rocp_memory_copy *c)
{
    const int source = pw_rocm_device(c->src_agent), target = pw_rocm_device(c->dst_agent);
    const uint8_t kind = kind_of_copy(c->operation, source, target);
    const int device = source != PW_ROCM_HOST ? source : target;
    if (device == PW_ROCM_HOST || !is_timed(c->start, c->end))
        return;
    const struct pw_record record = {
        .type = PW_REC_GPU_COPY,
        .flags = kind,
        .op = (uint16_t)device,
        .start = ticks_of(b, c->start),
        .end = ticks_of(b, c->end),
        .copy = {.correlation = (uint32_t)c->correlation.internal,
                 .stream = stream_of(c->correlation.external, 0),
                 .src_device = (int16_t)(kind == PW_COPY_PTOP ? source : -1),
                 .dst_device = (int16_t)(kind == PW_COPY_PTOP ? target : -1),
                 .bytes = c->bytes},
    };
    put(b, &record);
}

static void put_call(struct batch *b, const struct pw_rocp_call *c, uint32_t name, uint8_t flags)
{
    const struct pw_record record = {
        .type = PW_REC_GPU_API,
        .flags = flags,
        .start = ticks_of(b, c->start),
        .end = ticks_of(b, c->end),
        .stack = name,
        .api = {.correlation = (uint32_t)c->correlation.internal,
                .tid = (int32_t)c->thread,
                .result = -1},
    };
    put(b, &record);
}

static void put_wait(struct batch *b, const struct pw_rocp_call *c, uint8_t sync)
{
    const uint64_t stream = c->correlation.external;
    const struct pw_record record = {
        .type = PW_REC_GPU_SYNC,
        .op = sync,
        .start = ticks_of(b, c->start),
        .end = ticks_of(b, c->end),
        .sync = {.correlation = (uint32_t)c->correlation.internal,
                 .stream = stream ? (uint32_t)(stream - 1) : UINT32_MAX,
                 .event = UINT32_MAX},
    };
    put(b, &record);
}

static void take_call(struct batch *b, const struct pw_rocp_call *c)
{
    const struct pw_rocm_function *f = pw_rocm_function(c->kind, c->operation);
    const bool has_row = pw_rocm.level >= 2;
    if (!f || !is_timed(c->start, c->end))
        return;
    /* A call within another call has a number of its own, and so has the work that it launches. */
    const bool launches = f->use & PW_ROCM_LAUNCHES || c->correlation.ancestor;
    if (f->use & PW_ROCM_WAITS)
        put_wait(b, c, f->sync);
    if (launches || has_row)
        put_call(b, c, pw_name_use(b->thread, f->name),
                 (uint8_t)((launches ? PW_GPU_LAUNCHES : 0) | (has_row ? PW_GPU_HAS_ROW : 0)));
}

static void put_memory(struct batch *b, const struct pw_rocp_memory *m,
                       const struct pw_rocm_change *change)
{
    const uint64_t time = ticks_of(b, m->end);
    const struct pw_record record = {
        .type = PW_REC_GPU_MEMORY,
        .op = (uint16_t)change->device,
        .start = time,
        .end = time,
        .device_memory = {.delta_bytes = change->delta_bytes,
                          .correlation = (uint32_t)m->correlation.internal},
    };
    if (change->delta_bytes)
        put(b, &record);
}

/* Only device memory is recorded, not host memory. */
static void take_memory(struct batch *b, const struct pw_rocp_memory *m)
{
    const struct pw_rocm_place place = {.address = m->address,
                                        .is_handle = m->operation == PW_ROCP_VMEM_ALLOCATED ||
                                                     m->operation == PW_ROCP_VMEM_FREED,
                                        .ns = m->end};
    const struct pw_rocm_change given = {pw_rocm_device(m->agent), (int64_t)(m->bytes & INT64_MAX)};
    struct pw_rocm_change gone = {0};
    if (!m->address || !is_timed(m->start, m->end))
        return;
    if (m->operation == PW_ROCP_FREED || m->operation == PW_ROCP_VMEM_FREED) {
        if (pw_rocm_memory_free(&place, &gone))
            put_memory(b, m, &gone);
        return;
    }
    if (given.device == PW_ROCM_HOST)
        return;
    const bool is_kept = pw_rocm_memory_allocate(&place, given, &gone);
    put_memory(b, m, &gone);
    if (is_kept)
        put_memory(b, m, &given);
    else
        pw_gpu_lose(&pw_rocm.dropped, 1);
}

static void take_scratch(struct batch *b, const struct pw_rocp_scratch_memory *s)
{
    static const char *const names[] = {NULL, "scratch memory allocated", "scratch memory freed",
                                        "scratch memory reclaimed"};
    const int32_t operation = s->operation;
    if (operation < PW_ROCP_SCRATCH_ALLOCATED || operation > PW_ROCP_SCRATCH_RECLAIMED ||
        !is_timed(s->start, s->end))
        return;
    const struct pw_rocp_call call = {
        .correlation = s->correlation, .start = s->start, .end = s->end, .thread = s->thread};
    put_call(b, &call, pw_probe_intern(b->thread, names[operation]), PW_GPU_HAS_ROW);
}

static void take(struct batch *b, const struct pw_rocp_header *header)
{
    static const struct {
        uint32_t kind;
        size_t size;
    } kinds[] = {{PW_ROCP_KERNEL_DISPATCH, sizeof(struct pw_rocp_dispatch)},
                 {PW_ROCP_MEMORY_COPY, sizeof(struct pw_rocp_memory_copy)},
                 {PW_ROCP_MEMORY_ALLOCATION, sizeof(struct pw_rocp_memory)},
                 {PW_ROCP_SCRATCH_MEMORY, sizeof(struct pw_rocp_scratch_memory)},
                 {PW_ROCP_HIP_RUNTIME, sizeof(struct pw_rocp_call)},
                 {PW_ROCP_HSA_CORE, sizeof(struct pw_rocp_call)},
                 {PW_ROCP_HSA_AMD_EXT, sizeof(struct pw_rocp_call)}};
    const void *payload = header->payload;
    uint64_t size;
    size_t i = 0;
    while (i < sizeof(kinds) / sizeof(kinds[0]) && kinds[i].kind != header->kind)
        i++;
    if (i == sizeof(kinds) / sizeof(kinds[0]) || header->category != PW_ROCP_CATEGORY_TRACING)
        return; /* not requested */
    memcpy(&size, payload, sizeof(size));
    if (size < kinds[i].size)
        pw_gpu_lose(&pw_rocm.dropped, 1); /* a record of an unknown layout */
    else if (header->kind == PW_ROCP_KERNEL_DISPATCH)
        take_dispatch(b, payload);
    else if (header->kind == PW_ROCP_MEMORY_COPY)
        take_copy(b, payload);
    else if (header->kind == PW_ROCP_MEMORY_ALLOCATION)
        take_memory(b, payload);
    else if (header->kind == PW_ROCP_SCRATCH_MEMORY)
        take_scratch(b, payload);
    else
        take_call(b, payload);
}

void pw_rocm_put_losses(struct pw_thread *thread)
{
    pw_gpu_put_loss(thread, &pw_rocm.dropped, PW_REASON_ROCPROFILER_FULL, 0);
    pw_gpu_put_loss(thread, &pw_rocm.untimed, PW_REASON_ROCPROFILER_UNTIMED, 0);
}

void pw_rocm_take_buffer(uint64_t context, uint64_t buffer, struct pw_rocp_header **headers,
                         size_t n, void *data, uint64_t dropped)
{
    static uint64_t told; /* how many of rocprofiler's dropped records were already counted */
    struct pw_thread *thread = pw_probe_thread();
    (void)context, (void)buffer, (void)data;
    if (!pw_gate->on) /* a forked child */
        return;
    if (!thread || !pw_probe_lock(thread)) {
        pw_gpu_lose(&pw_rocm.dropped, n);
        return;
    }
    struct batch b = {.thread = thread, .now = pw_rocm_read_clocks(), .patience_ms = PATIENCE_MS};
    pw_recording_read_turns(&b.turns);
    for (size_t i = 0; i < n; i++)
        if (headers[i] && headers[i]->payload)
            take(&b, headers[i]);
    pw_gpu_lose(&pw_rocm.dropped, dropped > told ? dropped - told : 0);
    told = dropped > told ? dropped : told;
    pw_rocm_put_losses(thread);
    pw_probe_unlock(thread);
}

/* ---- in the program's threads ---- */

void pw_rocm_take_code(struct pw_rocp_called called, uint64_t *user, void *data)
{
    const struct pw_rocp_kernel_symbol *symbol = called.payload;
    (void)user, (void)data;
    if (pw_gate->on && called.kind == PW_ROCP_CALLED_CODE_OBJECT &&
        called.operation == PW_ROCP_CODE_OBJECT_KERNEL && called.phase == PW_ROCP_PHASE_ENTER &&
        symbol && symbol->size >= sizeof(*symbol))
        pw_rocm_name_kernel(symbol);
}

/* 1 + the stream of the call that the thread is in; 0: none. */
static _Thread_local uint64_t stream __attribute__((tls_model("initial-exec")));

/* Stores the old value in the call's user data, because calls may be nested. */
void pw_rocm_take_stream(struct pw_rocp_called called, uint64_t *user, void *data)
{
    const struct pw_rocp_stream *given = called.payload;
    (void)data;
    if (called.kind != PW_ROCP_CALLED_HIP_STREAM || called.operation != PW_ROCP_HIP_STREAM_SET ||
        !given || given->size < sizeof(*given))
        return;
    if (called.phase == PW_ROCP_PHASE_ENTER) {
        *user = stream;
        stream = given->stream + 1;
    } else if (called.phase == PW_ROCP_PHASE_EXIT) {
        stream = *user;
    }
}

int pw_rocm_say_stream(uint64_t thread, uint64_t context, int kind, int32_t operation,
                       uint64_t internal, uint64_t *external, void *data)
{
    (void)thread, (void)context, (void)kind, (void)operation, (void)internal, (void)data;
    *external = stream;
    return 0;
}
