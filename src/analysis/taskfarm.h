/* Finds slow workers of a task farm: one rank, the master, hands out tasks by messages, and each
 * worker gets its next task when it has done one. All workers are busy to the end, however slow one
 * is, so no time tells: the slow one has done fewer tasks. Called by aggregate/findings. Pure
 * arithmetic: no I/O, no allocation.
 *
 * A job is a farm when one rank exchanges messages with all others, these exchange messages with it
 * alone, and there are at least 3 of them. A worker's time for a task is its own time over the
 * number of messages that it got. It is slow when that is PW_FARM_RATIO times the median of the
 * other workers or more, by PW_FARM_ERRORS standard errors of a mean of exponentially distributed
 * tasks, while its own time is within PW_FARM_BUSY of their median: work that was shared out
 * beforehand differs in time, not in number.
 *
 * A worker may be slow for a part of the run only. Of the bins, joined until a worker gets
 * PW_FARM_GROUP tasks in one, the sequence with the largest sum of (own time - tasks x the other
 * workers' time for one - PW_STRETCH_EDGE of the length) is judged like the whole run, but by the
 * chance that as many gamma distributed tasks take so long in any sequence of any worker. Their
 * spread is measured on the other workers, and is at most that of exponentially distributed tasks.
 */
#ifndef PW_ANALYSIS_TASKFARM_H
#define PW_ANALYSIS_TASKFARM_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

enum { PW_FARM_WORKERS = 3, PW_FARM_TASKS = 5, PW_FARM_GROUP = 4 }; /* the least numbers */

struct pw_farm_input {
    const struct pw_row_c_p2p *pairs; /* [npairs] of the whole run */
    size_t npairs;
    const int64_t
        *own_ns; /* [nranks] without waits, from MPI_Init to MPI_Finalize; -1: not known */
    size_t nranks;
    const struct pw_row_c_bin_trace *bins; /* [nbins * nranks] */
    const int32_t *received;               /* [nbins * nranks] messages that the rank got */
    size_t nbins;
    int64_t bin_ns;
};

struct pw_farm_slow {
    size_t rank, master;
    int is_part; /* 1: from bin `first` to bin `last`; 0: all the run */
    size_t first, last;
    int64_t tasks, others_tasks; /* the median of the other workers */
    int64_t mine_ns, others_ns;  /* for a task; the median of the other workers */
    int64_t lost_ns;             /* by which the farm would end earlier with this worker as fast as
                                    that median: the rates of the workers add up */
};

/* Scratch that the functions below need, in bytes. */
size_t pw_farm_scratch(const struct pw_farm_input *in);

/* Writes slow workers to slow[max], in the order of ranks. Returns how many. */
size_t pw_farm_find(const struct pw_farm_input *in, void *scratch, struct pw_farm_slow *slow,
                    size_t max);

/* The worker's time for a task; -1: the rank is no worker of a farm. At the end of a farm its other
 * workers wait for who has the last task: so much is no fault. */
int64_t pw_farm_task_ns(const struct pw_farm_input *in, void *scratch, size_t rank);

/* 1 when the job is a farm whose workers were all busy for most of run_ns, within PW_FARM_BUSY for
 * equally long: who gets the next task when it has done one cannot have too much work. */
int pw_farm_is_balanced(const struct pw_farm_input *in, void *scratch, int64_t run_ns);

#endif
