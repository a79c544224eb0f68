/* Causes from the bins near a straggler's steps; see bincauses.h. */
#include "aggregate/findings/bincauses.h"

#include <stddef.h>
#include <stdio.h>

#include "analysis/statistics.h"
#include "core/text.h"

enum { SAMPLES_NS = 100000000, MOST_ASKED = 32 };

#define ENOUGH 0.5 /* of what the row lost */

/* What a rank has of a member of its bins near the row's steps, each as far as it overlaps. */
static double near_row(const struct pw_job *job, const struct pw_matrix *m,
                       const struct pw_row_c_straggler *row, size_t rank, size_t offset)
{
    const struct pw_binning *b = &job->bins;
    const int64_t from = row->start - SAMPLES_NS, to = row->end + SAMPLES_NS;
    const int64_t first = from > b->start_ns ? (from - b->start_ns) / b->bin_ns : 0;
    double sum = 0;
    for (size_t i = (size_t)first; i < b->n; i++) {
        const int64_t start = b->start_ns + (int64_t)i * b->bin_ns, end = start + b->bin_ns;
        if (start >= to)
            break;
        const int64_t overlap = (to < end ? to : end) - (from > start ? from : start);
        const char *cell = (const char *)&m->bins[i * m->nranks + rank];
        const int64_t value = *(const int64_t *)(cell + offset);
        if (overlap > 0 && value > 0)
            sum += (double)value * ((double)overlap / (double)b->bin_ns);
    }
    return sum;
}

static double more_than_others(const struct pw_job *job, const struct pw_matrix *m,
                               const struct pw_row_c_straggler *row, size_t offset,
                               int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        if ((int32_t)r != row->rank && m->bins[r].wait_ns >= 0)
            scratch[n++] = (int64_t)near_row(job, m, row, r, offset);
    return near_row(job, m, row, (size_t)row->rank, offset) -
           (n ? (double)pw_median_i64(scratch, n) : 0);
}

/* The cause of a row by its steps that is unknown, when half of its loss is of one kind in the bins
 * within a sample of them. */
static void ask_bins(struct pw_row_c_straggler *row, const struct pw_job *job,
                     const struct pw_matrix *m, int64_t *scratch)
{
    static const struct {
        size_t offset;
        enum pw_cause cause;
    } kinds[] = {
        {offsetof(struct pw_row_c_bin_trace, stopped_ns), PW_CAUSE_STOPPED},
        {offsetof(struct pw_row_c_bin_trace, throttled_ns), PW_CAUSE_CGROUP_THROTTLING},
        {offsetof(struct pw_row_c_bin_trace, ready_ns), PW_CAUSE_CPU_CONTENTION},
        {offsetof(struct pw_row_c_bin_trace, disk_ns), PW_CAUSE_FILE_IO},
        {offsetof(struct pw_row_c_bin_trace, asleep_ns), PW_CAUSE_BLOCKED_OFF_CPU},
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const double more = more_than_others(job, m, row, kinds[k].offset, scratch);
        char text[32];
        if (more < ENOUGH * (double)row->lost_ns)
            continue;
        row->cause = (uint8_t)kinds[k].cause;
        snprintf(row->evidence, sizeof(row->evidence),
                 "within 0.1 s of these steps %s more than the other ranks' median %s",
                 pw_text_ns(text, sizeof(text), (int64_t)more), pw_cause_doing(kinds[k].cause));
        return;
    }
}

void pw_bincauses_find(struct pw_findings *f, const struct pw_job *job, const struct pw_matrix *m,
                       int64_t *scratch)
{
    /* A run of some tenths of a second has no bins. */
    for (size_t i = 0; job->bins.n && i < f->nstragglers && i < MOST_ASKED; i++)
        if (f->stragglers[i].cause == PW_CAUSE_UNKNOWN &&
            f->stragglers[i].kind != PW_STRAGGLER_STRETCH)
            ask_bins(&f->stragglers[i], job, m, scratch);
}
