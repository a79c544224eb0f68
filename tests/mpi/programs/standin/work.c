/* The stand-in for libcupti: records of what a program says has run; see cupti.c. */
#include "inside.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put32(uint8_t *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof(value));
}

static void put64(uint8_t *record, size_t at, uint64_t value)
{
    memcpy(record + at, &value, sizeof(value));
}

EXPORT void standin_devices(void)
{
    static const char *const names[] = {"Stand-in GPU 0", "Stand-in GPU 1"};
    for (uint32_t i = 0; i < 2 && standin_is_enabled(8); i++) {
        uint8_t r[DEVICE] = {0};
        put32(r, 0, 8);
        put64(r, 16, (uint64_t)(80 + i) << 30);
        put32(r, 44, 132 + i);
        put32(r, 52, 64);
        put32(r, 56, 32);
        put32(r, 60, 228 << 10);
        put32(r, 64, 64 << 10);
        put32(r, 104, 9);
        put32(r, 112, i);
        for (uint8_t b = 0; b < 16; b++)
            r[120 + b] = (uint8_t)(16 * i + b);
        put64(r, 136, (uint64_t)(uintptr_t)names[i]);
        standin_add(0, r);
    }
}

EXPORT void standin_kernel(const struct standin_work *w, const char *name, const int32_t grid[3],
                           const int32_t block[3])
{
    uint8_t r[KERNEL] = {0};
    if (!standin_is_enabled(10))
        return;
    put32(r, 0, 10);
    r[6] = 40; /* registers */
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 40, w->device);
    put32(r, 44, w->device + 1);
    put32(r, 48, w->stream);
    for (size_t i = 0; i < 3; i++) {
        put32(r, 52 + 4 * i, (uint32_t)grid[i]);
        put32(r, 64 + 4 * i, (uint32_t)block[i]);
    }
    put32(r, 76, 1024);
    put32(r, 80, 200000);
    put32(r, 92, w->correlation);
    put64(r, 104, (uint64_t)(uintptr_t)name);
    put64(r, 144, w->graph_node);
    put32(r, 156, (uint32_t)(w->graph_node >> 32));
    for (size_t i = 0; i < 3; i++)
        put32(r, 176 + 4 * i, w->cluster[i]);
    standin_add((int)(w->stream % QUEUES), r);
}

/* What the records of copies and of memory that is set have at the same places. */
static void put_transfer(uint8_t *r, const struct standin_work *w, uint64_t bytes)
{
    put64(r, 8, bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->device + 1);
    put32(r, 40, w->stream);
}

EXPORT void standin_copy(const struct standin_work *w, int kind, uint64_t bytes, int is_async)
{
    uint8_t r[COPY] = {0};
    if (!standin_is_enabled(1))
        return;
    put32(r, 0, 1);
    r[4] = (uint8_t)kind;
    r[7] = (uint8_t)is_async;
    put_transfer(r, w, bytes);
    put32(r, 44, w->correlation);
    put64(r, 64, w->graph_node);
    standin_add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_peer_copy(const struct standin_work *w, uint32_t to, uint64_t bytes)
{
    uint8_t r[PEER] = {0};
    if (!standin_is_enabled(22))
        return;
    put32(r, 0, 22);
    r[4] = 10;
    put_transfer(r, w, bytes);
    put32(r, 44, w->device);
    put32(r, 52, to);
    put32(r, 60, w->correlation);
    put64(r, 72, w->graph_node);
    standin_add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_set(const struct standin_work *w, uint32_t value, uint64_t bytes)
{
    uint8_t r[SET] = {0};
    if (!standin_is_enabled(2))
        return;
    put32(r, 0, 2);
    put32(r, 4, value);
    put_transfer(r, w, bytes);
    put32(r, 44, w->correlation);
    standin_add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_memory(uint32_t device, int is_allocation, int memory_kind, uint64_t bytes)
{
    uint8_t r[MEMORY] = {0};
    if (!standin_is_enabled(49))
        return;
    put32(r, 0, 49);
    put32(r, 4, is_allocation ? 1 : 2);
    put32(r, 8, (uint32_t)memory_kind);
    put64(r, 16, 0x7f0000000000);
    put64(r, 24, bytes);
    put64(r, 32, standin_now());
    put32(r, 52, device);
    standin_add(0, r);
}

/* Allocated from a pool, or given back to it, which holds so much after that. */
EXPORT void standin_from_pool(uint32_t device, int is_allocation, uint64_t bytes, uint64_t pool,
                              uint64_t pool_bytes)
{
    uint8_t r[MEMORY] = {0};
    if (!standin_is_enabled(49))
        return;
    put32(r, 0, 49);
    put32(r, 4, is_allocation ? 1 : 2);
    put32(r, 8, 3);
    put64(r, 24, bytes);
    put64(r, 32, standin_now());
    put32(r, 52, device);
    put32(r, 72, 1);
    put32(r, 80, 1);
    put64(r, 88, pool);
    put64(r, 104, pool_bytes);
    standin_add(0, r);
}

/* Created 1, destroyed 2, trimmed 3. */
EXPORT void standin_pool(uint32_t device, int operation, uint64_t pool, uint64_t pool_bytes)
{
    uint8_t r[POOL] = {0};
    if (!standin_is_enabled(50))
        return;
    put32(r, 0, 50);
    put32(r, 4, (uint32_t)operation);
    put32(r, 8, 1);
    put32(r, 20, device);
    put64(r, 32, pool);
    put64(r, 40, pool_bytes);
    put64(r, 56, standin_now());
    standin_add(0, r);
}

EXPORT void standin_sync(int type, uint64_t start, uint64_t end, uint32_t context, uint32_t stream)
{
    uint8_t r[SYNC] = {0};
    if (!standin_is_enabled(38))
        return;
    put32(r, 0, 38);
    put32(r, 4, (uint32_t)type);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 28, context);
    put32(r, 32, stream);
    put32(r, 36, UINT32_MAX);
    standin_add(0, r);
}

EXPORT void standin_overhead(uint64_t start, uint64_t end)
{
    uint8_t r[OVERHEAD] = {0};
    if (!standin_is_enabled(17))
        return;
    put32(r, 0, 17);
    put64(r, 24, start);
    put64(r, 32, end);
    standin_add(0, r);
}

EXPORT void standin_call(int domain, uint32_t callback, uint32_t correlation, uint64_t start,
                         uint64_t end)
{
    uint8_t r[API] = {0};
    const uint32_t kind = domain == 2 ? 5 : 4;
    put32(r, 0, kind);
    put32(r, 4, callback);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 24, (uint32_t)getpid());
    put32(r, 28, (uint32_t)syscall(SYS_gettid));
    put32(r, 32, correlation);
    standin_add(QUEUES - 1, r);
}
