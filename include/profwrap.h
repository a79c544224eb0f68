/* profwrap.h: what an application tells the profiler about itself.
 *
 * Header-only: include it, call the verbs, and link nothing. Under `profwrap` the calls are
 * recorded; without it each costs one load and one predicted branch. Every call may be made from
 * any thread, at any time, before or after MPI_Init; none fails, prints or changes errno, and none
 * blocks but for room in a full ring, when the run asked for that (--on-full wait).
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
 */
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

/* The phases of a training step. The values are part of the file format. */
enum profwrap_phase {
    PROFWRAP_NO_PHASE = 0,
    PROFWRAP_DATA = 1,      /* waiting for, reading or preparing the batch */
    PROFWRAP_FORWARD = 2,   /* computing the loss */
    PROFWRAP_BACKWARD = 3,  /* computing gradients */
    PROFWRAP_ALLREDUCE = 4, /* waiting for gradients of other ranks */
    PROFWRAP_OPTIMIZER = 5  /* applying them */
};

/* The in-application probe exports one of these as `profwrap_api_v1`. Members are only ever
 * appended; `size` is sizeof the probe's own struct, so that a newer header sees what an older
 * probe lacks. */
struct profwrap_api {
    size_t size;
    int (*active)(void);
    void (*step)(int64_t step);
    void (*phase)(int phase);
    void (*range_push)(const char *name);
    void (*range_pop)(void);
};

static const struct profwrap_api *profwrap_api_;

/* Runs when the object that includes this header is loaded; the probe is preloaded, so it is there
 * by then or never. */
__attribute__((constructor, unused)) static void profwrap_find_api_(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    if (self) {
        profwrap_api_ = (const struct profwrap_api *)dlsym(self, "profwrap_api_v1");
        dlclose(self);
    }
}

/* 1 while what this thread does is being recorded, else 0. */
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

#ifdef __cplusplus
}
#endif
#endif
