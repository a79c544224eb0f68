/* The answers of running ranks, and the parts of sentences about them that the reports share.
 * Called by the files of report/live. Pure: no I/O; asks no rank. */
#ifndef PW_REPORT_LIVE_LIVEWORDS_H
#define PW_REPORT_LIVE_LIVEWORDS_H

#include "analysis/awaited.h"
#include "analysis/hang.h"
#include "report/live/orderview.h"

struct pw_live_view {
    const struct pw_live *ranks; /* [n] ranks that answered, sorted */
    size_t n;
    const int32_t *silent; /* [nsilent] running ranks that did not answer, sorted */
    size_t nsilent;
    const struct pw_hang *hang;            /* the waits of the ranks in `ranks` */
    const struct pw_order_findings *order; /* where the order of collectives differs; may be NULL */
};

enum { PW_LIVE_RANKS_TEXT = 160, PW_LIVE_CALL_TEXT = 256 };

/* Writes "MPI_Recv from rank 2 (tag 7) on MPI_COMM_WORLD", or "no MPI call". Returns `out`. */
const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size);

/* Writes "MPI_Allreduce #17 on MPI_COMM_WORLD". Returns `out`. */
const char *pw_live_group(const struct pw_live_view *view, const struct pw_hang_group *group,
                          char *out, size_t size);

/* Writes "rank 3" or "ranks 0-2,4" for rows of the view. Returns `out`. */
const char *pw_live_ranks(const struct pw_live_view *view, const int32_t *rows, size_t n, char *out,
                          size_t size);

/* Writes "63.0 s", or "an unknown time". Returns `out`. */
const char *pw_live_time(int64_t ns, char *out, size_t size);

/* Returns the name of a communicator from any rank that knows one; "" when none does. */
const char *pw_live_comm_name(const struct pw_live_view *view, uint64_t uid);

#endif
