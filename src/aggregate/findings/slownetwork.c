/* Compares the transfers of a link, a host or a stretch with the others of their kind, and replays
 * the run as if they were like the others; see slownetwork.h. */
#include "aggregate/findings/slownetwork.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collectives.h"
#include "analysis/network.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/sort.h"

/* The transfers between hosts: the kind and the link of each, and the usual time of each kind. No
 * MPI, no I/O. */

/* The transfer that is the cost of a node: a message, or a rank's part in a collective. */
struct pw_net_transfer {
    int64_t ns;
    int32_t node, step;
    int32_t kind;     /* number of the kind: same operation, size class and number of members */
    int32_t link;     /* number of the pair of ranks, or of the communicator */
    int32_t hosts[2]; /* the hosts of a message; -1: a collective */
    uint8_t waited;   /* 1: the transfer was not hidden */
    uint8_t is_tail;  /* see struct pw_graph_transfer */
};

/* A pair of ranks, or a communicator. */
struct pw_net_link {
    int32_t ranks[2]; /* -1: a communicator */
    int32_t hosts[2];
    double excess_ns; /* of its transfers above the usual time */
};

struct pw_net_list {
    struct pw_net_transfer *transfers;
    struct pw_net_link *links;
    double *usual_ns; /* [nkinds] usual time of a transfer */
    double *fast_ns;  /* [nkinds] the fastest 2 % took at most this; -1: not known */
    size_t n, nlinks, nkinds, nhosts;
    int64_t *host_of; /* [ranks] */
};

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

/* Lists the transfers between hosts in the graph's steps. Returns 0 or -ENOMEM; call
 * net_list_fini() in both cases. */
static int net_list_make(struct pw_net_list *out, const struct pw_graph *graph,
                         const struct pw_world *world, const struct pw_instances *instances)
{
    struct listing f = {out, graph, world, instances};
    *out = (struct pw_net_list){0};
    out->host_of = malloc(sizeof(*out->host_of) * ((size_t)world->nranks + 1));
    int err = out->host_of ? pw_world_number_hosts(world, out->host_of, &out->nhosts) : -ENOMEM;
    err = err ? err : list_transfers(&f);
    return err ? err : find_usual(&f);
}

static void net_list_fini(struct pw_net_list *list)
{
    free(list->host_of);
    free(list->transfers);
    free(list->links);
    free(list->usual_ns);
    free(list->fast_ns);
    *list = (struct pw_net_list){0};
}

/* ---- what slow transfers between hosts cost the job ---- */

/* The transfers that are slow: those of a link, of a host, or all, in steps first .. last. */
struct pw_net_choice {
    int32_t link, host; /* -1: any */
    int is_collective;  /* 1: only collectives, 0: only messages, -1: both */
    int32_t first, last;
    int is_to_fast; /* 1: compare with the fastest of their kind, not with other links or steps */
};

struct pw_net_price {
    int64_t gain_ns, elapsed_ns;
    int64_t transfers;
    double mean_ns, usual_ns;
};

struct sums {
    double in_ns, in, out_ns, out;
};

static int pw_net_is_chosen(const struct pw_net_choice *c, const struct pw_net_transfer *t)
{
    const int is_collective = t->hosts[0] < 0;
    return t->step >= c->first && t->step <= c->last && (c->link < 0 || c->link == t->link) &&
           (c->host < 0 || c->host == t->hosts[0] || c->host == t->hosts[1]) &&
           (c->is_collective < 0 || c->is_collective == is_collective);
}

/* 1 when the transfer is one that the chosen ones are compared with. */
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

/* Usual time of the kind / mean time of the chosen transfers of it; at most 1. */
static double factor_of(const struct sums *s, double ratio)
{
    const double factor =
        s->out > 0 && s->in_ns > 0 ? s->out_ns / s->out / (s->in_ns / s->in) : 1 / ratio;
    return factor < 1 ? factor : 1;
}

/* The usual time of a chosen transfer, ns. */
static double usual_of(const struct pw_net_list *list, const struct pw_net_choice *choice,
                       const struct sums *sums, const struct pw_net_transfer *t, double ratio)
{
    const double fast = list->fast_ns[t->kind];
    if (choice->is_to_fast)
        return fast >= 0 && fast < (double)t->ns ? fast : (double)t->ns;
    return (double)t->ns * factor_of(&sums[t->kind], ratio);
}

/* Replays the run with the chosen transfers as short as the others of their kind: in the same steps
 * when the choice is a link or a host, else in the other steps. Without others of the kind, they
 * are divided by `ratio`. With is_to_fast, they are at most as long as the fastest of their kind.
 * Returns 0 or -ENOMEM. */
static int pw_net_price(const struct pw_graph *graph, const struct pw_net_list *list,
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

/* Limits: links or hosts to judge, those with the largest excess; cells of a matrix of steps and
 * links. With more cells, several successive steps become one bin. */
enum { CANDIDATES = 4, MOST_CELLS = 1 << 20 };

#define UNSTEADY "unsteady"

struct search {
    struct pw_network *out;
    const struct pw_graph *graph;
    const struct pw_world *world;
    struct pw_net_list list;
    size_t bin, nbins;
    int is_to_fast; /* 1: levels are relative to the fastest transfers, not to the usual ones */
    double *sums, *usual, *level; /* cells of a matrix */
    void *scratch;
};

/* ---- levels by step ---- */

/* The time that a transfer is compared with, ns; -1: the transfer does not count. */
static double base_of(const struct search *f, const struct pw_net_transfer *t)
{
    if (!f->is_to_fast)
        return f->list.usual_ns[t->kind];
    return t->waited && !t->is_tail ? f->list.fast_ns[t->kind] : -1;
}

/* Makes the levels. column_of[link]: the column of the link; -1: the link does not count. */
static struct pw_network_input make_levels(struct search *f, const int32_t *column_of,
                                           size_t ncolumns)
{
    const size_t cells = f->nbins * ncolumns;
    memset(f->sums, 0, sizeof(double) * cells);
    memset(f->usual, 0, sizeof(double) * cells);
    for (size_t i = 0; i < f->list.n; i++) {
        const struct pw_net_transfer *t = &f->list.transfers[i];
        const double base = base_of(f, t);
        if (column_of[t->link] < 0 || base < 0)
            continue;
        const size_t at = (size_t)t->step / f->bin * ncolumns + (size_t)column_of[t->link];
        f->sums[at] += (double)t->ns;
        f->usual[at] += base;
    }
    for (size_t i = 0; i < cells; i++)
        f->level[i] = f->usual[i] > 0 ? f->sums[i] / f->usual[i] : -1;
    return (struct pw_network_input){f->nbins, ncolumns, f->level};
}

static int make_room(struct search *f)
{
    const size_t nsteps = f->graph->replay.nsteps, columns = f->list.nlinks + 1;
    f->bin = nsteps * columns / MOST_CELLS + 1;
    f->nbins = (nsteps + f->bin - 1) / f->bin;
    f->sums = malloc(sizeof(double) * f->nbins * columns);
    f->usual = malloc(sizeof(double) * f->nbins * columns);
    f->level = malloc(sizeof(double) * f->nbins * columns);
    f->scratch = malloc(pw_network_scratch(f->nbins, columns));
    return f->sums && f->usual && f->level && f->scratch ? 0 : -ENOMEM;
}

/* ---- slow links, hosts and stretches ---- */

static void set_host(const struct search *f, int32_t host, char hostname[64])
{
    for (size_t r = 0; r < (size_t)f->world->nranks; r++)
        if (f->list.host_of[r] == host) {
            memcpy(hostname, f->world->ranks[r].hostname, 64);
            return;
        }
}

/* 1 when it costs enough, and more than the errors of two clocks explain. */
static int is_relevant(const struct search *f, const struct pw_net_price *price)
{
    return (double)price->gain_ns >= PW_NETWORK_SHARE * (double)price->elapsed_ns &&
           price->mean_ns - price->usual_ns > 2 * (double)f->world->clock_error_max_ns;
}

/* Adds a row in the order of the gains, if it is relevant. Returns 0 or -ENOMEM. */
static int add_row(struct search *f, const char *scope, struct pw_net_choice choice,
                   const struct pw_network_found *found)
{
    struct pw_network *out = f->out;
    struct pw_net_price price;
    const size_t last = found->last * f->bin + f->bin - 1;
    choice.first = (int32_t)(found->first * f->bin);
    choice.last = (int32_t)(last < f->graph->replay.nsteps ? last : f->graph->replay.nsteps - 1);
    int err = pw_net_price(f->graph, &f->list, &choice, found->ratio, &price);
    if (err || !is_relevant(f, &price) || out->n == PW_MOST_NETWORK)
        return err;
    struct pw_row_c_network row = {
        .src = -1,
        .dst = -1,
        .first_step = f->world->step_numbers[choice.first],
        .last_step = f->world->step_numbers[choice.last],
        .steps = choice.last - choice.first + 1,
        .transfers = price.transfers,
        .mean_ns = (int64_t)price.mean_ns,
        .usual_ns = (int64_t)price.usual_ns,
        .gain_ns = price.gain_ns,
        .share = (double)price.gain_ns / (double)price.elapsed_ns,
        .confidence = found->confidence,
    };
    snprintf(row.scope, sizeof(row.scope), "%s", scope);
    if (choice.link >= 0) {
        row.src = f->list.links[choice.link].ranks[0];
        row.dst = f->list.links[choice.link].ranks[1];
        set_host(f, f->list.links[choice.link].hosts[0], row.hostname);
        set_host(f, f->list.links[choice.link].hosts[1], row.peer_hostname);
    } else if (choice.host >= 0) {
        set_host(f, choice.host, row.hostname);
    }
    size_t at = out->n++;
    for (; at > 0 && out->rows[at - 1].gain_ns < row.gain_ns; at--)
        out->rows[at] = out->rows[at - 1];
    out->rows[at] = row;
    return 0;
}

/* Judges all communicators between hosts, or all links, in a stretch of steps. Returns 1 when they
 * were slow. */
static int judge_all(struct search *f, int is_collective, int32_t *column_of,
                     struct pw_network_found *found)
{
    size_t columns = 0;
    for (size_t i = 0; i < f->list.nlinks; i++) {
        const int is_used =
            (f->list.links[i].ranks[0] < 0) == is_collective && f->list.links[i].hosts[1] >= 0;
        column_of[i] = is_used ? (int32_t)columns++ : -1;
    }
    if (!columns)
        return 0;
    const struct pw_network_input in = make_levels(f, column_of, columns);
    return pw_network_stretch(&in, f->scratch, found);
}

static int find_stretch(struct search *f, int32_t *column_of)
{
    struct pw_network_found of[2];
    const int has[2] = {judge_all(f, 0, column_of, &of[0]), judge_all(f, 1, column_of, &of[1])};
    struct pw_net_choice choice = {-1, -1, -1, 0, 0, 0};
    int err = 0;
    if (has[0] && has[1] && of[0].first <= of[1].last && of[1].first <= of[0].last) {
        of[0].first = of[0].first < of[1].first ? of[0].first : of[1].first;
        of[0].last = of[0].last > of[1].last ? of[0].last : of[1].last;
        of[0].ratio = of[0].ratio < of[1].ratio ? of[0].ratio : of[1].ratio;
        of[0].confidence =
            of[0].confidence < of[1].confidence ? of[0].confidence : of[1].confidence;
        return add_row(f, "network", choice, &of[0]);
    }
    for (int k = 0; k < 2 && !err; k++) {
        choice.is_collective = k;
        err = has[k] ? add_row(f, "network", choice, &of[k]) : 0;
    }
    return err;
}

/* Judges all messages, or all collectives, against the fastest of the run, in one column. Returns 1
 * when they were unsteady. */
static int judge_unsteady(struct search *f, int is_collective, int32_t *column_of,
                          struct pw_network_found *found)
{
    int is_any = 0;
    for (size_t i = 0; i < f->list.nlinks; i++) {
        const struct pw_net_link *l = &f->list.links[i];
        const int is_used = (l->ranks[0] < 0) == is_collective && l->hosts[1] >= 0;
        column_of[i] = is_used ? 0 : -1;
        is_any |= is_used;
    }
    if (!is_any)
        return 0;
    f->is_to_fast = 1;
    const struct pw_network_input in = make_levels(f, column_of, 1);
    f->is_to_fast = 0;
    return pw_network_unsteady(&in, f->scratch, found);
}

/* Used when no link, host or stretch is slow: then only the fastest transfers of the run are left
 * to compare with. */
static int find_unsteady(struct search *f, int32_t *column_of)
{
    struct pw_network_found of[2];
    const int has[2] = {judge_unsteady(f, 0, column_of, &of[0]),
                        judge_unsteady(f, 1, column_of, &of[1])};
    if (f->out->n || (!has[0] && !has[1]))
        return 0;
    const struct pw_net_choice choice = {-1, -1, has[0] && has[1] ? -1 : has[1], 0, 0, 1};
    return add_row(f, UNSTEADY, choice, has[1] ? &of[1] : &of[0]);
}

/* Judges a link, or all links of a host, which are column 0, against the other links. Returns 1
 * when they were slow. */
static int judge(struct search *f, int32_t link, int32_t host, int32_t *column_of,
                 struct pw_network_found *found)
{
    size_t columns = 1;
    for (size_t i = 0; i < f->list.nlinks; i++) {
        const struct pw_net_link *l = &f->list.links[i];
        const int is_mine =
            host < 0 ? (int32_t)i == link : l->hosts[0] == host || l->hosts[1] == host;
        column_of[i] = l->ranks[0] < 0 ? -1 : is_mine ? 0 : (int32_t)columns++;
    }
    const struct pw_network_input in = make_levels(f, column_of, columns);
    return pw_network_column(&in, 0, f->scratch, found);
}

/* Time of the link's messages / their usual time, in these steps; -1: there are none. */
static double level_of(const struct search *f, int32_t link, const struct pw_network_found *in)
{
    double sum = 0, usual = 0;
    for (size_t i = 0; i < f->list.n; i++) {
        const struct pw_net_transfer *t = &f->list.transfers[i];
        const size_t bin = (size_t)t->step / f->bin;
        if (t->link == link && bin >= in->first && bin <= in->last) {
            sum += (double)t->ns;
            usual += f->list.usual_ns[t->kind];
        }
    }
    return usual > 0 ? sum / usual : -1;
}

/* 1 when at least two, and two thirds, of the host's links are slow. Otherwise single links are to
 * blame. */
static int is_whole_host(const struct search *f, int32_t host, const struct pw_network_found *found)
{
    double all = 0, slow = 0;
    for (size_t i = 0; i < f->list.nlinks; i++) {
        const struct pw_net_link *l = &f->list.links[i];
        if (l->ranks[0] < 0 || (l->hosts[0] != host && l->hosts[1] != host))
            continue;
        const double level = level_of(f, (int32_t)i, found);
        all += level >= 0;
        slow += level >= PW_NETWORK_LINK_RATIO;
    }
    return slow >= 2 && slow >= PW_NETWORK_HOST_LINKS * all;
}

/* Returns the index of the largest excess and sets it to 0; -1: none is left. */
static int32_t take_most(double *excess, size_t n)
{
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        most = excess[i] > excess[most] ? i : most;
    if (!n || excess[most] <= 0)
        return -1;
    excess[most] = 0;
    return (int32_t)most;
}

static int find_parts(struct search *f, int32_t *column_of, double *excess)
{
    int32_t slow_host = -1, at = 0;
    struct pw_network_found found;
    int err = 0;
    memset(excess, 0, sizeof(*excess) * (f->list.nhosts + 1));
    for (size_t i = 0; i < f->list.nlinks; i++)
        for (size_t k = 0; k < 2 && f->list.links[i].ranks[0] >= 0; k++)
            excess[f->list.links[i].hosts[k]] += f->list.links[i].excess_ns;
    for (int k = 0; k < CANDIDATES && !err && slow_host < 0; k++) {
        at = take_most(excess, f->list.nhosts);
        if (at < 0 || !judge(f, -1, at, column_of, &found) || !is_whole_host(f, at, &found))
            continue;
        slow_host = at;
        err = add_row(f, "host", (struct pw_net_choice){-1, at, 0, 0, 0, 0}, &found);
    }
    for (size_t i = 0; i < f->list.nlinks; i++)
        excess[i] = f->list.links[i].ranks[0] < 0 ? 0 : f->list.links[i].excess_ns;
    for (int k = 0; k < CANDIDATES && !err; k++) {
        at = take_most(excess, f->list.nlinks);
        if (at < 0 || f->list.links[at].hosts[0] == slow_host ||
            f->list.links[at].hosts[1] == slow_host || !judge(f, at, -1, column_of, &found))
            continue;
        err = add_row(f, "link", (struct pw_net_choice){at, -1, 0, 0, 0, 0}, &found);
    }
    return err;
}

int pw_network_find(struct pw_network *out, const struct pw_graph *graph,
                    const struct pw_world *world, const struct pw_instances *instances)
{
    struct search f = {.out = out, .graph = graph, .world = world};
    int32_t *column_of = NULL;
    double *excess = NULL;
    *out = (struct pw_network){0};
    if (world->clock_error_max_ns < 0 || world->nhosts < 2)
        return 0;
    int err = net_list_make(&f.list, graph, world, instances);
    if (!err && f.list.n) {
        err = make_room(&f);
        column_of = malloc(sizeof(*column_of) * (f.list.nlinks + 1));
        excess = malloc(sizeof(*excess) * (f.list.nlinks + f.list.nhosts + 1));
        err = err || !column_of || !excess ? -ENOMEM : 0;
        err = err ? err : find_stretch(&f, column_of);
        err = err ? err : find_parts(&f, column_of, excess);
        err = err ? err : find_unsteady(&f, column_of);
    }
    net_list_fini(&f.list);
    free(f.sums);
    free(f.usual);
    free(f.level);
    free(f.scratch);
    free(column_of);
    free(excess);
    return err;
}

void pw_network_drop_contended(struct pw_network *network, size_t nranks,
                               const struct pw_row_c_utilisation *rows, size_t n)
{
    size_t calm = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        calm += rows[i].runq_share >= 0 && rows[i].runq_share <= PW_NETWORK_READY;
    for (size_t i = 0; i < network->n; i++)
        if (calm == nranks || strcmp(network->rows[i].scope, UNSTEADY) != 0)
            network->rows[kept++] = network->rows[i];
    network->n = kept;
}
