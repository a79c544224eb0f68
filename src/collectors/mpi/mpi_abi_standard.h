/* MPI-5.0's standard ABI: libmpi_abi.so of any MPI. Only mpi_abi.h includes this file, and
 * describes each definition. How a status holds the count, and which requests complete operations
 * have, differs between libraries of this ABI. So the library is asked (mpi_abi_library.c). */
#ifndef PW_MPI_ABI_STANDARD_H
#define PW_MPI_ABI_STANDARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collectors/mpi/mpi_standard.h"

#include "collectors/mpi/mpi_abi_requests.h"

#define PW_MPI_ABI PW_MPI_STANDARD

/* All MPIs that have the ABI so far give a communicator, a window and a file different handles. */
typedef MPI_Comm pw_mpi_key;
#define PW_MPI_WIN_KEY(window) ((MPI_Comm)(window))
#define PW_MPI_FILE_KEY(file) ((MPI_Comm)(file))
#define PW_MPI_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))

/* Predefined handles are constants. */
#define PW_MPI_LIBRARY_SYMBOL "PMPI_Abi_get_version"
#define PW_MPI_LIBRARY_VALUE(symbol, constant) (constant)
#define PW_MPI_REDUCTION_BASE 0
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

void pw_mpi_abi_begin(MPI_Comm comm);

/* What was found out about the library in pw_mpi_abi_begin(), and since then. */
enum { PW_MPI_ABI_KNOWN_BITS = 8 };
extern struct pw_mpi_abi_library {
    /* It gives complete operations one of a few requests, and converts a handle to the number that
     * it has in MPICH's own ABI. There, built-in objects have the value 1 in the upper two bits. */
    bool has_numbers_of_mpich;
    /* It holds a status's count in the first two words that are its own, with "cancelled" in the
     * lowest bit of the second. */
    bool has_statuses_of_mpich;
    /* Requests that the library said are not built-in ones, each at one place. MPICH uses the same
     * requests again and again, and a request never becomes a built-in one. */
    _Atomic(MPI_Request) known[1 << PW_MPI_ABI_KNOWN_BITS];
} pw_mpi_abi_library __attribute__((visibility("hidden")));

static inline _Atomic(MPI_Request) *pw_mpi_abi_known(MPI_Request request)
{
    const uint64_t hash = PW_MPI_NUMBER(request) * UINT64_C(0x9e3779b97f4a7c15);
    return &pw_mpi_abi_library.known[hash >> (64 - PW_MPI_ABI_KNOWN_BITS)];
}

/* Asks the library; saves the answer "no". */
bool pw_mpi_abi_is_built_in(MPI_Request request);

/* The library gives all complete operations `shared`, or one of a few requests, or requests of
 * their own (`shared` is MPI_REQUEST_NULL). `shared` is that of sends. */
static inline bool pw_mpi_was_complete(MPI_Request request, MPI_Request shared)
{
    if (shared == MPI_REQUEST_NULL)
        return false;
    if (request == shared || pw_mpi_is_shared(request))
        return true;
    return pw_mpi_abi_library.has_numbers_of_mpich &&
           atomic_load_explicit(pw_mpi_abi_known(request), memory_order_relaxed) != request &&
           pw_mpi_abi_is_built_in(request);
}

/* The same from any library: asks it. */
int64_t pw_mpi_abi_status_count(const MPI_Status *status);
bool pw_mpi_abi_status_cancelled(const MPI_Status *status);

static inline int64_t pw_mpi_status_count(const MPI_Status *status)
{
    if (__builtin_expect(!pw_mpi_abi_library.has_statuses_of_mpich, 0))
        return pw_mpi_abi_status_count(status);
    return (int64_t)((uint32_t)status->MPI_internal[1] >> 1) << 32 |
           (uint32_t)status->MPI_internal[0];
}

static inline bool pw_mpi_status_cancelled(const MPI_Status *status)
{
    if (__builtin_expect(!pw_mpi_abi_library.has_statuses_of_mpich, 0))
        return pw_mpi_abi_status_cancelled(status);
    return status->MPI_internal[1] & 1;
}

#endif
