/* How fast a running program goes: its last steps, and how much of them it spends inside MPI. The
 * intake calls it for each record, which costs an addition, and the collector's answers to
 * inquiries contain it. Nothing of it is in the rank file, where the merge computes it exactly.
 * Tool code; allocates nothing. */
#ifndef PW_RANK_COLLECT_PACE_H
#define PW_RANK_COLLECT_PACE_H

#include "core/live.h"
#include "rank/collect/collector.h"
#include "rank/ring/segment.h"

enum { PW_PACE_STEPS = 32 }; /* whose mean is reported */

struct pw_pace_step {
    int64_t ns, mpi_ns; /* mpi_ns of the thread that marks steps */
};

struct pw_pace {
    int64_t mpi_ns[PW_MAX_RINGS]; /* inside calls, by ring */
    int64_t steps, steps_ns;      /* that have ended */
    struct pw_pace_step last[PW_PACE_STEPS], sum;
    int nlast, next;
    /* The step that is under way. */
    int is_in, is_partial, ring;
    int64_t step, start, mpi_before_ns;
};

/* A record of communication, or of a step, of ring `ring`; others change nothing. */
void pw_pace_record(struct pw_pace *pace, int ring, const struct pw_record *record,
                    const struct pw_origin *origin);

void pw_pace_live(const struct pw_pace *pace, struct pw_live *live);

#endif
