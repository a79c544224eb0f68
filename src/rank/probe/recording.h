/* When the process records: decides it at step marks and orders, and opens and closes the gate.
 * Called by the in-app halves of collectors. In-app, see probe.h.
 *
 * Who decides: an order from outside (ctl, a signal) holds until the next one. Without any, the
 * program's own stop holds until its start, and otherwise the schedule decides, or everything is
 * recorded. */
#ifndef PW_RANK_PROBE_RECORDING_H
#define PW_RANK_PROBE_RECORDING_H

#include "rank/probe/probe.h"

/* At the process's begin, with the gate still off. */
void pw_recording_init(struct pw_segment_shared *segment);

/* A thread's first record is written; `first`: the process's. */
void pw_recording_begin_thread(struct pw_thread *thread, uint64_t now, int first);

/* The program says that recording is to begin or end here. The thread holds the probe
 * (pw_probe_lock), as for all below. */
void pw_recording_switch(struct pw_thread *thread, int starts, enum pw_opened cause);

/* Obeys an order that takes effect at once. */
void pw_recording_obey(struct pw_thread *thread);

/* MPI calls can be recorded, or not any more. */
void pw_recording_set_mpi(int is_up);

/* From now on, at this level; without this at the run's. */
void pw_recording_use_level(int level);

/* The last times at which recording began or ended, newest first; `since` (ticks) 0: from the
 * process's begin. */
enum { PW_RECORDING_TURNS = 16 };
struct pw_recording_turns {
    int n; /* at least 1 */
    struct {
        uint64_t since;
        bool is_open;
    } turn[PW_RECORDING_TURNS];
};
void pw_recording_read_turns(struct pw_recording_turns *out);

/* Whether anything was recorded at time `ticks`, as far as the turns reach. */
static inline bool pw_recording_was_open(const struct pw_recording_turns *turns, uint64_t ticks)
{
    int i = 0;
    while (i + 1 < turns->n && turns->turn[i].since > ticks)
        i++;
    return turns->turn[i].is_open;
}

/* The level at which MPI calls are recorded when anything is. */
int pw_recording_level(void);

/* The calling thread's ring says so, or it has none to be told by. */
static inline int pw_recording_is_signalled(void)
{
    const struct pw_thread *thread = &pw_this_thread;
    return atomic_load_explicit(&thread->call->signalled, memory_order_relaxed) != 0;
}

static inline bool pw_recording_is_paused(void)
{
    return atomic_load_explicit(&pw_gate->paused, memory_order_relaxed) != 0;
}

/* The calling thread where recording is paused and that is all: no order has come, and the thread
 * could be told of one. Otherwise NULL. What is called then must be cheap. */
static inline struct pw_thread *pw_recording_paused_thread(void)
{
    struct pw_thread *thread = &pw_this_thread;
    /* Ranges that are recorded mostly do not come here, and the rest writes records: a jump less
     * for what is paused. */
    return __builtin_expect(pw_recording_is_paused() && !pw_recording_is_signalled(), 1) ? thread
                                                                                         : NULL;
}

/* The thread (may be NULL), to record; or, while that is paused, to keep what must be known when it
 * goes on. To be given back with pw_probe_unlock(). */
static inline struct pw_thread *pw_recording_hold(struct pw_thread *thread)
{
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (__builtin_expect(pw_recording_is_signalled(), 0))
        pw_recording_obey(thread);
    return thread;
}

#endif
