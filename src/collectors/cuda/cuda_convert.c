/* One function per kind of CUPTI's records; see cuda_convert.h. */
#include "collectors/cuda/cuda_convert.h"

#include <string.h>

static uint16_t at_most(int64_t value, uint16_t most)
{
    return value < 0 ? 0 : value > most ? most : (uint16_t)value;
}

/* Returns the number of blocks in a cluster less 1, for the bit field. */
static uint32_t cluster_of(uint32_t blocks)
{
    enum { MOST = 16 };
    return blocks == 0 ? 0 : blocks > MOST ? MOST - 1 : blocks - 1;
}

/* The fields that CUPTI's structs for copies and memsets have in common. */
#define DEVICE_FIELDS(c) .op = (uint16_t)c->device, .start = c->start, .end = c->end
#define QUEUE_FIELDS(c)                                                                \
    .graph_node = c->graph_node, .correlation = c->correlation, .context = c->context, \
    .stream = c->stream, .bytes = c->bytes

static void convert_kernel(const void *bytes, const struct pw_cuda_names *names,
                           struct pw_record *out)
{
    const struct pw_cupti_kernel *k = bytes;
    enum { MOST_SHARED = (1 << 20) - 1 };
    *out = (struct pw_record){
        .type = PW_REC_GPU_KERNEL,
        .flags = k->graph && k->graph_node >> 32 == k->graph ? PW_GPU_GRAPH_ABOVE : 0,
        .op = (uint16_t)k->device,
        .start = k->start,
        .end = k->end,
        .stack = names->at(names->arg, k->name),
        .kernel =
            {
                .graph_node = k->graph_node,
                .correlation = k->correlation,
                .context = k->context,
                .stream = k->stream,
                .grid_x = (uint32_t)k->grid[0],
                .grid_y = at_most(k->grid[1], UINT16_MAX),
                .grid_z = at_most(k->grid[2], UINT16_MAX),
                .block_x = at_most(k->block[0], UINT16_MAX),
                .block_y = at_most(k->block[1], UINT16_MAX),
                .block_z = (uint8_t)at_most(k->block[2], UINT8_MAX),
                .registers = (uint8_t)at_most(k->registers, UINT8_MAX),
                .static_shared = at_most(k->static_shared, UINT16_MAX),
                .dynamic_shared =
                    k->dynamic_shared < MOST_SHARED ? (uint32_t)k->dynamic_shared : MOST_SHARED,
                .cluster_x = cluster_of(k->cluster[0]) & 15,
                .cluster_y = cluster_of(k->cluster[1]) & 15,
                .cluster_z = cluster_of(k->cluster[2]) & 15,
            },
    };
}

static uint8_t copy_flags(uint8_t kind, uint8_t flags)
{
    unsigned known = kind <= PW_COPY_PTOP ? kind : PW_COPY_UNKNOWN;
    return (uint8_t)(known | (flags & PW_CUPTI_MEMCPY_ASYNC ? PW_GPU_ASYNCHRONOUS : 0));
}

static void convert_copy(const void *bytes, const struct pw_cuda_names *names,
                         struct pw_record *out)
{
    const struct pw_cupti_memcpy *c = bytes;
    (void)names;
    *out = (struct pw_record){
        .type = PW_REC_GPU_COPY,
        .flags = copy_flags(c->copy_kind, c->flags),
        DEVICE_FIELDS(c),
        .copy = {QUEUE_FIELDS(c), .src_device = -1, .dst_device = -1},
    };
}

static void convert_peer_copy(const void *bytes, const struct pw_cuda_names *names,
                              struct pw_record *out)
{
    const struct pw_cupti_memcpy2 *c = bytes;
    (void)names;
    *out = (struct pw_record){
        .type = PW_REC_GPU_COPY,
        .flags = copy_flags(PW_COPY_PTOP, c->flags),
        DEVICE_FIELDS(c),
        .copy = {QUEUE_FIELDS(c), .src_device = (int16_t)c->src_device,
                 .dst_device = (int16_t)c->dst_device},
    };
}

static void convert_set(const void *bytes, const struct pw_cuda_names *names, struct pw_record *out)
{
    const struct pw_cupti_memset *c = bytes;
    (void)names;
    *out = (struct pw_record){
        .type = PW_REC_GPU_SET,
        DEVICE_FIELDS(c),
        .copy = {QUEUE_FIELDS(c), .value = c->value},
    };
}

/* Only device memory is recorded, not host memory. */
static void convert_memory(const void *bytes, const struct pw_cuda_names *names,
                           struct pw_record *out)
{
    const struct pw_cupti_memory *m = bytes;
    const bool is_allocation = m->operation == PW_CUPTI_MEMORY_ALLOCATION;
    (void)names;
    *out = (struct pw_record){
        .type = m->memory_kind == PW_CUPTI_MEMORY_DEVICE ? PW_REC_GPU_MEMORY : PW_REC_NONE,
        .op = (uint16_t)m->device,
        .start = m->time,
        .end = m->time,
        .device_memory = {.delta_bytes = is_allocation ? (int64_t)m->bytes : -(int64_t)m->bytes,
                          .correlation = m->correlation},
    };
    if (m->is_async && m->pool_type == PW_CUPTI_POOL_LOCAL) {
        out->device_memory.pool = m->pool;
        out->device_memory.pool_bytes = m->pool_bytes;
    }
}

static void convert_pool(const void *bytes, const struct pw_cuda_names *names,
                         struct pw_record *out)
{
    const struct pw_cupti_pool *p = bytes;
    (void)names;
    *out = (struct pw_record){
        .type = p->type == PW_CUPTI_POOL_LOCAL ? PW_REC_GPU_MEMORY : PW_REC_NONE,
        .op = (uint16_t)p->device,
        .start = p->time,
        .end = p->time,
        .device_memory = {.correlation = p->correlation,
                          .pool = p->pool,
                          .pool_bytes = p->operation == PW_CUPTI_POOL_DESTROYED ? 0 : p->bytes},
    };
}

static void convert_sync(const void *bytes, const struct pw_cuda_names *names,
                         struct pw_record *out)
{
    const struct pw_cupti_sync *s = bytes;
    (void)names;
    *out = (struct pw_record){
        .type = PW_REC_GPU_SYNC,
        .op = (uint16_t)(s->type <= PW_SYNC_CONTEXT ? s->type : PW_SYNC_UNKNOWN),
        .start = s->start,
        .end = s->end,
        .sync = {.correlation = s->correlation,
                 .context = s->context,
                 .stream = s->stream,
                 .event = s->event},
    };
}

static void convert_call(const void *bytes, const struct pw_cuda_names *names,
                         struct pw_record *out)
{
    const struct pw_cupti_api *a = bytes;
    bool launches = false;
    int domain = a->kind == PW_CUPTI_DRIVER ? PW_CUPTI_DOMAIN_DRIVER : PW_CUPTI_DOMAIN_RUNTIME;
    uint32_t name = names->function(names->arg, domain, a->callback, &launches);
    *out = (struct pw_record){
        .type = launches || names->keeps_calls ? PW_REC_GPU_API : PW_REC_NONE,
        .flags =
            (uint8_t)((launches ? PW_GPU_LAUNCHES : 0) | (names->keeps_calls ? PW_GPU_HAS_ROW : 0)),
        .start = a->start,
        .end = a->end,
        .stack = name,
        .api = {.correlation = a->correlation,
                .tid = (int32_t)a->tid,
                .result = (int32_t)a->result},
    };
}

static void convert_overhead(const void *bytes, const struct pw_cuda_names *names,
                             struct pw_record *out)
{
    const struct pw_cupti_overhead *o = bytes;
    (void)names;
    *out = (struct pw_record){.type = PW_REC_GPU_OVERHEAD, .start = o->start, .end = o->end};
}

static void convert_device(const void *bytes, const struct pw_cuda_names *names,
                           struct pw_record *out)
{
    const struct pw_cupti_device *d = bytes;
    *out = (struct pw_record){
        .type = PW_REC_GPU_DEVICE,
        .op = (uint16_t)d->id,
        .stack = names->at(names->arg, d->name),
        .device = {.memory_bytes = d->memory_bytes,
                   .multiprocessors = at_most(d->multiprocessors, UINT16_MAX),
                   .capability = at_most(100 * (int64_t)d->major + d->minor, UINT16_MAX),
                   .warps = at_most(d->warps, UINT16_MAX),
                   .blocks = at_most(d->blocks, UINT16_MAX),
                   .shared_kib = at_most(d->shared_bytes / 1024, UINT16_MAX),
                   .registers_k = at_most(d->registers / 1024, UINT16_MAX)},
    };
    memcpy(out->device.uuid, d->uuid, sizeof(d->uuid));
}

static const struct {
    void (*convert)(const void *, const struct pw_cuda_names *, struct pw_record *);
    size_t size;
} kinds[PW_CUPTI_KINDS] = {
    [PW_CUPTI_MEMCPY] = {convert_copy, sizeof(struct pw_cupti_memcpy)},
    [PW_CUPTI_MEMSET] = {convert_set, sizeof(struct pw_cupti_memset)},
    [PW_CUPTI_DRIVER] = {convert_call, sizeof(struct pw_cupti_api)},
    [PW_CUPTI_RUNTIME] = {convert_call, sizeof(struct pw_cupti_api)},
    [PW_CUPTI_DEVICE] = {convert_device, sizeof(struct pw_cupti_device)},
    [PW_CUPTI_CONCURRENT_KERNEL] = {convert_kernel, sizeof(struct pw_cupti_kernel)},
    [PW_CUPTI_OVERHEAD] = {convert_overhead, sizeof(struct pw_cupti_overhead)},
    [PW_CUPTI_MEMCPY2] = {convert_peer_copy, sizeof(struct pw_cupti_memcpy2)},
    [PW_CUPTI_SYNCHRONIZATION] = {convert_sync, sizeof(struct pw_cupti_sync)},
    [PW_CUPTI_MEMORY2] = {convert_memory, sizeof(struct pw_cupti_memory)},
    [PW_CUPTI_MEMORY_POOL] = {convert_pool, sizeof(struct pw_cupti_pool)},
};

enum pw_cuda_converted pw_cuda_convert(const void *bytes, size_t room,
                                       const struct pw_cuda_names *names, struct pw_record *out)
{
    uint32_t kind;
    if (room < sizeof(kind))
        return PW_CUDA_NOT_RECORDED;
    memcpy(&kind, bytes, sizeof(kind));
    if (kind >= PW_CUPTI_KINDS || !kinds[kind].convert || room < kinds[kind].size)
        return PW_CUDA_NOT_RECORDED;
    kinds[kind].convert(bytes, names, out);
    const bool has_time = out->type == PW_REC_GPU_DEVICE ||
                          (out->start != PW_CUPTI_NO_TIME && out->end >= out->start);
    if (out->type == PW_REC_NONE)
        return PW_CUDA_NOT_RECORDED;
    return has_time ? PW_CUDA_RECORDED : PW_CUDA_UNTIMED;
}
