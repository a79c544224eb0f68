/* Collector gpu, tool half: turns records of GPUs into rows of activities, launches and waits.
 * gpu_held.h holds an activity for a limited time until its launch is known. */
#include "collectors/collectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/gpu/gpu_device.h"
#include "collectors/gpu/gpu_held.h"
#include "collectors/gpu/gpu_launches.h"
#include "collectors/gpu/gpu_present.h"
#include "collectors/gpu/gpu_vendor.h"
#include "core/text.h"
#include "rank/probe/ranges.h"

enum { HOLDERS = 8, POOLS = 16 };

static const struct pw_gpu_vendor *const vendors[PW_GPU_MAKES] = {&pw_gpu_cuda, &pw_gpu_rocm};

struct memory {
    int64_t allocated;
    bool says_itself; /* the program reports the memory itself, which is more exact */
    size_t npools;
    struct {
        uint64_t address, bytes;
    } pools[POOLS];
};

struct state {
    struct pw_rankfile *file;
    struct pw_gpu_launches *launches;
    struct pw_gpu_held *held;
    struct pw_gpu_devices *devices;
    const struct pw_gpu_vendor *vendor; /* whose GPUs the program uses */
    void *samples;                      /* state of the vendor's samples; NULL before the first */
    bool is_used;                       /* the program uses GPUs, so threads and ranges of other
                                         * collectors are kept */
    struct pw_gpu_said said;
    uint32_t holder; /* who holds the library, which refused; row of /strings */
    size_t nholders;
    uint32_t holders[HOLDERS]; /* other profilers that hold it */
    struct memory memory[PW_GPU_DEVICES];
};

static void destroy(void *state)
{
    struct state *s = state;
    pw_gpu_held_destroy(s->held);
    pw_gpu_launches_destroy(s->launches);
    if (s->samples)
        s->vendor->destroy_samples(s->samples);
    pw_gpu_devices_destroy(s->devices);
    free(s);
}

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = file;
    s->vendor = vendors[PW_GPU_CUDA];
    s->launches = pw_gpu_launches_create();
    s->held = s->launches ? pw_gpu_held_create(file, s->launches) : NULL;
    s->devices = pw_gpu_devices_create(file);
    if (s->held && s->devices)
        return s;
    destroy(s);
    return NULL;
}

/* ---- rows ---- */

static void take_call(struct state *s, const struct pw_record *record,
                      const struct pw_origin *origin)
{
    if (record->flags & PW_GPU_LAUNCHES)
        pw_gpu_launches_call(s->launches, record->api.correlation, record->api.tid, origin->start);
    if (!(record->flags & PW_GPU_HAS_ROW))
        return;
    const struct pw_row_cuda_api row = {
        .start = origin->start,
        .end = origin->end,
        .name = pw_origin_name(origin, record->stack),
        .thread = pw_gpu_launches_lane(s->launches, record->api.tid),
        .correlation = record->api.correlation,
        .result = record->api.result,
    };
    pw_rankfile_append(s->file, PW_TABLE_cuda_api, &row);
}

/* Returns the bytes that memory pools hold of the device, used or not, after this record. */
static int64_t note_pool(struct memory *m, uint64_t address, uint64_t bytes)
{
    size_t at = 0;
    uint64_t sum = 0;
    while (at < m->npools && m->pools[at].address != address)
        at++;
    if (address && at < POOLS) {
        m->npools += at == m->npools;
        m->pools[at].address = address;
        m->pools[at].bytes = bytes;
        if (!bytes) /* the pool was destroyed: another pool may use its place */
            m->pools[at] = m->pools[--m->npools];
    }
    for (size_t i = 0; i < m->npools; i++)
        sum += m->pools[i].bytes;
    return (int64_t)(sum & INT64_MAX);
}

static void append_memory(struct state *s, const struct pw_record *record,
                          const struct pw_origin *origin)
{
    const unsigned device = record->op;
    struct memory *m = device < PW_GPU_DEVICES ? &s->memory[device] : NULL;
    if (!m || m->says_itself)
        return;
    m->allocated += record->device_memory.delta_bytes;
    const struct pw_row_memory row = {
        .time = origin->start,
        .device = (int32_t)device,
        .thread = UINT16_MAX,
        .delta_bytes = record->device_memory.delta_bytes,
        .total_bytes = m->allocated,
        .pool_bytes = note_pool(m, record->device_memory.pool, record->device_memory.pool_bytes),
    };
    pw_rankfile_append(s->file, PW_TABLE_memory, &row);
}

static void note_holder(struct state *s, uint32_t holder)
{
    for (size_t i = 0; i < s->nholders; i++)
        if (s->holders[i] == holder)
            return;
    if (holder && s->nholders < HOLDERS)
        s->holders[s->nholders++] = holder;
}

static void append_gap(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    const uint64_t lost = record->device_gap.lost;
    const struct pw_row_gap row = {
        .start = origin->start,
        .end = origin->end,
        .reason = (uint8_t)record->op,
        .kind = PW_LOST_DEVICE,
        .thread = UINT16_MAX,
        .lost = lost > INT64_MAX ? INT64_MAX : (int64_t)lost,
    };
    if (record->op == PW_REASON_CUPTI_TAKEN)
        note_holder(s, pw_origin_name(origin, record->stack));
    pw_rankfile_append(s->file, PW_TABLE_gap, &row);
    pw_rankfile_count_dropped(s->file, row.lost);
}

/* Sets the vendor: a process has GPUs of one vendor only. */
static void note_make(struct state *s, unsigned make)
{
    if (make < PW_GPU_MAKES && !s->samples)
        s->vendor = vendors[make];
}

static void note_state(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    note_make(s, record->op);
    s->is_used = true;
    s->said.is_there = true;
    s->said.version = record->gpu_state.version;
    s->said.result = record->gpu_state.result;
    s->said.is_recording = record->gpu_state.is_recording != 0;
    s->said.device_bytes = record->gpu_state.device_bytes;
    if (record->gpu_state.lacking)
        s->said.lacking_result = record->gpu_state.lacking_result;
    s->said.lacking |= record->gpu_state.lacking;
    s->holder = pw_origin_name(origin, record->stack);
    pw_gpu_held_expect(s->held, record->gpu_state.level > 0);
}

static void add_device(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    note_make(s, record->flags);
    pw_gpu_devices_add(s->devices, record, origin, s->vendor->identify);
}

static void hold(struct state *s, const struct pw_record *record, const struct pw_origin *origin)
{
    if (record->type != PW_REC_GPU_SYNC)
        pw_gpu_devices_use(s->devices, record->op);
    pw_gpu_held_add(s->held, record, origin);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    s->said.records++;
    switch (record->type) {
    case PW_REC_GPU_API:
        take_call(s, record, origin);
        break;
    case PW_REC_GPU_MEMORY:
        append_memory(s, record, origin);
        break;
    case PW_REC_GPU_DEVICE:
        add_device(s, record, origin);
        break;
    case PW_REC_GPU_OVERHEAD:
        s->said.overhead_ns += origin->end - origin->start;
        break;
    case PW_REC_GPU_GAP:
        append_gap(s, record, origin);
        break;
    case PW_REC_GPU_STATE:
        note_state(s, record, origin);
        break;
    default:
        s->is_used = true; /* even if PW_REC_GPU_STATE was lost */
        hold(s, record, origin);
        break;
    }
}

/* ---- what others record ---- */

static void watch_range(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    if (!s->is_used || record->range.kind == PW_KIND_MARK || (record->flags & PW_RANGE_PROCESS))
        return;
    uint32_t name = pw_origin_name(origin, record->range.name);
    pw_gpu_launches_range(s->launches, origin->thread, origin->start, origin->end, name);
    if (record->range.kind == PW_KIND_PHASE)
        pw_gpu_launches_phase(s->launches, origin->start, origin->end, name);
}

static void watch(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    switch (record->type) {
    case PW_REC_THREAD:
        pw_gpu_launches_thread(s->launches, record->thread.tid, origin->thread);
        break;
    case PW_REC_MEMORY:
        if (record->memory.device >= 0 && record->memory.device < PW_GPU_DEVICES)
            s->memory[record->memory.device].says_itself = true;
        break;
    default:
        watch_range(s, record, origin);
        break;
    }
}

static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    (void)pid;
    if (!s->is_used || !s->vendor->create_samples)
        return;
    if (!s->samples)
        s->samples = s->vendor->create_samples(s->file, s->devices);
    if (s->samples)
        s->vendor->sample(s->samples, now_ns);
}

static void note_refusal(const struct state *s)
{
    char reason[192];
    if (!s->said.is_there || s->said.is_recording || !pw_gpu_is_present(s->vendor->make))
        return;
    s->vendor->refusal(&s->said, reason, sizeof(reason));
    const size_t length = strlen(reason);
    if (s->holder)
        snprintf(reason + length, sizeof(reason) - length, ": %s",
                 pw_rankfile_borrow_text(s->file, s->holder));
    pw_rankfile_set_text(s->file, "gpu_unrecorded", reason);
}

/* Sets an attribute that lists the activities, other than kernels, that are not recorded. */
static void note_lacking(const struct state *s)
{
    static const char *const names[PW_GPU_LACKS] = {
        [PW_GPU_LACKS_COPIES] = "copies",
        [PW_GPU_LACKS_SETS] = "memsets",
        [PW_GPU_LACKS_MEMORY] = "allocated memory",
        [PW_GPU_LACKS_WAITS] = "waits for the GPU",
        [PW_GPU_LACKS_CALLS] = "calls of CUDA",
        [PW_GPU_LACKS_DEVICES] = "properties of GPUs",
        [PW_GPU_LACKS_OVERHEAD] = "the library's own time",
        [PW_GPU_LACKS_MAPPED] = "memory that the program maps itself",
    };
    char text[192] = "";
    struct pw_sentence sentence = pw_sentence_on(text, sizeof(text));
    for (unsigned i = 0; i < PW_GPU_LACKS; i++)
        if (s->said.lacking >> i & 1)
            pw_sentence_add(&sentence, "%s%s", text[0] ? ", " : "", names[i]);
    if (!text[0])
        return;
    pw_sentence_add(&sentence, " (refused with error %d)", (int)s->said.lacking_result);
    pw_rankfile_set_text(s->file, "gpu_lacking", text);
}

/* Sets an attribute that names the holders, because rows of gaps have no texts. */
static void note_holders(const struct state *s)
{
    char names[192] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->nholders && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 pw_rankfile_borrow_text(s->file, s->holders[i]));
    if (names[0])
        pw_rankfile_set_text(s->file, "cupti_taken_by", names);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    pw_gpu_held_finish(s->held);
    if (s->samples)
        s->vendor->finish_samples(s->samples, end_ns);
    pw_gpu_devices_finish(s->devices);
    if (!s->is_used)
        return;
    note_refusal(s);
    note_lacking(s);
    note_holders(s);
    s->vendor->overhead(s->file, &s->said);
}

static void salvage(const char *segment_name, const struct pw_segment_shared *segment,
                    void (*emit)(void *arg, const struct pw_record *record), void *arg)
{
    for (int i = 0; i < PW_GPU_MAKES; i++)
        if (vendors[i]->salvage)
            vendors[i]->salvage(segment_name, segment, emit, arg);
}

const struct pw_collector pw_collector_gpu = {
    .name = "gpu",
    .activity = PW_ACTIVITY_CUDA | PW_ACTIVITY_ROCM,
    .first_type = PW_REC_GPU_KERNEL,
    .last_type = PW_REC_GPU_STATE,
    .create = create,
    .record = record,
    .watch = watch,
    .watches = PW_WATCH(PW_REC_THREAD) | PW_WATCH(PW_REC_RANGE) | PW_WATCH(PW_REC_NVTX) |
               PW_WATCH(PW_REC_MEMORY),
    .sample = sample,
    .finish = finish,
    .salvage = salvage,
    .destroy = destroy,
};
