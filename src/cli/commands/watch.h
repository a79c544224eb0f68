/* Follows a running job: asks its collectors every second, and shows their answers or tells of slow
 * ranks. Called by cmd_report.c and cmd_launch.c. Tool code: it prints, and never waits for a
 * command of the user while the job runs. */
#ifndef PW_CLI_WATCH_H
#define PW_CLI_WATCH_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "report/live/livealarm.h"

/* ---- alerts: tell of slow ranks by lines and by a command of the user's ---- */

/* Where the lines go: nowhere, to standard output, or to standard error as messages of profwrap. */
enum pw_alerts_lines { PW_ALERTS_NO_LINES, PW_ALERTS_PRINTED, PW_ALERTS_SAID };

/* Commands that run at a time, that are started a minute, and that wait for that. */
enum { PW_ALERTS_RUNNING = 4, PW_ALERTS_MINUTE = 30, PW_ALERTS_WAITING = 64 };

struct pw_alerts {
    const char *dir;
    const char *command; /* for the shell; "": none */
    enum pw_alerts_lines lines;
    int is_screen;   /* 1: messages are kept in `problem`, and the command's output goes nowhere */
    time_t known_at; /* when something was last known; 0: no look yet */
    int is_blind;    /* 1: it was told that nothing is known of slow ranks */
    struct {
        pid_t pid; /* 0: none. It leads a process group. */
        int64_t until_ns;
        int is_killed;
    } running[PW_ALERTS_RUNNING];
    int64_t started_ns[PW_ALERTS_MINUTE]; /* of the last commands; local time, 0: none */
    int nstarted;                         /* in all, modulo PW_ALERTS_MINUTE */
    char *waiting[PW_ALERTS_WAITING];     /* inputs of commands, the oldest first */
    int nwaiting;
    char problem[128]; /* the last one */
};

/* Tells what is new. */
void pw_alerts_tell(struct pw_alerts *alerts, struct pw_livealarms *alarms, time_t now);

/* Starts the command with this text on its standard input, as soon as it may. */
void pw_alerts_run(struct pw_alerts *alerts, const char *text);

/* Starts commands that wait, notices those that have ended, and kills those that take too long.
 * Returns how many run or wait. */
int pw_alerts_tend(struct pw_alerts *alerts);

/* After the job: tells what has not been told yet, and waits until the commands have ended, or for
 * one of the signals, which are blocked. */
void pw_alerts_finish(struct pw_alerts *alerts, struct pw_livealarms *alarms, const sigset_t *ends);

/* Kills the commands that run. */
void pw_alerts_fini(struct pw_alerts *alerts);

/* ---- the watch ---- */

struct pw_cli_watched {
    size_t ranks; /* largest number of ranks that are shown */
    double alarms_per_day;
    enum pw_alerts_lines alerts; /* other than PW_ALERTS_NO_LINES: instead of a view */
    const char *command;         /* of the shell, for each alert; "": none */
};

/* `profwrap report --watch DIR`: on a terminal, a view that is redrawn in place; otherwise, blocks
 * of lines. Returns the exit status. */
int pw_cli_watch(const char *dir, const struct pw_cli_watched *what);

/* The same beside `profwrap LAUNCHER`, which has blocked the signals `ends`: only alerts, while a
 * rank runs in `dir`, also when ranks do not answer for a while. Returns 0, or -errno after a
 * message; -EINTR after a signal, without one. */
int pw_cli_watch_beside(const char *dir, const struct pw_cli_watched *what, const sigset_t *ends);

#endif
