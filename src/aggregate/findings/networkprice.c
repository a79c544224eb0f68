/* What slow transfers cost, by the replay; see networkprice.h. */
#include "aggregate/findings/networkprice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    double in_ns, in, out_ns, out;
};

int pw_net_is_chosen(const struct pw_net_choice *c, const struct pw_net_transfer *t)
{
    const int is_collective = t->hosts[0] < 0;
    return t->step >= c->first && t->step <= c->last && (c->link < 0 || c->link == t->link) &&
           (c->host < 0 || c->host == t->hosts[0] || c->host == t->hosts[1]) &&
           (c->is_collective < 0 || c->is_collective == is_collective);
}

/* Whether it is what the chosen ones are compared with. */
static int is_other(const struct pw_net_choice *c, const struct pw_net_transfer *t)
{
    const int is_inside = t->step >= c->first && t->step <= c->last;
    const int is_part = c->link >= 0 || c->host >= 0;
    return is_part ? is_inside && !pw_net_is_chosen(c, t) : !is_inside;
}

static void sum_up(const struct pw_net_list *list, const struct pw_net_choice *choice,
                   struct sums *sums)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct pw_net_transfer *t = &list->transfers[i];
        struct sums *mine = &sums[t->kind];
        if (pw_net_is_chosen(choice, t)) {
            mine->in_ns += (double)t->ns;
            mine->in++;
        } else if (is_other(choice, t)) {
            mine->out_ns += (double)t->ns;
            mine->out++;
        }
    }
}

/* How long a chosen transfer of the kind is usually, as a share of what it took; at most 1. */
static double factor_of(const struct sums *s, double ratio)
{
    const double factor =
        s->out > 0 && s->in_ns > 0 ? s->out_ns / s->out / (s->in_ns / s->in) : 1 / ratio;
    return factor < 1 ? factor : 1;
}

/* What a chosen transfer takes usually. */
static double usual_of(const struct pw_net_list *list, const struct pw_net_choice *choice,
                       const struct sums *sums, const struct pw_net_transfer *t, double ratio)
{
    const double fast = list->fast_ns[t->kind];
    if (choice->is_to_fast)
        return fast >= 0 && fast < (double)t->ns ? fast : (double)t->ns;
    return (double)t->ns * factor_of(&sums[t->kind], ratio);
}

int pw_net_price(const struct pw_graph *graph, const struct pw_net_list *list,
                 const struct pw_net_choice *choice, double ratio, struct pw_net_price *out)
{
    struct pw_replay_graph changed = graph->replay;
    struct pw_replay_node *nodes = malloc(sizeof(*nodes) * (changed.nnodes + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (changed.nranks + changed.ngates + 1));
    struct sums *sums = calloc(list->nkinds + 1, sizeof(*sums));
    const int ok = nodes && scratch && sums;
    *out = (struct pw_net_price){0};
    if (ok) {
        memcpy(nodes, graph->replay.nodes, sizeof(*nodes) * changed.nnodes);
        sum_up(list, choice, sums);
        for (size_t i = 0; i < list->n; i++) {
            const struct pw_net_transfer *t = &list->transfers[i];
            if (!pw_net_is_chosen(choice, t))
                continue;
            const double usual = usual_of(list, choice, sums, t, ratio);
            nodes[t->node].cost_ns = (int64_t)usual;
            out->mean_ns += (double)t->ns;
            out->usual_ns += usual;
            out->transfers++;
        }
        changed.nodes = nodes;
        int64_t end = pw_replay_run(&graph->replay, graph->order, NULL, 1, scratch);
        out->elapsed_ns = end - graph->first_ns;
        out->gain_ns = end - pw_replay_run(&changed, graph->order, NULL, 1, scratch);
    }
    if (out->transfers) {
        out->mean_ns /= (double)out->transfers;
        out->usual_ns /= (double)out->transfers;
    }
    free(nodes);
    free(scratch);
    free(sums);
    return ok ? 0 : -ENOMEM;
}
