/* The libraries that have the names of MPI functions which are newer than the MPI of this build;
 * see mpi_later.c. Used by the probe and, for the libraries' names, by the guard (run/collect.c).
 * In-app: only reads. */
#ifndef PW_MPI_LATER_H
#define PW_MPI_LATER_H

#include <stdbool.h>

#define PW_MPI_LATER_LIBRARIES "libprofwrap_mpi4_" /* how their names begin */
#define PW_MPI_LATER_LINKED PW_MPI_LATER_LIBRARIES "linked.so"
#define PW_MPI_LATER_LOADED PW_MPI_LATER_LIBRARIES "loaded.so"

/* Whether an MPI library that is loaded has the function. Defined by the probe. */
__attribute__((visibility("default"))) bool profwrap_mpi_has(const char *symbol);

#endif
