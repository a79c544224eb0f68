/* Replays the scenarios, several at a time; see whatif.h. */
#include "aggregate/findings/whatif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/parallel.h"
#include "analysis/amount.h"
#include "analysis/replay.h"
#include "analysis/thresholds.h"
#include "core/grow.h"
#include "core/ops.h"
#include "core/sort.h"

/* Collectives whose ranks send unequal parts (Alltoallv and its like) as if the parts were equal.
 * Pure arithmetic: no MPI, no I/O. */

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

/* Changes the costs of collectives in `nodes`, a copy of the graph's, to those with equal parts: a
 * transfer takes as long as its largest part. Returns 0 or -ENOMEM. */
static int unequalparts_share(const struct pw_graph *graph, const struct pw_instances *in,
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

/* Limits: the ranks and hosts with the largest share of the critical path, and the first
 * stragglers, are replayed as if they were like the others. */
enum { MOST_RANKS = 8, MOST_HOSTS = 8, MOST_STRAGGLERS = 32 };

/* How a scenario changes the run. */
enum change {
    AS_MEASURED,
    IDEAL_NETWORK,
    BALANCED,       /* all phases */
    BALANCED_PHASE, /* the phase `which`, 0 .. PW_PHASES - 1 */
    LIKE_OTHERS,    /* the rank `which` */
    HOST_LIKE_OTHERS,
    LIKE_PEERS,    /* the rank of the straggler `which` */
    ALL_LIKE_PEERS /* the ranks of the first `which` stragglers, at once */
};

/* A replay of the run with one change. If ranks become like the others, they do so in the steps
 * first .. last. */
struct scenario {
    const char *scope; /* of its row; NULL: it has none */
    enum change change;
    size_t which, first, last;
    int64_t ns; /* the length of the job; set by the replay */
};

enum { MOST_SCENARIOS = 4 + PW_PHASES + MOST_HOSTS + MOST_RANKS + MOST_STRAGGLERS };

/* What a worker needs to replay a scenario. */
struct replayer {
    float *scale;     /* [nodes] */
    int64_t *scratch; /* for a replay */
    uint8_t *member;  /* [ranks] */
};

struct replaying {
    struct pw_whatif *out;
    const struct pw_graph *graph;
    const struct pw_world *world;
    const struct pw_instances *in;
    const struct pw_whatif_changes *changes;
    const struct pw_whatif_stragglers *stragglers;
    int64_t *works;   /* [steps * ranks * PW_PHASES] */
    int64_t *delays;  /* [nodes] */
    int64_t *path;    /* [ranks * (PW_PHASES + 1)] */
    int64_t *host_of; /* [ranks] */
    size_t nhosts, cells;
    struct replayer replayers[PW_PARALLEL_MOST];
    struct scenario scenarios[MOST_SCENARIOS];
    size_t nscenarios;
    int64_t baseline_ns;
    int failed;
};

/* ---- balanced work ---- */

static int change_nodes(const struct pw_replay_graph *graph, const int64_t *works,
                        const struct pw_whatif_change *change, struct pw_replay_node *nodes)
{
    if (!change->role_of && change->phases) {
        pw_share_cells(graph, works, change->more_ns, change->phases, nodes);
        return 0;
    }
    const struct pw_share_ranks ranks = {change->role_of, change->nroles, change->is_slow};
    int64_t *scratch = malloc(sizeof(*scratch) * (pw_share_scratch(graph, change->nroles) + 1));
    if (scratch && change->role_of)
        pw_share_roles(graph, works, &ranks, nodes, scratch);
    else if (scratch)
        pw_share_amounts(graph, works, change->more_ns, nodes, scratch);
    free(scratch);
    return scratch ? 0 : -ENOMEM;
}

/* Returns the length of the job with the change, ns, or -ENOMEM. `works` is from
 * pw_replay_sum_works(). */
static int64_t replay_change(const struct pw_graph *graph, const struct pw_instances *in,
                             const int64_t *works, const struct pw_whatif_change *change)
{
    struct pw_replay_graph changed = graph->replay;
    struct pw_replay_node *nodes = malloc(sizeof(*nodes) * (changed.nnodes + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (changed.nranks + changed.ngates + 1));
    int64_t end = -ENOMEM;
    if (nodes && scratch) {
        memcpy(nodes, graph->replay.nodes, sizeof(*nodes) * changed.nnodes);
        changed.nodes = nodes;
        int err = change_nodes(&graph->replay, works, change, nodes);
        err = err || !change->parts ? err : unequalparts_share(graph, in, nodes);
        end = err ? err : pw_replay_run(&changed, graph->order, NULL, 1, scratch) - graph->first_ns;
    }
    free(nodes);
    free(scratch);
    return end;
}

/* ---- a replay ---- */

static void clear_scale(const struct replaying *r, float *scale)
{
    for (size_t i = 0; i < r->graph->replay.nnodes; i++)
        scale[i] = 1;
}

/* `scale` NULL: work as measured. */
static int64_t run(const struct replaying *r, const struct replayer *by, const float *scale,
                   int network)
{
    return pw_replay_run(&r->graph->replay, r->graph->order, scale, network, by->scratch) -
           r->graph->first_ns;
}

static int64_t run_balanced(const struct replaying *r, const struct replayer *by, int phase)
{
    clear_scale(r, by->scale);
    pw_replay_balance(&r->graph->replay, r->works, phase, by->scale, by->scratch);
    return run(r, by, by->scale, 1);
}

/* Scales the nodes of by->member. */
static void scale_members(const struct replaying *r, const struct replayer *by, size_t first,
                          size_t last)
{
    const struct pw_replay_measured measured = {r->works, r->delays};
    const struct pw_replay_part part = {by->member, first, last, -1};
    pw_replay_restore(&r->graph->replay, &measured, &part, by->scale, by->scratch);
}

static int64_t restore_members(const struct replaying *r, const struct replayer *by, size_t first,
                               size_t last)
{
    clear_scale(r, by->scale);
    scale_members(r, by, first, last);
    return run(r, by, by->scale, 1);
}

static void select_rank(const struct replaying *r, const struct replayer *by, size_t rank)
{
    memset(by->member, 0, (size_t)r->world->nranks);
    by->member[rank] = PW_REPLAY_MEMBER;
}

/* Stragglers are not what another one of them could be like, if other ranks are left. */
static void leave_out_stragglers(const struct replaying *r, const struct replayer *by)
{
    size_t left = 0;
    for (size_t i = 0; i < (size_t)r->world->nranks; i++)
        left += r->world->ranks[i].present != 0;
    for (size_t i = 0; i < r->stragglers->n; i++) {
        uint8_t *member = &by->member[r->stragglers->found[i].rank];
        left -= *member == 0;
        *member = *member ? *member : PW_REPLAY_LEFT_OUT;
    }
    for (size_t i = 0; left < 2 && i < (size_t)r->world->nranks; i++)
        by->member[i] = by->member[i] == PW_REPLAY_MEMBER ? PW_REPLAY_MEMBER : 0;
}

static int64_t restore_rank(const struct replaying *r, const struct replayer *by,
                            const struct scenario *s)
{
    select_rank(r, by, s->which);
    return restore_members(r, by, s->first, s->last);
}

/* Sets by->member to the ranks of the host. Returns one of them. */
static size_t select_host(const struct replaying *r, const struct replayer *by, size_t host)
{
    size_t some = 0;
    for (size_t i = 0; i < (size_t)r->world->nranks; i++) {
        by->member[i] = (size_t)r->host_of[i] == host ? PW_REPLAY_MEMBER : 0;
        some = by->member[i] ? i : some;
    }
    return some;
}

/* The factor by which the work of a node changes when the rank loses its excess over its peers. */
static float peer_scale(const struct replaying *r, const struct pw_replay_node *node,
                        const struct pw_whatif_peer *peer, double known)
{
    const size_t s = (size_t)node->step, p = (size_t)node->phase;
    const int64_t *works =
        &r->works[(s * r->graph->replay.nranks + (size_t)node->rank) * PW_PHASES];
    double all = 0;
    for (size_t i = 0; i < PW_PHASES; i++)
        all += (double)works[i];
    const double work = (double)works[p];
    const double share = known > 0 ? peer->phases[p] : work / all;
    const double left = work > 0 ? 1 - share * (double)peer->more_ns[s] / work : 1;
    return (float)(left < PW_PEER_WORK_LEFT ? PW_PEER_WORK_LEFT : left);
}

/* Where several rows are of one rank and step, the one that takes more away counts. */
static void set_peer(const struct replaying *r, float *scale, size_t rank,
                     const struct pw_whatif_peer *peer)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    double known = 0;
    for (size_t p = 0; p < PW_PHASES; p++)
        known += peer->phases[p];
    for (size_t i = 0; i < g->nnodes; i++) {
        if ((size_t)g->nodes[i].rank != rank || g->nodes[i].step < 0)
            continue;
        const float left = peer_scale(r, &g->nodes[i], peer, known);
        scale[i] = scale[i] == 1 || left < scale[i] ? left : scale[i];
    }
}

/* Replays the job with the stragglers first .. last, which are in order, like the others. */
static int64_t restore_peers(const struct replaying *r, const struct replayer *by, size_t first,
                             size_t last)
{
    clear_scale(r, by->scale);
    for (size_t i = first; i <= last; i++) {
        const struct pw_straggler_found *found = &r->stragglers->found[i];
        if (i < r->changes->npeers) {
            set_peer(r, by->scale, found->rank, &r->changes->peers[i]);
        } else {
            select_rank(r, by, found->rank);
            if (first < last)
                leave_out_stragglers(r, by);
            scale_members(r, by, r->stragglers->rows[found->first],
                          r->stragglers->rows[found->last]);
        }
    }
    return run(r, by, by->scale, 1);
}

static void replay_scenario(void *context, size_t item, size_t worker)
{
    struct replaying *r = context;
    const struct replayer *by = &r->replayers[worker];
    struct scenario *s = &r->scenarios[item];
    switch (s->change) {
    case AS_MEASURED:
        s->ns = run(r, by, NULL, 1);
        break;
    case IDEAL_NETWORK:
        s->ns = run(r, by, NULL, 0);
        break;
    case BALANCED:
        s->ns = run_balanced(r, by, -1);
        break;
    case BALANCED_PHASE:
        s->ns = run_balanced(r, by, (int)s->which);
        break;
    case LIKE_OTHERS:
        s->ns = restore_rank(r, by, s);
        break;
    case HOST_LIKE_OTHERS:
        select_host(r, by, s->which);
        s->ns = restore_members(r, by, s->first, s->last);
        break;
    case LIKE_PEERS:
        s->ns = restore_peers(r, by, s->which, s->which);
        break;
    case ALL_LIKE_PEERS:
        s->ns = restore_peers(r, by, 0, s->which - 1);
        break;
    }
}

/* ---- the scenarios of the run ---- */

static void add_scenario(struct replaying *r, const char *scope, enum change change, size_t which)
{
    r->scenarios[r->nscenarios++] = (struct scenario){
        .scope = scope, .change = change, .which = which, .last = r->graph->replay.nsteps - 1};
}

static void list_phases(struct replaying *r)
{
    for (size_t p = 0; p < PW_PHASES && !r->graph->replay.is_placed; p++) {
        int64_t sum = 0;
        for (size_t i = p; i < r->cells; i += PW_PHASES)
            sum += r->works[i];
        if (sum)
            add_scenario(r, "phase", BALANCED_PHASE, p);
    }
}

static int64_t path_of(const struct replaying *r, size_t rank)
{
    int64_t sum = 0;
    for (size_t p = 0; p < PW_PHASES; p++)
        sum += r->path[rank * (PW_PHASES + 1) + p];
    return sum;
}

struct ranked {
    int64_t path_ns;
    size_t index;
};

static int most_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->path_ns != y->path_ns)
        return x->path_ns > y->path_ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Lists those of n ranks or hosts with the largest share of the critical path. */
static void list_first(struct replaying *r, struct ranked *order, size_t n,
                       const struct scenario *like)
{
    pw_sort(order, n, sizeof(*order), most_first);
    const size_t most = like->change == LIKE_OTHERS ? MOST_RANKS : MOST_HOSTS;
    for (size_t i = 0; i < n && i < most && n > 1 && order[i].path_ns; i++)
        add_scenario(r, like->scope, like->change, order[i].index);
}

/* Returns the number of hosts with recorded ranks. `order` is scratch. */
static size_t count_recorded(const struct replaying *r, struct ranked *order)
{
    size_t n = 0;
    for (size_t h = 0; h < r->nhosts; h++)
        order[h].path_ns = 0;
    for (size_t i = 0; i < (size_t)r->world->nranks; i++)
        if (r->world->ranks[i].present && !order[r->host_of[i]].path_ns++)
            n++;
    return n;
}

static void list_hosts(struct replaying *r, struct ranked *order)
{
    if (count_recorded(r, order) < 2) /* no other host to be like */
        return;
    for (size_t h = 0; h < r->nhosts; h++)
        order[h] = (struct ranked){0, h};
    for (size_t i = 0; i < (size_t)r->world->nranks; i++)
        order[r->host_of[i]].path_ns += path_of(r, i);
    list_first(r, order, r->nhosts, &(struct scenario){"host", HOST_LIKE_OTHERS, 0, 0, 0, 0});
}

static void list_ranks(struct replaying *r, struct ranked *order)
{
    const size_t n = (size_t)r->world->nranks;
    size_t recorded = 0;
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct ranked){path_of(r, i), i};
        recorded += r->world->ranks[i].present != 0;
    }
    if (recorded < 2) /* no other rank to be like */
        return;
    list_first(r, order, n, &(struct scenario){"rank", LIKE_OTHERS, 0, 0, 0, 0});
}

static void list_stragglers(struct replaying *r)
{
    const struct pw_straggler_found *found = r->stragglers->found;
    size_t n = 0;
    for (size_t i = 0; i < r->stragglers->n && i < MOST_STRAGGLERS; i++) {
        const size_t first = r->stragglers->rows[found[i].first];
        const size_t last = r->stragglers->rows[found[i].last];
        if (last >= r->graph->replay.nsteps)
            continue;
        add_scenario(r, "straggler", LIKE_PEERS, i);
        r->scenarios[r->nscenarios - 1].first = first;
        r->scenarios[r->nscenarios - 1].last = last;
        n++;
    }
    if (n > 1 && n == r->stragglers->n) /* one hides what another costs: the gains do not add up */
        add_scenario(r, "stragglers", ALL_LIKE_PEERS, n);
}

/* In the order of their rows. */
static void list_scenarios(struct replaying *r, struct ranked *order)
{
    add_scenario(r, NULL, AS_MEASURED, 0);
    add_scenario(r, "job", BALANCED, 0);
    add_scenario(r, "network", IDEAL_NETWORK, 0);
    list_phases(r);
    list_hosts(r, order);
    list_ranks(r, order);
    list_stragglers(r);
}

/* ---- rows ---- */

static struct pw_row_c_whatif *add_row(struct replaying *r, const char *scope, int64_t without)
{
    struct pw_whatif *out = r->out;
    struct pw_row_c_whatif *rows = pw_grow(out->rows, out->nrows, sizeof(*rows), &out->capacity);
    r->failed |= !rows;
    if (!rows)
        return NULL;
    out->rows = rows;
    struct pw_row_c_whatif *row = &out->rows[out->nrows++];
    double measured = (double)r->graph->measured_ns;
    *row = (struct pw_row_c_whatif){
        .rank = -1,
        .phase = PW_PHASE_NONE,
        .first_step = r->world->step_numbers[0],
        .last_step = r->world->step_numbers[r->graph->replay.nsteps - 1],
        .elapsed_ns = r->graph->measured_ns,
        .without_ns = without,
        .gain_ns = r->baseline_ns - without,
        .slowdown = without > 0 ? (double)r->baseline_ns / (double)without : 0,
        .residual = measured > 0 ? (double)r->baseline_ns / measured - 1 : 0,
    };
    snprintf(row->scope, sizeof(row->scope), "%s", scope);
    return row;
}

static void set_hostname(const struct replaying *r, size_t rank, char hostname[64])
{
    memcpy(hostname, r->world->ranks[rank].hostname, 64);
}

static void fill_straggler(const struct replaying *r, struct pw_row_c_whatif *row,
                           struct pw_row_c_straggler *straggler, size_t rank)
{
    row->rank = straggler->rank;
    row->phase = straggler->phase;
    row->first_step = straggler->first_step;
    row->last_step = straggler->last_step;
    set_hostname(r, rank, row->hostname);
    straggler->gain_ns = row->gain_ns > 0 ? row->gain_ns : 0;
}

static void add_rows(struct replaying *r, struct pw_row_c_straggler *stragglers)
{
    for (size_t i = 0; i < r->nscenarios && !r->failed; i++) {
        const struct scenario *s = &r->scenarios[i];
        struct pw_row_c_whatif *row = s->scope ? add_row(r, s->scope, s->ns) : NULL;
        if (!row)
            continue;
        if (s->change == BALANCED_PHASE)
            row->phase = (uint8_t)(PW_PHASE_DATA + s->which);
        if (s->change == HOST_LIKE_OTHERS)
            set_hostname(r, select_host(r, &r->replayers[0], s->which), row->hostname);
        if (s->change == LIKE_OTHERS) {
            row->rank = (int32_t)s->which;
            set_hostname(r, s->which, row->hostname);
        }
        if (s->change == LIKE_PEERS)
            fill_straggler(r, row, &stragglers[s->which], r->stragglers->found[s->which].rank);
    }
}

static int64_t most_work(const struct replaying *r)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    int64_t most = 0;
    for (size_t rank = 0; rank < g->nranks; rank++) {
        int64_t sum = 0;
        for (size_t s = 0; s < g->nsteps; s++)
            for (size_t p = 0; p < PW_PHASES; p++)
                sum += r->works[(s * g->nranks + rank) * PW_PHASES + p];
        most = sum > most ? sum : most;
    }
    return most;
}

/* The whole job. The first three scenarios are as list_scenarios() has them. */
static void fill_job(struct replaying *r)
{
    r->baseline_ns = r->scenarios[0].ns;
    r->out->ideal_network_ns = r->scenarios[2].ns;
    r->out->elapsed_ns = r->baseline_ns;
    r->out->nsteps = r->graph->replay.nsteps;
    r->out->most_work_ns = most_work(r);
}

static void replay_changes(struct replaying *r)
{
    for (size_t i = 0; i < r->changes->n; i++) {
        int64_t end = replay_change(r->graph, r->in, r->works, &r->changes->of[i]);
        r->failed |= end < 0;
        if (end >= 0)
            add_row(r, r->changes->of[i].scope, end);
    }
}

/* ---- critical path ---- */

static int make_path(struct replaying *r)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    size_t cells = (size_t)r->world->nranks * (PW_PHASES + 1);
    int64_t *scratch = malloc(sizeof(*scratch) * (g->nranks + 2 * g->ngates + g->nnodes + 1));
    int64_t length = scratch ? pw_replay_path(g, r->graph->order, r->path, r->delays, scratch) : 0;
    free(scratch);
    r->out->path = scratch ? calloc(cells + 1, sizeof(*r->out->path)) : NULL;
    for (size_t i = 0; i < cells && r->out->path; i++) {
        size_t rank = i / (PW_PHASES + 1), what = i % (PW_PHASES + 1);
        if (r->path[i] == 0)
            continue;
        struct pw_row_c_path *row = &r->out->path[r->out->npath++];
        row->rank = (int32_t)rank;
        row->path_ns = r->path[i];
        row->share = length > 0 ? (double)r->path[i] / (double)length : 0;
        snprintf(row->what, sizeof(row->what), "%s",
                 what == PW_PHASES ? "transfer"
                                   : pw_enum_name(PW_F_PHASE, PW_PHASE_DATA + (int)what));
        set_hostname(r, rank, row->hostname);
    }
    return r->out->path ? 0 : -ENOMEM;
}

/* ---- hosts ---- */

static int find_hosts(struct replaying *r)
{
    const struct pw_whatif_stragglers *s = r->stragglers;
    size_t nranks = (size_t)r->world->nranks;
    struct pw_host_found *hosts = malloc(sizeof(*hosts) * (r->nhosts + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (3 * r->nhosts + 3 * nranks + 1));
    r->out->hosts = calloc(r->nhosts + 1, sizeof(*r->out->hosts));
    int ok = hosts && scratch && r->out->hosts;
    const struct pw_hosts all = {r->host_of, nranks, r->nhosts};
    size_t count = ok ? pw_hosts_find(s->found, s->n, &all, hosts, scratch) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = s->rows[hosts[i].first], last = s->rows[hosts[i].last];
        struct pw_row_c_host *row = &r->out->hosts[r->out->nhosts++];
        *row = (struct pw_row_c_host){
            .nranks = (int32_t)hosts[i].nranks,
            .slow_ranks = (int32_t)hosts[i].slow_ranks,
            .first_step = r->world->step_numbers[first],
            .last_step = r->world->step_numbers[last],
            .excess_ns = hosts[i].excess_ns,
            .gain_ns = -1,
            .confidence = hosts[i].confidence,
            .lost_ns = -1,
        };
        set_hostname(r, select_host(r, &r->replayers[0], hosts[i].host), row->hostname);
        if (r->graph && last < r->graph->replay.nsteps)
            row->gain_ns = r->baseline_ns - restore_members(r, &r->replayers[0], first, last);
    }
    free(hosts);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}

/* ---- all of it ---- */

/* Allocates what a worker needs. Without a graph, that is only `member`, for select_host(). Returns
 * 0 or -ENOMEM. */
static int replayer_init(const struct replaying *r, struct replayer *by)
{
    by->member = malloc((size_t)r->world->nranks + 1);
    if (!r->graph)
        return by->member ? 0 : -ENOMEM;
    const struct pw_replay_graph *g = &r->graph->replay;
    const size_t restoring = 2 * g->nsteps * PW_PHASES;
    by->scale = malloc(sizeof(*by->scale) * (g->nnodes + 1));
    by->scratch = malloc(sizeof(*by->scratch) *
                         (g->nranks + (restoring > g->ngates ? restoring : g->ngates) + 1));
    return by->member && by->scale && by->scratch ? 0 : -ENOMEM;
}

static void replayer_fini(struct replayer *by)
{
    free(by->member);
    free(by->scale);
    free(by->scratch);
}

static int replay_all(struct replaying *r, struct pw_row_c_straggler *stragglers)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    size_t workers = 1;
    r->cells = g->nsteps * g->nranks * PW_PHASES;
    r->works = malloc(sizeof(*r->works) * (r->cells + 1));
    r->delays = malloc(sizeof(*r->delays) * (g->nnodes + 1));
    r->path = malloc(sizeof(*r->path) * (g->nranks * (PW_PHASES + 1) + 1));
    struct ranked *order = malloc(sizeof(*order) * (g->nranks + 1));
    int err = r->works && r->delays && r->path && order ? make_path(r) : -ENOMEM;
    if (!err) {
        pw_replay_sum_works(g, r->works);
        list_scenarios(r, order);
        workers = pw_parallel_workers(r->nscenarios);
        for (size_t i = 1; i < workers && !err; i++)
            err = replayer_init(r, &r->replayers[i]);
    }
    if (!err) {
        pw_parallel(&(struct pw_parallel_work){r->nscenarios, workers, replay_scenario, r});
        fill_job(r);
        add_rows(r, stragglers);
        replay_changes(r);
    }
    free(order);
    return err;
}

int pw_whatif_make(struct pw_whatif *out, const struct pw_whatif_run *of,
                   const struct pw_whatif_stragglers *stragglers, struct pw_row_c_straggler *rows,
                   const struct pw_whatif_changes *changes)
{
    const struct pw_world *world = of->world;
    struct replaying r = {.out = out,
                          .graph = of->graph,
                          .world = world,
                          .in = of->instances,
                          .changes = changes,
                          .stragglers = stragglers};
    *out = (struct pw_whatif){.ideal_network_ns = -1, .elapsed_ns = -1};
    r.host_of = malloc(sizeof(*r.host_of) * ((size_t)world->nranks + 1));
    int err = r.host_of ? replayer_init(&r, &r.replayers[0]) : -ENOMEM;
    err = err ? err : pw_world_number_hosts(world, r.host_of, &r.nhosts);
    if (!err && r.graph)
        err = replay_all(&r, rows);
    err = err ? err : find_hosts(&r);
    for (size_t i = 0; i < PW_PARALLEL_MOST; i++)
        replayer_fini(&r.replayers[i]);
    free(r.works);
    free(r.delays);
    free(r.path);
    free(r.host_of);
    return err ? err : r.failed ? -ENOMEM : 0;
}

int pw_whatif_is_of_straggler(const struct pw_row_c_whatif *row)
{
    return strncmp(row->scope, "straggler", sizeof(row->scope)) == 0;
}

void pw_whatif_drop_together(struct pw_whatif *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->nrows; i++)
        if (strncmp(w->rows[i].scope, "stragglers", sizeof(w->rows[i].scope)) != 0)
            w->rows[kept++] = w->rows[i];
    w->nrows = kept;
}

void pw_whatif_keep_together(struct pw_whatif *w, int64_t dropped_ns)
{
    for (size_t i = 0; i < w->nrows && dropped_ns > 0; i++) {
        struct pw_row_c_whatif *row = &w->rows[i];
        if (strncmp(row->scope, "stragglers", sizeof(row->scope)) != 0)
            continue;
        if (dropped_ns > row->gain_ns / 4) {
            pw_whatif_drop_together(w);
            return;
        }
        const double as_measured = (double)row->without_ns + (double)row->gain_ns;
        row->gain_ns -= dropped_ns;
        row->without_ns += dropped_ns;
        row->slowdown = as_measured / (double)row->without_ns;
    }
}

void pw_whatif_fini(struct pw_whatif *out)
{
    free(out->rows);
    free(out->path);
    free(out->hosts);
}
