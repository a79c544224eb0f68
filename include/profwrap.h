/* profwrap.h: functions by which an application marks its steps, phases and work for the profiler.
 *
 * Header-only: include it, call its functions, and link nothing. Under `profwrap` the calls are
 * recorded; without it each costs one load and one predicted branch. Every call may be made from
 * any thread, at any time, before or after MPI_Init; no call fails, prints or changes errno. No
 * call blocks, except that with --on-full wait it waits for room in a full buffer.
 *
 * Names are UTF-8, NUL-terminated, copied at once (the first 255 bytes); the caller keeps them.
 *
 *     for (long n = 0; n < steps; n++) {
 *         profwrap_step(n);
 *         profwrap_phase(PROFWRAP_DATA);      batch = next_batch();
 *         profwrap_phase(PROFWRAP_FORWARD);   loss = forward(batch);
 *         profwrap_phase(PROFWRAP_BACKWARD);  backward(loss);
 *         profwrap_phase(PROFWRAP_ALLREDUCE); wait_for_gradients();
 *         profwrap_phase(PROFWRAP_OPTIMIZER); update();
 *     }
 *     profwrap_step(PROFWRAP_NO_STEP);
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFWRAP_H
#define PROFWRAP_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* profwrap_step() argument that ends the current step and begins none. */
#define PROFWRAP_NO_STEP ((int64_t)-1)

/* profwrap_step() argument that ends the current step and does not count it as one: it was begun to
 * wait for a batch, and the data had ended. Its number may be used again. */
#define PROFWRAP_CANCEL_STEP ((int64_t)-2)

/* The phases of a training step. The values are part of the file format. */
enum profwrap_phase {
    PROFWRAP_NO_PHASE = 0,
    PROFWRAP_DATA = 1,      /* waiting for, reading or preparing the batch */
    PROFWRAP_FORWARD = 2,   /* computing the loss */
    PROFWRAP_BACKWARD = 3,  /* computing gradients */
    PROFWRAP_ALLREDUCE = 4, /* waiting for gradients of other ranks */
    PROFWRAP_OPTIMIZER = 5  /* applying the gradients */
};

/* The in-application probe exports one of these as `profwrap_api_v1`. Members are only ever
 * appended; `size` is sizeof the probe's own struct, so that a newer header can
 * detect what an older probe lacks. */
struct profwrap_api {
    size_t size;
    int (*active)(void);
    void (*step)(int64_t step);
    void (*phase)(int phase);
    void (*range_push)(const char *name);
    void (*range_pop)(void);
    void (*op_begin)(const char *name, const char *type, const char *shapes);
    void (*op_end)(void);
    void (*queue)(const char *name, int64_t size, int64_t capacity);
    void (*memory)(int64_t bytes_delta, int device);
    void (*start)(void);
    void (*stop)(void);
    void (*metadata)(const char *key, const char *value);
    void (*op_past)(const char *name, const char *type, const char *shapes, int64_t start_ns,
                    int64_t end_ns, int lane, int64_t alloc_bytes);
    void (*work)(int64_t amount);
    void (*flops)(double flops);
    void (*mark)(const char *name, const char *domain);
    void (*queue_past)(const char *name, int64_t size, int64_t capacity, int64_t time_ns);
};

static const struct profwrap_api *profwrap_api_;

/* Whether there is a probe and it has the member; an older probe may lack it. */
#define PROFWRAP_HAS_(member)                      \
    (__builtin_expect(profwrap_api_ != NULL, 0) && \
     profwrap_api_->size > offsetof(struct profwrap_api, member) && profwrap_api_->member)

/* Runs when the object that includes this header is loaded. The probe is preloaded, so if it is not
 * there by then, it never is. */
__attribute__((constructor, unused)) static void profwrap_find_api_(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    if (self) {
        profwrap_api_ = (const struct profwrap_api *)dlsym(self, "profwrap_api_v1");
        dlclose(self);
    }
}

/* 1 while this thread is being recorded, else 0. */
__attribute__((unused)) static inline int profwrap_active(void)
{
    return __builtin_expect(profwrap_api_ != NULL, 0) ? profwrap_api_->active() : 0;
}

/* Begins step `step` (>= 0), ending the previous one and its phase. Every rank should give the same
 * step the same number. */
__attribute__((unused)) static inline void profwrap_step(int64_t step)
{
    if (__builtin_expect(profwrap_api_ != NULL, 0))
        profwrap_api_->step(step);
}

/* Begins a phase of the current step on the calling thread, ending the previous phase; a step may
 * enter a phase more than once. PROFWRAP_NO_PHASE only ends. */
__attribute__((unused)) static inline void profwrap_phase(enum profwrap_phase phase)
{
    if (__builtin_expect(profwrap_api_ != NULL, 0))
        profwrap_api_->phase((int)phase);
}

/* Opens a named range on the calling thread; ranges nest, at most 128 deep (deeper ones are counted
 * as lost). */
__attribute__((unused)) static inline void profwrap_range_push(const char *name)
{
    if (__builtin_expect(profwrap_api_ != NULL, 0))
        profwrap_api_->range_push(name);
}

/* Closes the innermost open range of the calling thread; without one it does nothing. */
__attribute__((unused)) static inline void profwrap_range_pop(void)
{
    if (__builtin_expect(profwrap_api_ != NULL, 0))
        profwrap_api_->range_pop();
}

/* Begins an operator on the calling thread: a range that the operator table counts by name, by type
 * ("matmul", "aten"; or NULL) and by the shapes of its inputs ("[[32, 64], [64, 8]]"; or NULL). The
 * type "function" makes it a frame of the call stack instead: an interpreter's function. Operators
 * and ranges nest in each other, at most 128 deep. */
__attribute__((unused)) static inline void profwrap_op_begin(const char *name, const char *type,
                                                             const char *shapes)
{
    if (PROFWRAP_HAS_(op_begin))
        profwrap_api_->op_begin(name, type, shapes);
}

/* Closes the innermost open range of the calling thread, as profwrap_range_pop(). */
__attribute__((unused)) static inline void profwrap_op_end(void)
{
    if (PROFWRAP_HAS_(op_end))
        profwrap_api_->op_end();
}

/* Records an operator that has ended and that another profiler measured: its times in ns of
 * CLOCK_MONOTONIC_RAW, and the bytes allocated minus the bytes freed in it. A `lane` is a number of
 * your choice for each thread of the other profiler. Operators of one lane nest in each other by
 * their times, and in nothing else; record inner operators before outer ones, from one thread. At
 * most 256 lanes. While recording is paused it does nothing; invalid times are counted as lost. */
__attribute__((unused)) static inline void profwrap_op_past(const char *name, const char *type,
                                                            const char *shapes, int64_t start_ns,
                                                            int64_t end_ns, int lane,
                                                            int64_t alloc_bytes)
{
    if (PROFWRAP_HAS_(op_past))
        profwrap_api_->op_past(name, type, shapes, start_ns, end_ns, lane, alloc_bytes);
}

/* `size` of at most `capacity` items (0: no limit) are in the queue now: a loader's batches, for
 * example. Call it wherever the size changes, or once a step. */
__attribute__((unused)) static inline void profwrap_queue(const char *name, int64_t size,
                                                          int64_t capacity)
{
    if (PROFWRAP_HAS_(queue))
        profwrap_api_->queue(name, size, capacity);
}

/* The same of an earlier time, in ns of CLOCK_MONOTONIC_RAW, as another profiler measured it. While
 * recording is paused it does nothing; an invalid time is counted as lost. */
__attribute__((unused)) static inline void profwrap_queue_past(const char *name, int64_t size,
                                                               int64_t capacity, int64_t time_ns)
{
    if (PROFWRAP_HAS_(queue_past))
        profwrap_api_->queue_past(name, size, capacity, time_ns);
}

/* The calling thread allocated (> 0) or freed (< 0) this many bytes on a device; -1 is the host.
 * Allocations inside an operator are counted as the operator's. */
__attribute__((unused)) static inline void profwrap_memory(int64_t bytes_delta, int device)
{
    if (PROFWRAP_HAS_(memory))
        profwrap_api_->memory(bytes_delta, device);
}

/* Start and stop the recording of this rank, from now on; the first start may follow
 * --start-paused. To record the same steps on all ranks use --schedule. */
__attribute__((unused)) static inline void profwrap_start(void)
{
    if (PROFWRAP_HAS_(start))
        profwrap_api_->start();
}

__attribute__((unused)) static inline void profwrap_stop(void)
{
    if (PROFWRAP_HAS_(stop))
        profwrap_api_->stop();
}

/* Stores a text with the run, under a key: "model" and "resnet50", or JSON. The last value of a key
 * counts. Keys are cut at 255 bytes, values at 8191. */
__attribute__((unused)) static inline void profwrap_metadata(const char *key, const char *value)
{
    if (PROFWRAP_HAS_(metadata))
        profwrap_api_->metadata(key, value);
}

/* This rank's part in the job, where ranks have different work by design: "stage 2", "expert",
 * "reader". A rank is compared with ranks of the same role. The last call counts. It is metadata
 * with the key "role". */
__attribute__((unused)) static inline void profwrap_role(const char *name)
{
    profwrap_metadata("role", name);
}

/* How much work the current step has on this rank, in a unit that is the same on all ranks: tokens,
 * samples, cells. Then more work can be distinguished from a slow rank. Several calls in one step
 * add up; negative amounts do nothing. */
__attribute__((unused)) static inline void profwrap_work(int64_t amount)
{
    if (PROFWRAP_HAS_(work))
        profwrap_api_->work(amount);
}

/* How many floating-point operations the model needs for what this rank does in the current step,
 * forward and backward, without operations that are repeated (activation checkpointing): the report
 * then has FLOP/s and their share of the GPUs' peak (MFU). A multiplication and an addition are two
 * operations. Several calls in one step add up; values that are not above 0 do nothing. */
__attribute__((unused)) static inline void profwrap_flops(double flops)
{
    if (PROFWRAP_HAS_(flops))
        profwrap_api_->flops(flops);
}

/* Marks this moment of the calling thread: an event without a duration. `domain` distinguishes the
 * marks of different libraries; it may be NULL. */
__attribute__((unused)) static inline void profwrap_mark(const char *name, const char *domain)
{
    if (PROFWRAP_HAS_(mark))
        profwrap_api_->mark(name, domain);
}

#ifdef __cplusplus
}
#endif
#endif
