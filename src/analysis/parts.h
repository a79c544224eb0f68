/* The parts of a run (enum pw_part: before MPI_Init, in MPI_Init, before the first step, ...):
 * which rank held the job back in a part outside the steps, and how much time the ranks spent in
 * each part. Called by aggregate/findings and by the reports. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_PARTS_H
#define PW_ANALYSIS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* ---- the rank that held the job back in a part outside the steps ----
 *
 * The own time of a rank in a part is the time in which it did not wait for other ranks; after it
 * has ended it waits for the others' end. In the
 * tail of a program without MPI_Finalize, time after the rank's last event and sample does not
 * count. In MPI_Init and MPI_Finalize, where waits are not recorded, it is the time in which the
 * rank did not sleep. The loss is the rank's own time minus the median of the other ranks. The rank
 * with the largest loss is reported when one row of this table is true:
 *
 *   ranks      part                            loss,        largest loss     other condition
 *                                              % of run     of another rank
 *   3 or more  all but the calls               1   or more  1/2  or less     chance below 0.001
 *   3 or more  all but the calls               3   or more  1/2  or less     chance below 0.01
 *   3 or more  all but the calls               10  or more than that of another rank
 *   3 or more  before MPI_Init, the calls      3   or more  1/5  or less
 *   3 or more  before MPI_Init                 1.5 or more  1/20 or less
 *   3 .. 7     after MPI_Init, not the calls   3   or more                   loss >= 5 x spread
 *   2          before MPI_Init                 3   or more
 *   2          after MPI_Init, not the calls   5   or more
 *   2          after MPI_Finalize              10  or more
 *   2          the calls                       10  or more          see below
 *
 * "The calls" are MPI_Init and MPI_Finalize. "Largest loss of another rank" is a share of the
 * reported rank's loss. "Chance" is the probability, by Grubbs' test (statistics.h), that noise
 * alone puts a rank this far above the others in any of the 6 parts. "Spread" is the difference
 * between the largest and the smallest own time of the other ranks. With fewer than 8 ranks the
 * test is not reliable; their rows use the spread instead. With two ranks it is unknown which one
 * is normal, so the limits are higher. In MPI_Init and MPI_Finalize a rank that polls for the other
 * one looks busy. So the other one must have polled: its own time is 5 % of the call or more. Or
 * the reported rank itself slept for 10 % of the call, and its own time is half of the call or
 * more.
 *
 * Where no rank is reported so, two of 5 ranks or more are, if each one would be without the other.
 *
 * In MPI_Init and MPI_Finalize two other measures are used. Each must lose 3 % of the run (10 %
 * with two ranks), and the next rank at most 1/5 of that:
 *   - asleep, before own time is looked at: the time in the call, if the rank slept for at least
 *     90 % of it, and the own time of each other rank is at least 5 % of the call and 5 times that
 *     of this rank: they polled for it. With two ranks it must also be less than half of the call:
 *     a rank that is busy all the time may be the late one;
 *   - left late, if own time shows no rank: how much longer than the other ranks' median it was in
 *     the call, at most how much later than their median it left. */

/* What shows that a rank held the job back. */
enum pw_partevidence { PW_PART_OWN_TIME, PW_PART_LEFT_LATE, PW_PART_ASLEEP };

struct pw_partloss {
    size_t rank;
    enum pw_part part;
    enum pw_cause cause, spent; /* `spent`: what it did; a late start has no other cause */
    enum pw_partevidence evidence;
    int64_t lost_ns; /* own time of `rank` minus usual_ns */
    int64_t next_ns; /* the largest loss of another rank, at least 0 */
    int64_t
        usual_ns; /* median own time of the other ranks; if `rank` slept, their least own time */
    int64_t spread_ns; /* largest minus smallest own time of the other ranks */
};

/* All parts but the steps are judged; in each at most two ranks held the job back. */
enum { PW_PARTS_JUDGED = 6, PW_PARTLOSSES = 2 * PW_PARTS_JUDGED };
enum { PW_PARTS_TWO_OF = 5 }; /* ranks, so that the others are the majority */

/* `rows` is [PW_PARTS * nranks], sorted by part, then rank; a time of -1 is not known. `scratch`
 * has room for 2 * nranks values. Returns the number of losses written to `out`. */
size_t pw_partloss_find(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                        int64_t *scratch, struct pw_partloss out[PW_PARTLOSSES]);

/* ---- time in each part, for the reports ---- */

enum { PW_PARTS = PW_PART_END };

/* Which parts are known on all ranks that have a rank file. When one of these ranks lacks the event
 * between two parts, the two are merged on all ranks. Start and init are merged into setup, setup
 * into steps, finalize and end into tail, and tail into steps. So all ranks are compared in the
 * same parts, and the parts add up to the run. */
struct pw_parts_known {
    int64_t init_source; /* of the job, see struct pw_cluster */
    int has_init, has_steps, has_finalize;
    size_t nranks; /* number of ranks with a rank file; 0: nothing is known */
};

/* `rows` is [PW_PARTS * nranks], sorted by part, as in /part_trace; may be NULL. */
struct pw_parts_known pw_parts_known(const struct pw_row_c_part_trace *rows, size_t nranks,
                                     int64_t init_source);

/* The parts that are known in both runs. */
struct pw_parts_known pw_parts_known_of_both(struct pw_parts_known a, struct pw_parts_known b);

/* 1 when the part is known and not merged into another. */
int pw_parts_is_known(const struct pw_parts_known *known, enum pw_part part);

/* Time of one rank in a part, and how much of it the rank waited for others; -1: not known. */
struct pw_part_time {
    double total_ns, wait_ns;
};
struct pw_part_time pw_parts_time(const struct pw_row_c_part_trace *rows, size_t nranks,
                                  const struct pw_parts_known *known, size_t rank,
                                  enum pw_part part);

/* The rank's own time in a part: total_ns - wait_ns, at least 0; -1: not known. */
double pw_parts_own(const struct pw_row_c_part_trace *rows, size_t nranks,
                    const struct pw_parts_known *known, size_t rank, enum pw_part part);

struct pw_partmean {
    double mean_ns, wait_ns; /* means over ranks; -1: not known */
    double most_ns;          /* the largest own time of a rank */
    size_t most_rank;        /* the rank that has it */
};

/* Fills out[part - PW_PART_START] for each part. */
void pw_partmeans(const struct pw_row_c_part_trace *rows, size_t nranks,
                  const struct pw_parts_known *known, struct pw_partmean out[PW_PARTS]);

/* Sums mean_ns and wait_ns over the known parts; the sum of mean_ns is the mean run time. */
struct pw_partmean pw_partmeans_sum(const struct pw_partmean means[PW_PARTS]);

#endif
