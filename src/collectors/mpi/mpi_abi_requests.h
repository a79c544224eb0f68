/* Requests that an MPI library of the ABIs of MPICH and of MPI-5.0 gives to all complete operations
 * of one kind. MPICH's own are built-in objects; those of other libraries look like any request, so
 * they are found when MPI begins. Not found is Intel MPI's for one-sided operations with
 * MPI_PROC_NULL. Included by the headers of these ABIs (mpi_abi.h). In-app, by the rules of
 * mpi_call.h. */
#ifndef PW_MPI_ABI_REQUESTS_H
#define PW_MPI_ABI_REQUESTS_H

#include <stdbool.h>

#ifndef PW_MPI_STANDARD_H /* else the standard ABI's header is in the place of mpi.h */
#include <mpi.h>
#endif

/* 0: there is none. No request has this handle. */
struct pw_mpi_shared {
    MPI_Request of_sends, of_receives, of_collectives;
};
extern struct pw_mpi_shared pw_mpi_shared __attribute__((visibility("hidden")));

static inline bool pw_mpi_is_shared(MPI_Request request)
{
    return request == pw_mpi_shared.of_sends || request == pw_mpi_shared.of_receives ||
           request == pw_mpi_shared.of_collectives;
}

/* Begins operations that are complete at once, to see their requests. `comm` is a communicator;
 * only if it has one rank, a collective is begun. With MPI_COMM_NULL none is found. */
void pw_mpi_shared_find(MPI_Comm comm);

#endif
