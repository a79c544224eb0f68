/* MPI-5.0's standard ABI: libmpi_abi.so of any MPI. Only mpi_abi.h includes this file, and
 * describes each definition. How a status holds the count, and which requests complete operations
 * have, differs between libraries of this ABI. So the library is asked (mpi_abi_standard.c). */
#ifndef PW_MPI_ABI_STANDARD_H
#define PW_MPI_ABI_STANDARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collectors/mpi/mpi_standard.h"

#include "collectors/mpi/mpi_shared.h"

#define PW_MPI_ABI PW_MPI_STANDARD

/* All MPIs that have the ABI so far give a communicator, a window and a file different handles. */
typedef MPI_Comm pw_mpi_key;
#define PW_MPI_WIN_KEY(window) ((MPI_Comm)(window))
#define PW_MPI_FILE_KEY(file) ((MPI_Comm)(file))
#define PW_MPI_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

/* Predefined handles are constants. */
#define PW_MPI_LIBRARY_SYMBOL "PMPI_Abi_get_version"
#define PW_MPI_LIBRARY_VALUE(symbol, constant) (constant)
#define PW_MPI_OWN_HELPERS(H)                                              \
    H(int, Get_count_c, (const MPI_Status *, MPI_Datatype, MPI_Count *))   \
    H(int, Test_cancelled, (const MPI_Status *, int *))                    \
    H(int, Request_toint, (MPI_Request))                                   \
    H(int, Status_set_elements_c, (MPI_Status *, MPI_Datatype, MPI_Count)) \
    H(int, Status_set_cancelled, (MPI_Status *, int))

/* The ABI has no Fortran library. One that is made for it may call either name. */
#define PW_MPI_FORTRAN_CALLS_MPI 1
#define PW_MPI_CALLER_FLAGS() pw_mpi_caller_flags(__builtin_return_address(0))
#define PW_MPI_FORTRAN_FUNCTION "pmpi_comm_size_"

static inline bool pw_mpi_is_fortran_library(const char *name)
{
    return strncmp(name, "libmpifort", strlen("libmpifort")) == 0;
}

void pw_mpi_abi_begin(void);
bool pw_mpi_abi_is_shared(MPI_Request request);

/* The library gives all complete operations `shared`, or one of a few requests, or requests of
 * their own (`shared` is MPI_REQUEST_NULL). `shared` is that of sends. */
static inline bool pw_mpi_was_complete(MPI_Request request, MPI_Request shared)
{
    return shared != MPI_REQUEST_NULL && (request == shared || pw_mpi_abi_is_shared(request));
}

int64_t pw_mpi_status_count(const MPI_Status *status);
bool pw_mpi_status_cancelled(const MPI_Status *status);

#endif
