/* Who this process is: its rank, job and host, from the environment that the launcher made. Called
 * by the commands that run or import ranks; files and answers contain the result. Tool code; only
 * reads. */
#ifndef PW_RANK_RUN_IDENTITY_H
#define PW_RANK_RUN_IDENTITY_H

#include <stdint.h>

struct pw_identity {
    int rank, size, local_rank;
    int restart;        /* how often the launcher has started the job's ranks anew (torchrun) */
    char job[64];       /* the same on all ranks of a job, differs between jobs */
    int job_may_repeat; /* a later job may have the same `job`: see claim.h */
    char hostname[64];
    char clock_domain[128]; /* boot id and time namespace: equal means the same clock */
    uint64_t clock_domain_hash;
    int launched;            /* 1 when a launcher said who we are, 0 for a program started alone */
    char contradiction[128]; /* what in the environment cannot be true, "" for nothing */
};

/* What is known beside the environment. */
struct pw_identity_hints {
    const char *root;     /* prefixed to /proc */
    const char *hostname; /* overrides the machine's unless "" */
    const char *launch;   /* the name of `profwrap LAUNCHER`'s launch, or NULL */
    const char *had;      /* the rank variables that its launcher had: see rankenv.h */
};

/* Makes the clock domain one of its own, for a rank whose clock is `name`d to be wrong. */
void pw_identity_split_clock(struct pw_identity *id, const char *name);

/* Fills `id` from the launchers' variables (rankvars.def); without any it is rank 0 of 1. */
void pw_identity_find(struct pw_identity *id, const struct pw_identity_hints *hints);

/* `pattern` with %j replaced by the job, %r by the rank and %h by the host. 0, or -ENAMETOOLONG. */
int pw_identity_expand(const struct pw_identity *id, const char *pattern, char *out, int size);

#endif
