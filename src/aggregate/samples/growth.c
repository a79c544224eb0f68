/* Carries amounts over the steps in which nothing was said; see growth.h. */
#include "aggregate/samples/growth.h"

static int is_measured(const struct pw_input *input, ptrdiff_t s)
{
    return input->steps[s].recorded == PW_RECORDED_ACTIVE;
}

void pw_growth_begin(struct pw_growth *g, const struct pw_input *input)
{
    *g = (struct pw_growth){.input = input, .first = -1, .last = -1, .at = -1, .near = -1};
    for (ptrdiff_t s = 0; s < (ptrdiff_t)input->nsteps; s++)
        if (is_measured(input, s)) {
            g->first = g->first < 0 ? s : g->first;
            g->last = s;
        }
    g->half = g->first + (g->last - g->first) / 2;
}

/* What is open is there until the step before `next` ends. */
static void carry(struct pw_growth *g, ptrdiff_t next)
{
    for (ptrdiff_t s = g->at; s >= 0 && s < next; s++) {
        if (!is_measured(g->input, s))
            continue;
        pw_trend_add(&g->all, (double)s, (double)g->open);
        if (s > g->half)
            pw_trend_add(&g->later, (double)s, (double)g->open);
    }
}

void pw_growth_add(struct pw_growth *g, int64_t local_ns, int64_t bytes)
{
    ptrdiff_t s = pw_input_step_near(g->input, local_ns, &g->near);
    g->samples++;
    g->peak = bytes > g->peak ? bytes : g->peak;
    g->end = bytes;
    if (s > g->at) {
        carry(g, s);
        g->at = s;
    }
    g->open = bytes;
}

void pw_growth_finish(struct pw_growth *g, struct pw_row_c_memory *row)
{
    carry(g, g->last + 1);
    row->samples = g->samples;
    row->peak_bytes = g->peak;
    row->end_bytes = g->end;
    row->steps = g->all.n;
    row->bytes_per_step = pw_trend_slope(&g->all);
    row->later_bytes_per_step = pw_trend_slope(&g->later);
    row->fit = pw_trend_fit(&g->all);
}
