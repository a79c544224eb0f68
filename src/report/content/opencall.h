/* The calls in which ranks ended. Called by the first sentence about a job that did not end well
 * (ending.c), and by the text report's list of such calls (text_job.c). Pure: no I/O, no
 * allocation. */
#ifndef PW_REPORT_CONTENT_OPENCALL_H
#define PW_REPORT_CONTENT_OPENCALL_H

#include <stdint.h>

#include "core/cluster.h"
#include "report/writing/words.h"

/* The call in which a rank ended: of several threads, the one that was entered last. NULL: none. */
const struct pw_row_c_open_call *pw_opencall_last(const struct pw_cluster *c, int32_t rank);

/* Whether two ranks were in the same call. */
int pw_opencall_is_same(const struct pw_row_c_open_call *a, const struct pw_row_c_open_call *b);

/* Writes "MPI_Barrier #7 on MPI_COMM_WORLD". Returns `text`. */
const char *pw_opencall_write(const struct pw_row_c_open_call *call, char text[PW_CALL_TEXT]);

#endif
