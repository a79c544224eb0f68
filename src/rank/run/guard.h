/* The guard: the process that the launcher started. It starts the collector, replaces a collector
 * that was killed, and ends with the program's exit status. Called by cli/commands/cmd_run.c, which
 * passes the functions that a collector runs. Tool code. The guard holds no data that could be
 * lost.
 *
 * The launcher learns of the program's end by the guard's end. After a failure, a launcher ends the
 * other ranks of the job, so the guard must not wait for anything then: it does not wait for its
 * collector, which completes the rank's file in a session of its own. */
#ifndef PW_RANK_RUN_GUARD_H
#define PW_RANK_RUN_GUARD_H

#include <stdbool.h>

#include "rank/run/launch.h"

/* After so many collectors in a row that failed, no further one is started. */
enum { PW_MOST_FAILURES = 5 };

struct pw_guard {
    struct pw_lifeline *lifeline;
    void *arg; /* passed to the functions */
    /* Runs a collector that starts the program, in a new process. Returns the rank's exit status.
     * `attempt` is the number of earlier collectors, which were killed before the program's start.
     */
    int (*collect)(void *arg, int attempt);
    /* Runs a collector that takes over a running program, in a new process. Returns the rank's exit
     * status. */
    int (*take_over)(void *arg, int attempt);
    /* Called every few milliseconds while no collector runs. */
    void (*stand_in)(void *arg);
    /* Called when the program runs and no further collector will be started. */
    void (*give_up)(void *arg);
    /* Called before a killed collector is replaced for the first time. */
    void (*say_replaced)(void *arg);
    /* Whether the launcher must know at once that the program has ended like this. */
    bool (*is_urgent)(void *arg, const struct pw_exit *end);
};

/* Runs collectors until the program has ended and, unless the launcher must know that at once, its
 * file is complete. Returns the rank's exit status, or -1 when no collector could start the
 * program. Sets *must_end: whether this process must end now, because the launcher must know or the
 * collector is stopped by a signal. A collector may then still work. */
int pw_guard_run(const struct pw_guard *guard, bool *must_end);

#endif
