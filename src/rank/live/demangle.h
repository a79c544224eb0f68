/* Names of C++ functions for people. Called by calltrace.c. Tool code; libstdc++ is loaded when the
 * first such name comes, and without it names stay as they are. */
#ifndef PW_RANK_LIVE_DEMANGLE_H
#define PW_RANK_LIVE_DEMANGLE_H

#include <stddef.h>

/* If the text begins with a mangled name, puts the function's name in its place, without
 * parameters, and "<...>" for long lists of template arguments. A name that does not fit stays as
 * it is. */
void pw_demangle(char *text, size_t size);

/* Writes the short form of a demangled name: "c10d::Work::wait" for "c10d::Work::wait(std::chrono::
 * duration<long>)". Returns `out`. */
const char *pw_demangle_shorten(const char *name, char *out, size_t size);

#endif
