/* The libraries that have the names of MPI functions which are newer than the MPI of this build;
 * see mpi4_functions.c. Used by the probe and, for the libraries' names, by the guard
 * (run/collect.c). In-app: only reads. */
#ifndef PW_MPI4_LIBRARIES_H
#define PW_MPI4_LIBRARIES_H

#include <stdbool.h>

#define PW_MPI4_LIBRARIES "libprofwrap_mpi4_" /* how their names begin */
#define PW_MPI4_LINKED PW_MPI4_LIBRARIES "linked.so"
#define PW_MPI4_LOADED PW_MPI4_LIBRARIES "loaded.so"

/* Whether an MPI library that is loaded has the function. Defined by the probe. */
__attribute__((visibility("default"))) bool profwrap_mpi_has(const char *symbol);

#endif
