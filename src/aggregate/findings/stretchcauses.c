/* Compares a straggler's bins near its steps with those of the other ranks, and measures how long
 * other processes used its CPUs; see stretchcauses.h. */
#include "aggregate/findings/stretchcauses.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cause.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/text.h"

enum { SAMPLES_NS = 100000000, MOST_ASKED = 32 };

static const struct kind {
    size_t offset; /* of the time in a row of bins */
    enum pw_cause cause;
} kinds[] = {
    {offsetof(struct pw_row_c_bin_trace, stopped_ns), PW_CAUSE_STOPPED},
    {offsetof(struct pw_row_c_bin_trace, throttled_ns), PW_CAUSE_CGROUP_THROTTLING},
    {offsetof(struct pw_row_c_bin_trace, ready_ns), PW_CAUSE_CPU_CONTENTION},
    {offsetof(struct pw_row_c_bin_trace, disk_ns), PW_CAUSE_FILE_IO},
    {offsetof(struct pw_row_c_bin_trace, asleep_ns), PW_CAUSE_BLOCKED_OFF_CPU},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), THROTTLED = 1, READY = 2 };

/* Sums of each kind of time over the bins from one time to another. */
struct near {
    int64_t from, to;
    double *sums;    /* [KINDS * nranks] */
    int64_t *others; /* [nranks] scratch */
};

/* Adds `part` of each rank's times in a bin. */
static void add_bin(const struct pw_matrix *m, size_t bin, double part, double *sums)
{
    for (size_t r = 0; r < m->nranks; r++) {
        const char *cell = (const char *)&m->bins[bin * m->nranks + r];
        for (size_t k = 0; k < KINDS; k++) {
            const int64_t value = *(const int64_t *)(cell + kinds[k].offset);
            if (value > 0)
                sums[k * m->nranks + r] += (double)value * part;
        }
    }
}

/* Sums up the bins near the row's steps; bins that overlap partly count partly. Rows near the same
 * times share the sums. */
static void sum_near(struct near *near, const struct pw_world *world, const struct pw_matrix *m,
                     const struct pw_row_c_straggler *row)
{
    const struct pw_binning *b = &world->bins;
    const int64_t from = row->start - SAMPLES_NS, to = row->end + SAMPLES_NS;
    const int64_t first = from > b->start_ns ? (from - b->start_ns) / b->bin_ns : 0;
    if (from == near->from && to == near->to)
        return;
    near->from = from;
    near->to = to;
    memset(near->sums, 0, sizeof(*near->sums) * KINDS * m->nranks);
    for (size_t i = (size_t)first; i < b->n; i++) {
        const int64_t start = b->start_ns + (int64_t)i * b->bin_ns, end = start + b->bin_ns;
        if (start >= to)
            break;
        const int64_t overlap = (to < end ? to : end) - (from > start ? from : start);
        if (overlap > 0)
            add_bin(m, i, (double)overlap / (double)b->bin_ns, near->sums);
    }
}

static double more_than_others(struct near *near, const struct pw_matrix *m, size_t rank,
                               size_t kind)
{
    const double *sums = near->sums + kind * m->nranks;
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        if (r != rank && m->bins[r].wait_ns >= 0)
            near->others[n++] = (int64_t)sums[r];
    return sums[rank] - (n ? (double)pw_median_i64(near->others, n) : 0);
}

/* Finds the cause of a row from the bins near its steps: a kind of time that explains half of its
 * loss. */
static void ask_bins(struct pw_row_c_straggler *row, struct near *near, const struct pw_matrix *m)
{
    for (size_t k = 0; k < KINDS; k++) {
        const double more = more_than_others(near, m, (size_t)row->rank, k);
        char text[32];
        if (more < PW_STRETCH_OF_CAUSE * (double)row->lost_ns)
            continue;
        row->cause = (uint8_t)kinds[k].cause;
        snprintf(row->evidence, sizeof(row->evidence),
                 "within 0.1 s of these steps %s more than the other ranks' median %s",
                 pw_text_ns(text, sizeof(text), (int64_t)more), pw_cause_doing(kinds[k].cause));
        return;
    }
}

static int allocate(struct near *near, size_t nranks)
{
    *near = (struct near){.sums = calloc(KINDS * nranks + 1, sizeof(*near->sums)),
                          .others = malloc(sizeof(*near->others) * (nranks + 1))};
    return near->sums && near->others ? 0 : -ENOMEM;
}

int pw_bincauses_find(struct pw_findings *f, const struct pw_world *world,
                      const struct pw_matrix *m)
{
    struct near near;
    const int err = allocate(&near, m->nranks);
    /* A run shorter than some tenths of a second has no bins. */
    for (size_t i = 0; !err && world->bins.n && i < f->nstragglers && i < MOST_ASKED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->cause != PW_CAUSE_UNKNOWN || row->kind == PW_STRAGGLER_STRETCH)
            continue;
        sum_near(&near, world, m, row);
        ask_bins(row, &near, m);
    }
    free(near.sums);
    free(near.others);
    return err;
}

/* Writes that a quota stopped the rank, if it did. */
static void ask_quota(struct pw_row_c_straggler *row, const struct near *near, size_t nranks,
                      const int64_t *host_of)
{
    const double *throttled = near->sums + THROTTLED * nranks;
    const size_t rank = (size_t)row->rank;
    const double ready = near->sums[READY * nranks + rank];
    int sharing = 0;
    for (size_t r = 0; r < nranks; r++)
        sharing += host_of[r] == host_of[rank] && throttled[r] > 0 &&
                   pw_cause_is_same_quota(throttled[r], throttled[rank]);
    if (sharing < 2 || throttled[rank] / sharing < ready / PW_QUOTA_PARTS)
        return;
    const size_t used = strnlen(row->evidence, sizeof(row->evidence) - 1);
    row->cause = PW_CAUSE_CGROUP_THROTTLING;
    snprintf(row->evidence + used, sizeof(row->evidence) - used,
             "%sthe CPU quota that %d ranks share was used up meanwhile", used ? "; " : "",
             sharing);
}

int pw_quotacauses_find(struct pw_findings *f, const struct pw_world *world,
                        const struct pw_matrix *m, const int64_t *host_of)
{
    struct near near;
    const int err = allocate(&near, m->nranks);
    for (size_t i = 0; !err && world->bins.n && i < f->nstragglers && i < MOST_ASKED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->cause != PW_CAUSE_CPU_CONTENTION)
            continue;
        sum_near(&near, world, m, row);
        ask_quota(row, &near, m->nranks, host_of);
    }
    free(near.sums);
    free(near.others);
    return err;
}

int pw_boundrows_measure(const struct pw_bound_input *in, struct pw_bound *bound)
{
    const size_t cells = in->nbins * in->nranks;
    void *scratch = malloc(pw_bound_scratch(in));
    *bound = (struct pw_bound){.others_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .kept_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .beside = malloc(cells + 1)};
    int err = scratch && bound->others_ns && bound->kept_ns && bound->beside ? 0 : -ENOMEM;
    if (!err)
        pw_bound_measure(in, scratch, bound);
    free(scratch);
    return err;
}

void pw_boundrows_free(struct pw_bound *bound)
{
    free(bound->others_ns);
    free(bound->kept_ns);
    free(bound->beside);
    *bound = (struct pw_bound){0};
}

int pw_boundrows_is_narrow(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0 &&
           2 * (int64_t)row->cpus <= row->others_cpus;
}

/* Writes " since step 37"; when no step had begun by then, writes the time instead. */
static void say_since(const struct pw_findings *f, const struct pw_world *world, int64_t since_ns,
                      char *out, size_t size)
{
    const struct pw_row_c_step *step = NULL;
    for (size_t i = 0; i < f->nsteps && f->steps[i].start <= since_ns; i++)
        step = &f->steps[i];
    out[0] = '\0';
    if (since_ns >= 0 && step)
        snprintf(out, size, " since step %" PRId64, step->step);
    else if (since_ns >= 0)
        snprintf(out, size, " since %.1f s", (double)(since_ns - world->bins.start_ns) / 1e9);
}

/* "bound to CPU 1 since step 37, of which other processes used 67 %; other ranks may use 2". */
static void describe(const struct pw_bound_found *found, const char *since,
                     struct pw_row_c_straggler *row)
{
    char where[48], more[48] = "", text[160];
    if (found->cpus == 1)
        snprintf(where, sizeof(where), "CPU %d", found->lowest);
    else
        snprintf(where, sizeof(where), "%d CPUs (%d to %d)", found->cpus, found->lowest,
                 found->highest);
    if (found->others_cpus > found->cpus)
        snprintf(more, sizeof(more), "; other ranks of the host may use %d", found->others_cpus);
    snprintf(text, sizeof(text), "bound to %s%s, of which other processes used %.0f %%%s", where,
             since, 100 * found->share, more);
    const size_t used = strnlen(row->evidence, sizeof(row->evidence) - 1);
    snprintf(row->evidence + used, sizeof(row->evidence) - used, "%s%s", used ? "; " : "", text);
}

static size_t bin_at(const struct pw_world *world, int64_t time)
{
    const int64_t bin = (time - world->bins.start_ns) / world->bins.bin_ns;
    return bin < 0 ? 0 : (size_t)bin < world->bins.n ? (size_t)bin : world->bins.n - 1;
}

void pw_boundrows_enter(struct pw_findings *f, const struct pw_world *world,
                        const struct pw_bound_input *in, const struct pw_bound *bound,
                        int64_t *scratch)
{
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        struct pw_bound_found found;
        char since[48];
        row->cpus = row->others_cpus = 0;
        row->others_share = -1;
        row->bound_ns = -1;
        if (!in->nbins || row->end <= row->start)
            continue;
        const struct pw_bound_where where = {(size_t)row->rank, bin_at(world, row->start),
                                             bin_at(world, row->end - 1)};
        if (!pw_bound_look(in, bound, where, scratch, &found))
            continue;
        row->cpus = found.cpus;
        row->others_cpus = found.others_cpus;
        row->others_share = found.share;
        if (found.since >= 0)
            row->bound_ns = world->bins.start_ns + found.since * world->bins.bin_ns;
        say_since(f, world, row->bound_ns, since, sizeof(since));
        if (row->cause == PW_CAUSE_CPU_CONTENTION)
            describe(&found, since, row);
    }
}
