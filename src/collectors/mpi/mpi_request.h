/* The nonblocking operations under way: request handle to the record that will be written when it
 * completes. Constant time per operation whatever the number of open requests; memory grows with
 * the largest number ever open and is reused. */
#ifndef PW_MPI_REQUEST_H
#define PW_MPI_REQUEST_H

#include "collectors/mpi/mpi_real.h"
#include "core/ops.h"
#include "rank/record.h"

struct pw_mpi_request {
    MPI_Request handle;
    struct pw_mpi_request *next;
    struct pw_mpi_request *chain; /* the holder's own */
    struct pw_record record;      /* complete but for what only completion tells */
    MPI_Comm comm;                /* where a received message's source is to be looked up */
    MPI_Comm *newcomm;            /* Comm_idup: where completion puts the handle (C, or Fortran) */
    MPI_Fint *newcomm_f;
    int persistent, active; /* of a persistent request: it stays in the table */
    uint32_t id;            /* of the operation, unique in the process */
    uint8_t needs_status;   /* counted among those */
    int position;           /* the holder's own */
    /* Of MPI_Isendrecv: the half that `record` is not. */
    int32_t sent_peer, sent_tag;
    int64_t sent_bytes;
};

/* Makes an entry under `handle` for the caller to fill: its record and communicator are not set,
 * `id` is a number of its own, `cls` is the class of the operation. NULL when memory is short: the
 * operation is then not recorded. A handle that is already there (a freed request's number, reused)
 * hides the older entry. Never for the handle that complete operations share. */
struct pw_mpi_request *pw_mpi_request_add(MPI_Request handle, enum pw_op_class cls, int persistent);

/* Removes and returns the entry of `handle`, or NULL: the newest that had begun by `before`
 * (ticks), when the completing call was entered. It is the caller's until pw_mpi_request_free(). */
struct pw_mpi_request *pw_mpi_request_take(MPI_Request handle, uint64_t before);

void pw_mpi_request_free(struct pw_mpi_request *request);

/* The entry of a persistent request, which stays in the table; NULL when `handle` is none. */
struct pw_mpi_request *pw_mpi_request_find(MPI_Request handle);

/* Whether there is any persistent request: only then can a completed one keep its handle. */
int pw_mpi_request_persistents(void);

/* A new operation's number, for one that has no entry or a persistent request that starts again. */
uint32_t pw_mpi_request_id(void);

/* Whether operations are open of which only the status tells what came: receives and files. */
int pw_mpi_request_receives(void);

#endif
