/* Records NVTX ranges and marks in the calling thread's ring. Called by nvtx_event.c and
 * nvtx_extension.c. In-app: never exits, prints or blocks. */
#ifndef PW_NVTX_RANGE_H
#define PW_NVTX_RANGE_H

#include "collectors/nvtx/nvtx_name.h"
#include "collectors/nvtx/nvtx_payload.h"
#include "rank/probe/attach.h"
#include "rank/probe/ranges.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* The attributes of an NVTX event that are recorded. */
struct pw_nvtx_event {
    struct pw_nvtx_name name;
    uint32_t category;
    struct pw_nvtx_payload payload;
};

/* Locks and returns the calling thread, for callers that have found the gate open. While recording
 * is paused the thread is returned, too, so that the caller can track its range depth. Returns NULL
 * when nothing can be recorded. The caller unlocks the thread with pw_probe_unlock(). */
static inline struct pw_thread *pw_nvtx_begin_open(void)
{
    struct pw_thread *thread = &pw_this_thread;
    if (__builtin_expect(!thread->ring.shared, 0) && !(thread = pw_probe_begin_thread()))
        return NULL;
    return pw_recording_hold(thread);
}

/* Locks and returns the calling thread if an event can be recorded now; NULL when the gate is
 * closed, recording is paused or the thread has no ring. */
struct pw_thread *pw_nvtx_begin(void);

/* Records the call stack and returns its id; 0 when call stacks are not recorded. */
static inline uint32_t pw_nvtx_stack(struct pw_thread *thread)
{
    const uint32_t depth = pw_gate->stack_depth;
    return __builtin_expect(depth != 0, 0) ? pw_stack_take(thread, (int)depth) : 0;
}

/* Reads an event's attributes into *out. `attributes` may be NULL; a struct of an older version,
 * which has fewer fields, is ignored. */
void pw_nvtx_event_read(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                        const nvtxEventAttributes_t *attributes, struct pw_nvtx_event *out);

/* Begins a range of the thread. Returns its depth: the number of ranges of all domains that the
 * thread was in before. (NVTX itself would count the ranges of this domain only.) */
int pw_nvtx_push(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                 const struct pw_nvtx_event *event);

/* Begins step `number`. To be called before pw_nvtx_push() of the range that marks the step. Inside
 * another step's range it does nothing. The schedule may start or pause recording at a step. */
void pw_nvtx_step(struct pw_thread *thread, int64_t number);

/* Ends the calling thread's innermost range of the domain with `key`, for callers that have found
 * the gate open. Returns the range's depth, or a negative number when there is no such range. */
int pw_nvtx_pop(uint32_t key);

/* Attaches `data` to the thread's innermost range of the domain. */
void pw_nvtx_extend(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                    const nvtxPayloadData_t *data, size_t count);

/* Records a mark, which has a time but no duration. */
void pw_nvtx_mark(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                  const struct pw_nvtx_event *event);

/* Begins a range of the process, which any thread may end. Returns its id, or 0 when it was lost.
 */
nvtxRangeId_t pw_nvtx_start(struct pw_thread *thread, struct pw_nvtx_domain *domain,
                            const struct pw_nvtx_event *event);

/* Ends the range of the process that pw_nvtx_start() returned as `id`. `payload` may be NULL. */
void pw_nvtx_end(struct pw_thread *thread, nvtxRangeId_t id, const struct pw_nvtx_payload *payload);

#endif
