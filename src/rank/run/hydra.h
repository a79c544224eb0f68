/* Names the job of a process that Hydra started. Needed because mpiexec of MPICH and Intel MPI
 * gives ranks no name of their job. Called by identity.c. Tool code; only reads /proc. */
#ifndef PW_RANK_RUN_HYDRA_H
#define PW_RANK_RUN_HYDRA_H

#include <stddef.h>
#include <sys/types.h>

/* Writes "HOST-PORT" of the mpiexec whose proxy is an ancestor of the process `pid`. This is the
 * same for all ranks of a job, on all hosts, and differs from other running jobs. For processes
 * that MPI_Comm_spawn started it is "HOST-PORT-GROUP" with the number of their process group
 * (--pgid). "" when no ancestor is such a proxy. `root` is prefixed to /proc. */
void pw_hydra_name(const char *root, pid_t pid, char *out, size_t size);

#endif
