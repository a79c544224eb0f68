/* Decides when the process records, at step marks and changes, and opens or closes the gate
 * (probe.h). Called by the in-app halves of modules. In-app, see probe.h.
 *
 * The first rule that applies decides:
 *   1. After a change from outside (ctl, a signal), the last such change decides.
 *   2. After the program stopped recording, or at first with --start-paused, nothing is recorded
 *      until the program starts recording.
 *   3. If a schedule is set, it decides.
 *   4. Everything is recorded. */
#ifndef PW_RANK_PROBE_RECORDING_H
#define PW_RANK_PROBE_RECORDING_H

#include "rank/probe/probe.h"

/* Called once in the process, while the gate is off. */
void pw_recording_init(struct pw_segment_shared *segment);

/* Called when a thread writes its first record; `first`: no other thread has written one yet. */
void pw_recording_begin_thread(struct pw_thread *thread, uint64_t now, int first);

/* The program begins (`starts`) or ends recording. The thread has locked the probe
 * (pw_probe_lock()), as for all functions below that change something. */
void pw_recording_switch(struct pw_thread *thread, int starts, enum pw_opened cause);

/* Applies a change that takes effect at once. */
void pw_recording_apply(struct pw_thread *thread);

/* Says that MPI calls can be recorded from now on (`is_up`, after MPI_Init), or no longer (in
 * MPI_Finalize). */
void pw_recording_set_mpi(enum pw_mpi_abi_id abi, int is_up);

/* Records MPI calls at this level from now on; before that the level is the run's. */
void pw_recording_use_level(int level);

/* The last times (ticks) at which recording began or ended, newest first; `since` 0: since the
 * process started. */
enum { PW_RECORDING_TURNS = 16 };
struct pw_recording_turns {
    int n; /* at least 1 */
    struct {
        uint64_t since;
        bool is_open;
    } turn[PW_RECORDING_TURNS];
};
void pw_recording_read_turns(struct pw_recording_turns *out);

/* Whether recording was on at time `ticks`. For a time before the oldest turn: the state of that
 * turn. */
static inline bool pw_recording_was_open(const struct pw_recording_turns *turns, uint64_t ticks)
{
    int i = 0;
    while (i + 1 < turns->n && turns->turn[i].since > ticks)
        i++;
    return turns->turn[i].is_open;
}

/* The level at which MPI calls are recorded while recording is on. */
int pw_recording_level(void);

/* Whether the calling thread has a change to apply, or has no ring. */
static inline int pw_recording_is_signalled(void)
{
    const struct pw_thread *thread = &pw_this_thread;
    return atomic_load_explicit(&thread->call->signalled, memory_order_relaxed) != 0;
}

static inline bool pw_recording_is_paused(void)
{
    return atomic_load_explicit(&pw_gate->paused, memory_order_relaxed) != 0;
}

/* Returns the calling thread if recording is paused, the thread has a ring, and it has no change to
 * apply; else NULL. For a thread that is not NULL, the caller does only the work that is needed
 * during a pause. */
static inline struct pw_thread *pw_recording_paused_thread(void)
{
    struct pw_thread *thread = &pw_this_thread;
    /* The paused case is the one without a jump. In the other case a jump costs little: the caller
     * writes a record, which takes longer; and most recorded ranges take the fast path (ranges.h),
     * which does not call this function. */
    return __builtin_expect(pw_recording_is_paused() && !pw_recording_is_signalled(), 1) ? thread
                                                                                         : NULL;
}

/* Locks the probe for the thread and applies a pending change. Returns the thread; NULL when
 * `thread` is NULL or the lock failed. If recording is paused, the caller writes no records and
 * updates only the state that is needed when recording continues. Unlock with pw_probe_unlock(). */
static inline struct pw_thread *pw_recording_hold(struct pw_thread *thread)
{
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (__builtin_expect(pw_recording_is_signalled(), 0))
        pw_recording_apply(thread);
    return thread;
}

#endif
