/* Takes the call stacks of all threads of a running process at one moment. Called by the
 * collector's watch when an inquiry asks for them; the names are readable C++ names. Tool code. It
 * stops the process for some milliseconds and does not change it; if the collector dies meanwhile,
 * the kernel continues the process. */
#ifndef PW_RANK_LIVE_CALLTRACE_H
#define PW_RANK_LIVE_CALLTRACE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/live.h"

/* Fills live->stacks and live->stopped_ns; on failure, live->stack_problem. Some systems allow a
 * process to trace only its descendants. There, `pid` must be a descendant of the calling process.
 */
void pw_calltrace_take(pid_t pid, struct pw_live *live);

/* ---- names of C++ ---- */

/* If the text begins with a mangled name, puts the function's name in its place, without
 * parameters, and "<...>" for long lists of template arguments. A name that does not fit stays as
 * it is. */
void pw_demangle(char *text, size_t size);

/* Writes the short form of a demangled name: "c10d::Work::wait" for "c10d::Work::wait(std::chrono::
 * duration<long>)". Returns `out`. */
const char *pw_demangle_shorten(const char *name, char *out, size_t size);

#endif
