/* The parts of the run, of all ranks together: what the reports show of /part_trace. */
#ifndef PW_ANALYSIS_PARTMEAN_H
#define PW_ANALYSIS_PARTMEAN_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

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
