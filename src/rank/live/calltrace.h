/* Call stacks of a running process, all threads of it at one moment. Called by the collector's
 * watch when an inquiry asks for them. Tool code: it stops the process for some milliseconds and
 * lets it go on; nothing in it is changed, and if this process dies meanwhile, the kernel lets it
 * go. */
#ifndef PW_RANK_LIVE_CALLTRACE_H
#define PW_RANK_LIVE_CALLTRACE_H

#include <sys/types.h>

#include "core/live.h"

/* Fills live->stacks and live->stopped_ns, or live->stack_problem with why it could not. The
 * process must be this one's child, or a child's child, where the system allows tracing only such.
 */
void pw_calltrace_take(pid_t pid, struct pw_live *live);

#endif
