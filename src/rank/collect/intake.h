/* Turns records into rows: hands each to the collector module of its type, gathers names and call
 * stacks, and maps ticks to times. Records come from rings while a program runs (drain.c,
 * backlog.c), and from a journal when its collector was killed (recover.c): the same records in the
 * same order give the same file. Tool code, one thread. */
#ifndef PW_RANK_COLLECT_INTAKE_H
#define PW_RANK_COLLECT_INTAKE_H

#include "rank/collect/collector.h"
#include "rank/ring/testclock.h"

struct pw_intake;

struct pw_intake_setup {
    uint32_t activities; /* PW_ACTIVITY_* */
    uint32_t stack_depth;
    enum pw_tick_source tick_source;
    struct pw_testclock test_clock;
    const struct pw_segment_shared *segment; /* NULL where the records come from a journal */
};

/* `collectors` is an array ended by a row whose name is NULL; those whose activity is in the
 * setup's are created. The caller keeps file and table alive. NULL when memory is short. */
struct pw_intake *pw_intake_create(const struct pw_intake_setup *setup, struct pw_rankfile *file,
                                   const struct pw_collector *collectors);

/* Both clocks at one moment. */
void pw_intake_reading(struct pw_intake *intake, uint64_t ticks, int64_t ns);

/* Records of ring `ring`, in the order in which they were written. Nothing in them is trusted as an
 * index or a length. */
void pw_intake_records(struct pw_intake *intake, int ring, const struct pw_record *records,
                       uint32_t n);

/* Lets every collector sample the program. */
void pw_intake_sample(struct pw_intake *intake, pid_t pid);

/* Whether what the record says began before that. */
int pw_intake_is_before(const struct pw_intake *intake, const struct pw_record *record,
                        uint64_t ticks);

/* How long ago that was, ns; at least 0. */
int64_t pw_intake_since(const struct pw_intake *intake, uint64_t ticks);

/* Says of a thread what is known of it: the call that it is in, or that it is in none (NULL). */
void pw_intake_live_thread(struct pw_intake *intake, int ring, const struct pw_shown_call *call,
                           struct pw_live_thread *thread);

/* Adds to what is known of the rank what is not of single threads. */
void pw_intake_live(struct pw_intake *intake, struct pw_live *live);

/* After the last record: call stacks and the collectors' last words. */
void pw_intake_finish(struct pw_intake *intake, int64_t end_ns);

void pw_intake_destroy(struct pw_intake *intake);

#endif
