/* Marks the steps whose common excess and gap are far above all others'; see pauses.h. */
#include "analysis/pauses.h"

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

enum { LEAST_STEPS = 10, MOST_OFTEN = 6 };

struct work {
    const struct pw_pauses_input *in;
    int64_t *pause;  /* [nsteps] -1: not known */
    int64_t *values; /* [larger of both] scratch */
    int64_t *base;   /* [nranks] median own work */
};

int64_t pw_pauses_gap(int64_t gap_ns, double waited_ns)
{
    return 2 * waited_ns >= (double)gap_ns ? 0 : gap_ns - (int64_t)waited_ns;
}

size_t pw_pauses_scratch(size_t nsteps, size_t nranks)
{
    return (nsteps + (nsteps > nranks ? nsteps : nranks) + nranks) * sizeof(int64_t);
}

static void find_bases(struct work *w)
{
    const size_t nranks = w->in->nranks;
    for (size_t r = 0; r < nranks; r++) {
        size_t n = 0;
        for (size_t s = 0; s < w->in->nsteps; s++)
            if (w->in->own_ns[s * nranks + r] >= 0)
                w->values[n++] = w->in->own_ns[s * nranks + r];
        w->base[r] = n ? pw_median_i64(w->values, n) : -1;
    }
}

/* The extra own work that more than three quarters of the ranks have in the step, ns; -1: not
 * known. */
static int64_t common_of(struct work *w, size_t step)
{
    const size_t nranks = w->in->nranks;
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (w->in->own_ns[step * nranks + r] >= 0)
            w->values[n++] = w->in->own_ns[step * nranks + r] - w->base[r];
    if (!n || 2 * n < nranks)
        return -1;
    pw_sort_i64(w->values, n);
    const int64_t common = pw_quantile_i64(w->values, n, 0.25);
    return common > 0 ? common : 0;
}

static int64_t median_gap(struct work *w)
{
    for (size_t s = 0; s < w->in->nsteps; s++)
        w->values[s] = w->in->gap_ns[s];
    return pw_median_i64(w->values, w->in->nsteps);
}

static void find_pauses(struct work *w)
{
    find_bases(w);
    const int64_t usual = median_gap(w);
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t gap = w->in->gap_ns[s] - usual;
        w->pause[s] = common_of(w, s);
        if (w->pause[s] >= 0 && gap > 0)
            w->pause[s] += gap;
    }
}

/* The least extra time that is a pause, ns; 0: too few steps are known. */
static int64_t threshold(struct work *w)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (w->pause[s] >= 0)
            w->values[n++] = w->pause[s];
    if (n < LEAST_STEPS)
        return 0;
    /* Negative values were set to 0, so this is less than a standard deviation. */
    pw_sort_i64(w->values, n);
    const double sigma = (double)pw_quantile_i64(w->values, n, 0.8);
    const double step =
        (double)w->in->step_ns * (w->in->is_inferred ? PW_PAUSE_STEP_INFERRED : PW_PAUSE_STEP);
    const double least = PW_PAUSE_SIGMAS * sigma > step ? PW_PAUSE_SIGMAS * sigma : step;
    return (int64_t)least + 1;
}

/* Raises the least length to a tenth of the longest pause, if the pauses that are shorter cost
 * little: one pause of 4 s and four of 10 ms are not five pauses of 0.8 s. */
static int64_t leave_out_short(const struct work *w, int64_t least)
{
    int64_t longest = 0;
    double all = 0, brief = 0;
    for (size_t s = 1; s < w->in->nsteps; s++)
        longest = w->pause[s] > longest ? w->pause[s] : longest;
    const int64_t tenth = (int64_t)(PW_PAUSE_SHORT * (double)longest);
    for (size_t s = 1; s < w->in->nsteps; s++) {
        all += w->pause[s] >= least ? (double)w->pause[s] : 0;
        brief += w->pause[s] >= least && w->pause[s] < tenth ? (double)w->pause[s] : 0;
    }
    return tenth > least && brief < PW_PAUSE_SHORT * all ? tenth : least;
}

/* Marks and counts the pauses; *next is the longest extra time that is no pause. Returns how many
 * pauses follow a step without one. */
static int64_t mark(const struct work *w, int64_t least, uint8_t *is_pause, struct pw_pauses *out,
                    int64_t *next)
{
    int64_t apart = 0;
    *out = (struct pw_pauses){0};
    *next = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        is_pause[s] = s && w->pause[s] >= least;
        if (!is_pause[s]) {
            *next = s && w->pause[s] > *next ? w->pause[s] : *next;
            continue;
        }
        apart += !is_pause[s - 1];
        out->first = out->count ? out->first : s;
        out->last = s;
        out->count++;
        out->cost_ns += w->pause[s];
    }
    return apart;
}

/* Steps from one pause to the next, when that is mostly the same number; else 0. */
static int64_t regular_distance(struct work *w, const uint8_t *is_pause)
{
    size_t n = 0, last = 0, alike = 0;
    for (size_t s = 1; s < w->in->nsteps; s++) {
        if (!is_pause[s])
            continue;
        if (last)
            w->values[n++] = (int64_t)(s - last);
        last = s;
    }
    if (n < 2)
        return 0;
    pw_sort_i64(w->values, n);
    const int64_t usual = w->values[n / 2];
    for (size_t i = 0; i < n; i++)
        alike += w->values[i] >= usual - 1 && w->values[i] <= usual + 1;
    return (double)alike >= PW_PAUSE_REGULAR * (double)n ? usual : 0;
}

int pw_pauses_find(const struct pw_pauses_input *in, void *scratch, uint8_t *is_pause,
                   struct pw_pauses *out)
{
    int64_t *room = scratch, next;
    struct work w = {in, room, room + in->nsteps,
                     room + in->nsteps + (in->nsteps > in->nranks ? in->nsteps : in->nranks)};
    if (in->nsteps < LEAST_STEPS || in->run_ns <= 0)
        return 0;
    find_pauses(&w);
    int64_t least = threshold(&w);
    least = least ? leave_out_short(&w, least) : 0;
    const int64_t apart = least ? mark(&w, least, is_pause, out, &next) : 0;
    if (!apart || MOST_OFTEN * (size_t)out->count > in->nsteps || 2 * apart < out->count ||
        (double)out->cost_ns < PW_PAUSE_SHARE * (double)in->run_ns)
        return 0;
    out->excess_ns = out->cost_ns / out->count;
    out->cost_ns = out->excess_ns * out->count;
    const double beside = (double)next / (double)out->excess_ns;
    if (beside > PW_PAUSE_NEXT)
        return 0;
    out->every = regular_distance(&w, is_pause);
    out->confidence = 1 - beside * beside;
    return 1;
}
