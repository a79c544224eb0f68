/* The ABI of MPICH 3.1 and later, and of compatible libraries (Intel MPI, Cray MPICH, MVAPICH).
 * Only mpi_abi.h includes this file, and describes each definition. No definition needs the
 * library, so all of them may be used before the library is found. */
#ifndef PW_MPI_ABI_MPICH_H
#define PW_MPI_ABI_MPICH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collectors/mpi/mpi_abi_requests.h"

#define PW_MPI_ABI PW_MPI_MPICH

/* Handles are of type int, with the kind of object in the upper bits. Only the handle of a file is
 * an address. It is never equal to the number of another handle, because it is aligned and the
 * address of a large object. */
typedef intptr_t pw_mpi_key;
#define PW_MPI_WIN_KEY(window) ((pw_mpi_key)(window))
#define PW_MPI_FILE_KEY(file) ((pw_mpi_key)(file))
#define PW_MPI_NUMBER(handle) ((uint64_t)(int64_t)(handle))

/* Predefined handles are constants. The symbol is a variable that mpi.h declares. */
#define PW_MPI_LIBRARY_SYMBOL "MPI_UNWEIGHTED"
#define PW_MPI_LIBRARY_VALUE(symbol, constant) (constant)
#define PW_MPI_OWN_HELPERS(H)

#define PW_MPI_REDUCTION_BASE 0x58000000u

/* The list of partitions of MPI_Pready_list. It is const in the standard, but not in older
 * versions of MPICH. */
#define PW_MPI_PARTITIONS int
#if MPICH_NUMVERSION >= 40100000
#undef PW_MPI_PARTITIONS
#define PW_MPI_PARTITIONS const int
#endif

/* Most functions of the Fortran library call MPI_X. Those functions of `use mpi_f08` that have no
 * buffer call PMPI_X. */
#define PW_MPI_FORTRAN_CALLS_MPI 1
#define PW_MPI_CALLER_FLAGS() pw_mpi_caller_flags(__builtin_return_address(0))
#define PW_MPI_FORTRAN_FUNCTION "pmpi_comm_size_"

static inline bool pw_mpi_is_fortran_library(const char *name)
{
    return strncmp(name, "libmpifort", strlen("libmpifort")) == 0 ||
           strncmp(name, "libmpichfort", strlen("libmpichfort")) == 0;
}

/* MPICH gives all complete operations one of a few shared requests. These are built-in objects: the
 * two upper bits of their handles have the value 1. Intel MPI's are not. */
static inline bool pw_mpi_was_complete(MPI_Request request, MPI_Request shared)
{
    (void)shared;
    return (uint32_t)request >> 30 == 1 || pw_mpi_is_shared(request);
}

static inline void pw_mpi_abi_begin(MPI_Comm comm)
{
    pw_mpi_shared_find(comm);
}

/* The count has 63 bits. The lowest 32 are in one field, the others in the upper 31 bits of another
 * field, whose lowest bit is `cancelled`. */
static inline int64_t pw_mpi_status_count(const MPI_Status *status)
{
    return (int64_t)((uint64_t)(uint32_t)status->count_lo |
                     (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32);
}

static inline bool pw_mpi_status_cancelled(const MPI_Status *status)
{
    return (status->count_hi_and_cancelled & 1) != 0;
}

#endif
