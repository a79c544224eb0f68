/* Includes the definitions that differ between the ABIs of MPI libraries: types and values of
 * handles, fields of a status, places of constants, and which calls come from Fortran. Each ABI has
 * one header. The in-app files of this folder are compiled once for each ABI, against its mpi.h
 * (for the standard ABI: mpi_standard.h). Included by mpi_library.h, and so by all these files.
 * In-app, by the rules of mpi_call.h.
 *
 * All headers define:
 *   pw_mpi_key             the type by which tables know a communicator, window or file
 *   PW_MPI_WIN_KEY(w), PW_MPI_FILE_KEY(f)   conversions; a communicator is converted to its key,
 *                          and back, by assignment
 *   PW_MPI_NUMBER(h)       a handle or key as the number that records have
 *   PW_MPI_ABI             enum pw_mpi_abi_id (rank/probe/probe.h)
 *   PW_MPI_LIBRARY_SYMBOL  a symbol that all libraries of the ABI define (pw_mpi_is_known())
 *   PW_MPI_LIBRARY_VALUE(symbol, constant)   a handle that has a name in mpi.h
 *   PW_MPI_OWN_HELPERS     what the ABI needs besides PW_MPI_HELPERS (mpi_library.h)
 *   PW_MPI_REDUCTION_BASE  predefined reductions are this plus enum pw_reduction; 0: they are not
 *   PW_MPI_PARTITIONS      the type of an element of MPI_Pready_list's list
 *   PW_MPI_FORTRAN_CALLS_MPI   whether the Fortran library calls MPI_X, too
 *   PW_MPI_CALLER_FLAGS()  used in the wrapper of MPI_X: the flags of the call
 *   PW_MPI_FORTRAN_FUNCTION    a function that only the Fortran library defines
 *   pw_mpi_is_fortran_library(name)   whether a file has the name of a Fortran library
 *   pw_mpi_abi_begin()     called when MPI has begun, before all functions below; `comm` is a
 *                          communicator, or MPI_COMM_NULL while there is none
 *   pw_mpi_was_complete(request, shared)   whether the operation was complete when it was begun
 *   pw_mpi_status_count(status), pw_mpi_status_cancelled(status) */
#ifndef PW_MPI_ABI_H
#define PW_MPI_ABI_H

#if defined(PW_MPI_FOR_MPICH)
#include "collectors/mpi/mpi_abi_mpich.h"
#elif defined(PW_MPI_FOR_STANDARD)
#include "collectors/mpi/mpi_abi_standard.h"
#else
#include "collectors/mpi/mpi_abi_openmpi.h"
#endif

#endif
