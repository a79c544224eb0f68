/* Owns the loader thread and its queue. The trainer's thread borrows and releases batches.
 * All that both threads touch is under one mutex, except a batch's contents: they belong to the
 * loader until `prepared` passes the batch, and to the trainer from then until `released` does. */
#define _POSIX_C_SOURCE 200809L

#include "loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profwrap.h"
#include "random.h"

enum { QUEUE_DEPTH = 4 };

struct loader {
    struct loader_config config;
    struct random random;
    struct model_batch slots[QUEUE_DEPTH]; /* the batch of step n is in slot n % QUEUE_DEPTH */
    uint8_t *bytes;                        /* of all slots */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* any of the below */
    int64_t wanted;         /* the last step the trainer asked for, -1 before */
    int64_t prepared;       /* batches ready so far; released <= prepared <= released + depth */
    int64_t released;       /* batches used up so far */
    bool stop;
};

/* Waits until the batch of `step` may be prepared; false: the loader is being closed. */
static bool wait_for_turn(struct loader *l, int64_t step, bool on_demand)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stop && (step >= l->released + QUEUE_DEPTH || (on_demand && l->wanted < step)))
        pthread_cond_wait(&l->changed, &l->lock);
    bool go = !l->stop;
    pthread_mutex_unlock(&l->lock);
    return go;
}

/* Draws each sample from a random place of the shard. */
static void prepare(struct loader *l, struct model_batch *batch)
{
    const struct text_shard *shard = l->config.shard;
    size_t places = shard->count - MODEL_CONTEXT;
    for (size_t b = 0; b < batch->count; b++) {
        const uint8_t *from = shard->tokens + random_next(&l->random) % places;
        memcpy(batch->context + b * MODEL_CONTEXT, from, MODEL_CONTEXT);
        batch->target[b] = from[MODEL_CONTEXT];
    }
}

static void *loader_main(void *arg)
{
    struct loader *l = arg;
    profwrap_metadata("pipeline", "load text [batches]");
    for (int64_t step = 0; step < l->config.steps; step++) {
        int64_t delay_ns = inject_delay_ns(l->config.inject, l->config.rank, PROFWRAP_DATA, step);

        /* A delayed batch is not prefetched: the queue would hide the delay from its step. */
        if (!wait_for_turn(l, step, delay_ns > 0))
            break;

        profwrap_range_push("load batch");
        inject_sleep(delay_ns);
        prepare(l, &l->slots[step % QUEUE_DEPTH]);
        profwrap_range_pop();

        pthread_mutex_lock(&l->lock);
        l->prepared = step + 1;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* Carves the slots out of one allocation. */
static int slots_init(struct loader *l)
{
    size_t batch = l->config.batch;
    size_t slot_bytes = batch * (MODEL_CONTEXT + 1);
    l->bytes = calloc(QUEUE_DEPTH, slot_bytes);
    if (!l->bytes)
        return -ENOMEM;

    for (size_t s = 0; s < QUEUE_DEPTH; s++) {
        uint8_t *at = l->bytes + s * slot_bytes;
        l->slots[s] = (struct model_batch){
            .context = at, .target = at + batch * MODEL_CONTEXT, .count = batch};
    }
    return 0;
}

int loader_open(const struct loader_config *config, struct loader **out)
{
    struct loader *l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;

    l->config = *config;
    l->random = random_init(config->seed, (uint64_t)config->rank + 1); /* 0 is the weights' */
    l->wanted = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);

    int err = slots_init(l);
    if (!err)
        err = -pthread_create(&l->thread, NULL, loader_main, l);
    if (err) {
        free(l->bytes);
        free(l);
        return err;
    }
    *out = l;
    return 0;
}

const struct model_batch *loader_borrow(struct loader *l, int64_t step)
{
    pthread_mutex_lock(&l->lock);
    l->wanted = step;
    profwrap_queue("batches", l->prepared - step,
                   QUEUE_DEPTH); /* what waits, before one is taken */
    pthread_cond_broadcast(&l->changed);
    while (l->prepared <= step)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return &l->slots[step % QUEUE_DEPTH];
}

void loader_release(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->released++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

void loader_close(struct loader *l)
{
    if (!l)
        return;

    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);

    pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l->bytes);
    free(l);
}
