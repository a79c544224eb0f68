/* Small directed graphs in memory that the caller gives: cycles, and what leads where. */
#ifndef PW_ANALYSIS_COMPONENTS_H
#define PW_ANALYSIS_COMPONENTS_H

#include <stddef.h>
#include <stdint.h>

/* Edges of node v are to[first[v]] .. to[first[v + 1] - 1]. */
struct pw_digraph {
    int32_t *to, *first;
    int32_t nodes;
    int32_t open; /* edges so far of the node that is being added */
};

/* Integers of scratch per node that the functions below need. */
enum { PW_DIGRAPH_SCRATCH = 6 };

/* An empty graph; `to` has room for all edges, `first` for one more than all nodes. Nodes are added
 * in order: their edges, then their end. */
void pw_digraph_init(struct pw_digraph *graph, int32_t *to, int32_t *first);
void pw_digraph_add(struct pw_digraph *graph, int32_t to);
void pw_digraph_end_node(struct pw_digraph *graph);

/* A shortest cycle through the lowest node of the largest set of nodes that all lead to each other;
 * its nodes in order, in `cycle` (room for all nodes). Their number, 0 when there is no cycle. */
size_t pw_digraph_cycle(const struct pw_digraph *graph, int32_t *cycle, int32_t *scratch);

/* is_source[v] = 1 for all nodes from which a way leads to one of the targets, and the targets. */
void pw_digraph_mark_sources(const struct pw_digraph *graph, const int32_t *targets, size_t n,
                             int32_t *is_source);

#endif
