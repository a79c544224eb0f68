/* Builds the graph of the ranks' waits, and looks for cycles and for ranks that wait for no other;
 * see hang.h. */
#include "analysis/hang.h"

#include <stdbool.h>
#include <string.h>

#include "core/ops.h"
#include "core/search.h"
#include "core/tables.h"

/* Strongly connected components (Tarjan, SIAM J. Comput. 1972, without recursion), the shortest
 * cycle in one, and reachability. */

void pw_digraph_init(struct pw_digraph *graph, int32_t *to, int32_t *first)
{
    *graph = (struct pw_digraph){.to = to, .first = first};
    first[0] = 0;
}

void pw_digraph_add(struct pw_digraph *graph, int32_t to)
{
    graph->to[graph->first[graph->nodes] + graph->open++] = to;
}

void pw_digraph_end_node(struct pw_digraph *graph)
{
    graph->first[graph->nodes + 1] = graph->first[graph->nodes] + graph->open;
    graph->nodes++;
    graph->open = 0;
}

/* Tarjan's values for each node: its number in the order of discovery (0: not yet found), the
 * lowest such number that it leads back to, its component (-1 while it is on the stack), and its
 * next edge. Then the two stacks. */
struct search {
    const struct pw_digraph *graph;
    int32_t *met, *low, *component, *edge, *stack, *path;
    int32_t count, depth, height, components;
};

static void enter(struct search *s, int32_t v)
{
    s->met[v] = s->low[v] = ++s->count;
    s->edge[v] = s->graph->first[v];
    s->component[v] = -1;
    s->stack[s->height++] = v;
    s->path[s->depth++] = v;
}

static void leave(struct search *s, int32_t v)
{
    s->depth--;
    if (s->depth && s->low[v] < s->low[s->path[s->depth - 1]])
        s->low[s->path[s->depth - 1]] = s->low[v];
    if (s->low[v] != s->met[v])
        return;
    int32_t member;
    do {
        member = s->stack[--s->height];
        s->component[member] = s->components;
    } while (member != v);
    s->components++;
}

static void search_from(struct search *s, int32_t root)
{
    enter(s, root);
    while (s->depth) {
        int32_t v = s->path[s->depth - 1];
        if (s->edge[v] == s->graph->first[v + 1]) {
            leave(s, v);
            continue;
        }
        int32_t to = s->graph->to[s->edge[v]++];
        if (!s->met[to])
            enter(s, to);
        else if (s->component[to] < 0 && s->met[to] < s->low[v])
            s->low[v] = s->met[to];
    }
}

static int has_loop(const struct pw_digraph *graph, int32_t v)
{
    for (int32_t e = graph->first[v]; e < graph->first[v + 1]; e++)
        if (graph->to[e] == v)
            return 1;
    return 0;
}

/* The lowest node of the largest component that has a cycle, or -1. `sizes` is scratch. */
static int32_t largest_component(const struct pw_digraph *graph, const int32_t *component,
                                 int32_t *sizes)
{
    int32_t best = -1;
    memset(sizes, 0, sizeof(*sizes) * (size_t)graph->nodes);
    for (int32_t v = 0; v < graph->nodes; v++)
        sizes[component[v]]++;
    for (int32_t v = 0; v < graph->nodes; v++)
        if ((sizes[component[v]] > 1 || has_loop(graph, v)) &&
            (best < 0 || sizes[component[v]] > sizes[component[best]]))
            best = v;
    return best;
}

/* Searches breadth first from `start` within its component, until an edge leads back to `start`.
 * Returns the last node of the cycle; `before` has the predecessor of each node. */
static int32_t find_last(const struct pw_digraph *graph, const int32_t *component, int32_t start,
                         int32_t *before, int32_t *queue)
{
    int32_t head = 0, tail = 0;
    for (int32_t v = 0; v < graph->nodes; v++)
        before[v] = -1;
    queue[tail++] = start;
    while (head < tail) {
        int32_t v = queue[head++];
        for (int32_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            int32_t to = graph->to[e];
            if (to == start)
                return v;
            if (component[to] != component[start] || before[to] >= 0)
                continue;
            before[to] = v;
            queue[tail++] = to;
        }
    }
    return -1;
}

size_t pw_digraph_cycle(const struct pw_digraph *graph, int32_t *cycle, int32_t *scratch)
{
    size_t n = (size_t)graph->nodes, length = 0;
    struct search s = {
        .graph = graph,
        .met = scratch,
        .low = scratch + n,
        .component = scratch + 2 * n,
        .edge = scratch + 3 * n,
        .stack = scratch + 4 * n,
        .path = scratch + 5 * n,
    };
    memset(s.met, 0, sizeof(*s.met) * n);
    for (int32_t v = 0; v < graph->nodes; v++)
        if (!s.met[v])
            search_from(&s, v);
    int32_t start = largest_component(graph, s.component, s.low);
    int32_t last = start < 0 ? -1 : find_last(graph, s.component, start, s.edge, s.stack);
    if (last < 0)
        return 0;
    for (int32_t v = last; v != start; v = s.edge[v])
        length++;
    length++;
    int32_t v = last;
    for (size_t i = length; i-- > 0; v = s.edge[v])
        cycle[i] = v;
    return length;
}

/* Sets is_source[v] to 1 for the targets and for all nodes from which a path leads to a target. */
static void digraph_mark_sources(const struct pw_digraph *graph, const int32_t *targets, size_t n,
                                 int32_t *is_source)
{
    memset(is_source, 0, sizeof(*is_source) * (size_t)graph->nodes);
    for (size_t i = 0; i < n; i++)
        is_source[targets[i]] = 1;
    /* Each pass extends the paths by one edge. Paths are short, because most ranks wait in one
     * collective. */
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t v = graph->nodes - 1; v >= 0; v--)
            for (int32_t e = graph->first[v]; e < graph->first[v + 1] && !is_source[v]; e++)
                if (is_source[graph->to[e]])
                    is_source[v] = changed = 1;
    }
}

/* Nodes are the rows of ranks, then the groups. A rank has edges to the groups and ranks that it
 * waits for, a group to the members that it misses. */
struct waits {
    const struct pw_live *ranks;
    size_t n;
    int64_t least_ns;
    struct pw_hang *out;
    struct pw_digraph graph;
    int32_t *lists; /* waiting and missing rows of the groups */
    bool with_weak; /* loops of tests, and waits for any of several ranks, count */
    bool is_closed; /* all ranks are in the input, and no rank is waited for that waits for none */
};

/* 1 when the rank waits, see hang.h. */
static int hang_waits(const struct pw_live *rank, int64_t least_ns)
{
    const struct pw_live_thread *last = pw_live_main(rank);
    return last && last->op != PW_OP_None && last->queue != PW_LIVE_QUEUE &&
           last->since_ns >= least_ns;
}

const struct pw_live_thread *pw_hang_other(const struct pw_live *rank)
{
    const struct pw_live_thread *main = pw_live_main(rank);
    if (!main || main->op == PW_OP_None || main->queue != PW_LIVE_THREAD)
        return NULL;
    for (size_t i = 0; i < rank->nthreads; i++) {
        const struct pw_live_thread *t = &rank->threads[i];
        if (t->op != PW_OP_None || t->since_ns < 0)
            continue;
        for (size_t k = 0; k < rank->nstacks; k++)
            if (rank->stacks[k].tid == t->tid && !strstr(rank->stacks[k].text, "join"))
                return t;
    }
    return NULL;
}

static ptrdiff_t row_of(const struct waits *w, int32_t rank)
{
    const size_t at = pw_search(w->ranks, w->n, PW_SEARCH_KEY(struct pw_live, rank), rank);
    return rank >= 0 && at < w->n && w->ranks[at].rank == rank ? (ptrdiff_t)at : -1;
}

/* ---- groups ---- */

/* The operation that the thread waits for: inside MPI_Wait, the operation that is awaited. */
static uint16_t op_of(const struct pw_live_thread *t)
{
    return t->awaited ? t->awaited : t->op;
}

/* MPI_Init and MPI_Init_thread are one operation: a rank may call either. */
static bool is_init(uint16_t op)
{
    return op == PW_OP_Init || op == PW_OP_Init_thread;
}

/* 1 for operations that all members of a communicator, or all ranks of the job, must enter. */
static bool is_collective(const struct pw_live_thread *t)
{
    const uint16_t op = op_of(t);
    return (t->comm_uid && (pw_op_info(op)->cls == PW_CLASS_COLL || pw_live_is_unnumbered(op))) ||
           is_init(t->op) || t->op == PW_OP_Finalize;
}

static bool is_uncounted(const struct pw_live_thread *t)
{
    return pw_op_info(op_of(t))->cls != PW_CLASS_COLL;
}

/* How many gloo groups of all ranks of the job the rank has created. */
static int64_t count_groups_of_all(const struct pw_live *rank)
{
    int64_t n = 0;
    for (size_t i = 0; i < rank->ncomms; i++)
        n += rank->comms[i].source == PW_SOURCE_GLOO && rank->comms[i].size == rank->world_size;
    return n;
}

/* Whether the rank is in a call of MPI other than MPI_Init, or has MPI's communicators, which it
 * gets before it leaves MPI_Init. */
static bool has_left_init(const struct pw_live *rank)
{
    for (size_t i = 0; i < rank->ncomms; i++)
        if (rank->comms[i].source == PW_SOURCE_MPI)
            return true;
    for (size_t i = 0; i < rank->nthreads; i++) {
        const struct pw_live_thread *t = &rank->threads[i];
        if (t->op != PW_OP_None && t->source == PW_SOURCE_MPI && !is_init(t->op))
            return true;
    }
    return false;
}

/* How many calls without numbers the rank has left there, if that tells which `op` it is; -1: not
 * known. Of PyTorch, PW_OP_Init is the creation of a gloo group of all ranks, and PW_OP_Init_thread
 * the connection to a store; of MindSpore, PW_OP_Init is init(); of NCCL, the creation of a
 * communicator of all ranks. */
static int64_t unnumbered(const struct pw_live *rank, uint64_t uid, uint8_t source, uint16_t op)
{
    if (!uid && is_init(op) && source == PW_SOURCE_GLOO)
        return op == PW_OP_Init ? count_groups_of_all(rank) : rank->meetings;
    if (!uid && is_init(op) && source == PW_SOURCE_MCCL)
        return rank->meetings;
    if (!uid && is_init(op) && source == PW_SOURCE_NCCL)
        return rank->nccl_inits;
    if (!uid && is_init(op))
        return has_left_init(rank);
    const struct pw_live_comm *comm = pw_live_comm(rank, uid);
    return comm && pw_live_is_counted(op) ? comm->unnumbered : -1;
}

static bool is_in(const struct pw_live *rank, const struct pw_live_thread *t,
                  const struct pw_hang_group *g)
{
    if (!is_collective(t) || t->comm_uid != g->comm_uid)
        return false;
    if (g->seq >= 0)
        return t->seq == g->seq;
    if (t->source != g->source)
        return false;
    if (g->source == PW_SOURCE_MPI && is_init(g->op)) /* of MPI there is one of them */
        return is_init(t->op);
    const int64_t after = unnumbered(rank, g->comm_uid, g->source, g->op);
    return is_uncounted(t) && op_of(t) == g->op && (after < 0 || g->after < 0 || after == g->after);
}

static bool has_requests(const struct pw_live *rank, size_t thread)
{
    for (size_t i = 0; i < rank->nrequests; i++)
        if (rank->requests[i].thread == thread)
            return true;
    return false;
}

/* Sets *out to what the rank waits for in its place `*at`, and increments *at. First come the
 * threads, then the requests that are missing, each as if its thread waited for it alone. Returns
 * false at the end. */
static bool next_wait(const struct waits *w, const struct pw_live *rank, size_t *at,
                      struct pw_live_thread *out)
{
    for (; *at < rank->nthreads; ++*at)
        if ((w->with_weak || !rank->threads[*at].polls) && !has_requests(rank, *at) &&
            rank->threads[*at].queue != PW_LIVE_QUEUE) {
            *out = rank->threads[(*at)++];
            return true;
        }
    for (; *at < rank->nthreads + rank->nrequests; ++*at) {
        const struct pw_live_request *r = &rank->requests[*at - rank->nthreads];
        const bool is_weak = r->need == PW_LIVE_EITHER || rank->threads[r->thread].polls;
        if ((r->need != PW_LIVE_MISSING && r->need != PW_LIVE_EITHER) || (is_weak && !w->with_weak))
            continue;
        *out = rank->threads[r->thread];
        out->awaited = r->op;
        out->comm_uid = r->comm_uid;
        out->seq = r->seq;
        out->peer = r->peer;
        out->tag = r->tag;
        ++*at;
        return true;
    }
    return false;
}

static bool has_thread_in(const struct waits *w, const struct pw_live *rank,
                          const struct pw_hang_group *g)
{
    struct pw_live_thread t;
    for (size_t at = 0; next_wait(w, rank, &at, &t);)
        if (is_in(rank, &t, g))
            return true;
    return false;
}

/* Whether the rank is still in MPI_Init, which others have left: of a communicator of all ranks it
 * is a member, too. */
static bool is_starting(const struct pw_live *rank, const struct pw_hang_group *g)
{
    const struct pw_live_thread *main = pw_live_main(rank);
    return g->source == PW_SOURCE_MPI && g->comm_uid && g->size == rank->world_size && main &&
           main->source == PW_SOURCE_MPI && is_init(main->op) && !has_left_init(rank);
}

static bool is_member(const struct pw_live *rank, const struct pw_hang_group *g)
{
    return g->comm_uid == 0 || pw_live_comm(rank, g->comm_uid) || is_starting(rank, g);
}

/* 1 when the member has not entered the collective yet; 0 for one that has completed it. */
static bool is_missing(const struct waits *w, const struct pw_live *rank,
                       const struct pw_hang_group *g)
{
    const struct pw_live_comm *comm = pw_live_comm(rank, g->comm_uid);
    if (has_thread_in(w, rank, g))
        return false;
    if (is_starting(rank, g))
        return true;
    if (g->seq >= 0)
        return comm && comm->reached <= g->seq;
    const int64_t left = unnumbered(rank, g->comm_uid, g->source, g->op);
    /* A member may leave an operation on a file while others still write. */
    if (g->after < 0 || left < 0)
        return pw_op_info(g->op)->cls != PW_CLASS_IO;
    return left <= g->after;
}

static struct pw_hang_group *find_group(struct waits *w, const struct pw_live *rank,
                                        const struct pw_live_thread *t)
{
    for (size_t i = 0; i < w->out->ngroups; i++)
        if (is_in(rank, t, &w->out->groups[i]))
            return &w->out->groups[i];
    if (w->out->ngroups == PW_HANG_GROUPS) {
        w->out->more_groups++;
        return NULL;
    }
    const struct pw_live_comm *comm = pw_live_comm(rank, t->comm_uid);
    const bool is_mpi_init = t->source == PW_SOURCE_MPI && is_init(t->op);
    struct pw_hang_group *group = &w->out->groups[w->out->ngroups++];
    *group = (struct pw_hang_group){
        .comm_uid = t->comm_uid,
        .source = t->source,
        .seq = is_uncounted(t) ? -1 : t->seq,
        .after = is_mpi_init       ? 0
                 : is_uncounted(t) ? unnumbered(rank, t->comm_uid, t->source, op_of(t))
                                   : -1,
        .op = op_of(t),
        .root = is_uncounted(t) ? -1 : t->peer,
        .size = comm ? comm->size : rank->world_size,
    };
    return group;
}

static void find_groups(struct waits *w)
{
    for (size_t r = 0; r < w->n; r++) {
        const struct pw_live *rank = &w->ranks[r];
        struct pw_live_thread t;
        for (size_t at = 0; hang_waits(rank, w->least_ns) && next_wait(w, rank, &at, &t);) {
            struct pw_hang_group *group = is_collective(&t) ? find_group(w, rank, &t) : NULL;
            if (!group)
                continue;
            group->is_mismatched |= op_of(&t) != group->op && !is_init(group->op);
            if (t.since_ns > group->waited_ns)
                group->waited_ns = t.since_ns;
        }
    }
}

static void list_members(struct waits *w, struct pw_hang_group *g)
{
    int32_t *waiting = w->lists, *missing = w->lists + w->n;
    size_t members = 0;
    w->lists += 2 * w->n;
    g->waiting = waiting;
    g->missing = missing;
    for (size_t r = 0; r < w->n; r++) {
        if (!is_member(&w->ranks[r], g))
            continue;
        members++;
        if (is_missing(w, &w->ranks[r], g))
            missing[g->nmissing++] = (int32_t)r;
        else if (has_thread_in(w, &w->ranks[r], g) && hang_waits(&w->ranks[r], w->least_ns))
            waiting[g->nwaiting++] = (int32_t)r;
    }
    g->unknown = g->size > (int64_t)members ? (size_t)g->size - members : 0;
}

/* ---- edges ---- */

/* Whether a member may not have entered the collective. Otherwise a rank that is still in it, and
 * for which others wait elsewhere, is itself the cause: it may be stopped. */
static bool has_absent(const struct pw_hang_group *g)
{
    return g->nmissing || g->unknown;
}

/* Only what the rank's main thread waits for: another thread may receive as long as the job runs.
 */
static void add_rank_edges(struct waits *w, const struct pw_live *rank)
{
    const int32_t main = pw_live_main(rank)->tid;
    struct pw_live_thread t;
    for (size_t at = 0; next_wait(w, rank, &at, &t);) {
        if (t.op == PW_OP_None || t.tid != main || (!w->with_weak && pw_hang_other(rank)))
            continue;
        for (size_t g = 0; g < w->out->ngroups && is_collective(&t); g++)
            if (is_in(rank, &t, &w->out->groups[g]) && has_absent(&w->out->groups[g]))
                pw_digraph_add(&w->graph, (int32_t)(w->n + g));
        /* The target of a one-sided operation need not do anything: another rank may hold its lock.
         * A partitioned send may wait for its own rank. */
        bool has_partner = !is_collective(&t) && pw_op_info(op_of(&t))->cls != PW_CLASS_RMA &&
                           op_of(&t) != PW_OP_Psend_init;
        ptrdiff_t peer = has_partner ? row_of(w, t.peer) : -1;
        if (peer >= 0)
            pw_digraph_add(&w->graph, (int32_t)peer);
    }
}

static void add_group_edges(struct waits *w, const struct pw_hang_group *g)
{
    bool from_root = g->seq >= 0 && pw_op_info(g->op)->shape == PW_SHAPE_FROM_ROOT;
    ptrdiff_t root = from_root ? row_of(w, g->root) : -1;
    if (root >= 0 && is_missing(w, &w->ranks[root], g)) {
        pw_digraph_add(&w->graph, (int32_t)root);
        return;
    }
    for (size_t i = 0; i < g->nmissing; i++)
        pw_digraph_add(&w->graph, g->missing[i]);
}

static void build_graph(struct waits *w)
{
    for (size_t r = 0; r < w->n; r++) {
        if (hang_waits(&w->ranks[r], w->least_ns)) {
            w->out->waiting++;
            add_rank_edges(w, &w->ranks[r]);
        }
        pw_digraph_end_node(&w->graph);
    }
    for (size_t g = 0; g < w->out->ngroups; g++) {
        add_group_edges(w, &w->out->groups[g]);
        pw_digraph_end_node(&w->graph);
    }
}

/* ---- conclusions ---- */

static size_t keep_ranks(const struct waits *w, int32_t *nodes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((size_t)nodes[i] < w->n)
            nodes[kept++] = nodes[i];
    return kept;
}

/* Lists the ranks that others wait for and that wait for no other. Returns how many; `list` has
 * room for n. */
static size_t find_roots(const struct waits *w, int32_t *list, int32_t *is_waited_for)
{
    const struct pw_digraph *graph = &w->graph;
    size_t n = 0;
    memset(is_waited_for, 0, sizeof(*is_waited_for) * (size_t)graph->nodes);
    for (int32_t e = 0; e < graph->first[graph->nodes]; e++)
        is_waited_for[graph->to[e]] = 1;
    for (size_t r = 0; r < w->n; r++)
        if (is_waited_for[r] && graph->first[r] == graph->first[r + 1])
            list[n++] = (int32_t)r;
    return n;
}

/* Whether the rank may wait for a rank that leads to another root: by a request of which it is not
 * known whether it is missing, or by one that it tests again and again. */
static bool may_wait_for(const struct waits *w, const struct pw_live *rank, const int32_t *leads)
{
    for (size_t i = 0; i < rank->nthreads; i++) {
        const ptrdiff_t peer = rank->threads[i].polls ? row_of(w, rank->threads[i].peer) : -1;
        if (peer >= 0 && leads[peer])
            return true;
    }
    for (size_t i = 0; i < rank->nrequests; i++) {
        const ptrdiff_t peer = row_of(w, rank->requests[i].peer);
        if (rank->requests[i].need != PW_LIVE_MATCHED && peer >= 0 && leads[peer])
            return true;
    }
    return false;
}

/* Removes roots that wait in a call, and may wait for a root that does not. The others that wait
 * come last. */
static size_t keep_first_causes(const struct waits *w, int32_t *roots, size_t n, int32_t *scratch)
{
    int32_t *kept = scratch, *leads = scratch + w->graph.nodes;
    size_t nkept = 0;
    for (size_t i = 0; i < n; i++)
        if (!hang_waits(&w->ranks[roots[i]], w->least_ns))
            kept[nkept++] = roots[i];
    digraph_mark_sources(&w->graph, kept, nkept, leads);
    for (size_t i = 0; i < n; i++)
        if (hang_waits(&w->ranks[roots[i]], w->least_ns) &&
            !may_wait_for(w, &w->ranks[roots[i]], leads))
            kept[nkept++] = roots[i];
    memcpy(roots, kept, nkept * sizeof(*kept));
    return nkept;
}

static size_t count_held(const struct waits *w, const int32_t *targets, size_t n, int32_t *scratch)
{
    int32_t *is_held = scratch;
    size_t held = 0;
    digraph_mark_sources(&w->graph, targets, n, is_held);
    for (size_t r = 0; r < w->n; r++)
        held += is_held[r] != 0;
    for (size_t i = 0; i < n; i++)
        held -= is_held[targets[i]] != 0;
    return held;
}

/* Whether one of the ranks is held on the GPU: nothing tells that its threads wait for that. */
static bool has_queue(const struct waits *w, const int32_t *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pw_live_main(&w->ranks[rows[i]])->queue == PW_LIVE_HELD)
            return true;
    return false;
}

static void conclude(struct waits *w, int32_t *lists, int32_t *scratch)
{
    struct pw_hang *out = w->out;
    int32_t *cycle = lists, *roots = lists + w->graph.nodes;
    out->cycle = cycle;
    out->ncycle = keep_ranks(w, cycle, pw_digraph_cycle(&w->graph, cycle, scratch));
    out->roots = roots;
    out->nroots = find_roots(w, roots, scratch);
    w->is_closed = !out->nroots && w->n && w->ranks[0].world_size == (int32_t)w->n;
    out->nroots = keep_first_causes(w, roots, out->nroots, scratch);
    /* A rank that waits for any of several ranks is in no circle while one of them may come. */
    if (w->with_weak && !w->is_closed)
        out->ncycle = 0;
    if (out->ncycle) {
        out->kind = PW_HANG_CYCLE;
        out->held = count_held(w, cycle, out->ncycle, scratch);
        out->is_likely = has_queue(w, cycle, out->ncycle);
    } else if (out->nroots) {
        out->kind = PW_HANG_HELD;
        out->held = count_held(w, roots, out->nroots, scratch);
    } else {
        out->kind = out->waiting ? PW_HANG_UNKNOWN : PW_HANG_NOBODY;
    }
}

/* Room for the lists of the groups, the edges, two lists of nodes, and the graph functions'
 * scratch. */
size_t pw_hang_scratch(size_t n, size_t waits)
{
    size_t nodes = n + PW_HANG_GROUPS, lists = 2 * n * PW_HANG_GROUPS;
    size_t edges = waits + n * PW_HANG_GROUPS;
    return lists + edges + (nodes + 1) + 2 * nodes + PW_DIGRAPH_SCRATCH * nodes;
}

/* Finds who waits for whom. Returns the scratch that is left. */
static int32_t *find_waits(struct waits *w, int32_t *scratch)
{
    const size_t n = w->n;
    size_t waits = 0;
    for (size_t r = 0; r < n; r++)
        waits += w->ranks[r].nthreads + w->ranks[r].nrequests;
    memset(w->out, 0, sizeof(*w->out));
    w->lists = scratch;
    find_groups(w);
    for (size_t g = 0; g < w->out->ngroups; g++)
        list_members(w, &w->out->groups[g]);
    int32_t *at = scratch + 2 * n * PW_HANG_GROUPS;
    pw_digraph_init(&w->graph, at, at + waits + n * PW_HANG_GROUPS);
    build_graph(w);
    return at + waits + n * PW_HANG_GROUPS + n + PW_HANG_GROUPS + 1;
}

static void find_and_conclude(struct waits *w, int32_t *scratch)
{
    w->graph = (struct pw_digraph){0};
    int32_t *at = find_waits(w, scratch);
    conclude(w, at, at + 2 * (w->n + PW_HANG_GROUPS));
}

/* Whether the rank to blame waits itself, so that it is not known what is to blame. */
static bool is_held_by_a_waiter(const struct waits *w)
{
    return w->out->kind == PW_HANG_HELD && hang_waits(&w->ranks[w->out->roots[0]], w->least_ns);
}

void pw_hang_find(const struct pw_live *ranks, size_t n, int64_t least_ns, int32_t *scratch,
                  struct pw_hang *out)
{
    struct waits w = {.ranks = ranks, .n = n, .least_ns = least_ns, .out = out};
    find_and_conclude(&w, scratch);
    const bool is_unknown = out->kind == PW_HANG_UNKNOWN;
    if (!is_unknown && !is_held_by_a_waiter(&w))
        return;
    w.with_weak = true;
    find_and_conclude(&w, scratch);
    /* Any rank that polls, or has another thread, may free one that waits for either of two. */
    for (size_t r = 0; r < n && out->ncycle; r++)
        out->is_likely |= pw_live_main(&ranks[r])->polls || pw_hang_other(&ranks[r]);
    if (out->kind == PW_HANG_HELD && !is_held_by_a_waiter(&w))
        return;
    if (out->kind == PW_HANG_CYCLE && (is_unknown || !out->is_likely))
        return;
    w.with_weak = false;
    find_and_conclude(&w, scratch);
}

void pw_hang_mark(const struct pw_live *ranks, size_t n, int32_t *scratch, uint8_t *marks)
{
    struct pw_hang found;
    struct waits w = {.ranks = ranks, .n = n, .out = &found};
    int32_t *is_source = find_waits(&w, scratch), *targets = is_source + w.graph.nodes;
    size_t ntargets = 0;
    for (size_t r = 0; r < n; r++)
        if (marks[r])
            targets[ntargets++] = (int32_t)r;
    digraph_mark_sources(&w.graph, targets, ntargets, is_source);
    for (size_t r = 0; r < n; r++)
        marks[r] = is_source[r] && !marks[r];
}

/* Compares the numbers of messages of two ranks. */

/* How far the members of a communicator are in its collectives; remembered, because the requests of
 * all ranks ask for few communicators. */
struct progress {
    uint64_t uid;
    int64_t least, members;
};

struct job {
    struct pw_live *ranks;
    size_t n;
    struct progress *progress; /* PROGRESS places, by uid */
};

enum { PROGRESS = 64 };

static const struct pw_live *rank_at(const struct job *job, int32_t rank)
{
    const size_t at = pw_search(job->ranks, job->n, PW_SEARCH_KEY(struct pw_live, rank), rank);
    return rank >= 0 && at < job->n && job->ranks[at].rank == rank ? &job->ranks[at] : NULL;
}

static struct pw_live_pair pair_of(const struct pw_live *rank, uint64_t uid, int32_t peer)
{
    for (size_t i = 0; i < rank->npairs; i++)
        if (rank->pairs[i].comm_uid == uid && rank->pairs[i].peer == peer)
            return rank->pairs[i];
    return (struct pw_live_pair){0};
}

static bool is_both(uint16_t op)
{
    return op == PW_OP_Sendrecv || op == PW_OP_Sendrecv_replace;
}

/* Whether the MPI_Sendrecv of the thread may send to the rank. Its two parts are requests. */
static bool may_send(const struct pw_live *from, size_t thread, int32_t to)
{
    for (size_t i = 0; i < from->nrequests; i++)
        if (from->requests[i].thread == thread && from->requests[i].op == PW_OP_Send)
            return from->requests[i].peer == to;
    return true;
}

/* Sends of blocking calls that have begun. */
static int64_t blocking_sends(const struct pw_live *from, uint64_t uid, int32_t to)
{
    int64_t n = 0;
    for (size_t i = 0; i < from->nthreads; i++) {
        const struct pw_live_thread *t = &from->threads[i];
        n += pw_op_info(t->op)->cls == PW_CLASS_SEND && t->comm_uid == uid &&
             (is_both(t->op) ? may_send(from, i, to) : t->peer == to || t->peer < 0);
    }
    return n;
}

/* Whether it is a receive that the numbers of messages count. */
static bool is_receive(const struct pw_live_request *r)
{
    return pw_op_info(r->op)->cls == PW_CLASS_RECV && !pw_live_is_partitioned(r->op);
}

/* Receives from the rank for which calls of `to` wait. */
static int64_t waited_for(const struct pw_live *to, uint64_t uid, int32_t from)
{
    int64_t n = 0;
    for (size_t i = 0; i < to->nthreads; i++)
        n += to->threads[i].op == PW_OP_Recv && to->threads[i].comm_uid == uid &&
             to->threads[i].peer == from;
    for (size_t i = 0; i < to->nrequests; i++)
        if (is_receive(&to->requests[i]) && to->requests[i].comm_uid == uid &&
            to->requests[i].peer == from)
            n += to->requests[i].count;
    return n;
}

/* Messages that `from` has sent and `to` has not received; `with_blocked`: with those that may be
 * in a blocking call. -1: not known. */
static int64_t in_transit(const struct pw_live *from, const struct pw_live *to, uint64_t uid,
                          bool with_blocked)
{
    if (!from || !to || !from->pairs_known || !to->pairs_known || !uid)
        return -1;
    const struct pw_live_pair sent = pair_of(from, uid, to->rank);
    const struct pw_live_pair got = pair_of(to, uid, from->rank);
    const int64_t blocked = with_blocked ? blocking_sends(from, uid, to->rank) : 0;
    const int64_t n = sent.sent + sent.sending + blocked - got.received;
    return n > 0 ? n : 0;
}

/* ---- the requests of one thread ---- */

struct waiter {
    const struct job *job;
    struct pw_live *rank;
    struct pw_live_request *list;
    size_t n;
};

static bool is_collective_request(const struct pw_live_request *r)
{
    return pw_op_info(r->op)->cls == PW_CLASS_COLL && r->comm_uid && r->seq >= 0;
}

static int64_t receives_from(const struct waiter *w, const struct pw_live_request *like)
{
    int64_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_receive(&w->list[i]) && w->list[i].peer == like->peer &&
            w->list[i].comm_uid == like->comm_uid)
            n += w->list[i].count;
    return n;
}

static uint8_t need_of_receive(const struct waiter *w, const struct pw_live_request *r)
{
    const struct pw_live *from = rank_at(w->job, r->peer);
    const int64_t most = in_transit(from, w->rank, r->comm_uid, true);
    const int64_t least = in_transit(from, w->rank, r->comm_uid, false);
    const int64_t wanted = receives_from(w, r);
    return most < 0         ? PW_LIVE_UNKNOWN
           : wanted > most  ? PW_LIVE_MISSING
           : wanted > least ? PW_LIVE_UNKNOWN
                            : PW_LIVE_MATCHED;
}

static struct progress progress_of(const struct job *job, uint64_t uid)
{
    struct progress *place = &job->progress[uid % PROGRESS];
    if (place->uid == uid)
        return *place;
    *place = (struct progress){.uid = uid, .least = INT64_MAX};
    for (size_t i = 0; i < job->n; i++) {
        const struct pw_live_comm *comm = pw_live_comm(&job->ranks[i], uid);
        if (comm && comm->reached < place->least)
            place->least = comm->reached;
        place->members += comm != NULL;
    }
    return *place;
}

static uint8_t need_of_collective(const struct waiter *w, const struct pw_live_request *r)
{
    const struct progress all = progress_of(w->job, r->comm_uid);
    const struct pw_live_comm *own = pw_live_comm(w->rank, r->comm_uid);
    if (all.least <= r->seq)
        return PW_LIVE_MISSING;
    return own && all.members == own->size ? PW_LIVE_MATCHED : PW_LIVE_UNKNOWN;
}

static uint8_t need_of(const struct waiter *w, const struct pw_live_request *r)
{
    if (is_collective_request(r))
        return need_of_collective(w, r);
    if (r->peer < 0)
        return PW_LIVE_UNKNOWN;
    if (is_receive(r))
        return need_of_receive(w, r);
    if (pw_op_info(r->op)->cls != PW_CLASS_SEND || pw_live_is_partitioned(r->op))
        return PW_LIVE_UNKNOWN;
    const struct pw_live *to = rank_at(w->job, r->peer);
    const int64_t open = in_transit(w->rank, to, r->comm_uid, true);
    return open >= 0 && open <= waited_for(to, r->comm_uid, w->rank->rank) ? PW_LIVE_MATCHED
                                                                           : PW_LIVE_UNKNOWN;
}

/* A partitioned send may wait for its own rank to make partitions ready. */
static bool has_one_partner(const struct pw_live_request *a, const struct pw_live_request *b)
{
    if (a->op == PW_OP_Psend_init || b->op == PW_OP_Psend_init)
        return false;
    if (is_collective_request(a) || is_collective_request(b))
        return is_collective_request(a) && is_collective_request(b) && a->comm_uid == b->comm_uid &&
               a->seq == b->seq;
    return a->peer >= 0 && a->peer == b->peer;
}

/* If the requests that may be missing have one partner, they are missing. Not if these are sends,
 * and a receive is matched: by the numbers of messages, which do not tell that the tags differ. */
static void settle_alone(const struct waiter *w)
{
    const struct pw_live_request *first = NULL;
    bool has_send = false, has_matched = false;
    for (size_t i = 0; i < w->n; i++) {
        const struct pw_live_request *r = &w->list[i];
        has_matched |= r->need == PW_LIVE_MATCHED && is_receive(r);
        if (r->need == PW_LIVE_MATCHED)
            continue;
        has_send |= pw_op_info(r->op)->cls == PW_CLASS_SEND;
        first = first ? first : r;
        if (!has_one_partner(first, r))
            return;
    }
    if (has_send && has_matched)
        return;
    for (size_t i = 0; first && i < w->n; i++)
        if (w->list[i].need != PW_LIVE_MATCHED)
            w->list[i].need = PW_LIVE_MISSING;
}

static size_t count(const struct waiter *w, uint8_t need)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        n += w->list[i].need == need;
    return n;
}

static bool needs_all(uint16_t op)
{
    return op == PW_OP_Wait || op == PW_OP_Waitall || op == PW_OP_Test || op == PW_OP_Testall ||
           is_both(op);
}

/* Whether the partners of all requests are known, one rank each. */
static bool has_partners(const struct waiter *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->list[i].peer < 0 || w->list[i].op == PW_OP_Psend_init ||
            is_collective_request(&w->list[i]))
            return false;
    return true;
}

/* A call that returns after any of its requests waits for all of them: none can complete. So that
 * one is missing does not tell that its partner is to blame; only one partner of all does. */
static void settle_thread(const struct waiter *w, const struct pw_live_thread *thread)
{
    const bool all = needs_all(thread->op);
    for (size_t i = 0; i < w->n; i++)
        w->list[i].need = all ? need_of(w, &w->list[i]) : PW_LIVE_UNKNOWN;
    if (count(w, PW_LIVE_MATCHED) == w->n) /* one of them is not: the tags differ, for example */
        for (size_t i = 0; i < w->n; i++)
            w->list[i].need = PW_LIVE_UNKNOWN;
    if (!count(w, PW_LIVE_MISSING) && !thread->unlisted)
        settle_alone(w);
    if (!all && !count(w, PW_LIVE_MISSING) && !thread->unlisted && has_partners(w))
        for (size_t i = 0; i < w->n; i++)
            w->list[i].need = PW_LIVE_EITHER;
}

static const struct pw_live *member_at(const struct job *job, uint64_t uid, int32_t rank)
{
    for (size_t i = 0; i < job->n; i++) {
        const struct pw_live_comm *comm = pw_live_comm(&job->ranks[i], uid);
        if (comm && comm->my_rank == rank)
            return &job->ranks[i];
    }
    return NULL;
}

/* Whether the operation on the GPU cannot end: a member of its communicator has called fewer
 * collectives, or its peer fewer messages. *peer is the peer of a message; NULL: its messages are
 * not known. */
static bool is_held(const struct job *job, const struct pw_live_comm *own,
                    const struct pw_live_queued *q, const struct pw_live **peer)
{
    *peer = NULL;
    if (pw_op_info(q->op)->cls == PW_CLASS_COLL)
        return q->seq >= progress_of(job, own->uid).least;
    *peer = member_at(job, own->uid, q->peer);
    if (*peer && !(*peer)->messages_known)
        *peer = NULL;
    if (!*peer || own->my_rank < 0)
        return false;
    const struct pw_live_pair theirs = pair_of(*peer, own->uid, own->my_rank);
    return (q->op == PW_OP_Recv ? theirs.sent : theirs.received) <= q->seq;
}

/* Those after the first one that is held cannot end, either. A send may end without its receive, if
 * it is small: it counts only if nothing else is held. Of a long queue the last ones are known. */
static void settle_queue(const struct job *job, const struct pw_live *rank,
                         struct pw_live_thread *queue)
{
    const struct pw_live_comm *own = pw_live_comm(rank, queue->comm_uid);
    const struct pw_live_queued *first = NULL, *unknown = NULL;
    const struct pw_live *peer, *of_first = NULL;
    for (size_t i = rank->nqueued; own && i-- > 0;) {
        const struct pw_live_queued *q = &rank->queued[i];
        const bool is_weak = q->op == PW_OP_Send;
        if (q->comm_uid != own->uid || (is_weak && first))
            continue;
        const bool is_held_there = is_held(job, own, q, &peer);
        if (q->op == PW_OP_Recv && !peer && !unknown)
            unknown = q;
        if (!is_held_there)
            continue;
        first = q;
        of_first = peer;
        if (!is_weak)
            break;
    }
    /* What a rank that has not answered has sent is not known: so that this one waits for it, or
     * not. */
    first = first ? first : unknown;
    if (!first)
        return;
    const bool is_collective = pw_op_info(first->op)->cls == PW_CLASS_COLL;
    queue->queue = PW_LIVE_HELD;
    queue->op = first->op;
    queue->seq = is_collective ? first->seq : -1;
    queue->peer = of_first ? of_first->rank : -1;
    queue->since_ns = first->since_ns;
}

void pw_awaited_settle(struct pw_live *ranks, size_t n)
{
    struct progress progress[PROGRESS] = {{0}};
    const struct job job = {ranks, n, progress};
    for (size_t r = 0; r < n; r++) {
        struct pw_live *rank = &ranks[r];
        for (size_t i = 0; i < rank->nthreads; i++)
            if (rank->threads[i].queue == PW_LIVE_QUEUE)
                settle_queue(&job, rank, &rank->threads[i]);
        for (size_t i = 0; i < rank->nrequests;) {
            struct waiter w = {.job = &job, .rank = rank, .list = &rank->requests[i]};
            while (i < rank->nrequests && rank->requests[i].thread == w.list->thread) {
                w.n++;
                i++;
            }
            settle_thread(&w, &rank->threads[w.list->thread]);
        }
    }
}
