/* See runparts.h. Sums are in double: a damaged file must not overflow an integer. */
#include "report/figures/runparts.h"

#include "analysis/parts.h"

static double longest_run(const struct pw_cluster *c)
{
    double longest = -1;
    for (size_t r = 0; r < c->nrank_rows; r++)
        longest = (double)c->ranks[r].run_ns > longest ? (double)c->ranks[r].run_ns : longest;
    if (longest <= 0)
        longest = c->start_unix_ns > 0 && c->end_unix_ns > c->start_unix_ns
                      ? (double)c->end_unix_ns - (double)c->start_unix_ns
                      : -1;
    return longest;
}

static double at_least_0(double ns)
{
    return ns > 0 ? ns : 0;
}

/* What the parts of the ranks' runs say of all ranks together. */
struct ends {
    double late;  /* from when the first rank began its first step to when the last did, where that
                     is the same step on all; else 0 */
    double after; /* from when the last rank ended its last step to the run's end; -1: not known */
};

static double sum_parts(const struct pw_cluster *c, const struct pw_parts_known *known, size_t rank,
                        enum pw_part first, enum pw_part last)
{
    double sum = 0;
    for (int part = (int)first; part <= (int)last; part++)
        sum += at_least_0(
            pw_parts_time(c->part_trace, c->nrank_rows, known, rank, (enum pw_part)part).total_ns);
    return sum;
}

static struct ends find_ends(const struct pw_cluster *c)
{
    const struct pw_parts_known known = pw_parts_known(c->part_trace, c->nrank_rows);
    double first = -1, last = -1, after = -1;
    int is_same = 1;
    for (size_t r = 0; known.nranks && known.has_steps && r < c->nrank_rows; r++) {
        if (pw_parts_own(c->part_trace, c->nrank_rows, &known, r, PW_PART_STEPS) < 0)
            continue; /* no file */
        const double begun = sum_parts(c, &known, r, PW_PART_START, PW_PART_SETUP);
        const double rest = sum_parts(c, &known, r, PW_PART_TAIL, PW_PART_END);
        is_same &= c->step_trace[r].total_ns >= 0;
        first = first < 0 || begun < first ? begun : first;
        last = begun > last ? begun : last;
        after = after < 0 || rest < after ? rest : after;
    }
    const double longest = at_least_0((double)c->steps[0].end - (double)c->steps[0].start);
    const double late = is_same ? last - first : 0;
    return (struct ends){late < longest ? late : longest, after};
}

/* One after the other: `cursor` is until when the run is accounted for, at last the end of the
 * steps. */
static double walk(const struct pw_cluster *c, double late, double *walls, size_t *rows,
                   struct pw_runparts *out)
{
    double cursor = (double)c->steps[0].start + late;
    for (size_t s = 0; s < c->nstep_rows; s++) {
        const double start = (double)c->steps[s].start, end = (double)c->steps[s].end;
        const double gap = at_least_0(start - cursor), passed = at_least_0(end - (cursor + gap));
        const double total = at_least_0((double)c->steps[s].duration_ns);
        const double wall = passed < total ? passed : total;
        cursor += gap + passed;
        out->between += gap + (s ? passed - wall : 0); /* of the first step: before it */
        if (c->steps[s].recorded != PW_RECORDED_ACTIVE) {
            out->unmeasured += wall;
            continue;
        }
        out->measured += wall;
        walls[out->nsteps] = wall;
        rows[out->nsteps++] = s;
    }
    return cursor;
}

static void sum_totals(const struct pw_cluster *c, double *walls, size_t *rows,
                       struct pw_runparts *out)
{
    for (size_t s = 0; s < c->nstep_rows; s++) {
        const double total = at_least_0((double)c->steps[s].duration_ns);
        if (c->steps[s].recorded != PW_RECORDED_ACTIVE) {
            out->unmeasured += total;
            continue;
        }
        out->measured += total;
        walls[out->nsteps] = total;
        rows[out->nsteps++] = s;
    }
}

/* From when the last rank ended the last step to the end; -1: not known. */
static double find_after(const struct pw_cluster *c, const struct ends *ends, double cursor)
{
    if (c->nwindows > 1 || (c->nwindows == 1 && c->windows[0].cause != PW_OPENED_RUN))
        return -1;
    if (ends->after >= 0)
        return ends->after;
    return c->nwindows ? at_least_0((double)c->windows[0].end - cursor) : -1;
}

void pw_runparts_find(const struct pw_cluster *c, int with_parts, double *walls, size_t *rows,
                      struct pw_runparts *out)
{
    *out = (struct pw_runparts){.run = longest_run(c), .before = -1, .after = -1, .outside = -1};
    const int is_aligned = c->clock_error_max_ns >= 0;
    double cursor = 0;
    struct ends ends = {0, -1};
    if (c->nstep_rows && is_aligned) {
        ends = with_parts ? find_ends(c) : ends;
        cursor = walk(c, ends.late, walls, rows, out);
    } else {
        sum_totals(c, walls, rows, out);
    }
    if (out->run < 0 || !c->nstep_rows)
        return;
    out->outside = at_least_0(out->run - out->measured - out->unmeasured - out->between);
    const double after = is_aligned ? find_after(c, &ends, cursor) : -1;
    if (after < 0)
        return;
    out->after = after < out->outside ? after : out->outside;
    out->before = out->outside - out->after;
}
