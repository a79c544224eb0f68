/* The watch of a collector: answers inquiries about its rank (rank/live/inquiry.h), makes
 * the changes of recording that they ask for, and makes an inquiry itself when a call takes too
 * long (--hang-timeout). Polled by the loop of run/collect.c. Tool code: never waits. */
#ifndef PW_RUN_RUN_WATCH_H
#define PW_RUN_RUN_WATCH_H

#include "core/options.h"
#include "rank/collect/drain.h"
#include "rank/collect/unrecordedwatch.h"
#include "rank/host/hostpage.h"
#include "rank/live/inquiry.h"
#include "rank/live/pystack.h"
#include "rank/run/identity.h"

struct pw_run_watch {
    const char *dir;
    const struct pw_identity *id;
    struct pw_hostpage *page; /* of this host */
    struct pw_segment_shared *segment;
    struct pw_drain *drain;
    struct pw_unrecorded_watch *unrecorded; /* NULL: MPI is not recorded */
    pid_t pid;
    _Atomic int32_t *signalled; /* set to SIGUSR1 or SIGUSR2: a change for all ranks */
    int64_t hang_ns;            /* 0: no watchdog */
    int64_t next_look_ns;
    uint64_t reported; /* ticks: calls that were entered until then are in a report already */
    /* Of operations on the GPU that were called until then, local ns, the ranks were asked already
     * whether they wait. `is_held`: they do, and no report tells it yet. */
    int64_t queue_seen;
    int is_held, asks_queues;
    char answered[PW_NONCE_SIZE];
    /* Until then, checks for requests often, because a program that has asked may ask again. */
    int64_t asked_until_ns;
    /* Step and time some seconds ago, from which the rate of steps is computed. */
    int64_t pace_step, pace_ns;
    int64_t steps_per_1000s;
    int is_stacking; /* an answer waits for pystack */
    struct pw_request stacking;
    struct pw_pystack pystack;
    int is_gathering; /* the watchdog waits for answers */
    int64_t gather_until_ns;
    int asked_again; /* times in a row, because ranks did not answer */
    struct pw_inquiry inquiry;
};

/* To be called after the program's start. The caller has set the fields up to `signalled`; their
 * objects must outlive the watch, except `unrecorded`, which belongs to the watch. */
void pw_run_watch_init(struct pw_run_watch *watch, const struct pw_options *options);

/* To be called after the rings were drained; does work about once a second. */
void pw_run_watch_poll(struct pw_run_watch *watch);

/* To be called after the program's end: writes a report that is being made, and removes the
 * request. */
void pw_run_watch_fini(struct pw_run_watch *watch);

#endif
