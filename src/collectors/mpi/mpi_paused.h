/* What a wrapped call does while recording is paused: as little as leaves the tables right for when
 * it goes on. Most pass; collectives are counted, for their numbers must agree between ranks; calls
 * that make or free what later calls refer to are followed; and operations that were begun before
 * the pause are recorded when they end. */
#ifndef PW_MPI_PAUSED_H
#define PW_MPI_PAUSED_H

#include <stdbool.h>

#include "collectors/mpi/mpi_comm.h"

enum pw_mpi_act {
    PW_MPI_PASSES,
    PW_MPI_COUNTS, /* a collective's number */
    PW_MPI_KEEPS,  /* communicators, windows, files, persistent requests */
    PW_MPI_ENDS,   /* requests, where there can be any that are known */
};

/* By the CLASS of a row in mpi_api.def. */
#define PW_ACT_COLL PW_MPI_COUNTS
#define PW_ACT_COLL_C PW_MPI_COUNTS
#define PW_ACT_ICOLL PW_MPI_COUNTS
#define PW_ACT_ICOLL_C PW_MPI_COUNTS
#define PW_ACT_WIN_FENCE PW_MPI_COUNTS
#define PW_ACT_NEWCOMM PW_MPI_KEEPS
#define PW_ACT_NEWCOMM_ALONE PW_MPI_KEEPS
#define PW_ACT_INEWCOMM PW_MPI_KEEPS
#define PW_ACT_NAMEGROUP PW_MPI_KEEPS
#define PW_ACT_NEWWIN PW_MPI_KEEPS
#define PW_ACT_NEWFILE PW_MPI_KEEPS
#define PW_ACT_FREETYPE PW_MPI_KEEPS
#define PW_ACT_PERSISTENT_SEND PW_MPI_KEEPS
#define PW_ACT_PERSISTENT_RECV PW_MPI_KEEPS
#define PW_ACT_PARTITIONED_SEND PW_MPI_KEEPS
#define PW_ACT_PARTITIONED_RECV PW_MPI_KEEPS
#define PW_ACT_COLL_INIT PW_MPI_KEEPS
#define PW_ACT_COLL_INIT_C PW_MPI_KEEPS
#define PW_ACT_START PW_MPI_ENDS
#define PW_ACT_WAIT_ONE PW_MPI_ENDS
#define PW_ACT_WAIT_ALL PW_MPI_ENDS
#define PW_ACT_WAIT_ANY PW_MPI_ENDS
#define PW_ACT_WAIT_SOME PW_MPI_ENDS
#define PW_ACT_REQUEST_FREE PW_MPI_ENDS
#define PW_ACT_MRECV PW_MPI_ENDS
#define PW_ACT_IMRECV PW_MPI_ENDS
#define PW_ACT_FREEGROUP PW_MPI_PASSES /* see pw_mpi_gives_back() */
#define PW_ACT_SEND PW_MPI_PASSES
#define PW_ACT_RECV PW_MPI_PASSES
#define PW_ACT_SENDRECV PW_MPI_PASSES
#define PW_ACT_ISEND PW_MPI_PASSES
#define PW_ACT_IRECV PW_MPI_PASSES
#define PW_ACT_ISENDRECV PW_MPI_PASSES
#define PW_ACT_PROBE PW_MPI_PASSES
#define PW_ACT_MPROBE PW_MPI_PASSES
#define PW_ACT_LOCAL PW_MPI_PASSES
#define PW_ACT_LOCAL_COMM PW_MPI_PASSES
#define PW_ACT_RMA PW_MPI_PASSES
#define PW_ACT_IRMA PW_MPI_PASSES
#define PW_ACT_WIN_SYNC PW_MPI_PASSES
#define PW_ACT_WIN_TARGET PW_MPI_PASSES
#define PW_ACT_IO PW_MPI_PASSES
#define PW_ACT_IIO PW_MPI_PASSES
#define PW_ACT_IO_OTHER PW_MPI_PASSES

/* Whether a request can be there that was begun while calls were recorded, or is persistent. */
bool pw_mpi_has_requests(void);

/* One of them has ended. */
void pw_mpi_request_has_ended(void);

/* One was begun that must be followed, but is not recorded. */
struct pw_mpi_request;
void pw_mpi_request_is_quiet(struct pw_mpi_request *request);

/* Counts one on any communicator, or window, after the call. */
void pw_mpi_count_paused_slow(MPI_Comm handle, int is_window, int rc);

/* Counts a collective that is about to be called on the communicator that the thread used last, and
 * will not be recorded; false where it is another. Before the call: nothing has to be kept over it.
 */
static inline bool pw_mpi_count_paused(MPI_Comm handle)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->handle != handle || last->epoch != pw_mpi_epoch_now(), 0))
        return false;
    pw_mpi_comm_count(last->comm);
    return true;
}

/* Whether a call of such a class, while recording is paused, is more than a call and perhaps a
 * number: an order to go on may have come, too. */
static inline bool pw_mpi_is_busy_paused(enum pw_mpi_act act)
{
    const struct pw_open_call *call = pw_this_thread.call;
    if (atomic_load_explicit(&call->poked, memory_order_relaxed))
        return true;
    return act == PW_MPI_KEEPS || (act == PW_MPI_ENDS && pw_mpi_has_requests());
}

#endif
