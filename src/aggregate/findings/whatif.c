/* Replays the scenarios, each on a copy of the nodes that it changes; see whatif.h. */
#include "aggregate/findings/whatif.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/amount.h"
#include "analysis/sharing.h"
#include "core/grow.h"
#include "core/ops.h"
#include "core/sort.h"

/* ---- collectives with unequal parts (Alltoallv), as if the parts were equal ---- */

#define LEAST_MORE 1.01 /* largest part / mean part: below this, parts are equal */
#define LEAST_RANGE 1.2 /* least spread (max / min) of largest parts to fit the cost of a byte */
#define PROPORTIONAL (-1.0)

struct parts {
    const struct pw_graph *graph;
    const struct pw_instances *in;
    double *sent, *members; /* [in->n] sum of bytes sent; number of ranks that sent */
    int64_t *largest, *ns;  /* [n] largest part, and transfer time, of each instance with parts */
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
    return mean > 0 && largest >= LEAST_MORE * mean ? largest / mean : 1;
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
    if ((double)most < LEAST_RANGE * (double)least)
        return PROPORTIONAL;
    return pw_amount_cost(&in, scratch);
}

static void change(const struct parts *f, double cost, struct pw_replay_node *nodes)
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
static int share_parts(const struct pw_graph *graph, const struct pw_instances *in,
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
        change(&f, cost_of_byte(&f, scratch), nodes);
    free(f.sent);
    free(f.members);
    free(f.largest);
    free(f.ns);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}

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
        err = err || !change->parts ? err : share_parts(graph, in, nodes);
        end = err ? err : pw_replay_run(&changed, graph->order, NULL, 1, scratch) - graph->first_ns;
    }
    free(nodes);
    free(scratch);
    return end;
}

/* ---- scenarios ---- */

/* Limits: the ranks and hosts with the largest share of the critical path, and the first
 * stragglers, are replayed as if they were like the others. */
enum { MOST_RANKS = 8, MOST_HOSTS = 8, MOST_STRAGGLERS = 32 };

struct replaying {
    struct pw_whatif *out;
    const struct pw_graph *graph;
    const struct pw_world *world;
    const struct pw_instances *in;
    const struct pw_whatif_changes *changes;
    const struct pw_whatif_stragglers *stragglers;
    int64_t *works;   /* [steps * ranks * PW_PHASES] */
    int64_t *delays;  /* [nodes] */
    float *scale;     /* [nodes] */
    int64_t *scratch; /* for a replay */
    int64_t *path;    /* [ranks * (PW_PHASES + 1)] */
    int64_t *host_of; /* [ranks] */
    uint8_t *member;  /* [ranks] */
    size_t nhosts, cells;
    int64_t baseline_ns;
    int failed;
};

static void clear_scale(struct replaying *r)
{
    for (size_t i = 0; i < r->graph->replay.nnodes; i++)
        r->scale[i] = 1;
}

static int64_t run(struct replaying *r, const float *scale, int network)
{
    return pw_replay_run(&r->graph->replay, r->graph->order, scale, network, r->scratch) -
           r->graph->first_ns;
}

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

/* ---- the whole job ---- */

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

static void replay_job(struct replaying *r)
{
    r->baseline_ns = run(r, NULL, 1);
    clear_scale(r);
    pw_replay_balance(&r->graph->replay, r->works, -1, r->scale, r->scratch);
    add_row(r, "job", run(r, r->scale, 1));
    r->out->ideal_network_ns = run(r, NULL, 0);
    r->out->elapsed_ns = r->baseline_ns;
    r->out->nsteps = r->graph->replay.nsteps;
    r->out->most_work_ns = most_work(r);
    add_row(r, "network", r->out->ideal_network_ns);
}

/* Replays each phase with all ranks at the mean work of the phase. */
static void replay_phases(struct replaying *r)
{
    for (int p = 0; p < PW_PHASES && !r->graph->replay.is_placed; p++) {
        int64_t sum = 0;
        for (size_t i = (size_t)p; i < r->cells; i += PW_PHASES)
            sum += r->works[i];
        if (!sum)
            continue;
        clear_scale(r);
        pw_replay_balance(&r->graph->replay, r->works, p, r->scale, r->scratch);
        struct pw_row_c_whatif *row = add_row(r, "phase", run(r, r->scale, 1));
        if (row)
            row->phase = (uint8_t)(PW_PHASE_DATA + p);
    }
}

/* ---- ranks and hosts ---- */

static int64_t restore_members(struct replaying *r, size_t first, size_t last)
{
    clear_scale(r);
    const struct pw_replay_measured measured = {r->works, r->delays};
    const struct pw_replay_part part = {r->member, first, last, -1};
    pw_replay_restore(&r->graph->replay, &measured, &part, r->scale, r->scratch);
    return run(r, r->scale, 1);
}

static void set_hostname(const struct replaying *r, size_t rank, char hostname[64])
{
    memcpy(hostname, r->world->ranks[rank].hostname, 64);
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

static void replay_ranks(struct replaying *r, struct ranked *order)
{
    size_t n = (size_t)r->world->nranks;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){path_of(r, i), i};
    pw_sort(order, n, sizeof(*order), most_first);
    for (size_t i = 0; i < n && i < MOST_RANKS && n > 1; i++) {
        if (!order[i].path_ns)
            break;
        memset(r->member, 0, n);
        r->member[order[i].index] = 1;
        struct pw_row_c_whatif *row =
            add_row(r, "rank", restore_members(r, 0, r->graph->replay.nsteps - 1));
        if (row) {
            row->rank = (int32_t)order[i].index;
            set_hostname(r, order[i].index, row->hostname);
        }
    }
}

static size_t select_host(struct replaying *r, size_t host)
{
    size_t some = 0;
    for (size_t i = 0; i < (size_t)r->world->nranks; i++) {
        r->member[i] = (size_t)r->host_of[i] == host;
        some = r->member[i] ? i : some;
    }
    return some;
}

static void replay_hosts(struct replaying *r, struct ranked *order)
{
    for (size_t h = 0; h < r->nhosts; h++)
        order[h] = (struct ranked){0, h};
    for (size_t i = 0; i < (size_t)r->world->nranks; i++)
        order[r->host_of[i]].path_ns += path_of(r, i);
    pw_sort(order, r->nhosts, sizeof(*order), most_first);
    for (size_t h = 0; h < r->nhosts && h < MOST_HOSTS && r->nhosts > 1; h++) {
        if (!order[h].path_ns)
            break;
        size_t some = select_host(r, order[h].index);
        struct pw_row_c_whatif *row =
            add_row(r, "host", restore_members(r, 0, r->graph->replay.nsteps - 1));
        if (row)
            set_hostname(r, some, row->hostname);
    }
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
    return (float)(left < 0.05 ? 0.05 : left);
}

static void set_peer(struct replaying *r, size_t rank, const struct pw_whatif_peer *peer)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    double known = 0;
    for (size_t p = 0; p < PW_PHASES; p++)
        known += peer->phases[p];
    clear_scale(r);
    for (size_t i = 0; i < g->nnodes; i++)
        if ((size_t)g->nodes[i].rank == rank && g->nodes[i].step >= 0)
            r->scale[i] = peer_scale(r, &g->nodes[i], peer, known);
}

/* Replays the job with straggler i like the others in steps first .. last. Returns the length of
 * the job, ns. */
static int64_t restore_peer(struct replaying *r, size_t i, size_t rank, size_t first, size_t last)
{
    if (i < r->changes->npeers) {
        set_peer(r, rank, &r->changes->peers[i]);
        return run(r, r->scale, 1);
    }
    memset(r->member, 0, (size_t)r->world->nranks);
    r->member[rank] = 1;
    return restore_members(r, first, last);
}

static void replay_stragglers(struct replaying *r, struct pw_row_c_straggler *rows)
{
    const struct pw_straggler_found *found = r->stragglers->found;
    for (size_t i = 0; i < r->stragglers->n && i < MOST_STRAGGLERS; i++) {
        const size_t first = r->stragglers->rows[found[i].first];
        const size_t last = r->stragglers->rows[found[i].last];
        if (last >= r->graph->replay.nsteps)
            continue;
        struct pw_row_c_whatif *row =
            add_row(r, "straggler", restore_peer(r, i, found[i].rank, first, last));
        if (!row)
            return;
        row->rank = rows[i].rank;
        row->phase = rows[i].phase;
        row->first_step = rows[i].first_step;
        row->last_step = rows[i].last_step;
        set_hostname(r, found[i].rank, row->hostname);
        rows[i].gain_ns = row->gain_ns;
    }
}

/* ---- critical path ---- */

static int make_path(struct replaying *r)
{
    size_t cells = (size_t)r->world->nranks * (PW_PHASES + 1);
    int64_t length =
        pw_replay_path(&r->graph->replay, r->graph->order, r->path, r->delays, r->scratch);
    r->out->path = calloc(cells + 1, sizeof(*r->out->path));
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
        set_hostname(r, select_host(r, hosts[i].host), row->hostname);
        if (r->graph && last < r->graph->replay.nsteps)
            row->gain_ns = r->baseline_ns - restore_members(r, first, last);
    }
    free(hosts);
    free(scratch);
    return ok ? 0 : -ENOMEM;
}

static int replay_all(struct replaying *r, struct pw_row_c_straggler *stragglers)
{
    const struct pw_replay_graph *g = &r->graph->replay;
    r->cells = g->nsteps * g->nranks * PW_PHASES;
    r->works = malloc(sizeof(*r->works) * (r->cells + 1));
    r->scale = malloc(sizeof(*r->scale) * (g->nnodes + 1));
    r->delays = malloc(sizeof(*r->delays) * (g->nnodes + 1));
    r->scratch = malloc(sizeof(*r->scratch) *
                        (g->nranks + 2 * g->ngates + g->nnodes + 2 * g->nsteps * PW_PHASES + 1));
    r->path = malloc(sizeof(*r->path) * (g->nranks * (PW_PHASES + 1) + 1));
    struct ranked *order = malloc(sizeof(*order) * (g->nranks + 1));
    int err = r->works && r->scale && r->delays && r->scratch && r->path && order ? 0 : -ENOMEM;
    err = err ? err : make_path(r);
    if (!err) {
        pw_replay_sum_works(g, r->works);
        replay_job(r);
        replay_phases(r);
        replay_hosts(r, order);
        replay_ranks(r, order);
        replay_stragglers(r, stragglers);
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
    r.member = malloc((size_t)world->nranks + 1);
    int err = r.host_of && r.member ? pw_world_number_hosts(world, r.host_of, &r.nhosts) : -ENOMEM;
    if (!err && r.graph)
        err = replay_all(&r, rows);
    err = err ? err : find_hosts(&r);
    free(r.works);
    free(r.scale);
    free(r.delays);
    free(r.scratch);
    free(r.path);
    free(r.host_of);
    free(r.member);
    return err ? err : r.failed ? -ENOMEM : 0;
}

void pw_whatif_fini(struct pw_whatif *out)
{
    free(out->rows);
    free(out->path);
    free(out->hosts);
}
