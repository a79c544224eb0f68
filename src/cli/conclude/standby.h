/* A process that stands by to conclude a job: rank 0's guard starts it before the program, and it
 * concludes the job when the guard has ended without having done so. A launcher ends all ranks of a
 * job after a failure, and it may kill rank 0's guard at any moment; and a guard whose own program
 * has failed ends at once, so that the launcher learns of it. Called by cmd_run.c and cmd_launch.c.
 * Tool code. */
#ifndef PW_CLI_STANDBY_H
#define PW_CLI_STANDBY_H

#include <sys/types.h>

#include "rank/run/launch.h"

/* Starts the process, in a session of its own and on the cores of the process `launcher`, if that
 * is not 0. When the caller has ended and lifeline->has_concluded is 0, it prints the line that
 * tells of the report (pw_conclude_say_later()), leaves standard error, and calls `conclude`;
 * further messages go to DIR/messages.txt. Returns its pid, or -errno. */
pid_t pw_standby_start(const struct pw_lifeline *lifeline, pid_t launcher, const char *dir,
                       void (*conclude)(void *arg), void *arg);

/* Ends the process, because the job is concluded. Does nothing unless `pid` is above 0. */
void pw_standby_dismiss(pid_t pid);

#endif
