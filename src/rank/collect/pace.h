/* Sums up the duration of a running program's last steps and their time in MPI. The intake calls it
 * for each record, which costs an addition; the collector's answers to inquiries contain the
 * result. The rank file does not contain it, because the merge computes exact values. Tool code;
 * allocates nothing. */
#ifndef PW_RANK_COLLECT_PACE_H
#define PW_RANK_COLLECT_PACE_H

#include "core/live.h"
#include "rank/collect/collector.h"
#include "rank/ring/segment.h"

enum { PW_PACE_STEPS = 32 }; /* number of last steps whose mean is reported */

struct pw_pace_step {
    int64_t ns, mpi_ns; /* mpi_ns: of the thread that marks steps */
};

struct pw_pace {
    int64_t mpi_ns[PW_MAX_RINGS]; /* inside calls, by ring */
    int64_t steps, steps_ns;      /* steps that have ended; their sum */
    struct pw_pace_step last[PW_PACE_STEPS], sum;
    int nlast, next;
    /* The current step. */
    int is_in, is_partial, ring;
    int64_t step, start, mpi_before_ns;
};

/* For pw_pace_record(): processes a record of any kind. */
void pw_pace_other(struct pw_pace *pace, int ring, const struct pw_record *record,
                   const struct pw_origin *origin);

/* Adds a record of ring `ring` if it is of communication or of a step; ignores others. */
static inline void pw_pace_record(struct pw_pace *pace, int ring, const struct pw_record *record,
                                  const struct pw_origin *origin)
{
    int64_t ns;
    if (record->type != PW_REC_COMM || record->flags & PW_FLAG_NONBLOCKING)
        pw_pace_other(pace, ring, record, origin);
    else if (!__builtin_sub_overflow(origin->end, origin->start, &ns) && ns > 0 &&
             ns < INT64_MAX - pace->mpi_ns[ring])
        pace->mpi_ns[ring] += ns;
}

void pw_pace_live(const struct pw_pace *pace, struct pw_live *live);

#endif
