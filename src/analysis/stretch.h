/* Which rank held the job back for a stretch of the run, from where its time went in bins of it
 * (aggregate/steps/bins.h): also before the first step, after the last, inside a call, and in runs
 * without steps. Called by aggregate/findings. Pure arithmetic: no I/O, no allocation; the caller
 * gives the scratch memory.
 *
 * The possible reasons are judged one by one: the rank was stopped, was kept from a processor by a
 * quota, by other processes or by a disk, slept, or had more to do; and all of them together. For
 * each reason a rank's amount in a bin, within the time that it did not wait for others, is
 * compared with the median of the other ranks'. The stretch is the one with the largest sum of
 * excess above a twentieth of the time (Kadane's algorithm; Bentley, CACM 27(9), 1984). The rank is
 * to blame when three things are true:
 *   - it lost a share of the run there; the share is larger for what noise does, too (the table in
 *     stretch.c);
 *   - it stands out: no other rank lost a certain part of that in the same stretch; or none on
 *     another host, when each rank of its host lost half of it: then the host is to blame;
 *   - it was waited for: the other ranks' median was inside calls for half of it at least; all of
 *     them, when it was stopped while it waited itself: then messages under way wait for it.
 * Where other processes kept it from a processor, only the bins count in which it is bound beside
 * them (bound.h).
 */
#ifndef PW_ANALYSIS_STRETCH_H
#define PW_ANALYSIS_STRETCH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/bound.h"
#include "core/tables.h"

struct pw_stretch_input {
    size_t nbins, nranks;
    int64_t bin_ns;
    const struct pw_row_c_bin_trace *rows; /* [nbins * nranks]; -1: not known */
    int is_unequal;         /* ranks have unequal work by design: only stops and quotas count */
    const int64_t *host_of; /* [nranks] hosts, numbered */
    const struct pw_bound *bound; /* NULL: not known */
};

struct pw_stretch {
    size_t rank;
    size_t first, last;  /* bins */
    enum pw_cause cause; /* unknown: it has more own time, and nothing says of what kind */
    int64_t lost_ns;     /* more than the other ranks' median */
    int64_t next_ns;     /* the same of the rank with most but this one, or its host's */
    int64_t usual_ns;    /* the other ranks' median of what was compared */
    int is_host;         /* all ranks of its host lost it together */
    int is_bound;        /* of what processes that are no ranks kept it from */
};

/* Bytes of scratch that pw_stretch_find() needs. */
size_t pw_stretch_scratch(const struct pw_stretch_input *in);

/* The stretches, at most one of each rank and `max` of all, in no order; how many. With fewer than
 * 2 ranks there are none. */
size_t pw_stretch_find(const struct pw_stretch_input *in, void *scratch, struct pw_stretch *out,
                       size_t max);

/* What each rank lost to waiting for a processor in its own worst stretch: how much chance costs
 * ranks on busy hosts. lost_ns[nranks]; `scratch` as above. */
void pw_stretch_contention(const struct pw_stretch_input *in, void *scratch, int64_t *lost_ns);

#endif
