/* The nonblocking operations under way: request handle to the record that will be written when it
 * completes. Constant time per operation whatever the number of open requests; memory grows with
 * the largest number ever open and is reused. */
#ifndef PW_MPI_REQUEST_H
#define PW_MPI_REQUEST_H

#include "collectors/mpi/mpi_real.h"
#include "rank/record.h"

struct pw_mpi_request {
    MPI_Request handle;
    struct pw_mpi_request *next; /* the holder's own while it holds the entry */
    struct pw_record record;     /* complete but for what only completion tells */
    MPI_Comm comm;               /* where a received message's source is to be looked up */
    MPI_Comm *newcomm;           /* Comm_idup: where completion puts the handle (C, or Fortran) */
    MPI_Fint *newcomm_f;
    int position; /* the holder's own */
};

/* Enters a copy of `request` under its handle. -ENOMEM when memory is short: the operation is then
 * not recorded. A handle that is already there (a freed request's number, reused) is replaced. */
int pw_mpi_request_add(const struct pw_mpi_request *request);

/* Removes and returns the entry of `handle`, or NULL. It is the caller's until
 * pw_mpi_request_free(). */
struct pw_mpi_request *pw_mpi_request_take(MPI_Request handle);

void pw_mpi_request_free(struct pw_mpi_request *request);

/* Receives that are open: only they need a status. */
int pw_mpi_request_receives(void);

#endif
