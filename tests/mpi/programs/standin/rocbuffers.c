/* The stand-in's buffers, as buffer.hpp and buffer.cpp of rocprofiler-sdk 1.0 have them: two
 * memories and an index; only LOSSLESS gives both memory, else what comes while it is the second
 * one's turn is lost, and not counted. A full LOSSLESS buffer keeps who fills it waiting until it
 * was handed over. */
#include "rocinside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST_HEADERS = 1 << 16 };

struct half {
    unsigned char *bytes;
    size_t used, n;
    struct header *headers[MOST_HEADERS];
    struct header space[MOST_HEADERS];
};

struct buffer {
    struct half halves[2];
    _Atomic uint32_t index;
    atomic_flag is_flushed;
    pthread_mutex_t lock; /* of the halves */
    size_t capacity, watermark;
    int policy;
    uint64_t context, handle, dropped;
    buffer_function *callback;
    void *data;
};

static struct buffer *buffers[BUFFERS];
static int nbuffers;

/* The one thread that calls back: a job at a time. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_started, is_busy;
    struct buffer *buffer; /* whose turn it is; NULL none */
    uint32_t index;
} caller = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void hand_over(struct buffer *b, uint32_t index)
{
    struct half *half = &b->halves[index % 2];
    pthread_mutex_lock(&b->lock);
    if (half->n && b->callback)
        b->callback(b->context, b->handle, half->headers, half->n, b->data, b->dropped);
    half->n = half->used = 0;
    pthread_mutex_unlock(&b->lock);
    atomic_flag_clear(&b->is_flushed);
}

static void *call_back(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&caller.lock);
    for (;;) {
        while (!caller.buffer)
            pthread_cond_wait(&caller.changed, &caller.lock);
        struct buffer *b = caller.buffer;
        pthread_mutex_unlock(&caller.lock);
        hand_over(b, caller.index);
        pthread_mutex_lock(&caller.lock);
        caller.buffer = NULL;
        pthread_cond_broadcast(&caller.changed);
    }
    return NULL;
}

static void start_job(struct buffer *b, uint32_t index, int waits)
{
    pthread_mutex_lock(&caller.lock);
    if (!caller.is_started) {
        pthread_t thread;
        caller.is_started = 1;
        pthread_create(&thread, NULL, call_back, NULL);
    }
    while (caller.buffer)
        pthread_cond_wait(&caller.changed, &caller.lock);
    caller.buffer = b;
    caller.index = index;
    pthread_cond_broadcast(&caller.changed);
    while (waits && caller.buffer)
        pthread_cond_wait(&caller.changed, &caller.lock);
    pthread_mutex_unlock(&caller.lock);
}

static struct buffer *buffer_of(uint64_t handle)
{
    return handle >= 1 && handle <= (uint64_t)nbuffers ? buffers[handle - 1] : NULL;
}

static int flush(struct buffer *b, int waits)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    if (atomic_load(&standin_rocm.is_over) > 0) {
        fprintf(stderr, "ignoring rocprofiler buffer flush request after finalization\n");
        return FINALIZED;
    }
    while (atomic_flag_test_and_set(&b->is_flushed)) {
        if (!waits)
            return BUFFER_BUSY;
        nanosleep(&pause, NULL);
    }
    start_job(b, atomic_fetch_add(&b->index, 1), waits);
    return 0;
}

static int put(struct buffer *b, uint32_t kind, const void *record, size_t size)
{
    struct half *half = &b->halves[atomic_load(&b->index) % 2];
    int is_put = 0;
    pthread_mutex_lock(&b->lock);
    if (half->bytes && half->used + size <= b->capacity && half->n < MOST_HEADERS) {
        unsigned char *at = half->bytes + half->used;
        memcpy(at, record, size);
        half->used += (size + 7) & ~(size_t)7;
        half->space[half->n] = (struct header){1, kind, at};
        half->headers[half->n] = &half->space[half->n];
        half->n++;
        is_put = 1;
    }
    pthread_mutex_unlock(&b->lock);
    return is_put;
}

void standin_rocm_emplace(uint64_t handle, uint32_t kind, const void *record, size_t size)
{
    struct buffer *b = buffer_of(handle);
    int is_put = put(b, kind, record, size);
    while (!is_put && b->policy == LOSSLESS) {
        flush(b, 1);
        is_put = put(b, kind, record, size);
    }
    if (!is_put && b->halves[atomic_load(&b->index) % 2].bytes)
        b->dropped++;
    if (b->halves[atomic_load(&b->index) % 2].used >= b->watermark)
        flush(b, 0);
}

EXPORT int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                                     buffer_function *callback, void *data, uint64_t *handle)
{
    struct buffer *b = calloc(1, sizeof(*b));
    if (atomic_load(&standin_rocm.is_set_up) > 0 || !b || nbuffers == BUFFERS) {
        free(b);
        return LOCKED;
    }
    *b = (struct buffer){.capacity = size,
                         .watermark = watermark,
                         .policy = policy,
                         .context = context,
                         .callback = callback,
                         .data = data};
    pthread_mutex_init(&b->lock, NULL);
    atomic_flag_clear(&b->is_flushed);
    b->halves[0].bytes = malloc(size);
    b->halves[1].bytes = policy == LOSSLESS ? malloc(size) : NULL;
    buffers[nbuffers] = b;
    *handle = b->handle = (uint64_t)++nbuffers;
    return 0;
}

EXPORT int rocprofiler_flush_buffer(uint64_t handle)
{
    struct buffer *b = buffer_of(handle);
    return b ? flush(b, 1) : BUFFER_NOT_FOUND;
}

EXPORT int rocprofiler_create_callback_thread(uint64_t *thread)
{
    *thread = 1;
    return atomic_load(&standin_rocm.is_set_up) > 0 ? LOCKED : 0;
}

EXPORT int rocprofiler_assign_callback_thread(uint64_t buffer, uint64_t thread)
{
    (void)thread;
    return buffer_of(buffer) ? 0 : BUFFER_NOT_FOUND;
}
