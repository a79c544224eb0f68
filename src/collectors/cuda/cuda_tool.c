/* CUDA in the collector: the table of functions for NVIDIA's GPUs (gpu_vendor.h), with the reasons
 * of a refusal, the buffers that a killed program left, and samples; and programs whose CUDA
 * another tool records (cuda_tool.h). */
#include "collectors/cuda/cuda_tool.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cuda/cuda_convert.h"
#include "collectors/cuda/cuda_notes.h"
#include "collectors/cuda/nvml.h"
#include "collectors/gpu/gpu_present.h"
#include "collectors/gpu/gpu_vendor.h"
#include "core/log.h"
#include "core/text.h"
#include "rank/collect/module.h"
#include "rank/ring/tick.h"

/* Writes a text with the reason why no GPU activity of a rank was recorded, and what to do. Uses
 * only the result that the application reported. */

static const char *reason_of(int32_t result)
{
    switch (result) {
    case PW_CUDA_NO_LIBRARY:
        return "no libcupti was found; set PROFWRAP_CUPTI to the toolkit's libcupti.so";
    case PW_CUDA_OLD_LIBRARY:
        return "the libcupti that was found is older than CUDA 11.8, or not whole; set "
               "PROFWRAP_CUPTI to another";
    case PW_CUDA_NO_THREAD:
        return "no thread could be started that reads CUPTI's records; allow more processes "
               "(ulimit -u) or memory";
    case PW_CUDA_TAKEN:
        return "another profiler in the program used CUPTI all the time";
    case PW_CUPTI_OUT_OF_MEMORY:
        return "there was no shared memory for CUPTI's buffers; give /dev/shm more room, or use a "
               "smaller --ring-size";
    case PW_CUPTI_NOT_INITIALIZED:
        return "every libcupti that was found is newer than the driver; set PROFWRAP_CUPTI to one "
               "of the driver's CUDA version, or update the driver";
    case PW_CUPTI_NO_PRIVILEGES:
    case PW_CUPTI_NO_PRIVILEGES_VIRTUAL:
        return "CUPTI needs privileges that the program does not have";
    case PW_CUPTI_OTHER_SUBSCRIBER:
        return "another tool has CUPTI";
    default:
        return NULL;
    }
}

/* Takes the result and version of struct pw_record's gpu_state. The text has no full stop, and is
 * cut to `size`. */
static void cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    const char *reason = reason_of(result);
    if (reason)
        pw_sentence_add(&s, "%s", reason);
    else
        pw_sentence_add(&s, "CUPTI (version %u) refused with error %d", (unsigned)version,
                        (int)result);
}

/* Reads CUPTI's buffers that were left in shared memory when the program was killed. The collector,
 * or `profwrap recover`, calls it after the application's death. It trusts no length or index in
 * what it reads, and counts what it cannot read. Converts the buffers that are left in the pool. No
 * value in them is used as a length or an index before it is checked: another process wrote them
 * and may have been killed at any instruction. */

struct salvage {
    struct pw_pool *pool;
    struct pw_cuda_notes *notes;
    void (*emit)(void *arg, const struct pw_record *record);
    void *arg;
    int64_t n;
    uint64_t lost, untimed;
    uint64_t last; /* ticks: end of the last activity */
};

/* Returns the id of a name that the application has stored: its text cannot be read here. */
static uint32_t name_at(void *arg, const char *address)
{
    uint64_t wanted = (uint64_t)(uintptr_t)address;
    struct pw_cuda_name *name = wanted ? pw_cuda_name_slot(arg, wanted) : NULL;
    return name && atomic_load(&name->address) == wanted ? atomic_load(&name->id) : 0;
}

static uint32_t function_name(void *arg, int domain, uint32_t callback, bool *launches)
{
    struct pw_cuda_notes *notes = arg;
    if (callback >= PW_CUDA_FUNCTIONS)
        return 0;
    uint32_t what = atomic_load(&notes->functions[domain == PW_CUPTI_DOMAIN_RUNTIME][callback]);
    *launches = (what & PW_CUDA_LAUNCHER) != 0;
    return what & ~(PW_CUDA_KNOWN | PW_CUDA_LAUNCHER);
}

static uint32_t kind_of(const unsigned char *at)
{
    uint32_t kind;
    memcpy(&kind, at, sizeof(kind));
    return kind;
}

/* Returns the bytes to the next record; 0: not known. */
static uint32_t stride_of(const struct salvage *s, uint32_t kind)
{
    uint32_t stride = kind < PW_CUPTI_KINDS ? atomic_load(&s->notes->stride[kind]) : 0;
    return stride % sizeof(uint64_t) == 0 ? stride : 0;
}

static void take(struct salvage *s, const unsigned char *bytes, size_t room,
                 const struct pw_cuda_names *names)
{
    struct pw_record record;
    const enum pw_cuda_converted what = pw_cuda_convert(bytes, room, names, &record);
    s->untimed += what == PW_CUDA_UNTIMED;
    if (what != PW_CUDA_RECORDED || record.type == PW_REC_GPU_DEVICE)
        return;
    s->last = record.end > s->last ? record.end : s->last;
    s->emit(s->arg, &record);
    s->n++;
}

static void read_slot(struct salvage *s, int slot)
{
    const struct pw_pool_slot *shown = &s->pool->slots[slot];
    const unsigned char *bytes = s->pool->bytes[slot];
    const uint32_t state = atomic_load(&shown->state), used = atomic_load(&shown->used);
    const uint32_t done = atomic_load(&shown->done);
    const size_t size = state == PW_POOL_COMPLETE && used <= PW_POOL_SLOT ? used : PW_POOL_SLOT;
    const struct pw_cuda_names names = {name_at, function_name, s->notes,
                                        atomic_load(&s->notes->keeps_calls) != 0};
    if (state != PW_POOL_COMPLETE && state != PW_POOL_FILLING)
        return;
    for (size_t at = 0, stride; at + sizeof(uint64_t) <= size; at += stride) {
        const uint32_t kind = kind_of(bytes + at);
        stride = stride_of(s, kind);
        if (!kind && state == PW_POOL_FILLING)
            return; /* the end of what was written */
        if (!stride || at + stride > size) {
            s->lost++; /* at least one; how many is not known */
            return;
        }
        if (at >= done)
            take(s, bytes + at, stride, &names);
    }
}

/* Writes a gap for losses that the application had counted and not recorded, plus `more` found
 * here. */
static void emit_loss(const struct salvage *s, struct pw_gpu_loss *loss, uint64_t more,
                      uint16_t reason)
{
    const uint64_t n = atomic_load(&loss->n) + more, start = atomic_load(&loss->start);
    const struct pw_record record = {
        .type = PW_REC_GPU_GAP,
        .op = reason,
        .start = start ? start : s->last,
        .end = s->last > start ? s->last : start,
        .device_gap.lost = n,
    };
    if (n)
        s->emit(s->arg, &record);
}

static void emit_gap(const struct salvage *s)
{
    const uint64_t since = atomic_load(&s->notes->taken_since);
    const struct pw_record record = {
        .type = PW_REC_GPU_GAP,
        .op = PW_REASON_CUPTI_TAKEN,
        .stack = atomic_load(&s->notes->taken_by),
        .start = since,
        .end = since,
    };
    if (since)
        s->emit(s->arg, &record);
}

static void cuda_salvage(const char *segment_name, const struct pw_segment_shared *segment,
                         void (*emit)(void *arg, const struct pw_record *record), void *arg)
{
    struct salvage s = {.emit = emit, .arg = arg};
    if (pw_pool_attach(segment_name, segment, &s.pool))
        return;
    s.notes = (struct pw_cuda_notes *)s.pool->notes;
    s.last = atomic_load(&s.notes->last_pass);
    for (int i = 0; i < PW_POOL_SLOTS; i++)
        read_slot(&s, i);
    emit_loss(&s, &s.notes->dropped, s.lost + atomic_load(&s.notes->scraps), PW_REASON_CUPTI_FULL);
    emit_loss(&s, &s.notes->untimed, s.untimed, PW_REASON_CUPTI_UNTIMED);
    emit_gap(&s);
    pw_debug(PW_LOG_RING, 1, "%lld records out of CUPTI's buffers", (long long)s.n);
    pw_pool_detach(s.pool);
}

/* Takes samples of the GPUs that the program uses, with the thread that reads NVML
 * (nvml.h), and writes them into the rank's file. It never waits for NVML, except one
 * second at the end. */

struct samples {
    struct pw_rankfile *file;
    struct pw_gpu_devices *devices;
    struct pw_nvml_sampler *sampler; /* NULL before the first sample of a device */
    bool is_sampled[PW_GPU_DEVICES];
};

/* As in struct pw_gpu_vendor. NULL when memory is short. */
static void *cuda_samples_create(struct pw_rankfile *file, struct pw_gpu_devices *devices)
{
    struct samples *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->devices = devices;
    }
    return s;
}

/* Appends the samples that are finished. `append` writes to the file, and to the journal while
 * there is one. */
static void append_samples(struct samples *s,
                           void (*append)(struct pw_rankfile *, enum pw_table_id, const void *))
{
    struct pw_row_gpu sample;
    struct pw_row_gpu_error error;
    struct pw_nvml_gap gap;
    while (pw_nvml_sampler_error(s->sampler, &error))
        append(s->file, PW_TABLE_gpu_error, &error);
    while (pw_nvml_sampler_take(s->sampler, &sample))
        append(s->file, PW_TABLE_gpu, &sample);
    while (pw_nvml_sampler_gap(s->sampler, &gap)) {
        const struct pw_row_gap row = {.start = gap.start,
                                       .end = gap.end,
                                       .reason = PW_REASON_NVML_LATE,
                                       .kind = PW_LOST_DEVICE,
                                       .thread = UINT16_MAX,
                                       .lost = gap.lost};
        append(s->file, PW_TABLE_gap, &row);
    }
}

/* Requests a sample of each device in use, and appends rows of /samples/gpu for those that are
 * finished. Never waits for NVML. */
static void cuda_samples_take(void *samples, int64_t now_ns)
{
    struct samples *s = samples;
    for (unsigned i = 0; i < PW_GPU_DEVICES; i++) {
        const struct pw_row_device *device = pw_gpu_devices_used(s->devices, i);
        if (!device || s->is_sampled[i])
            continue;
        if (!s->sampler)
            s->sampler = pw_nvml_sampler_create();
        s->is_sampled[i] = s->sampler != NULL;
        if (s->is_sampled[i])
            pw_nvml_sampler_add(s->sampler, (int)i, device->uuid);
    }
    if (!s->sampler)
        return;
    append_samples(s, pw_rankfile_append_measured);
    pw_nvml_sampler_ask(s->sampler, now_ns);
}

static void place_device(struct samples *s, struct pw_row_device *device)
{
    if (pw_nvml_sampler_describe(s->sampler, device->device, device))
        memcpy(device->uuid, "MIG", 3);
}

/* Appends the last samples, and sets the bus addresses of the devices from NVML. */
static void cuda_samples_finish(void *samples, int64_t end_ns)
{
    struct samples *s = samples;
    struct pw_nvml_costs costs;
    if (!s->sampler)
        return;
    pw_nvml_sampler_stop(s->sampler, end_ns);
    append_samples(s, pw_rankfile_append);
    pw_nvml_sampler_costs(s->sampler, &costs);
    if (costs.sample_ns > 0)
        pw_rankfile_overhead(s->file, "nvml_sample", costs.sample_ns, "ns");
    if (costs.missed)
        pw_rankfile_overhead(s->file, "nvml_missed", (double)costs.missed, "samples");
    for (unsigned i = 0; i < PW_GPU_DEVICES; i++)
        if (s->is_sampled[i])
            place_device(s, pw_gpu_devices_used(s->devices, i));
}

static void cuda_samples_destroy(void *samples)
{
    struct samples *s = samples;
    if (!s)
        return;
    pw_nvml_sampler_destroy(s->sampler);
    free(s);
}

/* Detects CUDA that another tool records. */

enum { LEAST_NS = 100000000, PART = 8 };
#define MOST_NS ((int64_t)5000000000)

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool has_libcuda(pid_t pid)
{
    static const char name[] = "libcuda.so";
    char path[64], *line = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &size, file) > 0)
        found = strncmp(base_name(line), name, sizeof(name) - 1) == 0;
    free(line);
    if (file)
        fclose(file);
    return found;
}

void pw_cuda_other_begin(struct pw_cuda_other *other, struct pw_segment_shared *segment,
                         const char *tool)
{
    *other = (struct pw_cuda_other){.tool = tool, .segment = segment};
    atomic_store(&segment->gpu_untimed, 1);
}

void pw_cuda_other_poll(struct pw_cuda_other *other, pid_t program)
{
    const int64_t now = pw_local_ns();
    if (!other->tool || other->is_used || now < other->next_ns)
        return;
    other->since_ns = other->since_ns ? other->since_ns : now;
    const int64_t pause = (now - other->since_ns) / PART;
    other->next_ns = now + (pause < LEAST_NS ? LEAST_NS : pause > MOST_NS ? MOST_NS : pause);
    const pid_t recording = atomic_load(&other->segment->owner_pid);
    other->is_used = has_libcuda(program) || (recording > 0 && has_libcuda(recording));
}

void pw_cuda_other_finish(const struct pw_cuda_other *other, struct pw_rankfile *file)
{
    char reason[192];
    if (!other->is_used || !pw_gpu_is_present(PW_GPU_CUDA))
        return;
    snprintf(reason, sizeof(reason), "CUDA_INJECTION64_PATH names another tool: %s",
             base_name(other->tool));
    pw_rankfile_set_text(file, "gpu_unrecorded", reason);
}

static void refusal(const struct pw_gpu_said *said, char *out, size_t size)
{
    cuda_refusal_write(said->result, said->version, out, size);
}

static void overhead(struct pw_rankfile *file, const struct pw_gpu_said *said)
{
    pw_rankfile_overhead(file, "cupti_version", (double)said->version, "1");
    pw_rankfile_overhead(file, "cupti_result", (double)said->result, "1");
    pw_rankfile_overhead(file, "cupti_overhead", (double)said->overhead_ns, "ns");
    if (said->device_bytes)
        pw_rankfile_overhead(file, "cupti_device_memory", (double)said->device_bytes, "bytes");
    pw_rankfile_overhead(file, "cuda_records", (double)said->records, "records");
}

static void identify(const struct pw_record *record, struct pw_row_device *row)
{
    const unsigned char *b = record->device.uuid;
    snprintf(row->uuid, sizeof(row->uuid),
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

const struct pw_gpu_vendor pw_gpu_cuda = {
    .make = PW_GPU_CUDA,
    .refusal = refusal,
    .overhead = overhead,
    .identify = identify,
    .create_samples = cuda_samples_create,
    .sample = cuda_samples_take,
    .finish_samples = cuda_samples_finish,
    .destroy_samples = cuda_samples_destroy,
    .salvage = cuda_salvage,
};
