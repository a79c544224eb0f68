/* Sums over the rows of /epochs; see goodput.h. */
#include "analysis/figures/goodput.h"

#include "core/limits.h"

/* Returns a + b, or -1 when one of them is not known (-1). */
static int64_t add_known(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : pw_sum(a, b);
}

static double share_of(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? -1 : (double)part / (double)whole;
}

struct pw_goodput pw_goodput_of(const struct pw_cluster *c)
{
    struct pw_goodput g = {.wall_ns = -1, .least = -1, .most = -1};
    for (size_t i = 0; i < c->nepochs; i++) {
        const struct pw_row_c_epoch *row = &c->epochs[i];
        g.kept_ns = add_known(g.kept_ns, row->kept_ns);
        g.kept_steps = add_known(g.kept_steps, row->kept_steps);
        g.steps_ns = add_known(g.steps_ns, row->kept_ns < 0 ? -1 : row->steps_ns);
        g.steps = add_known(g.steps, row->steps);
        if (i + 1 < c->nepochs)
            g.restarts_ns = add_known(g.restarts_ns, row->restart_ns);
        g.begins_anew |= row->begins_anew != 0;
    }
    if (!c->nepochs)
        return g;
    const int64_t start_ns = c->epochs[0].start_unix_ns;
    const int64_t end_ns = c->epochs[c->nepochs - 1].end_unix_ns;
    if (start_ns >= 0 && end_ns > start_ns)
        g.wall_ns = pw_difference(end_ns, start_ns);
    g.least = share_of(g.kept_ns, g.wall_ns);
    g.most = g.begins_anew ? share_of(g.steps_ns, g.wall_ns) : g.least;
    return g;
}
