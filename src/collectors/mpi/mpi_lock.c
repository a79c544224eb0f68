/* Whether several threads may be in MPI at once; see mpi_lock.h. */
#include "collectors/mpi/mpi_lock.h"

int pw_mpi_threads;
