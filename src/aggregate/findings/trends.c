/* Compares the steps and bins of the median rank over the run; see trends.h. */
#include "aggregate/findings/trends.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "analysis/cause.h"
#include "analysis/drift.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"

enum { SAMPLES_NS = 100000000 };

struct looking {
    const struct pw_world *world;
    const struct pw_matrix *m, *all;
    const struct pw_row_c_step *steps;
    const size_t *rows;
    int64_t run_ns;
    int64_t *gap_ns; /* [m->nsteps] */
    int64_t *values; /* [larger of ranks and steps] scratch */
    uint8_t *near;   /* [bins] */
    uint8_t *hit;    /* [m->nsteps] */
    void *scratch;
};

static int64_t longest_run(const struct pw_world *world)
{
    int64_t longest = -1;
    for (int64_t r = 0; r < world->nranks; r++)
        longest = world->ranks[r].run_ns > longest ? world->ranks[r].run_ns : longest;
    return longest;
}

static void add(struct pw_trends *out, const struct looking *w, struct pw_row_c_trend row)
{
    row.share = (double)row.cost_ns / (double)w->run_ns;
    size_t at = out->n++;
    for (; at > 0 && out->rows[at - 1].cost_ns < row.cost_ns; at--)
        out->rows[at] = out->rows[at - 1];
    out->rows[at] = row;
}

/* Sum over the bins from .. to (epoch ns) of the median over the ranks of a member (at `offset`);
 * bins that overlap partly count partly. */
static double sum_bins(const struct looking *w, size_t offset, int64_t from, int64_t to)
{
    const struct pw_binning *b = &w->world->bins;
    double sum = 0;
    if (!b->n || b->bin_ns <= 0 || to <= from)
        return 0;
    for (int64_t i = from <= b->start_ns ? 0 : (from - b->start_ns) / b->bin_ns; i < (int64_t)b->n;
         i++) {
        const int64_t start = b->start_ns + i * b->bin_ns, end = start + b->bin_ns;
        const int64_t overlap = (to < end ? to : end) - (from > start ? from : start);
        size_t n = 0;
        if (overlap <= 0)
            break;
        for (size_t r = 0; r < w->all->nranks; r++) {
            const char *row = (const char *)&w->all->bins[(size_t)i * w->all->nranks + r];
            const int64_t value = *(const int64_t *)(row + offset);
            if (value >= 0)
                w->values[n++] = value;
        }
        if (n)
            sum += (double)pw_median_i64(w->values, n) * (double)overlap / (double)b->bin_ns;
    }
    return sum;
}

/* Fills gap_ns: from the end of the step before on the last rank, to the start of the step on the
 * first. */
static void find_gaps(const struct looking *w)
{
    int64_t until = 0;
    for (size_t s = 0; s < w->m->nsteps; s++) {
        const struct pw_row_c_step *step = &w->steps[w->rows[s]];
        const int64_t gap = s && step->start > until ? step->start - until : 0;
        w->gap_ns[s] = gap;
        /* There is no gap when steps between were not measured. */
        if (s && w->rows[s] != w->rows[s - 1] + 1)
            w->gap_ns[s] = 0;
        until = !s || step->end > until ? step->end : until;
    }
}

static void take_waits(const struct looking *w, int64_t least)
{
    for (size_t s = 1; s < w->m->nsteps; s++) {
        const int64_t start = w->steps[w->rows[s]].start;
        if (w->gap_ns[s] < least)
            continue;
        const double waited =
            sum_bins(w, offsetof(struct pw_row_c_bin_trace, wait_ns), start - w->gap_ns[s], start);
        w->gap_ns[s] = pw_pauses_gap(w->gap_ns[s], waited);
    }
}

static int64_t median_step(const struct looking *w)
{
    size_t n = 0;
    for (size_t s = 0; s < w->m->nsteps; s++)
        if (w->steps[w->rows[s]].duration_ns >= 0)
            w->values[n++] = w->steps[w->rows[s]].duration_ns;
    return n ? pw_median_i64(w->values, n) : 0;
}

/* 1 when from .. to is near a step that was slow, or near the gap before it: within the interval of
 * samples. */
static int is_near(const struct looking *w, int64_t from, int64_t to)
{
    for (size_t s = 0; s < w->m->nsteps; s++) {
        const struct pw_row_c_step *step = &w->steps[w->rows[s]];
        if (w->hit[s] && from < step->end + SAMPLES_NS &&
            to > step->start - w->gap_ns[s] - SAMPLES_NS)
            return 1;
    }
    return 0;
}

/* How much more of a member the median rank has near those steps than elsewhere, ns. */
static double more_near(const struct looking *w, size_t offset)
{
    const struct pw_binning *b = &w->world->bins;
    double sum[2] = {0, 0}, bins[2] = {0, 0};
    for (size_t i = 0; i < b->n; i++) {
        const int64_t start = b->start_ns + (int64_t)i * b->bin_ns;
        sum[w->near[i]] += sum_bins(w, offset, start, start + b->bin_ns);
        bins[w->near[i]]++;
    }
    return sum[1] - (bins[0] > 0 ? sum[0] / bins[0] * bins[1] : 0);
}

/* By the samples of the median rank: the first cause that explains half of the cost of the slow
 * steps. */
static enum pw_cause cause_of(const struct looking *w, int64_t cost_ns)
{
    static const struct {
        size_t offset;
        enum pw_cause cause;
    } kinds[] = {
        {offsetof(struct pw_row_c_bin_trace, frozen_ns), PW_CAUSE_HOST_FROZEN},
        {offsetof(struct pw_row_c_bin_trace, stopped_ns), PW_CAUSE_STOPPED},
        {offsetof(struct pw_row_c_bin_trace, throttled_ns), PW_CAUSE_CGROUP_THROTTLING},
        {offsetof(struct pw_row_c_bin_trace, disk_ns), PW_CAUSE_FILE_IO},
        {offsetof(struct pw_row_c_bin_trace, asleep_ns), PW_CAUSE_BLOCKED_OFF_CPU},
        {offsetof(struct pw_row_c_bin_trace, ready_ns), PW_CAUSE_CPU_CONTENTION},
    };
    const struct pw_binning *b = &w->world->bins;
    for (size_t i = 0; i < b->n; i++) {
        const int64_t start = b->start_ns + (int64_t)i * b->bin_ns;
        w->near[i] = (uint8_t)is_near(w, start, start + b->bin_ns);
    }
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (more_near(w, kinds[k].offset) >= PW_TREND_OF_CAUSE * (double)cost_ns) {
            const int is_io = kinds[k].cause == PW_CAUSE_BLOCKED_OFF_CPU &&
                              more_near(w, offsetof(struct pw_row_c_bin_trace, io_bytes)) >=
                                  PW_CAUSE_LEAST_IO_PER_NS * (double)cost_ns;
            return is_io ? PW_CAUSE_FILE_IO : kinds[k].cause;
        }
    return PW_CAUSE_UNKNOWN;
}

static void find_drift(struct pw_trends *out, const struct looking *w)
{
    const struct pw_drift_input in = {w->m->nsteps, w->m->nranks, w->m->own_ns, w->m->phase_ns,
                                      w->run_ns};
    struct pw_drift found;
    if (!pw_drift_find(&in, w->scratch, &found))
        return;
    for (size_t s = 0; s < w->m->nsteps; s++)
        w->hit[s] = s >= found.first && s <= found.last;
    /* A steady rise has no other time to compare with. */
    const int is_all = found.kind == PW_SLOWING_STEADY;
    add(out, w,
        (struct pw_row_c_trend){.kind = (uint8_t)found.kind,
                                .first_step = w->steps[w->rows[found.first]].step,
                                .last_step = w->steps[w->rows[found.last]].step,
                                .steps = found.steps,
                                .excess_ns = found.excess_ns,
                                .cost_ns = found.cost_ns,
                                .phase = (uint8_t)found.phase,
                                .confidence = found.confidence,
                                .cause = is_all ? PW_CAUSE_UNKNOWN
                                                : (uint8_t)cause_of(w, found.cost_ns)});
}

static void find_pauses(struct pw_trends *out, const struct looking *w)
{
    const struct pw_pauses_input in = {w->m->nsteps,
                                       w->m->nranks,
                                       w->m->own_ns,
                                       w->gap_ns,
                                       median_step(w),
                                       w->run_ns,
                                       w->world->steps_inferred != 0};
    struct pw_pauses found;
    take_waits(w, in.step_ns / 4);
    if (!pw_pauses_find(&in, w->scratch, w->hit, &found))
        return;
    add(out, w,
        (struct pw_row_c_trend){.kind = PW_SLOWING_PAUSES,
                                .first_step = w->steps[w->rows[found.first]].step,
                                .last_step = w->steps[w->rows[found.last]].step,
                                .steps = found.count,
                                .excess_ns = found.excess_ns,
                                .cost_ns = found.cost_ns,
                                .phase = PW_PHASE_NONE,
                                .confidence = found.confidence,
                                .every = found.every,
                                .cause = (uint8_t)cause_of(w, found.cost_ns)});
}

/* Finds nothing when steps are slices or clocks are not aligned: slices do not follow the program's
 * work, and the waits are unknown. */
int pw_trends_find(struct pw_trends *trends, const struct pw_measured *measured,
                   const struct pw_matrix *all, const struct pw_row_c_step *steps)
{
    const struct pw_world *world = measured->world;
    const size_t n = measured->matrix->nsteps, nranks = measured->matrix->nranks;
    const size_t drift = pw_drift_scratch(n, nranks), pauses = pw_pauses_scratch(n, nranks);
    struct looking w = {
        .world = world, .m = measured->matrix, .all = all, .steps = steps, .rows = measured->rows};
    *trends = (struct pw_trends){.n = 0};
    w.run_ns = longest_run(world);
    if (world->steps_inferred > 1 || world->clock_error_max_ns < 0 || w.run_ns <= 0)
        return 0;
    w.gap_ns = malloc(sizeof(int64_t) * (n + 1));
    w.values = malloc(sizeof(int64_t) * ((n > nranks ? n : nranks) + 1));
    w.hit = calloc(n + 1, 1);
    w.near = calloc(world->bins.n + 1, 1);
    w.scratch = malloc((drift > pauses ? drift : pauses) + 1);
    const int err = w.gap_ns && w.values && w.hit && w.near && w.scratch ? 0 : -ENOMEM;
    if (!err) {
        find_gaps(&w);
        find_drift(trends, &w);
        find_pauses(trends, &w);
    }
    free(w.gap_ns);
    free(w.values);
    free(w.hit);
    free(w.near);
    free(w.scratch);
    return err;
}
