/* A running rank as seen from outside, for `profwrap run`: answers inquiries about the rank
 * (rank/live/inquiry.h), obeys their orders, and makes an inquiry itself when a call takes too long
 * (--hang-timeout). Polled by the loop of run/collect.c. Tool code: never waits. */
#ifndef PW_RUN_RUN_WATCH_H
#define PW_RUN_RUN_WATCH_H

#include "core/options.h"
#include "rank/collect/drain.h"
#include "rank/collect/unrecordedwatch.h"
#include "rank/live/inquiry.h"
#include "rank/run/identity.h"

struct pw_run_watch {
    const char *dir;
    const struct pw_identity *id;
    struct pw_segment_shared *segment;
    struct pw_drain *drain;
    struct pw_unrecorded_watch *unrecorded; /* NULL: MPI calls are not to be recorded */
    pid_t pid;
    _Atomic int32_t *signalled; /* set to SIGUSR1 or SIGUSR2: an order for all ranks */
    int64_t hang_ns;            /* 0: no watchdog */
    int64_t next_look_ns;
    uint64_t reported; /* ticks: calls entered before are in a report */
    char answered[PW_NONCE_SIZE];
    /* Who has just asked may go on doing so: looks are frequent until then. */
    int64_t asked_until_ns;
    /* How fast the program's steps rise, since a moment some seconds ago. */
    int64_t pace_step, pace_ns;
    int64_t steps_per_1000s;
    int is_gathering; /* the watchdog has asked */
    int64_t gather_until_ns;
    struct pw_inquiry inquiry;
};

/* The program was started. The caller has set the fields up to `signalled`, whose objects must
 * outlive the watch; `unrecorded` becomes the watch's own. */
void pw_run_watch_init(struct pw_run_watch *watch, const struct pw_options *options);

/* One look, about once a second in truth. Call after the rings were drained. */
void pw_run_watch_poll(struct pw_run_watch *watch);

/* The program has ended: writes the report that was being made, and removes what was asked. */
void pw_run_watch_fini(struct pw_run_watch *watch);

#endif
