/* Pieces of sentences about running ranks, shared by the reports on them. */
#ifndef PW_REPORT_LIVE_LIVEWORDS_H
#define PW_REPORT_LIVE_LIVEWORDS_H

#include "report/live/liveview.h"

enum { PW_LIVE_RANKS_TEXT = 160, PW_LIVE_CALL_TEXT = 256 };

/* "MPI_Recv from rank 2 (tag 7) on MPI_COMM_WORLD", or "no MPI call". Returns `out`. */
const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size);

/* "MPI_Allreduce #17 on MPI_COMM_WORLD". Returns `out`. */
const char *pw_live_group(const struct pw_live_view *view, const struct pw_hang_group *group,
                          char *out, size_t size);

/* "rank 3", "ranks 0-2,4": of rows of the view. Returns `out`. */
const char *pw_live_ranks(const struct pw_live_view *view, const int32_t *rows, size_t n, char *out,
                          size_t size);

/* "63.0 s", or "an unknown time". Returns `out`. */
const char *pw_live_time(int64_t ns, char *out, size_t size);

/* The name that any rank knows for a communicator; "" when none does. */
const char *pw_live_comm_name(const struct pw_live_view *view, uint64_t uid);

#endif
