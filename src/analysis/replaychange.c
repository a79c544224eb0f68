/* What of a replay's work is changed; see replay.h. */
#include "analysis/replay.h"
#include "analysis/statistics.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t cell_of(const struct pw_replay_graph *g, const struct pw_replay_node *node)
{
    return ((size_t)node->step * g->nranks + (size_t)node->rank) * PW_PHASES + (size_t)node->phase;
}

void pw_replay_sum_works(const struct pw_replay_graph *g, int64_t *works)
{
    for (size_t i = 0; i < g->nsteps * g->nranks * PW_PHASES; i++)
        works[i] = 0;
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].step >= 0)
            works[cell_of(g, &g->nodes[i])] += g->nodes[i].work_ns;
}

/* A rank's work in a step and phase; where phases are places, in the step: ranks that are late come
 * to another place at the same time. */
static int64_t work_in(const struct pw_replay_graph *g, const int64_t *works, size_t step,
                       size_t rank, size_t phase)
{
    const int64_t *of = &works[(step * g->nranks + rank) * PW_PHASES];
    int64_t sum = 0;
    if (!g->is_placed)
        return of[phase];
    for (size_t p = 0; p < PW_PHASES; p++)
        sum += of[p];
    return sum;
}

/* Median work of those that are not members; -1 when all are. */
static int64_t others_median(const struct pw_replay_graph *g, const int64_t *works,
                             const uint8_t *member, size_t step, size_t phase, int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < g->nranks; r++)
        if (!member[r])
            scratch[n++] = work_in(g, works, step, r, phase);
    return n ? pw_median_i64(scratch, n) : -1;
}

/* Nodes of one rank; what its work becomes in each step and phase. */
struct restoring {
    const struct pw_replay_graph *g;
    const int64_t *works, *delays;
    const int64_t *wanted; /* [nsteps * PW_PHASES] -1: as it is */
    int64_t *delaying;     /* [nsteps * PW_PHASES] work that others were delayed by */
    float *scale;
};

static size_t index_of(const struct restoring *r, const struct pw_replay_node *node)
{
    return (size_t)node->step * PW_PHASES + (r->g->is_placed ? 0 : (size_t)node->phase);
}

/* The work of a node, as far as others wait for what follows it: until the rank's next wait. */
static int64_t delaying(const struct pw_replay_node *node, int64_t delay)
{
    return smaller(node->work_ns, delay);
}

static double less_of(const struct restoring *r, const struct pw_replay_node *node, int64_t delay)
{
    const double work = (double)work_in(r->g, r->works, (size_t)node->step, (size_t)node->rank,
                                        (size_t)node->phase),
                 excess = work - (double)r->wanted[index_of(r, node)],
                 most = (double)r->delaying[index_of(r, node)],
                 mine = (double)delaying(node, delay);
    if (excess <= 0 || most <= 0)
        return excess * (double)node->work_ns / work;
    if (excess <= most)
        return excess * mine / most;
    /* All of that, and of the rest as much everywhere. */
    return mine + (excess - most) * ((double)node->work_ns - mine) / (work - most);
}

static void sum_delaying(const struct restoring *r, const struct pw_replay_node *node,
                         int64_t delay)
{
    r->delaying[index_of(r, node)] += delaying(node, delay);
}

static void scale_node(const struct restoring *r, const struct pw_replay_node *node, int64_t delay)
{
    if (r->wanted[index_of(r, node)] >= 0 && node->work_ns > 0)
        r->scale[node - r->g->nodes] = (float)(1 - less_of(r, node, delay) / (double)node->work_ns);
}

/* Calls `each` for the nodes first .. end - 1 that lie in a step, with by how much others were
 * delayed by what the rank did from there to its next wait. */
static void visit(const struct restoring *r, size_t first, size_t end,
                  void (*each)(const struct restoring *, const struct pw_replay_node *, int64_t))
{
    int64_t delay = 0;
    for (size_t i = end; i-- > first;) {
        const struct pw_replay_node *node = &r->g->nodes[i];
        delay = r->delays[i] > delay ? r->delays[i] : delay;
        if (node->step >= 0)
            each(r, node, delay);
        if (node->nwaits)
            delay = 0;
    }
}

/* The nodes of a rank, first .. *end - 1. */
static size_t nodes_of(const struct pw_replay_graph *g, int32_t rank, size_t *end)
{
    size_t of[2];
    for (int32_t i = 0; i < 2; i++) {
        size_t low = 0, high = g->nnodes;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (g->nodes[middle].rank < rank + i)
                low = middle + 1;
            else
                high = middle;
        }
        of[i] = low;
    }
    *end = of[1];
    return of[0];
}

void pw_replay_restore(const struct pw_replay_graph *g, const int64_t *works, const int64_t *delays,
                       const uint8_t *member, size_t first, size_t last, int phase, float *scale,
                       int64_t *scratch)
{
    const size_t cells = g->nsteps * PW_PHASES;
    int64_t *wanted = scratch + g->nranks;
    const struct restoring r = {g, works, delays, wanted, wanted + cells, scale};
    for (size_t i = 0; i < cells; i++) {
        const size_t s = i / PW_PHASES, p = i % PW_PHASES;
        const int is_wanted = s >= first && s <= last && (phase < 0 || p == (size_t)phase) &&
                              (!g->is_placed || p == 0);
        wanted[i] = is_wanted ? others_median(g, works, member, s, p, scratch) : -1;
    }
    for (size_t i = 0; i < g->nranks; i++) {
        size_t end;
        if (!member[i])
            continue;
        const size_t begin = nodes_of(g, (int32_t)i, &end);
        for (size_t k = 0; k < cells; k++)
            r.delaying[k] = 0;
        visit(&r, begin, end, sum_delaying);
        visit(&r, begin, end, scale_node);
    }
}

void pw_replay_balance(const struct pw_replay_graph *g, const int64_t *works, int phase,
                       float *scale, int64_t *scratch)
{
    for (size_t s = 0; s < g->nsteps; s++)
        for (size_t p = 0; p < PW_PHASES; p++) {
            int64_t n = 0, sum = 0;
            for (size_t r = 0; r < g->nranks; r++) {
                const int64_t work = works[(s * g->nranks + r) * PW_PHASES + p];
                sum += work;
                n += work > 0;
            }
            scratch[s * PW_PHASES + p] = n ? sum / n : 0;
        }
    for (size_t i = 0; i < g->nnodes; i++) {
        const struct pw_replay_node *node = &g->nodes[i];
        const int is_meant = node->step >= 0 && (phase < 0 || node->phase == phase);
        const int64_t work = is_meant && node->work_ns > 0 ? works[cell_of(g, node)] : 0;
        if (work > 0)
            scale[i] =
                (float)((double)scratch[(size_t)node->step * PW_PHASES + (size_t)node->phase] /
                        (double)work);
    }
}
