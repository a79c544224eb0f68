/* The probe's own MPI session, open while a program that has not called MPI_Init has sessions. From
 * it the probe has the group of all ranks, which stands for MPI_COMM_WORLD's. Called by
 * mpi_special.c. In-app, by the rules of mpi_call.h; it calls MPI functions that are local. */
#ifndef PW_MPI_SESSION_H
#define PW_MPI_SESSION_H

#include <stdbool.h>

#include "collectors/mpi/mpi_real.h"

#if MPI_VERSION >= 4

/* Opens it, while the program has a session of its own. `world` is the group of all ranks, valid
 * until the session is closed. False when MPI does not give it. */
bool pw_mpi_session_open(MPI_Group *world);

/* Closes it, before the program closes its last session. Does nothing when it is not open. */
void pw_mpi_session_close(void);

#endif
#endif
