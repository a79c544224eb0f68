/* Finds the rank, job and host of this process, from the environment variables that the launcher
 * set. Called by the commands that run or import ranks; files and answers contain the result. Tool
 * code; only reads. */
#ifndef PW_RANK_RUN_IDENTITY_H
#define PW_RANK_RUN_IDENTITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Names the job of a process that Hydra started. Needed because mpiexec of MPICH and Intel MPI
 * gives ranks no name of their job. */

/* Writes "HOST-PORT" of the mpiexec whose proxy is an ancestor of the process `pid`. This is the
 * same for all ranks of a job, on all hosts, and differs from other running jobs. For processes
 * that MPI_Comm_spawn started it is "HOST-PORT-GROUP" with the number of their process group
 * (--pgid). "" when no ancestor is such a proxy. `root` is prefixed to /proc. */
void pw_hydra_name(const char *root, pid_t pid, char *out, size_t size);

struct pw_identity {
    int rank, size, local_rank;
    int local_size;     /* ranks on this host; `size` where the launcher does not tell */
    int is_one_host;    /* 1 when the launcher tells that all ranks are on this host */
    int restart;        /* how often the launcher has started the job's ranks anew (torchrun) */
    char job[64];       /* the same on all ranks of a job, differs between jobs */
    int job_may_repeat; /* a later job may have the same `job`: see identity.h */
    char hostname[64];
    char clock_domain[128]; /* boot id and time namespace: equal means the same clock */
    uint64_t clock_domain_hash;
    int launched;            /* 1 when a launcher's variables gave the rank; 0: started without a
                              * launcher */
    char contradiction[128]; /* variables that contradict each other, as a text; "": none */
};

/* Values from other sources than the environment. */
struct pw_identity_hints {
    const char *root;     /* prefixed to /proc */
    const char *hostname; /* replaces the machine's host name, unless "" */
    const char *launch;   /* the unique name of this `profwrap LAUNCHER`, or NULL */
    const char *had;      /* the rank variables that the launcher itself had (rankenv.h) */
};

/* Gives the rank a clock domain of its own, which contains `name`. For tests with a wrong clock. */
void pw_identity_split_clock(struct pw_identity *id, const char *name);

/* Fills `id` from the launchers' variables (rankvars.def). Without such variables it is rank 0 of
 * 1. */
void pw_identity_find(struct pw_identity *id, const struct pw_identity_hints *hints);

/* Copies `pattern` with %j replaced by the job, %r by the rank and %h by the host. Returns 0 or
 * -ENAMETOOLONG. */
int pw_identity_expand(const struct pw_identity *id, const char *pattern, char *out, int size);

/* Reserves a rank's place in the output directory of a job that has no unique name.
 *
 * Most launchers give each job a unique name. Some give only an address and a port (Kubernetes'
 * PyTorchJob), a name that the user chose (torchrun --rdzv-id), or no name. Then a later job can
 * have the same name, and the ranks of one job are identified by their output directory: each rank
 * takes its place in the directory, and no rank can take a place twice. */

/* Takes the place of this rank in `dir`, which is marked with the job's name. Returns 0, or
 *   -EEXIST  when the directory belongs to another job: this rank's place is taken, the job was
 *            merged, or another rank there was killed or ended long ago
 *   -EPROTO  when the directory belongs to this job, but another rank has a different job size;
 *            *other is that size, or 0 when an earlier rank already got this error
 *   -errno   for any other error. */
int pw_claim_take(const char *dir, const struct pw_identity *id, int *other);

#endif
