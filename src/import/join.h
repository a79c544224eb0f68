/* Joins what ran on the devices with the calls that launched it. */
#ifndef PW_IMPORT_JOIN_H
#define PW_IMPORT_JOIN_H

#include "import/trace.h"

/* Reads window->device and `launches` (struct pw_launch_record) to their ends; *out has the
 * device's records in the order of their starts. 0 or -errno. */
int pw_join(struct pw_trace_window *window, struct pw_sorter *launches, struct pw_sorter **out);

#endif
