/* Profiles of Ascend's devices of which only tables of text are left: kernel_details.csv, whose
 * rows become the events that a trace_view.json has, and are taken like these (ascend_take.c).
 * ascend.c calls these functions for a profile that has neither a trace nor a database. */
#ifndef PW_IMPORT_ASCEND_KERNELS_H
#define PW_IMPORT_ASCEND_KERNELS_H

#include "import/format.h"

/* Whether a path ends with the name of the table. */
int pw_ascend_is_kernels(const char *path);

/* As look() and read() of struct pw_import_format; look() adds groups to a head that has those of
 * the profile already. */
int pw_ascend_kernels_look(const char *path, struct pw_import_head *out);
int pw_ascend_kernels_read(const char *path, struct pw_trace_window *window, char *problem,
                           size_t size);

#endif
