/* The parts of a run outside its steps: which rank held the job back in one, and how long all ranks
 * together were in each. Called by aggregate/findings and by the reports. Pure arithmetic: no I/O,
 * no allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_PARTS_H
#define PW_ANALYSIS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* Which rank held the job back in a part of the run outside its steps: before MPI_Init, in it,
 * before the first step, after the last, after MPI_Finalize. Its own time there, in which it did
 * not wait for others, is compared with the median of the other ranks'; in MPI_Init, where waits
 * are not recorded, its time without sleep is compared. How long programs take to start differs on
 * every machine. But for MPI_Init a rank is named when it lost 1 % of the run, no other rank more
 * than half of that, and the chance that a rank is so far above the others in any part is below
 * 0.001 by Grubbs' test (statistics.h); or 3 %, and 0.01. Before and in MPI_Init also when it lost
 * 3 % of the run and no other rank more than a fifth of that; before it also when it lost 1.5 % and
 * no other more than a twentieth. Later, with fewer than 8 ranks, also when it lost 3 % and five
 * times as much as the others differ, because the spread of few ranks says little. With two ranks
 * it is unknown which of them is usual: there the limit is 3 % before MPI_Init and a tenth of the
 * run elsewhere; in MPI_Init, where one rank may sleep and the other poll, a rank is named only
 * when it also slept for a tenth of it. */

struct pw_partloss {
    size_t rank;
    enum pw_part part;
    enum pw_cause cause;
    int64_t lost_ns;   /* own time more than the other ranks' median */
    int64_t next_ns;   /* the same of the rank with most but this one */
    int64_t usual_ns;  /* the other ranks' median */
    int64_t spread_ns; /* the other ranks' largest less their least */
};

enum { PW_PARTLOSSES = 5 }; /* at most: one for each part */

/* `rows` [PW_PART_END * nranks], by part from start to end, -1: not known. `scratch` has room for
 * 2 * nranks values. How many are found. */
size_t pw_partloss_find(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                        int64_t *scratch, struct pw_partloss out[PW_PARTLOSSES]);

/* The parts of the run, of all ranks together: what the reports show of /part_trace. */

enum { PW_PARTS = PW_PART_END };

/* Which events divide the runs of all ranks that left a file. A part that some rank has no end of
 * is added to the next of all ranks (start and init to the setup, setup to the steps; finalize and
 * end to the tail, tail to the steps): so ranks are compared in the same parts, and these add up to
 * the run. */
struct pw_parts_known {
    int has_init, has_steps, has_finalize;
    size_t nranks; /* that left a file; 0: nothing is known */
};

/* `rows` [PW_PARTS * nranks], by part, as in /part_trace; may be NULL. */
struct pw_parts_known pw_parts_known(const struct pw_row_c_part_trace *rows, size_t nranks);

/* What two runs have in common. */
struct pw_parts_known pw_parts_known_of_both(struct pw_parts_known a, struct pw_parts_known b);

int pw_parts_is_known(const struct pw_parts_known *known, enum pw_part part);

/* One rank's time in a part: all, and what of it was waiting for others; -1: not known. */
struct pw_part_time {
    double total_ns, wait_ns;
};
struct pw_part_time pw_parts_time(const struct pw_row_c_part_trace *rows, size_t nranks,
                                  const struct pw_parts_known *known, size_t rank,
                                  enum pw_part part);

/* Time in a part in which the rank did not wait; -1: not known. */
double pw_parts_own(const struct pw_row_c_part_trace *rows, size_t nranks,
                    const struct pw_parts_known *known, size_t rank, enum pw_part part);

struct pw_partmean {
    double mean_ns, wait_ns; /* means over ranks; -1: not known */
    double most_ns;          /* own time of the rank that has most of it */
    size_t most_rank;        /* its row */
};

/* out[part - PW_PART_START]. */
void pw_partmeans(const struct pw_row_c_part_trace *rows, size_t nranks,
                  const struct pw_parts_known *known, struct pw_partmean out[PW_PARTS]);

/* Their sums of mean_ns, which is the run, and wait_ns. */
struct pw_partmean pw_partmeans_sum(const struct pw_partmean means[PW_PARTS]);

#endif
