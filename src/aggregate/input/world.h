/* The job as a whole, equal on all processes of the merge: what conclusions are drawn from, without
 * a look at a file. */
#ifndef PW_AGGREGATE_INPUT_WORLD_H
#define PW_AGGREGATE_INPUT_WORLD_H

#include <stddef.h>

#include "core/tables.h"

/* The run in bins of equal length; see steps/bins.h. */
struct pw_binning {
    int64_t start_ns, end_ns; /* of the run, cluster time; equal: not known */
    int64_t bin_ns;
    /* Whether all ranks' files have MPI_Init (MPI_Finalize), and the same first (last) step: then
     * what they did before it (after it) can be compared. */
    int is_start_known, is_setup_known, is_tail_known, is_end_known;
    size_t n;                               /* 0: there are none */
    int64_t last_init_ns, last_finalize_ns; /* when the last rank entered MPI_Init (MPI_Finalize),
                                               cluster time; INT64_MIN: not known */
};

/* Whether steps that were found are cut at one rank's times on all ranks; and, then, whether that
 * one had communicated before. */
enum pw_cut_by { PW_CUT_NOT, PW_CUT_LATER, PW_CUT_FIRST };

struct pw_world {
    int64_t nranks;              /* ranks expected: the world size */
    struct pw_row_c_rank *ranks; /* [nranks] */
    int64_t *step_numbers;       /* [nsteps] sorted: every step that some rank marked */
    size_t nsteps;
    int32_t *domains; /* [nranks] clock domain of each rank, -1: no file; 0 has rank 0 */
    int32_t ndomains;
    int has_pauses;     /* some rank did not record all the time */
    int is_snapshot;    /* some file was taken while the job ran */
    int infer_clocks;   /* 0: only what was measured during the run counts */
    int steps_inferred; /* nobody marked them; 1: found, 2: slices of equal length */
    enum pw_cut_by steps_cut;
    char steps_found[256]; /* how, where they are not marked */
    struct pw_binning bins;
    int64_t epoch_ns;           /* cluster time of the first thing known, to keep sums small */
    int64_t clock_error_max_ns; /* -1: some rank is not aligned */
    char job_id[64], command[512];
    int64_t start_unix_ns, end_unix_ns;
    int64_t nhosts;
};

/* Numbers the hosts in the order of their names: host_of[nranks]. A rank whose host is not known is
 * on one of its own; *nhosts is at most nranks. 0 or -ENOMEM. */
int pw_world_number_hosts(const struct pw_world *world, int64_t *host_of, size_t *nhosts);

/* Index of a step number, or -1. */
ptrdiff_t pw_world_step_index(const struct pw_world *world, int64_t step);

#endif
