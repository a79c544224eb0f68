/* The mpirun that starts the processes of a merge. Called by conclude.c. Tool code; it runs other
 * programs and waits for them, but not for long. */
#ifndef PW_CLI_MPIRUN_H
#define PW_CLI_MPIRUN_H

#include <stddef.h>

/* Finds an mpirun of Open MPI, because the merge is a program of Open MPI and uses the options of
 * its mpirun. This is the first mpirun in PATH; if that one belongs to another MPI, the mpirun with
 * which profwrap was built. Returns 0; or -ENOENT when PATH has no mpirun, or none of the two
 * belongs to Open MPI, or to the one that OPAL_PREFIX names. */
int pw_mpirun_find(char *path, size_t size);

#endif
