/* What the collector knows of its program's end: when it ended, and whether the kernel killed
 * processes of its cgroup for lack of memory. A row of /ending, which the journal has, too, so that
 * recovery finds it. Called by collect.c. Tool code; reads only /proc and /sys, and never fails. */
#ifndef PW_RUN_ENDROW_H
#define PW_RUN_ENDROW_H

#include "rank/file/rankfile.h"
#include "run/run.h"

/* Before the program's start: notes what was so before. */
void pw_endrow_begin(const struct pw_run *run);

/* Appends the row. Does nothing when the end's time is not known. */
void pw_endrow_append(const struct pw_run *run, struct pw_rankfile *file);

#endif
