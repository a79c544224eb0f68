/* Follows a running job: asks its collectors every second, and shows their answers or tells of slow
 * ranks. Called by cmd_report.c and cmd_launch.c. Tool code: it prints, and never waits for a
 * command of the user while the job runs. */
#ifndef PW_CLI_WATCH_H
#define PW_CLI_WATCH_H

#include <signal.h>
#include <stddef.h>

#include "cli/commands/alerts.h"

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
