/* Python call stacks of the program, by `pystack` (PyPI): a program that reads the interpreter's
 * memory from outside, so it needs no lock of the interpreter. Called by run_watch.c before the
 * call stacks are taken (calltrace.h). Tool code; never waits: the caller polls. The program is not
 * stopped (--no-block). */
#ifndef PW_RANK_LIVE_PYSTACK_H
#define PW_RANK_LIVE_PYSTACK_H

#include <sys/types.h>

#include "core/live.h"

struct pw_pystack {
    pid_t group; /* process group of pystack; 0: it does not run */
    int fd;      /* its output */
    int64_t until_ns;
    char *output;
    size_t used;
    char problem[PW_LIVE_PROBLEM];
};

/* Starts pystack if the program runs Python and pystack is there: beside the program's interpreter
 * or in PATH. */
void pw_pystack_start(struct pw_pystack *pystack, pid_t pid, int64_t now_ns);

/* Reads what pystack has written. Returns 1 when it has ended, was never started, or took too long;
 * then it runs no more. */
int pw_pystack_poll(struct pw_pystack *pystack, int64_t now_ns);

/* Adds the Python frames to the stacks of *live, or says why there are none, and frees the output.
 * To be called when pw_pystack_poll() has returned 1. */
void pw_pystack_finish(struct pw_pystack *pystack, struct pw_live *live);

/* Adds the frames in the output of pystack to the stacks of the same threads: they take the place
 * of the interpreter's own frames. Returns the number of threads in the output. */
size_t pw_pystack_merge(const char *output, struct pw_live *live);

#endif
