/* A stand-in for libcupti: the functions that the probe calls, serving records in the layouts of
 * CUDA 11.8, 13.0 or 13.5 (STANDIN_CUDA), of "kernels" that a program declares by standin_*().
 * Sizes and offsets are those of NVIDIA's header cupti_activity.h. What CUPTI forbids or CUDA would
 * suffer from is counted in standin_faults(). */
#include "inside.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const uint32_t standin_sizes[KINDS] = {
    [1] = COPY,      [2] = SET,   [4] = API,   [5] = API,     [8] = DEVICE, [10] = KERNEL,
    [17] = OVERHEAD, [22] = PEER, [38] = SYNC, [49] = MEMORY, [50] = POOL};

struct standin_state standin = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                .clients[0].per_thread = STANDIN_CUDA >= 13,
                                .device_buffer_size = 3200000,
                                .device_buffers = 250};

int standin_has_subscribers(void)
{
    int n = 0;
    for (int i = 1; i < CLIENTS; i++)
        n += standin.clients[i].is_subscribed;
    return n;
}

/* CUPTI's guide, 2.1: calls with a driver that is too old for it end so. STANDIN_REFUSES: the CUDA
 * version whose CUPTI is to, and the answer. */
int standin_refusal(void)
{
    const char *refuses = getenv("STANDIN_REFUSES");
    int version = 0, answer = 0;
    return refuses && sscanf(refuses, "%d:%d", &version, &answer) == 2 &&
                   (version == STANDIN_CUDA || !version)
               ? answer
               : 0;
}

/* 2.4.8: "V1 APIs and V2 APIs cannot be used together." */
static int refuse_process(void)
{
    return standin_refusal() ? standin_refusal() : standin_has_subscribers() ? OTHER_SUBSCRIBER : 0;
}

/* ---- what both have ---- */

static int set_clock(struct client *client, uint64_t (*clock)(void))
{
    standin.faults += client->enabled != 0; /* records before it would have another clock */
    client->clock = clock;
    return 0;
}

int standin_enable(struct client *client, int kind)
{
    enum { SERIALISING_KERNEL = 3 };
    const char *refused = getenv("STANDIN_REFUSES_KIND");
    if (refused && atoi(refused) == kind)
        return NOT_SUPPORTED;
    standin.faults += kind == SERIALISING_KERNEL || !client->request;
    client->enabled |= UINT64_C(1) << kind;
    if (kind == DRIVER_CALLS || kind == RUNTIME_CALLS)
        memset(client->calls[kind == RUNTIME_CALLS], 1, sizeof(client->calls[0]));
    if (kind == 8)
        standin_devices();
    return 0;
}

int standin_disable(struct client *client, int kind)
{
    client->enabled &= ~(UINT64_C(1) << kind);
    if (kind == DRIVER_CALLS || kind == RUNTIME_CALLS) {
        memset(client->calls[kind == RUNTIME_CALLS], 0, sizeof(client->calls[0]));
        client->is_deaf[kind == RUNTIME_CALLS] = 1;
    }
    return 0;
}

int standin_count_dropped(struct client *client, size_t *count)
{
    pthread_mutex_lock(&standin.lock);
    *count = client->dropped;
    client->dropped = 0;
    pthread_mutex_unlock(&standin.lock);
    return 0;
}

enum {
    DEVICE_BUFFER_SIZE = 0,
    DEVICE_BUFFER_POOL_LIMIT = 2,
    PER_THREAD = 9,
    THREAD_ID_TYPE = 21,
    TIMESTAMP_CALLBACK = 22
};

/* Which attributes there are, their types, and from which CUDA on, is in the comments of
 * cupti_activity.h. */
static void *attribute(struct client *client, int number, size_t size)
{
    if (number == DEVICE_BUFFER_SIZE && size == sizeof(size_t))
        return &standin.device_buffer_size;
    if (number == DEVICE_BUFFER_POOL_LIMIT && size == sizeof(size_t))
        return &standin.device_buffers;
    if (STANDIN_CUDA >= 13 && number == PER_THREAD && size == sizeof(uint8_t))
        return &client->per_thread;
    if (client != STANDIN_PROCESS && number == THREAD_ID_TYPE && size == sizeof(int))
        return &client->thread_ids;
    if (client != STANDIN_PROCESS && number == TIMESTAMP_CALLBACK && size == sizeof(client->clock))
        return &client->clock;
    return NULL;
}

int standin_get_attribute(struct client *client, int number, size_t *size, void *value)
{
    void *found = attribute(client, number, *size);
    if (!found)
        return INVALID;
    memcpy(value, found, *size);
    return 0;
}

int standin_set_attribute(struct client *client, int number, size_t *size, void *value)
{
    void *found = attribute(client, number, *size);
    if (!found)
        return INVALID;
    standin.faults += client->enabled || (client->request && number == PER_THREAD);
    memcpy(found, value, *size);
    return 0;
}

/* ---- of the process ---- */

EXPORT int cuptiGetVersion(uint32_t *version)
{
    const int refused = VERSION >= 130300 ? standin_refusal() : 0;
    *version = refused ? 0 : VERSION;
    return refused;
}

/* One alone, of whatever kind. */
int standin_subscribe_process(void **subscriber, standin_callback *callback)
{
    if (standin_refusal())
        return standin_refusal();
    if (STANDIN_PROCESS->is_subscribed || standin_has_subscribers() || getenv("STANDIN_HELD"))
        return OTHER_SUBSCRIBER;
    STANDIN_PROCESS->is_subscribed = 1;
    STANDIN_PROCESS->callback = callback;
    *subscriber = STANDIN_PROCESS;
    return 0;
}

EXPORT int cuptiSubscribe(void **subscriber, standin_callback *callback, void *arg)
{
    (void)arg;
    return standin_subscribe_process(subscriber, callback);
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void))
{
    return refuse_process() ? refuse_process() : set_clock(STANDIN_PROCESS, clock);
}

EXPORT int cuptiActivityRegisterCallbacks(standin_request *request, standin_complete *complete)
{
    if (refuse_process())
        return refuse_process();
    STANDIN_PROCESS->request = request;
    STANDIN_PROCESS->complete = complete;
    return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
    return refuse_process() ? refuse_process() : standin_enable(STANDIN_PROCESS, kind);
}

EXPORT int cuptiActivityDisable(int kind)
{
    return refuse_process() ? refuse_process() : standin_disable(STANDIN_PROCESS, kind);
}

#if STANDIN_CUDA >= 13
EXPORT int cuptiActivityEnableRuntimeApi(uint32_t callback, uint8_t is_on)
{
    STANDIN_PROCESS->calls[1][callback] = is_on;
    return refuse_process();
}

EXPORT int cuptiActivityEnableDriverApi(uint32_t callback, uint8_t is_on)
{
    STANDIN_PROCESS->calls[0][callback] = is_on;
    return refuse_process();
}
#endif

EXPORT int cuptiActivityGetAttribute(int number, size_t *size, void *value)
{
    return refuse_process() ? refuse_process()
                            : standin_get_attribute(STANDIN_PROCESS, number, size, value);
}

EXPORT int cuptiActivitySetAttribute(int number, size_t *size, void *value)
{
    return refuse_process() ? refuse_process()
                            : standin_set_attribute(STANDIN_PROCESS, number, size, value);
}

EXPORT int cuptiSetThreadIdType(int type)
{
    STANDIN_PROCESS->thread_ids = type;
    return refuse_process();
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    return refuse_process() ? refuse_process() : standin_count_dropped(STANDIN_PROCESS, count);
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, void **record)
{
    uint32_t kind;
    uint8_t *at = buffer;
    if (standin_has_subscribers())
        return NOT_COMPATIBLE;
    if (*record) {
        memcpy(&kind, *record, sizeof(kind));
        at = (uint8_t *)*record + standin_sizes[kind];
        if (!standin_sizes[kind])
            return INVALID_KIND;
    }
    if (at >= buffer + used)
        return MAX_LIMIT_REACHED;
    *record = at;
    return 0;
}

/* ---- the rest ---- */

/* It destroys what a flush of another thread reads. */
EXPORT int cuptiFinalize(void)
{
    standin.faults += atomic_load(&standin.flushing) != 0;
    if (standin_has_subscribers() > 1)
        return 0;
    for (int i = 0; i < CLIENTS; i++) {
        standin.clients[i].enabled = 0;
        standin.clients[i].is_subscribed = 0;
        standin.clients[i].request = NULL;
        standin.clients[i].complete = NULL;
    }
    return 0;
}

EXPORT int cuptiGetCallbackName(int domain, uint32_t callback, const char **name)
{
    static const char *const runtime[] = {[STANDIN_LAUNCH] = "cudaLaunchKernel_v7000",
                                          [STANDIN_GRAPH] = "cudaGraphLaunch_v10000",
                                          [STANDIN_COPY] = "cudaMemcpyAsync_v3020",
                                          [STANDIN_MALLOC] = "cudaMalloc_v3020",
                                          [STANDIN_HOST] = "cudaLaunchHostFunc_v10000"};
    static const char *const driver[] = {
        [STANDIN_LAUNCH] = "cuLaunchKernel",     [STANDIN_GRAPH] = "cuGraphLaunch",
        [STANDIN_COPY] = "cuMemcpyHtoDAsync_v2", [STANDIN_CREATE] = "cuMemCreate",
        [STANDIN_RELEASE] = "cuMemRelease",      [STANDIN_MAP] = "cuMemMap",
        [STANDIN_UNMAP] = "cuMemUnmap",          [STANDIN_RETAIN] = "cuMemRetainAllocationHandle"};
    const size_t n =
        domain == 2 ? sizeof(runtime) / sizeof(*runtime) : sizeof(driver) / sizeof(*driver);
    if (callback >= n || callback == 0)
        return INVALID;
    *name = domain == 2 ? runtime[callback] : driver[callback];
    return *name ? 0 : INVALID;
}

/* Calls back as CUpti_CallbackData has it, on entering the function and on leaving it. */
EXPORT void standin_driver(uint32_t callback, const void *params, int result)
{
    enum { DRIVER = 1, ENTER = 0, EXIT = 1 };
    struct {
        int site;
        const char *function;
        const void *params, *result;
        const char *symbol;
        void *context;
        uint32_t context_id;
        uint64_t *correlation_data;
        uint32_t correlation;
    } data = {.site = ENTER, .params = params};
    for (data.site = ENTER; data.site <= EXIT; data.site++) {
        data.result = data.site == EXIT ? &result : NULL;
        for (int i = 0; i < CLIENTS; i++)
            if (standin.clients[i].is_subscribed && standin.clients[i].watched[callback] &&
                standin.clients[i].callback)
                standin.clients[i].callback(NULL, DRIVER, callback, &data);
    }
}

static void hand_over(struct client *client, int queue, uint8_t *buffer, size_t size, size_t used)
{
    if (buffer && client->complete_v2)
        client->complete_v2(buffer, size, used, NULL);
    else if (buffer && client->complete)
        client->complete(NULL, (uint32_t)queue, buffer, size, used);
}

static void flush(struct client *client)
{
    for (int i = 0; i < QUEUES; i++) {
        pthread_mutex_lock(&standin.lock);
        uint8_t *buffer = client->queues[i].buffer;
        size_t size = client->queues[i].size, used = client->queues[i].used;
        client->queues[i].buffer = NULL;
        pthread_mutex_unlock(&standin.lock);
        hand_over(client, i, buffer, size, used);
    }
}

static void *hand_over_late(void *ms)
{
    usleep((useconds_t)atoi(ms) * 1000);
    for (int i = 0; i < CLIENTS; i++)
        flush(&standin.clients[i]);
    return NULL;
}

/* As a real library does for its own work. */
static int use_stack(int pages)
{
    volatile char page[4096];
    page[0] = (char)pages;
    return pages > 0 ? use_stack(pages - 1) + page[0] : 0;
}

/* Flushes all: "It is not possible to flush the buffers of only a specific subscriber." */
EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    const char *stuck = getenv("STANDIN_STUCK_FLUSH"); /* the flags, with which it never returns */
    while (stuck && (uint32_t)atoi(stuck) == flags)
        pause();
    const char *slow = flags ? NULL : getenv("STANDIN_SLOW_FLUSH"); /* ms */
    atomic_fetch_add(&standin.flushing, 1);
    use_stack(getenv("STANDIN_FLUSH_PAGES") ? atoi(getenv("STANDIN_FLUSH_PAGES")) : 0);
    usleep(slow ? (useconds_t)atoi(slow) * 1000 : 0);
    char *late = getenv("STANDIN_LATE_BUFFERS"); /* ms */
    pthread_t thread;
    for (int i = 0; i < CLIENTS && !late; i++)
        flush(&standin.clients[i]);
    if (late && pthread_create(&thread, NULL, hand_over_late, late) == 0)
        pthread_detach(thread);
    atomic_fetch_sub(&standin.flushing, 1);
    return 0;
}

/* ---- records ---- */

static int wants(const struct client *client, const uint8_t *record)
{
    uint32_t kind, callback;
    memcpy(&kind, record, sizeof(kind));
    memcpy(&callback, record + sizeof(kind), sizeof(callback));
    const int is_enabled = client->enabled >> kind & 1;
    if (kind != DRIVER_CALLS && kind != RUNTIME_CALLS)
        return is_enabled;
    const int which = kind == RUNTIME_CALLS;
    return (is_enabled || !client->is_deaf[which]) && client->calls[which][callback];
}

int standin_is_enabled(uint32_t kind)
{
    return (int)(standin_enabled() >> kind & 1);
}

static int queue_of_thread(void)
{
    static _Thread_local int mine;
    mine = mine ? mine : 1 + atomic_fetch_add(&standin.threads, 1);
    return mine % QUEUES;
}

static void add(struct client *client, int queue, const uint8_t *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    queue = client->per_thread ? queue_of_thread() : queue;
    pthread_mutex_lock(&standin.lock);
    uint8_t *full = NULL;
    size_t full_size = 0, full_used = 0, most = 0;
    if (client->queues[queue].buffer &&
        (client->queues[queue].used + standin_sizes[kind] > client->queues[queue].size ||
         client->queues[queue].n == client->queues[queue].most)) {
        full = client->queues[queue].buffer;
        full_size = client->queues[queue].size;
        full_used = client->queues[queue].used;
        client->queues[queue].buffer = NULL;
    }
    if (!client->queues[queue].buffer && client->request) {
        client->queues[queue].used = client->queues[queue].n = 0;
        client->request(&client->queues[queue].buffer, &client->queues[queue].size, &most);
        client->queues[queue].most = most ? most : SIZE_MAX;
        /* Release notes of CUDA 12.9: a request that got no buffer crashed until then. */
        if (!client->queues[queue].buffer && (int)VERSION < TAKES_NO_BUFFER)
            raise(SIGSEGV);
    }
    if (client->queues[queue].buffer) {
        memcpy(client->queues[queue].buffer + client->queues[queue].used, record,
               standin_sizes[kind]);
        client->queues[queue].used += standin_sizes[kind];
        if (getenv("STANDIN_BROKEN") && client->queues[queue].n == 2)
            memset(client->queues[queue].buffer + client->queues[queue].used - standin_sizes[kind],
                   0, standin_sizes[kind]);
        client->queues[queue].n++;
    } else {
        client->dropped++;
    }
    pthread_mutex_unlock(&standin.lock);
    hand_over(client, queue, full, full_size, full_used);
}

void standin_add(int queue, const uint8_t *record)
{
    for (int i = 0; i < CLIENTS; i++)
        if (wants(&standin.clients[i], record))
            add(&standin.clients[i], queue, record);
}

/* The clock of the first that is served. */
EXPORT uint64_t standin_now(void)
{
    for (int i = CLIENTS; i-- > 0;)
        if (standin.clients[i].clock && (standin.clients[i].enabled || !i))
            return standin.clients[i].clock();
    return 0;
}

EXPORT int standin_faults(void)
{
    int n = standin.faults;
    for (int i = 0; i < CLIENTS; i++)
        n += standin.clients[i].enabled && standin.clients[i].thread_ids != 1;
    return n;
}

EXPORT uint64_t standin_device_memory(void)
{
    return standin.device_buffer_size * standin.device_buffers;
}

EXPORT int standin_flushing(void)
{
    return atomic_load(&standin.flushing);
}

EXPORT uint64_t standin_enabled(void)
{
    uint64_t all = 0;
    for (int i = 0; i < CLIENTS; i++)
        all |= standin.clients[i].enabled;
    return all;
}
