/* Ranges and marks of NVTX as records of the calling thread. Called by nvtx_event.c and
 * nvtx_extension.c. In-app: never exits, prints or blocks. */
#ifndef PW_NVTX_RANGE_H
#define PW_NVTX_RANGE_H

#include "collectors/nvtx/nvtx_name.h"
#include "collectors/nvtx/nvtx_payload.h"
#include "rank/probe/ranges.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* What an event says of itself. */
struct pw_nvtx_event {
    struct pw_nvtx_name name;
    uint32_t category;
    struct pw_nvtx_payload payload;
};

/* The calling thread, where the gate was seen to be open, held: to record, or, while that is
 * paused, to keep its depth. NULL: there is nothing to do. Given back with pw_probe_unlock(). */
static inline struct pw_thread *pw_nvtx_begin_open(void)
{
    struct pw_thread *thread = &pw_this_thread;
    if (__builtin_expect(!thread->ring.shared, 0) && !(thread = pw_probe_begin_thread()))
        return NULL;
    return pw_recording_hold(thread);
}

/* The same to record only: NULL, too, while that is paused. */
struct pw_thread *pw_nvtx_begin(void);

/* The call stack, where they are recorded. */
static inline uint32_t pw_nvtx_stack(struct pw_thread *thread)
{
    const uint32_t depth = pw_gate->stack_depth;
    return __builtin_expect(depth != 0, 0) ? pw_stack_take(thread, (int)depth) : 0;
}

/* Reads attributes; they may be of a version that has fewer of them, or NULL. */
void pw_nvtx_event_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                        const nvtxEventAttributes_t *attributes, struct pw_nvtx_event *out);

/* Begins a range of the thread; how many it was in, of all domains: NVTX would count its own. */
int pw_nvtx_push(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                 const struct pw_nvtx_event *event);

/* Step `number` begins, before the push of the range that is named so; one inside another does not
 * count. Recording may begin or end by it. */
void pw_nvtx_step(struct pw_thread *thread, int64_t number);

/* Ends the calling thread's innermost range of a domain, where the gate was seen to be open: its
 * depth, negative when there is none. */
int pw_nvtx_pop(uint32_t key);

/* Adds to what is attached to that range. */
void pw_nvtx_extend(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                    const nvtxPayloadData_t *data, size_t count);

void pw_nvtx_mark(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                  const struct pw_nvtx_event *event);

/* Ranges of the process, which any thread may end. */
nvtxRangeId_t pw_nvtx_start(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                            const struct pw_nvtx_event *event);

/* `payload` may be NULL. */
void pw_nvtx_end(struct pw_thread *thread, nvtxRangeId_t id, const struct pw_nvtx_payload *payload);

#endif
