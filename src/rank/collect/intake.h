/* Turns records into rows of the rank's file: passes each record to the collector module of its
 * type, collects names and call stacks, and converts ticks to times. While the program runs, the
 * records come from its rings (drain.c, backlog.c). After a collector was killed, they come from
 * its journal (recover.c). The same records in the same order give the same file in both cases.
 * Tool code, one thread. */
#ifndef PW_RANK_COLLECT_INTAKE_H
#define PW_RANK_COLLECT_INTAKE_H

#include "rank/collect/module.h"
#include "rank/ring/testclock.h"

struct pw_intake;

struct pw_intake_setup {
    uint32_t activities; /* PW_ACTIVITY_* */
    uint32_t stack_depth;
    enum pw_tick_source tick_source;
    struct pw_testclock test_clock;
    const struct pw_segment_shared *segment; /* NULL when the records come from a journal */
};

/* `modules` is an array of modules; its last row has the name NULL. The modules whose
 * activity is in setup->activities are started. `file` and `modules` must stay valid until
 * pw_intake_destroy(). Returns NULL when memory is short. */
struct pw_intake *pw_intake_create(const struct pw_intake_setup *setup, struct pw_rankfile *file,
                                   const struct pw_module *modules);

/* Adds a reading of both clocks: at the tick count `ticks`, the local clock showed `ns`. */
void pw_intake_reading(struct pw_intake *intake, uint64_t ticks, int64_t ns);

/* Processes `n` records of ring `ring`, in the order in which they were written. No value in a
 * record is used as an index or a length before it is checked. */
void pw_intake_records(struct pw_intake *intake, int ring, const struct pw_record *records,
                       uint32_t n);

/* Has every collector module take a sample of the process `pid`. */
void pw_intake_sample(struct pw_intake *intake, pid_t pid);

/* Whether the event of `record` began before `ticks`. */
int pw_intake_is_before(struct pw_intake *intake, const struct pw_record *record, uint64_t ticks);

/* Returns how long ago the program has called the newest operation on a GPU that may wait for other
 * ranks, and sets *start to that time, local ns. Returns 0 when there is none. */
int64_t pw_intake_queued(struct pw_intake *intake, int64_t *start);

/* Time from `ticks` to now, ns; at least 0. */
int64_t pw_intake_since(const struct pw_intake *intake, uint64_t ticks);

/* Fills *thread for the thread of ring `ring`. `call` is the call that the thread is in; when it is
 * NULL, the thread is in no call, and since_ns counts from the end of its last MPI call. */
void pw_intake_live_thread(struct pw_intake *intake, int ring, const struct pw_shown_call *call,
                           struct pw_live_thread *thread);

/* Fills the fields of *live that describe the rank as a whole, not one of its threads. */
void pw_intake_live(struct pw_intake *intake, struct pw_live *live);

/* To be called after the last record: writes the call stacks, the recorded windows, and the rows
 * that collector modules write at the end. */
void pw_intake_finish(struct pw_intake *intake, int64_t end_ns);

void pw_intake_destroy(struct pw_intake *intake);

#endif
