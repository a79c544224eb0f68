/* Figures of what msprof-analyze computed of a job (/msprof_steps): each rank's means, and the rank
 * that computes longest in each step. Used by the text and JSON reports. Pure functions on the
 * loaded file: its numbers are msprof-analyze's, and are neither corrected nor compared with
 * recorded ones. */
#ifndef PW_ANALYSIS_FIGURES_MSPROF_H
#define PW_ANALYSIS_FIGURES_MSPROF_H

#include "core/cluster.h"

/* Parts of a step, in the order of the columns. */
enum pw_msprof_part {
    PW_MSPROF_COMPUTING,
    PW_MSPROF_COMM,
    PW_MSPROF_EXPOSED,
    PW_MSPROF_OVERLAPPED,
    PW_MSPROF_FREE,
    PW_MSPROF_STAGE,
    PW_MSPROF_BUBBLE,
    PW_MSPROF_EXPOSED_NO_RECEIVE,
    PW_MSPROF_PREPARING,
    PW_MSPROF_PARTS
};

/* Means of a rank over the steps that have the part, ns; -1: none has. */
struct pw_msprof_rank {
    int32_t rank;
    int64_t steps, longest; /* how many steps it has, and in how many it computed longest */
    int64_t mean_ns[PW_MSPROF_PARTS];
};

/* The rank that computed longest in a step, and the median of the others. */
struct pw_msprof_longest {
    int64_t step;
    int32_t rank;
    int64_t computing_ns, others_ns;
    int64_t nranks; /* whose computing time is known: at least 2 */
};

struct pw_msprof {
    struct pw_msprof_rank *ranks; /* those first that compute longest */
    size_t nranks;
    struct pw_msprof_longest *steps; /* by step */
    size_t nsteps;
    /* The rank that computed longest most often; -1: there are no steps of two ranks. `excess` is
     * the median, over the steps where it did, of computing_ns / others_ns - 1. */
    int32_t rank;
    int64_t hits;
    double excess;
    int has_bubbles; /* some rank waits for data of another stage */
};

/* From this share on, computing times are uneven, as msprof-analyze's own documents say. */
#define PW_MSPROF_UNEVEN 0.05

/* Returns 0 or -ENOMEM; *out must be passed to pw_msprof_fini(). */
int pw_msprof_make(const struct pw_cluster *cluster, struct pw_msprof *out);
void pw_msprof_fini(struct pw_msprof *msprof);

#endif
