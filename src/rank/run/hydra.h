/* The job that Hydra started this process in. mpiexec of MPICH and Intel MPI gives ranks no name of
 * their job. Called by identity.c. Tool code; only reads /proc. */
#ifndef PW_RANK_RUN_HYDRA_H
#define PW_RANK_RUN_HYDRA_H

#include <stddef.h>
#include <sys/types.h>

/* "HOST-PORT" of the mpiexec that the proxy above the process `pid` belongs to: equal in all ranks
 * of a job, on all hosts, and of no other job that runs at the time. What MPI_Comm_spawn started is
 * "HOST-PORT-GROUP". "" when none of the process's ancestors is such a proxy. `root` is prefixed to
 * /proc. */
void pw_hydra_name(const char *root, pid_t pid, char *out, size_t size);

#endif
