/* What only the library can tell of an ABI; see mpi_abi.h. Compiled for MPICH's ABI and for
 * MPI-5.0's standard ABI. In-app, by the rules of mpi_call.h. */
#include "collectors/mpi/mpi_library.h"

/* ---- the requests of complete operations; see mpi_abi_requests.h ---- */

struct pw_mpi_shared pw_mpi_shared;

static int begin_send(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, request);
}

static int begin_receive(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, request);
}

static int begin_collective(MPI_Comm comm, MPI_Request *request)
{
    return pw_pmpi.Ibarrier(comm, request);
}

/* Returns the request that two operations have at the same time, or 0. */
static MPI_Request shared_by(MPI_Comm comm, int (*begin)(MPI_Comm, MPI_Request *))
{
    enum { TRIES = 1000 };
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; i++)
        if (begin(comm, &requests[i]) != MPI_SUCCESS)
            requests[i] = MPI_REQUEST_NULL;
    const MPI_Request first = requests[0];
    const bool is_shared = first == requests[1] && first != MPI_REQUEST_NULL;
    for (int i = 0; i < 2; i++)
        for (int tries = 0, is_done = 0; !is_done && tries < TRIES; tries++)
            pw_pmpi.Test(&requests[i], &is_done, MPI_STATUS_IGNORE);
    return is_shared ? first : (MPI_Request)0;
}

void pw_mpi_shared_find(MPI_Comm comm)
{
    int size = 0;
    pw_mpi_shared = (struct pw_mpi_shared){0};
    if (comm == MPI_COMM_NULL || pw_pmpi.Comm_size(comm, &size) != MPI_SUCCESS)
        return;
    pw_mpi_shared.of_sends = shared_by(comm, begin_send);
    pw_mpi_shared.of_receives = shared_by(comm, begin_receive);
    if (size == 1)
        pw_mpi_shared.of_collectives = shared_by(comm, begin_collective);
}

#ifdef PW_MPI_FOR_STANDARD

/* ---- built-in requests and statuses in the standard ABI ---- */

struct pw_mpi_abi_library pw_mpi_abi_library;

static bool is_built_in(MPI_Request request)
{
    return (uint32_t)pw_pmpi.Request_toint(request) >> 30 == 1;
}

bool pw_mpi_abi_is_built_in(MPI_Request request)
{
    if (is_built_in(request))
        return true;
    atomic_store_explicit(pw_mpi_abi_known(request), request, memory_order_relaxed);
    return false;
}

static uint32_t upper_word(MPI_Count bytes, bool is_cancelled)
{
    return (uint32_t)(bytes >> 32) << 1 | is_cancelled;
}

/* Whether a status that the library fills is as MPICH's. */
static bool fills_as_mpich(MPI_Count bytes, bool is_cancelled)
{
    MPI_Status status = {0};
    return pw_pmpi.Status_set_elements_c(&status, MPI_BYTE, bytes) == MPI_SUCCESS &&
           pw_pmpi.Status_set_cancelled(&status, is_cancelled) == MPI_SUCCESS &&
           (uint32_t)status.MPI_internal[0] == (uint32_t)bytes &&
           (uint32_t)status.MPI_internal[1] == upper_word(bytes, is_cancelled);
}

void pw_mpi_abi_begin(MPI_Comm comm)
{
    pw_mpi_shared_find(comm);
    pw_mpi_handles.request_empty =
        pw_mpi_shared.of_sends ? pw_mpi_shared.of_sends : MPI_REQUEST_NULL;
    pw_mpi_abi_library.has_numbers_of_mpich =
        pw_mpi_shared.of_sends && is_built_in(pw_mpi_shared.of_sends);
    pw_mpi_abi_library.has_statuses_of_mpich = fills_as_mpich(5, false) &&
                                               fills_as_mpich(7, true) &&
                                               fills_as_mpich(INT64_C(0x123456789abcdef), false);
}

int64_t pw_mpi_abi_status_count(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    int rc = pw_pmpi.Get_count_c(status, MPI_BYTE, &bytes);
    return rc == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

bool pw_mpi_abi_status_cancelled(const MPI_Status *status)
{
    int flag = 0;
    return pw_pmpi.Test_cancelled(status, &flag) == MPI_SUCCESS && flag;
}

#endif
