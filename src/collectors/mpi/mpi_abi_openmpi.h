/* The ABI of Open MPI 4 and 5. Only mpi_abi.h includes this file, and describes each definition. A
 * definition whose value is a variable of the library must not be used before the library is found.
 */
#ifndef PW_MPI_ABI_OPENMPI_H
#define PW_MPI_ABI_OPENMPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PW_MPI_ABI PW_MPI_OPEN_MPI

/* Handles are addresses of the library's objects, and no two objects have one address. */
typedef MPI_Comm pw_mpi_key;
#define PW_MPI_WIN_KEY(window) ((MPI_Comm)(window))
#define PW_MPI_FILE_KEY(file) ((MPI_Comm)(file))
#define PW_MPI_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

/* Predefined handles are the addresses of variables. */
#define PW_MPI_LIBRARY_SYMBOL "ompi_mpi_comm_world"
#define PW_MPI_LIBRARY_VALUE(symbol, constant) pw_mpi_variable(symbol)
#define PW_MPI_REDUCTION_BASE 0
#define PW_MPI_OWN_HELPERS(H)

#define PW_MPI_PARTITIONS const int

/* Each function of the Fortran libraries calls PMPI_X. */
#define PW_MPI_FORTRAN_CALLS_MPI 0
#define PW_MPI_CALLER_FLAGS() 0
#define PW_MPI_FORTRAN_FUNCTION "ompi_comm_size_f"

static inline bool pw_mpi_is_fortran_library(const char *name)
{
    return strncmp(name, "libmpi_mpifh", strlen("libmpi_mpifh")) == 0 ||
           strncmp(name, "libmpi_usempi", strlen("libmpi_usempi")) == 0;
}

/* Open MPI gives all complete operations the same request. */
static inline bool pw_mpi_was_complete(MPI_Request request, MPI_Request shared)
{
    return request == shared;
}

static inline void pw_mpi_abi_begin(MPI_Comm comm)
{
    (void)comm;
}

static inline int64_t pw_mpi_status_count(const MPI_Status *status)
{
    return (int64_t)status->_ucount;
}

static inline bool pw_mpi_status_cancelled(const MPI_Status *status)
{
    return status->_cancelled != 0;
}

#endif
