/* The process that the launcher started: it starts the collector, another one when that is killed,
 * and ends as the program did. Called by cli/cmd_run.c, which passes what a collector does. Tool
 * code; it holds no data that could be lost. */
#ifndef PW_RANK_RUN_GUARD_H
#define PW_RANK_RUN_GUARD_H

#include "rank/run/launch.h"

/* Collectors that fail in a row: another would fail as well. */
enum { PW_MOST_FAILURES = 5 };

struct pw_guard {
    struct pw_lifeline *lifeline;
    void *arg; /* of the functions */
    /* A collector's whole life, in a process of its own; the exit status of the
     * rank. `attempt` counts those that were killed before they had started the program. */
    int (*collect)(void *arg, int attempt);
    /* The same for one that takes over from one that had. */
    int (*take_over)(void *arg, int attempt);
    /* Called now and then while there is no collector that runs. */
    void (*stand_in)(void *arg);
    /* Called when the program runs and no further collector will be started. */
    void (*give_up)(void *arg);
};

/* The rank's exit status, or -1 when no collector could start the program. */
int pw_guard_run(const struct pw_guard *guard);

#endif
