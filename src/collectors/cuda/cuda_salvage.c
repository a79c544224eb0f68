/* Converts the buffers that are left in the pool; see cuda_salvage.h. No value in them is used as a
 * length or an index before it is checked: another process wrote them and may have been killed at
 * any instruction. */
#include "collectors/cuda/cuda_salvage.h"

#include <string.h>

#include "collectors/cuda/cuda_convert.h"
#include "collectors/cuda/cuda_notes.h"
#include "core/log.h"

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

void pw_cuda_salvage(const char *segment_name, const struct pw_segment_shared *segment,
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
