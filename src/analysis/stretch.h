/* Finds the ranks that held the job back for a stretch of the run, from the bins of the run
 * (aggregate/steps/bins.h). A stretch may lie before the first step, after the last, or inside a
 * call; the run may have no steps. Called by aggregate/findings. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory.
 *
 * Each possible reason is tested by itself: the host was frozen; the rank was stopped, was
 * throttled by a quota, waited for a disk, slept, was kept from a CPU by other processes, or had
 * more work. Last, all reasons are tested together. For each reason the rank's time in a bin is
 * compared with the median of the other ranks; the difference is the excess. Only time in which the
 * rank did not wait for others counts; a stop or a frozen host counts at all times. The stretch of
 * a rank is the sequence of bins with the largest sum of (excess - 5 % of the bin), by Kadane's
 * algorithm (Bentley, CACM 27(9), 1984). The loss is the sum of the excess. The rank held the job
 * back when three conditions are true (limits: table in stretch.c):
 *   - The loss is large enough, as a share of the run. The limit is higher for reasons that noise
 *     also causes.
 *   - The rank stands out: in the same stretch no other rank lost more than a given share of the
 *     loss. When each rank of its host lost at least half as much, the host is to blame, and only
 *     ranks of other hosts are compared.
 *   - Others waited for the rank: the median of their times inside calls is at least half of the
 *     loss. If the rank was stopped or frozen while it was waiting for others, only the partners of
 *     messages in transit wait for it. Then the smallest of these times counts, not the median.
 * A rank may be bound to CPUs that other processes use. For that reason, only bins in which it is
 * bound beside others count (cause.h). */
#ifndef PW_ANALYSIS_STRETCH_H
#define PW_ANALYSIS_STRETCH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/cause.h"
#include "core/tables.h"

struct pw_stretch_input {
    size_t nbins, nranks;
    int64_t bin_ns;
    const struct pw_row_c_bin_trace *rows; /* [nbins * nranks]; -1: not known */
    int is_unequal; /* 1: ranks have unequal work by design; only frozen, stopped and quota count */
    const int64_t *host_of;       /* [nranks] host number of each rank */
    const struct pw_bound *bound; /* NULL: not known */
};

struct pw_stretch {
    size_t rank;
    size_t first, last;  /* bins */
    enum pw_cause cause; /* PW_CAUSE_UNKNOWN: more own time, for an unknown reason */
    int64_t lost_ns;     /* excess over the median of the other ranks */
    int64_t next_ns;     /* largest excess of another rank; with is_host: of another host's rank;
                            without those that `beside` counts */
    size_t beside;       /* other ranks that lost half as much or more, and are to blame, too */
    int64_t usual_ns;    /* median of the other ranks */
    int64_t unwaited_ns; /* further excess, for which no rank waited in a collective */
    int is_host;         /* 1: all ranks of its host lost time together */
    int is_written;      /* 1: file I/O that is work for a CPU, such as a checkpoint to memory */
    int is_bound;        /* 1: processes that are not ranks of the job kept it from its CPUs */
};

/* Bytes of scratch that pw_stretch_find() needs. */
size_t pw_stretch_scratch(const struct pw_stretch_input *in);

/* Writes the stretches to `out`, at most one for each rank and at most `max`, in no order. Returns
 * how many; 0 with fewer than 2 ranks. */
size_t pw_stretch_find(const struct pw_stretch_input *in, void *scratch, struct pw_stretch *out,
                       size_t max);

/* Waits in collectives that overlap a stretch. */
struct pw_stretch_waits {
    int64_t all_ns;    /* all ranks' waits in all of them */
    int64_t for_it_ns; /* sum of the longest wait of each in which the others waited for the rank */
};

/* Limits the loss to the time that the others waited for the rank itself. pw_stretch_find() knows
 * how long they waited, but not for which rank; collectives tell that. The rest of the excess goes
 * to unwaited_ns. Changes nothing when the ranks also waited elsewhere (in messages, in collectives
 * that are not matched), when the whole host is slow, or when the cause is a stop, a frozen host or
 * a quota. Returns 0 when the rank did not hold the job back: the others waited for less than half
 * of the loss, or another rank lost more than that. */
int pw_stretch_limit(const struct pw_stretch_input *in, const struct pw_stretch_waits *waits,
                     void *scratch, struct pw_stretch *found);

/* Returns the marked phase in which most of the loss was, in steps or outside of them: the phase of
 * which the rank's own work in the stretch exceeds the others' median most, if that is at least
 * half of the loss. Else, and for causes that stop a rank in whatever it does, PW_PHASE_NONE. */
enum pw_phase pw_stretch_phase(const struct pw_stretch_input *in, void *scratch,
                               const struct pw_stretch *found);

/* Fills lost_ns[rank] with the time that the rank waited for a CPU in its own worst stretch, ns.
 * The values show how much ranks on a busy host lose by chance. `scratch` as above. */
void pw_stretch_contention(const struct pw_stretch_input *in, void *scratch, int64_t *lost_ns);

#endif
