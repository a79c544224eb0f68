/* The calling thread, as the in-app halves of modules get it: its ring is found with its first
 * record. Called by them before they record. In-app code: it never blocks and takes no lock; a
 * thread without a ring loses its events, and they are counted. */
#ifndef PW_RANK_PROBE_ATTACH_H
#define PW_RANK_PROBE_ATTACH_H

#include "rank/probe/recording.h"

/* Gets a ring for the calling thread's first record. NULL when there is no ring. */
struct pw_thread *pw_probe_begin_thread(void);

/* The calling thread; NULL when it cannot record. */
static inline struct pw_thread *pw_probe_thread(void)
{
    if (__builtin_expect(!pw_gate->on, 0))
        return NULL;
    struct pw_thread *thread = &pw_this_thread;
    return __builtin_expect(thread->ring.shared != NULL, 1) ? thread : pw_probe_begin_thread();
}

/* Whether this process records for the rank already. For what must not be its first record: a
 * helper process of the program does the same, and would become the process that is recorded. */
bool pw_probe_has_begun(void);

/* After pw_probe_thread() returned NULL: whether only the missing ring is the reason. */
bool pw_probe_lacks_ring(void);

/* Locks the probe and returns the calling thread; NULL when this activity is not recorded,
 * recording is paused, or the lock failed. Unlock with pw_probe_unlock(). */
static inline struct pw_thread *pw_recording_hold_open(uint32_t activity)
{
    if (!(pw_gate->activities & activity))
        return NULL;
    struct pw_thread *thread = pw_recording_hold(pw_probe_thread());
    if (thread && pw_recording_is_paused()) {
        pw_probe_unlock(thread);
        return NULL;
    }
    return thread;
}

#endif
