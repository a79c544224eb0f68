/* A stand-in for libcupti: the functions that the probe calls, serving records in the layouts of
 * CUDA 11.8 or 13.0 (STANDIN_CUDA), of "kernels" that a program declares by standin_*(). Sizes and
 * offsets are those of NVIDIA's header cupti_activity.h. What CUPTI forbids or CUDA would suffer
 * from is counted in standin_faults(). */
#include "standin.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#if STANDIN_CUDA >= 13
enum {
    VERSION = 130001,
    KERNEL = 216,
    COPY = 96,
    MEMORY = 128,
    SYNC = 56,
    OVERHEAD = 56,
    DEVICE = 184
};
#else
enum {
    VERSION = 18,
    KERNEL = 200,
    COPY = 88,
    MEMORY = 120,
    SYNC = 40,
    OVERHEAD = 40,
    DEVICE = 176
};
#endif
enum {
    PEER = 96,
    SET = 88,
    API = 40,
    KINDS = 64,
    QUEUES = 128,
    MAX_LIMIT_REACHED = 12,
    TAKES_NO_BUFFER = 27,
    INVALID = 1
};

static const uint32_t sizes[KINDS] = {
    [1] = COPY,    [2] = SET,       [4] = API,   [5] = API,   [8] = DEVICE,
    [10] = KERNEL, [17] = OVERHEAD, [22] = PEER, [38] = SYNC, [49] = MEMORY};

static struct {
    pthread_mutex_t lock;
    standin_request *request;
    standin_complete *complete;
    uint64_t (*clock)(void);
    uint64_t enabled;             /* kinds */
    unsigned char calls[2][1024]; /* driver, runtime: single functions */
    uint8_t per_thread;           /* a queue of buffers for each thread */
    _Atomic int threads;
    int any_enabled, faults, thread_ids;
    size_t dropped;
    struct {
        uint8_t *buffer;
        size_t size, used, most, n; /* records: at most, and now */
    } queues[QUEUES];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER, .per_thread = STANDIN_CUDA >= 13};

/* ---- what the probe calls ---- */

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = VERSION;
    return 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    cupti.faults += cupti.enabled != 0; /* records before it would have another clock */
    cupti.clock = clock;
    return 0;
}

EXPORT int cuptiActivityRegisterCallbacks(standin_request *request, standin_complete *complete)
{
    cupti.request = request;
    cupti.complete = complete;
    return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
    enum { SERIALISING_KERNEL = 3 };
    cupti.faults += kind == SERIALISING_KERNEL || !cupti.complete;
    cupti.enabled |= UINT64_C(1) << kind;
    if (kind == 8)
        standin_devices();
    return 0;
}

EXPORT int cuptiActivityDisable(int kind)
{
    cupti.enabled &= ~(UINT64_C(1) << kind);
    return 0;
}

#if STANDIN_CUDA >= 13
EXPORT int cuptiActivityEnableRuntimeApi(uint32_t callback, uint8_t is_on)
{
    cupti.calls[1][callback] = is_on;
    return 0;
}

EXPORT int cuptiActivityEnableDriverApi(uint32_t callback, uint8_t is_on)
{
    cupti.calls[0][callback] = is_on;
    return 0;
}
#endif

enum { PER_THREAD = 9 };

/* Which attributes there are, and from which CUDA on, is in the comments of cupti_activity.h. */
EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    if (STANDIN_CUDA < 13 || attribute != PER_THREAD || *size != sizeof(cupti.per_thread))
        return INVALID;
    cupti.faults += cupti.complete || cupti.enabled; /* "undefined behavior" */
    memcpy(&cupti.per_thread, value, *size);
    return 0;
}

EXPORT int cuptiSetThreadIdType(int type)
{
    cupti.thread_ids = type;
    return 0;
}

EXPORT int cuptiFinalize(void)
{
    cupti.enabled = 0;
    cupti.request = NULL;
    cupti.complete = NULL;
    return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    pthread_mutex_lock(&cupti.lock);
    *count = cupti.dropped;
    cupti.dropped = 0;
    pthread_mutex_unlock(&cupti.lock);
    return 0;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, void **record)
{
    uint32_t kind;
    uint8_t *at = buffer;
    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        at = (uint8_t *)*record + sizes[kind];
    }
    if (at >= buffer + used)
        return MAX_LIMIT_REACHED;
    *record = at;
    return 0;
}

EXPORT int cuptiGetCallbackName(int domain, uint32_t callback, const char **name)
{
    static const char *const runtime[] = {[STANDIN_LAUNCH] = "cudaLaunchKernel_v7000",
                                          [STANDIN_GRAPH] = "cudaGraphLaunch_v10000",
                                          [STANDIN_COPY] = "cudaMemcpyAsync_v3020",
                                          [STANDIN_MALLOC] = "cudaMalloc_v3020",
                                          [STANDIN_HOST] = "cudaLaunchHostFunc_v10000"};
    static const char *const driver[] = {[STANDIN_LAUNCH] = "cuLaunchKernel",
                                         [STANDIN_GRAPH] = "cuGraphLaunch",
                                         [STANDIN_COPY] = "cuMemcpyHtoDAsync_v2"};
    const size_t n =
        domain == 2 ? sizeof(runtime) / sizeof(*runtime) : sizeof(driver) / sizeof(*driver);
    if (callback >= n || callback == 0)
        return INVALID;
    *name = domain == 2 ? runtime[callback] : driver[callback];
    return 0;
}

static void hand_over(int queue, uint8_t *buffer, size_t size, size_t used)
{
    if (buffer && cupti.complete)
        cupti.complete(NULL, (uint32_t)queue, buffer, size, used);
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    const char *stuck = getenv("STANDIN_STUCK_FLUSH"); /* the flags, with which it never returns */
    while (stuck && (uint32_t)atoi(stuck) == flags)
        pause();
    for (int i = 0; i < QUEUES; i++) {
        pthread_mutex_lock(&cupti.lock);
        uint8_t *buffer = cupti.queues[i].buffer;
        size_t size = cupti.queues[i].size, used = cupti.queues[i].used;
        cupti.queues[i].buffer = NULL;
        pthread_mutex_unlock(&cupti.lock);
        hand_over(i, buffer, size, used);
    }
    return 0;
}

/* ---- what the program declares ---- */

static void put32(uint8_t *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof(value));
}

static void put64(uint8_t *record, size_t at, uint64_t value)
{
    memcpy(record + at, &value, sizeof(value));
}

static int is_enabled(uint32_t kind)
{
    return (int)(cupti.enabled >> kind & 1);
}

static int queue_of_thread(void)
{
    static _Thread_local int mine;
    mine = mine ? mine : 1 + atomic_fetch_add(&cupti.threads, 1);
    return mine % QUEUES;
}

static void add(int queue, const uint8_t *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    queue = cupti.per_thread ? queue_of_thread() : queue;
    pthread_mutex_lock(&cupti.lock);
    uint8_t *full = NULL;
    size_t full_size = 0, full_used = 0, most = 0;
    if (cupti.queues[queue].buffer &&
        (cupti.queues[queue].used + sizes[kind] > cupti.queues[queue].size ||
         cupti.queues[queue].n == cupti.queues[queue].most)) {
        full = cupti.queues[queue].buffer;
        full_size = cupti.queues[queue].size;
        full_used = cupti.queues[queue].used;
        cupti.queues[queue].buffer = NULL;
    }
    if (!cupti.queues[queue].buffer && cupti.request) {
        cupti.queues[queue].used = cupti.queues[queue].n = 0;
        cupti.request(&cupti.queues[queue].buffer, &cupti.queues[queue].size, &most);
        cupti.queues[queue].most = most ? most : SIZE_MAX;
        /* Release notes of CUDA 12.9: a request that got no buffer crashed until then. */
        if (!cupti.queues[queue].buffer && VERSION < TAKES_NO_BUFFER)
            raise(SIGSEGV);
    }
    if (cupti.queues[queue].buffer) {
        memcpy(cupti.queues[queue].buffer + cupti.queues[queue].used, record, sizes[kind]);
        cupti.queues[queue].used += sizes[kind];
        cupti.queues[queue].n++;
    } else {
        cupti.dropped++;
    }
    pthread_mutex_unlock(&cupti.lock);
    hand_over(queue, full, full_size, full_used);
}

EXPORT uint64_t standin_now(void)
{
    return cupti.clock ? cupti.clock() : 0;
}

EXPORT int standin_faults(void)
{
    return cupti.faults + (cupti.enabled && cupti.thread_ids != 1);
}

EXPORT uint64_t standin_enabled(void)
{
    return cupti.enabled;
}

EXPORT void standin_devices(void)
{
    static const char *const names[] = {"Stand-in GPU 0", "Stand-in GPU 1"};
    for (uint32_t i = 0; i < 2 && is_enabled(8); i++) {
        uint8_t r[DEVICE] = {0};
        put32(r, 0, 8);
        put64(r, 16, (uint64_t)(80 + i) << 30);
        put32(r, 44, 132 + i);
        put32(r, 112, i);
        for (uint8_t b = 0; b < 16; b++)
            r[120 + b] = (uint8_t)(16 * i + b);
        put64(r, 136, (uint64_t)(uintptr_t)names[i]);
        add(0, r);
    }
}

EXPORT void standin_kernel(const struct standin_work *w, const char *name, const int32_t grid[3],
                           const int32_t block[3])
{
    uint8_t r[KERNEL] = {0};
    if (!is_enabled(10))
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
    add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_copy(const struct standin_work *w, int kind, uint64_t bytes, int is_async)
{
    uint8_t r[COPY] = {0};
    if (!is_enabled(1))
        return;
    put32(r, 0, 1);
    r[4] = (uint8_t)kind;
    r[7] = (uint8_t)is_async;
    put64(r, 8, bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->device + 1);
    put32(r, 40, w->stream);
    put32(r, 44, w->correlation);
    put64(r, 64, w->graph_node);
    add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_peer_copy(const struct standin_work *w, uint32_t to, uint64_t bytes)
{
    uint8_t r[PEER] = {0};
    if (!is_enabled(22))
        return;
    put32(r, 0, 22);
    r[4] = 10;
    put64(r, 8, bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->device + 1);
    put32(r, 40, w->stream);
    put32(r, 44, w->device);
    put32(r, 52, to);
    put32(r, 60, w->correlation);
    put64(r, 72, w->graph_node);
    add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_set(const struct standin_work *w, uint32_t value, uint64_t bytes)
{
    uint8_t r[SET] = {0};
    if (!is_enabled(2))
        return;
    put32(r, 0, 2);
    put32(r, 4, value);
    put64(r, 8, bytes);
    put64(r, 16, w->start);
    put64(r, 24, w->end);
    put32(r, 32, w->device);
    put32(r, 36, w->device + 1);
    put32(r, 40, w->stream);
    put32(r, 44, w->correlation);
    add((int)(w->stream % QUEUES), r);
}

EXPORT void standin_memory(uint32_t device, int is_allocation, int memory_kind, uint64_t bytes)
{
    uint8_t r[MEMORY] = {0};
    if (!is_enabled(49))
        return;
    put32(r, 0, 49);
    put32(r, 4, is_allocation ? 1 : 2);
    put32(r, 8, (uint32_t)memory_kind);
    put64(r, 16, 0x7f0000000000);
    put64(r, 24, bytes);
    put64(r, 32, standin_now());
    put32(r, 52, device);
    add(0, r);
}

EXPORT void standin_sync(int type, uint64_t start, uint64_t end, uint32_t context, uint32_t stream)
{
    uint8_t r[SYNC] = {0};
    if (!is_enabled(38))
        return;
    put32(r, 0, 38);
    put32(r, 4, (uint32_t)type);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 28, context);
    put32(r, 32, stream);
    put32(r, 36, UINT32_MAX);
    add(0, r);
}

EXPORT void standin_overhead(uint64_t start, uint64_t end)
{
    uint8_t r[OVERHEAD] = {0};
    if (!is_enabled(17))
        return;
    put32(r, 0, 17);
    put64(r, 24, start);
    put64(r, 32, end);
    add(0, r);
}

EXPORT void standin_call(int domain, uint32_t callback, uint32_t correlation, uint64_t start,
                         uint64_t end)
{
    uint8_t r[API] = {0};
    const uint32_t kind = domain == 2 ? 5 : 4;
    if (!is_enabled(kind) && !cupti.calls[domain == 2][callback])
        return;
    put32(r, 0, kind);
    put32(r, 4, callback);
    put64(r, 8, start);
    put64(r, 16, end);
    put32(r, 24, (uint32_t)getpid());
    put32(r, 28, (uint32_t)syscall(SYS_gettid));
    put32(r, 32, correlation);
    add(QUEUES - 1, r);
}
