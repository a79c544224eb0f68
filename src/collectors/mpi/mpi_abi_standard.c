/* What only a library of MPI-5.0's standard ABI can tell; see mpi_abi.h. Compiled for that ABI
 * only. In-app, by the rules of mpi_call.h. */
#include "collectors/mpi/mpi_real.h"

/* MPICH gives complete operations one of a few requests, and converts a handle to the number that
 * it has in its own ABI. There, built-in objects have the value 1 in the upper two bits. */
static bool has_numbers_of_mpich;

static bool is_built_in(MPI_Request request)
{
    return (uint32_t)pw_pmpi.Request_toint(request) >> 30 == 1;
}

bool pw_mpi_abi_is_shared(MPI_Request request)
{
    return has_numbers_of_mpich && is_built_in(request);
}

/* Begins two operations that are complete at once. When they have the same request, the library
 * gives it to other operations, too. */
void pw_mpi_abi_begin(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int is_done;
    for (int i = 0; i < 2; i++)
        pw_pmpi.Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[i]);
    pw_mpi_handles.request_empty = requests[0] == requests[1] ? requests[0] : MPI_REQUEST_NULL;
    has_numbers_of_mpich = pw_mpi_handles.request_empty != MPI_REQUEST_NULL &&
                           is_built_in(pw_mpi_handles.request_empty);
    for (int i = 0; i < 2; i++)
        pw_pmpi.Test(&requests[i], &is_done, MPI_STATUS_IGNORE);
}

int64_t pw_mpi_status_count(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    int rc = pw_pmpi.Get_count_c(status, MPI_BYTE, &bytes);
    return rc == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

bool pw_mpi_status_cancelled(const MPI_Status *status)
{
    int flag = 0;
    return pw_pmpi.Test_cancelled(status, &flag) == MPI_SUCCESS && flag;
}
