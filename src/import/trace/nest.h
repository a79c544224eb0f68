/* Nests the ranges of each thread: sets each range's depth and the memory allocated in it, and
 * finds the operator around each launch. rankwrite.c calls it once for each window, and writes the
 * rows. It reads the window's records of the host and does not touch the rank's file. */
#ifndef PW_IMPORT_NEST_H
#define PW_IMPORT_NEST_H

#include "import/trace/trace.h"

/* The rows and records made from the host's records. Their times are without the window's base. */
struct pw_nested {
    struct pw_sorter *ranges, *calls, *syncs, *memory; /* struct pw_keyed_* */
    struct pw_sorter *launches;                        /* struct pw_launch_record */
    struct pw_sorter *gloo;                            /* struct pw_gloo_record */
};

/* Reads all of window->host. Returns 0 or -errno. The caller calls pw_nested_fini() in any case. */
int pw_nest(struct pw_trace_window *window, struct pw_nested *out);
void pw_nested_fini(struct pw_nested *nested);

#endif
