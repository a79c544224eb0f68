/* Takes the call stacks of all threads of a running process at one moment. Called by the
 * collector's watch when an inquiry asks for them. Tool code. It stops the process for some
 * milliseconds and does not change it; if the collector dies meanwhile, the kernel continues the
 * process. */
#ifndef PW_RANK_LIVE_CALLTRACE_H
#define PW_RANK_LIVE_CALLTRACE_H

#include <sys/types.h>

#include "core/live.h"

/* Fills live->stacks and live->stopped_ns; on failure, live->stack_problem. Some systems allow a
 * process to trace only its descendants. There, `pid` must be a descendant of the calling process.
 */
void pw_calltrace_take(pid_t pid, struct pw_live *live);

#endif
