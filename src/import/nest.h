/* Nests what ran on each thread: ranges get their depth and what was allocated in them, and calls
 * the operator in which they were made. rankwrite.c calls it once for each window, and writes what
 * it returns. It reads the window's records of the host and does not touch the rank's file. */
#ifndef PW_IMPORT_NEST_H
#define PW_IMPORT_NEST_H

#include "import/trace.h"

/* What becomes of the host's records; rows have times without the window's base. */
struct pw_nested {
    struct pw_sorter *ranges, *calls, *syncs, *memory; /* struct pw_keyed_* */
    struct pw_sorter *launches;                        /* struct pw_launch_record */
    struct pw_sorter *gloo;                            /* struct pw_gloo_record */
};

/* Reads window->host to its end. 0 or -errno; pw_nested_fini() in any case. */
int pw_nest(struct pw_trace_window *window, struct pw_nested *out);
void pw_nested_fini(struct pw_nested *nested);

#endif
