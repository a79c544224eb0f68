/* A stand-in for libcupti: the functions that the probe calls, serving records in the layouts of
 * CUDA 11.8 or 13.0 (STANDIN_CUDA), of "kernels" that a program declares by standin_*(). Sizes and
 * offsets are those of NVIDIA's header cupti_activity.h. What CUPTI forbids or CUDA would suffer
 * from is counted in standin_faults(). */
#include "inside.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KINDS = 64, MAX_LIMIT_REACHED = 12, TAKES_NO_BUFFER = 27, INVALID = 1 };

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
    size_t device_buffer_size, device_buffers;
    _Atomic int threads, flushing;
    int any_enabled, faults, thread_ids;
    size_t dropped;
    struct {
        uint8_t *buffer;
        size_t size, used, most, n; /* records: at most, and now */
    } queues[QUEUES];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .per_thread = STANDIN_CUDA >= 13,
           .device_buffer_size = 3200000,
           .device_buffers = 250};

/* ---- what the probe calls ---- */

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = VERSION;
    return 0;
}

/* CUPTI's guide, 2.1: calls with a driver that is too old for it end so. STANDIN_REFUSES: the CUDA
 * version whose CUPTI is to, and the answer. */
static int refusal(void)
{
    const char *refuses = getenv("STANDIN_REFUSES");
    int version = 0, answer = 0;
    return refuses && sscanf(refuses, "%d:%d", &version, &answer) == 2 &&
                   (version == STANDIN_CUDA || !version)
               ? answer
               : 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    if (refusal())
        return refusal();
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

enum { DEVICE_BUFFER_SIZE = 0, DEVICE_BUFFER_POOL_LIMIT = 2, PER_THREAD = 9 };

/* Which attributes there are, their types, and from which CUDA on, is in the comments of
 * cupti_activity.h. */
static void *attribute(int number, size_t size)
{
    if (number == DEVICE_BUFFER_SIZE && size == sizeof(size_t))
        return &cupti.device_buffer_size;
    if (number == DEVICE_BUFFER_POOL_LIMIT && size == sizeof(size_t))
        return &cupti.device_buffers;
    if (STANDIN_CUDA >= 13 && number == PER_THREAD && size == sizeof(uint8_t))
        return &cupti.per_thread;
    return NULL;
}

EXPORT int cuptiActivityGetAttribute(int number, size_t *size, void *value)
{
    void *found = attribute(number, *size);
    if (!found)
        return INVALID;
    memcpy(value, found, *size);
    return 0;
}

EXPORT int cuptiActivitySetAttribute(int number, size_t *size, void *value)
{
    void *found = attribute(number, *size);
    if (!found)
        return INVALID;
    cupti.faults += cupti.complete || cupti.enabled; /* "undefined behavior" */
    memcpy(found, value, *size);
    return 0;
}

EXPORT int cuptiSetThreadIdType(int type)
{
    cupti.thread_ids = type;
    return 0;
}

/* It destroys what a flush of another thread reads. */
EXPORT int cuptiFinalize(void)
{
    cupti.faults += atomic_load(&cupti.flushing) != 0;
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
    const char *slow = flags ? NULL : getenv("STANDIN_SLOW_FLUSH"); /* ms */
    atomic_fetch_add(&cupti.flushing, 1);
    usleep(slow ? (useconds_t)atoi(slow) * 1000 : 0);
    for (int i = 0; i < QUEUES; i++) {
        pthread_mutex_lock(&cupti.lock);
        uint8_t *buffer = cupti.queues[i].buffer;
        size_t size = cupti.queues[i].size, used = cupti.queues[i].used;
        cupti.queues[i].buffer = NULL;
        pthread_mutex_unlock(&cupti.lock);
        hand_over(i, buffer, size, used);
    }
    atomic_fetch_sub(&cupti.flushing, 1);
    return 0;
}

/* ---- records ---- */

int standin_is_call_enabled(int domain, uint32_t callback)
{
    return cupti.calls[domain == 2][callback];
}

int standin_is_enabled(uint32_t kind)
{
    return (int)(cupti.enabled >> kind & 1);
}

static int queue_of_thread(void)
{
    static _Thread_local int mine;
    mine = mine ? mine : 1 + atomic_fetch_add(&cupti.threads, 1);
    return mine % QUEUES;
}

void standin_add(int queue, const uint8_t *record)
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

EXPORT uint64_t standin_device_memory(void)
{
    return cupti.device_buffer_size * cupti.device_buffers;
}

EXPORT int standin_flushing(void)
{
    return atomic_load(&cupti.flushing);
}

EXPORT uint64_t standin_enabled(void)
{
    return cupti.enabled;
}
