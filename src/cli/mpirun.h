/* The mpirun that starts the processes of a merge. Called by conclude.c. Tool code; it runs other
 * programs and waits for them, but not for long. */
#ifndef PW_CLI_MPIRUN_H
#define PW_CLI_MPIRUN_H

#include <stddef.h>

/* The path of an mpirun of Open MPI: the first in PATH or, where that is another MPI's, the one
 * that profwrap was built with. The merge is a program of Open MPI, and its options are not those
 * of another mpirun. 0; -ENOENT: there is none, or none in PATH at all. */
int pw_mpirun_find(char *path, size_t size);

#endif
