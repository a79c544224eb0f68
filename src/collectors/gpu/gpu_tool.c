/* Module gpu, tool half: turns records of GPUs into rows of activities, launches and waits.
 * An activity is held for a limited time until its launch is known. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/gpu/gpu_launches.h"
#include "collectors/gpu/gpu_present.h"
#include "collectors/gpu/gpu_vendor.h"
#include "collectors/modules.h"
#include "core/text.h"
#include "rank/collect/module.h"
#include "rank/probe/ranges.h"

/* ---- the table of devices ---- */

struct device {
    bool is_known, is_used;
    struct pw_row_device row;
    uint32_t name; /* row of /strings; its text may come later */
};

struct pw_gpu_devices {
    struct pw_rankfile *file;
    struct device all[PW_GPU_DEVICES];
};

/* Returns NULL when memory is short. */
static struct pw_gpu_devices *devices_create(struct pw_rankfile *file)
{
    struct pw_gpu_devices *d = calloc(1, sizeof(*d));
    if (d)
        d->file = file;
    return d;
}

/* Adds the device of a PW_REC_GPU_DEVICE. `identify` fills in the fields that only the vendor's
 * module knows. */
static void devices_add(struct pw_gpu_devices *devices, const struct pw_record *record,
                        const struct pw_origin *origin,
                        void (*identify)(const struct pw_record *record, struct pw_row_device *row))
{
    struct device *d = record->op < PW_GPU_DEVICES ? &devices->all[record->op] : NULL;
    if (!d || d->is_known)
        return;
    d->is_known = true;
    d->row.device = record->op;
    d->row.memory_bytes = (int64_t)(record->device.memory_bytes & INT64_MAX);
    d->row.multiprocessors = record->device.multiprocessors;
    d->row.capability = record->device.capability;
    d->row.warps = record->device.warps;
    d->row.blocks = record->device.blocks;
    d->row.shared_bytes = record->device.shared_kib * 1024;
    d->row.registers = record->device.registers_k * 1024;
    identify(record, &d->row);
    d->name = pw_origin_name(origin, record->stack);
}

/* Marks the device with this number as used. */
static void devices_use(struct pw_gpu_devices *devices, unsigned number)
{
    if (number < PW_GPU_DEVICES)
        devices->all[number].is_used = true;
}

struct pw_row_device *pw_gpu_devices_used(struct pw_gpu_devices *devices, unsigned number)
{
    struct device *d = number < PW_GPU_DEVICES ? &devices->all[number] : NULL;
    return d && d->is_known && d->is_used ? &d->row : NULL;
}

/* Writes the rows of /devices. */
static void devices_finish(struct pw_gpu_devices *devices)
{
    for (int i = 0; i < PW_GPU_DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known)
            continue;
        snprintf(d->row.name, sizeof(d->row.name), "%s",
                 pw_rankfile_borrow_text(devices->file, d->name));
        pw_rankfile_append(devices->file, PW_TABLE_device, &d->row);
    }
}

static void devices_destroy(struct pw_gpu_devices *devices)
{
    free(devices);
}

/* ---- held records ---- */

/* Holds records of kernels, copies and memsets until the call that launched them is known, and
 * records of waits until their device is known. Then it writes their rows. Tool half: it holds at
 * most a fixed number, and writes the oldest first. */

struct pw_gpu_held;

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

/* `file` and `launches` must outlive the result. Returns NULL when memory is short. */
static struct pw_gpu_held *gpu_held_create(struct pw_rankfile *file,
                                           struct pw_gpu_launches *launches)
{
    struct pw_gpu_held *h = calloc(1, sizeof(*h));
    if (h) {
        h->file = file;
        h->launches = launches;
    }
    return h;
}

/* Sets whether calls that launch work are recorded; if not, nothing is held for them. */
static void gpu_held_expect(struct pw_gpu_held *h, bool calls)
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

/* Adds a record of a kernel, copy, memset or wait. */
static void gpu_held_add(struct pw_gpu_held *h, const struct pw_record *record,
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

/* Writes all held records with what is known of them, and demangles the kernels' names. */
static void gpu_held_finish(struct pw_gpu_held *h)
{
    release(h, true);
    if (h->events)
        make_readable(h);
}

static void gpu_held_destroy(struct pw_gpu_held *h)
{
    if (!h)
        return;
    free(h->events);
    free(h);
}

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
                                         * modules are kept */
    struct pw_gpu_said said;
    uint32_t holder; /* who holds the library, which refused; row of /strings */
    size_t nholders;
    uint32_t holders[HOLDERS]; /* other profilers that hold it */
    struct memory memory[PW_GPU_DEVICES];
};

static void destroy(void *state)
{
    struct state *s = state;
    gpu_held_destroy(s->held);
    pw_gpu_launches_destroy(s->launches);
    if (s->samples)
        s->vendor->destroy_samples(s->samples);
    devices_destroy(s->devices);
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
    s->held = s->launches ? gpu_held_create(file, s->launches) : NULL;
    s->devices = devices_create(file);
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
    gpu_held_expect(s->held, record->gpu_state.level > 0);
}

static void add_device(struct state *s, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    note_make(s, record->flags);
    devices_add(s->devices, record, origin, s->vendor->identify);
}

static void hold(struct state *s, const struct pw_record *record, const struct pw_origin *origin)
{
    if (record->type != PW_REC_GPU_SYNC)
        devices_use(s->devices, record->op);
    gpu_held_add(s->held, record, origin);
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
    gpu_held_finish(s->held);
    if (s->samples)
        s->vendor->finish_samples(s->samples, end_ns);
    devices_finish(s->devices);
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

const struct pw_module pw_module_gpu = {
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
