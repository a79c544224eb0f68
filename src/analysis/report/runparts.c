/* See runparts.h. Sums are in double: a damaged file must not overflow an integer. */
#include "analysis/report/runparts.h"

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

/* One after the other: `cursor` is until when the run is accounted for, at last the end of the
 * steps. */
static double walk(const struct pw_cluster *c, double *walls, size_t *rows, struct pw_runparts *out)
{
    double cursor = (double)c->steps[0].start;
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

void pw_runparts_find(const struct pw_cluster *c, double *walls, size_t *rows,
                      struct pw_runparts *out)
{
    *out = (struct pw_runparts){.run = longest_run(c), .before = -1, .after = -1, .outside = -1};
    const int is_aligned = c->clock_error_max_ns >= 0;
    double cursor = 0;
    if (c->nstep_rows && is_aligned)
        cursor = walk(c, walls, rows, out);
    else
        sum_totals(c, walls, rows, out);
    if (out->run < 0 || !c->nstep_rows)
        return;
    out->outside = at_least_0(out->run - out->measured - out->unmeasured - out->between);
    if (!is_aligned || c->nwindows != 1 || c->windows[0].cause != PW_OPENED_RUN)
        return;
    out->after = at_least_0((double)c->windows[0].end - cursor);
    out->after = out->after < out->outside ? out->after : out->outside;
    out->before = out->outside - out->after;
}
