/* Sums up the duration of a running program's last steps, their time in MPI and their phases. The
 * intake calls it for each record, which costs an addition; the collector's answers to inquiries
 * contain the result. The rank file does not contain it, because the merge computes exact values.
 * Tool code; allocates nothing. */
#ifndef PW_RANK_COLLECT_PACE_H
#define PW_RANK_COLLECT_PACE_H

#include "core/live.h"
#include "rank/collect/module.h"
#include "rank/ring/segment.h"

/* PW_PACE_STEPS: number of last steps whose mean is reported. PW_PACE_CALLS: calls after a phase,
 * of which it is known whether they were before the next one. */
enum { PW_PACE_STEPS = 32, PW_PACE_CALLS = 16 };

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
    /* The last steps, oldest at ended % PW_LIVE_STEPS once it is full. */
    struct pw_live_step ended[PW_LIVE_STEPS];
    int64_t nended;
    /* Phases of the current step, whose records come when they end; and the calls since the last of
     * these records, because those before the next phase are not in it. */
    int has_phases, ncalls;
    int64_t phase_ns[PW_LIVE_PHASES], mpi_at_phase_ns;
    struct pw_pace_call {
        int64_t start, ns;
    } calls[PW_PACE_CALLS];
};

/* For pw_pace_record(): processes a record of any kind. */
void pw_pace_other(struct pw_pace *pace, int ring, const struct pw_record *record,
                   const struct pw_origin *origin);

/* For pw_pace_record(): a call of `ns`, which has been added to mpi_ns. */
static inline void pw_pace_call(struct pw_pace *pace, int ring, int64_t start, int64_t ns)
{
    if (pace->has_phases && ring == pace->ring && pace->ncalls < PW_PACE_CALLS)
        pace->calls[pace->ncalls++] = (struct pw_pace_call){start, ns};
}

/* Adds a record of ring `ring` if it is of communication or of a step; ignores others. */
static inline void pw_pace_record(struct pw_pace *pace, int ring, const struct pw_record *record,
                                  const struct pw_origin *origin)
{
    int64_t ns;
    if (record->type != PW_REC_COMM || record->flags & PW_FLAG_NONBLOCKING)
        pw_pace_other(pace, ring, record, origin);
    else if (!__builtin_sub_overflow(origin->end, origin->start, &ns) && ns > 0 &&
             ns < INT64_MAX - pace->mpi_ns[ring]) {
        pace->mpi_ns[ring] += ns;
        pw_pace_call(pace, ring, origin->start, ns);
    }
}

/* Adds a phase, PW_PHASE_DATA to PW_PHASE_OPTIMIZER, that has ended. */
void pw_pace_phase(struct pw_pace *pace, int ring, int phase, const struct pw_origin *origin);

/* Copies the last steps after the step `after`, oldest first. Returns how many: at most
 * PW_LIVE_STEPS, and none from before the numbers of steps began anew. */
size_t pw_pace_steps(const struct pw_pace *pace, int64_t after, struct pw_live_step *out);

void pw_pace_live(const struct pw_pace *pace, struct pw_live *live);

#endif
