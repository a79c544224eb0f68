/* Strongly connected components (Tarjan, SIAM J. Comput. 1972, without recursion), the shortest
 * cycle in one, and reachability; see components.h. */
#include "analysis/components.h"

#include <string.h>

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

/* Of each node: when it was met (0: not yet), the earliest node that it leads back to, its
 * component (-1 while it is on the stack), the next of its edges; and the two stacks. */
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

/* Breadth first from `start` within its component until an edge leads back to it: the last node of
 * the cycle; `before` tells the way. */
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

void pw_digraph_mark_sources(const struct pw_digraph *graph, const int32_t *targets, size_t n,
                             int32_t *is_source)
{
    memset(is_source, 0, sizeof(*is_source) * (size_t)graph->nodes);
    for (size_t i = 0; i < n; i++)
        is_source[targets[i]] = 1;
    /* A pass per step of the longest way; ways are short, for most ranks wait in one collective. */
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t v = graph->nodes - 1; v >= 0; v--)
            for (int32_t e = graph->first[v]; e < graph->first[v + 1] && !is_source[v]; e++)
                if (is_source[graph->to[e]])
                    is_source[v] = changed = 1;
    }
}
