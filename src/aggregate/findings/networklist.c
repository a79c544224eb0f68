/* Lists the transfers between hosts, and finds the usual time of each kind; see networklist.h. */
#include "aggregate/findings/networklist.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/collectives.h"
#include "analysis/statistics.h"
#include "core/sort.h"

enum {
    LEAST_WAITED = 10,
    LEAST_FAST = 20,
    FASTEST = 50 /* 1 / the share of the fastest transfers */
};

struct listing {
    struct pw_net_list *out;
    const struct pw_graph *graph;
    const struct pw_world *world;
    const struct pw_instances *instances;
};

struct keyed {
    uint64_t key;
    size_t at;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static uint64_t kind_key(const struct listing *f, const struct pw_graph_transfer *t)
{
    uint64_t members = 0;
    if (t->instance >= 0)
        members = (uint32_t)pw_instances_comm(f->instances, (size_t)t->instance)->size;
    return (uint64_t)t->is_tail << 63 | (uint64_t)t->op << 48 | (uint64_t)t->receives << 47 |
           (uint64_t)pw_size_eighth(t->size) << 32 | members;
}

static uint64_t link_key(const struct listing *f, const struct pw_graph_transfer *t)
{
    if (t->instance >= 0)
        return 1ULL << 63 | (uint64_t)(pw_instances_comm(f->instances, (size_t)t->instance) -
                                       f->instances->comms);
    const uint32_t a = (uint32_t)f->graph->nodes[t->node].rank, b = (uint32_t)t->peer;
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* 1 when the transfer is between hosts, or in a collective that all members recorded. */
static int is_between_hosts(const struct listing *f, const struct pw_graph_transfer *t)
{
    const struct pw_replay_node *node = &f->graph->nodes[t->node];
    if (node->step < 0)
        return 0;
    if (t->instance >= 0) {
        const struct pw_instance *item = &f->instances->items[t->instance];
        return !item->mixed &&
               pw_instances_comm(f->instances, (size_t)t->instance)->size == item->nranks;
    }
    return t->peer < f->world->nranks && f->out->host_of[node->rank] != f->out->host_of[t->peer];
}

static void add_link(struct listing *f, struct pw_net_link *link,
                     const struct pw_graph_transfer *from, struct pw_net_transfer *t)
{
    const int32_t rank = f->graph->nodes[t->node].rank, host = (int32_t)f->out->host_of[rank];
    if (from->instance < 0) {
        const int32_t low = rank < from->peer ? rank : from->peer;
        const int32_t high = rank < from->peer ? from->peer : rank;
        *link =
            (struct pw_net_link){{low, high},
                                 {(int32_t)f->out->host_of[low], (int32_t)f->out->host_of[high]},
                                 link->excess_ns};
        t->hosts[0] = link->hosts[0];
        t->hosts[1] = link->hosts[1];
        return;
    }
    link->ranks[0] = link->ranks[1] = -1;
    link->hosts[0] = link->hosts[0] < 0 ? host : link->hosts[0];
    link->hosts[1] = host != link->hosts[0] ? host : link->hosts[1];
}

/* Drops the transfers of communicators within one host. */
static void drop_inner(struct listing *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->out->n; i++)
        if (f->out->links[f->out->transfers[i].link].hosts[1] >= 0)
            f->out->transfers[kept++] = f->out->transfers[i];
    f->out->n = kept;
}

static size_t number(struct keyed *keys, size_t n, int32_t *out)
{
    size_t count = 0;
    pw_sort(keys, n, sizeof(*keys), by_key);
    for (size_t i = 0; i < n; i++) {
        count += i == 0 || keys[i].key != keys[i - 1].key;
        out[keys[i].at] = (int32_t)count - 1;
    }
    return count;
}

static int list_transfers(struct listing *f)
{
    const size_t most = f->graph->ntransfers;
    const struct pw_graph_transfer **from = malloc(sizeof(*from) * (most + 1));
    struct keyed *keys = malloc(sizeof(*keys) * (most + 1));
    int32_t *numbers = malloc(sizeof(*numbers) * (most + 1));
    f->out->transfers = calloc(most + 1, sizeof(*f->out->transfers));
    const int ok = from && keys && numbers && f->out->transfers;
    for (size_t i = 0; ok && i < most; i++)
        if (is_between_hosts(f, &f->graph->transfers[i]))
            from[f->out->n++] = &f->graph->transfers[i];
    for (size_t i = 0; i < f->out->n; i++)
        keys[i] = (struct keyed){link_key(f, from[i]), i};
    f->out->nlinks = number(keys, f->out->n, numbers);
    f->out->links = malloc(sizeof(*f->out->links) * (f->out->nlinks + 1));
    for (size_t i = 0; i < f->out->nlinks && f->out->links; i++)
        f->out->links[i] = (struct pw_net_link){{-1, -1}, {-1, -1}, 0};
    for (size_t i = 0; i < f->out->n && f->out->links; i++) {
        const struct pw_replay_node *node = &f->graph->nodes[from[i]->node];
        f->out->transfers[i] = (struct pw_net_transfer){.ns = node->cost_ns,
                                                        .node = from[i]->node,
                                                        .step = node->step,
                                                        .link = numbers[i],
                                                        .hosts = {-1, -1},
                                                        .waited = from[i]->waited,
                                                        .is_tail = from[i]->is_tail};
        f->out->transfers[i].waited |= from[i]->instance >= 0;
        add_link(f, &f->out->links[numbers[i]], from[i], &f->out->transfers[i]);
        keys[i] = (struct keyed){kind_key(f, from[i]), i};
    }
    f->out->nkinds = f->out->links ? number(keys, f->out->n, numbers) : 0;
    for (size_t i = 0; i < f->out->n && f->out->links; i++)
        f->out->transfers[i].kind = numbers[i];
    if (f->out->links)
        drop_inner(f);
    free(from);
    free(keys);
    free(numbers);
    return ok && f->out->links ? 0 : -ENOMEM;
}

/* The median of the transfers in order[n], which are all of one kind and on one link. Only
 * transfers that nothing hid count; -1 when there are too few of them. */
static double median_of(const struct listing *f, const struct keyed *order, size_t n,
                        int64_t *values)
{
    size_t waited = 0;
    for (size_t i = 0; i < n; i++)
        if (f->out->transfers[order[i].at].waited)
            values[waited++] = f->out->transfers[order[i].at].ns;
    return waited < LEAST_WAITED ? -1 : (double)pw_median_i64(values, waited);
}

/* Finds the usual time of a kind: the median of the links' medians. Of two middle values it is the
 * lower one, so that one slow link of two does not change it. Without any link's median, it is the
 * median of all transfers. */
static void find_usual_of_kind(struct listing *f, const struct keyed *order, size_t n,
                               int64_t *values, int64_t *medians)
{
    const uint64_t kind = order[0].key >> 32;
    size_t known = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && order[end].key == order[i].key;)
            end++;
        const double median = median_of(f, order + i, end - i, values);
        if (median >= 0)
            medians[known++] = (int64_t)median;
    }
    if (!known)
        for (; known < n; known++)
            medians[known] = f->out->transfers[order[known].at].ns;
    pw_sort_i64(medians, known);
    f->out->usual_ns[kind] = (double)medians[(known - 1) / 2];
}

/* Finds the time of the fastest 2 % of the transfers that nothing hid; -1 when these are too
 * few. */
static void find_fast_of_kind(struct listing *f, const struct keyed *order, size_t n,
                              int64_t *values)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pw_net_transfer *t = &f->out->transfers[order[i].at];
        if (t->waited && !t->is_tail)
            values[known++] = t->ns;
    }
    pw_sort_i64(values, known);
    f->out->fast_ns[order[0].key >> 32] =
        known < LEAST_FAST ? -1 : (double)values[(known - 1) / FASTEST];
}

static int find_usual(struct listing *f)
{
    int64_t *values = malloc(sizeof(*values) * 2 * (f->out->n + 1));
    struct keyed *order = malloc(sizeof(*order) * (f->out->n + 1));
    f->out->usual_ns = calloc(f->out->nkinds + 1, sizeof(*f->out->usual_ns));
    f->out->fast_ns = calloc(f->out->nkinds + 1, sizeof(*f->out->fast_ns));
    const int ok = values && order && f->out->usual_ns && f->out->fast_ns;
    for (size_t i = 0; ok && i < f->out->n; i++) {
        const struct pw_net_transfer *t = &f->out->transfers[i];
        order[i] = (struct keyed){(uint64_t)t->kind << 32 | (uint32_t)t->link, i};
    }
    if (ok)
        pw_sort(order, f->out->n, sizeof(*order), by_key);
    for (size_t i = 0, end; ok && i < f->out->n; i = end) {
        for (end = i; end < f->out->n && order[end].key >> 32 == order[i].key >> 32;)
            end++;
        find_usual_of_kind(f, order + i, end - i, values, values + f->out->n);
        find_fast_of_kind(f, order + i, end - i, values);
    }
    for (size_t i = 0; ok && i < f->out->n; i++) {
        const struct pw_net_transfer *t = &f->out->transfers[i];
        if ((double)t->ns > f->out->usual_ns[t->kind])
            f->out->links[t->link].excess_ns += (double)t->ns - f->out->usual_ns[t->kind];
    }
    free(values);
    free(order);
    return ok ? 0 : -ENOMEM;
}

int pw_net_list_make(struct pw_net_list *out, const struct pw_graph *graph,
                     const struct pw_world *world, const struct pw_instances *instances)
{
    struct listing f = {out, graph, world, instances};
    *out = (struct pw_net_list){0};
    out->host_of = malloc(sizeof(*out->host_of) * ((size_t)world->nranks + 1));
    int err = out->host_of ? pw_world_number_hosts(world, out->host_of, &out->nhosts) : -ENOMEM;
    err = err ? err : list_transfers(&f);
    return err ? err : find_usual(&f);
}

void pw_net_list_fini(struct pw_net_list *list)
{
    free(list->host_of);
    free(list->transfers);
    free(list->links);
    free(list->usual_ns);
    free(list->fast_ns);
    *list = (struct pw_net_list){0};
}
