/* What only a library of MPI-5.0's standard ABI can tell; see mpi_abi.h. Compiled for that ABI
 * only. In-app, by the rules of mpi_call.h. */
#include "collectors/mpi/mpi_real.h"

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
