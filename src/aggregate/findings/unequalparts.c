/* Collectives with unequal parts, as if the parts were equal; see unequalparts.h. */
#include "aggregate/findings/unequalparts.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/amount.h"
#include "analysis/thresholds.h"
#include "core/ops.h"

#define PROPORTIONAL (-1.0)

struct parts {
    const struct pw_graph *graph;
    const struct pw_instances *in;
    double *sent, *members; /* [in->n] sum of bytes sent; number of ranks that sent */
    /* [n] largest part, and transfer time, of each instance with parts. sum_up() first sets ns for
     * all instances, [in->n], and then packs it in place. */
    int64_t *largest, *ns;
    size_t n;
};

static int has_parts(const struct parts *f, const struct pw_graph_transfer *t)
{
    return t->instance >= 0 && (size_t)t->instance < f->in->n &&
           pw_op_has_parts(pw_op_info(t->op)) && t->size >= 0 && !f->in->items[t->instance].mixed;
}

/* The largest part / the mean part; 1 when they are equal. */
static double more_of(const struct parts *f, size_t instance)
{
    const double mean = f->members[instance] > 0 ? f->sent[instance] / f->members[instance] : 0;
    const double largest = (double)f->in->items[instance].bytes;
    return mean > 0 && largest >= PW_UNEQUAL_PARTS * mean ? largest / mean : 1;
}

static void sum_up(struct parts *f)
{
    for (size_t i = 0; i < f->graph->ntransfers; i++) {
        const struct pw_graph_transfer *t = &f->graph->transfers[i];
        if (!has_parts(f, t))
            continue;
        f->sent[t->instance] += (double)t->size;
        f->members[t->instance]++;
        const int64_t ns = f->graph->nodes[t->node].cost_ns;
        f->ns[t->instance] = ns > f->ns[t->instance] ? ns : f->ns[t->instance];
    }
    for (size_t i = 0; i < f->in->n; i++)
        if (f->members[i] > 0) {
            f->largest[f->n] = f->in->items[i].bytes;
            f->ns[f->n++] = f->ns[i];
        }
}

/* The cost of a byte of the largest part, ns. When the largest parts hardly differ, the whole
 * transfer time is in proportion to them. */
static double cost_of_byte(const struct parts *f, int64_t *scratch)
{
    const struct pw_amount_input in = {
        .nsteps = f->n, .nranks = 1, .own_ns = f->ns, .amount = f->largest};
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < f->n; i++) {
        least = f->largest[i] < least ? f->largest[i] : least;
        most = f->largest[i] > most ? f->largest[i] : most;
    }
    if ((double)most < PW_UNEQUAL_RANGE * (double)least)
        return PROPORTIONAL;
    return pw_amount_cost(&in, scratch);
}

static void equalise(const struct parts *f, double cost, struct pw_replay_node *nodes)
{
    for (size_t i = 0; i < f->graph->ntransfers; i++) {
        const struct pw_graph_transfer *t = &f->graph->transfers[i];
        const double more = has_parts(f, t) ? more_of(f, (size_t)t->instance) : 1;
        if (more <= 1)
            continue;
        int64_t *ns = &nodes[t->node].cost_ns;
        const double largest = (double)f->in->items[t->instance].bytes;
        const double saved =
            cost < 0 ? (double)*ns * (1 - 1 / more) : cost * largest * (1 - 1 / more);
        *ns -= saved < (double)*ns ? (int64_t)saved : *ns;
    }
}

int pw_unequalparts_share(const struct pw_graph *graph, const struct pw_instances *in,
                          struct pw_replay_node *nodes)
{
    struct parts f = {.graph = graph, .in = in};
    f.sent = calloc(in->n + 1, sizeof(*f.sent));
    f.members = calloc(in->n + 1, sizeof(*f.members));
    f.largest = calloc(in->n + 1, sizeof(*f.largest));
    f.ns = calloc(in->n + 1, sizeof(*f.ns));
    int64_t *scratch = NULL;
    int ok = f.sent && f.members && f.largest && f.ns;
    if (ok) {
        sum_up(&f);
        scratch = malloc(sizeof(*scratch) * (pw_amount_scratch(f.n, 1) + 1));
        ok = scratch != NULL;
    }
    if (ok && f.n)
        equalise(&f, cost_of_byte(&f, scratch), nodes);
    free(f.sent);
    free(f.members);
    free(f.largest);
    free(f.ns);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}
