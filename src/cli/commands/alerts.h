/* Tells of the slow ranks of a running job: by lines on standard output, and by a command of the
 * user's, which is never waited for while the job runs. Called by watch.c. */
#ifndef PW_CLI_ALERTS_H
#define PW_CLI_ALERTS_H

#include <sys/types.h>
#include <time.h>

#include "report/live/livealarm.h"

enum { PW_ALERTS_COMMANDS = 4 };

struct pw_alerts {
    const char *dir;
    const char *command; /* for the shell; "": none */
    int prints;          /* 1: print lines */
    time_t begun;        /* 0: not yet */
    int is_blind;        /* 1: it was told that nothing is known of slow ranks */
    struct {
        pid_t pid; /* 0: none. It leads a process group. */
        int64_t until_ns;
        int is_killed;
    } running[PW_ALERTS_COMMANDS];
    int64_t minute_ns; /* when the present minute began; local time */
    int started;       /* commands in this minute */
    int64_t dropped;   /* alerts without a command, which have not been told yet */
};

/* Tells what is new. */
void pw_alerts_tell(struct pw_alerts *alerts, struct pw_livealarms *alarms, time_t now);

/* Starts the command with this text on its standard input; counts it as dropped when too many run,
 * or were started in this minute. Its output goes to standard error. */
void pw_alerts_run(struct pw_alerts *alerts, const char *text);

/* Notices commands that have ended, and kills those that take too long. Returns how many run. */
int pw_alerts_tend(struct pw_alerts *alerts);

/* Waits until the commands have ended; each has a limit. */
void pw_alerts_end(struct pw_alerts *alerts);

#endif
