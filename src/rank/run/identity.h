/* Finds the rank, job and host of this process, from the environment variables that the launcher
 * set. Called by the commands that run or import ranks; files and answers contain the result. Tool
 * code; only reads. */
#ifndef PW_RANK_RUN_IDENTITY_H
#define PW_RANK_RUN_IDENTITY_H

#include <stdint.h>

struct pw_identity {
    int rank, size, local_rank;
    int local_size;     /* ranks on this host; `size` where the launcher does not tell */
    int is_one_host;    /* 1 when the launcher tells that all ranks are on this host */
    int restart;        /* how often the launcher has started the job's ranks anew (torchrun) */
    char job[64];       /* the same on all ranks of a job, differs between jobs */
    int job_may_repeat; /* a later job may have the same `job`: see claim.h */
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

#endif
