/* Which ranks wait for which in a job that does not go on: from the calls that every rank's threads
 * are in, and how far each rank has come on its communicators. Called by report/live. Pure
 * arithmetic: no I/O, no allocation; the caller gives the memory.
 *
 * A rank waits when the latest event of all its threads was to enter a call, at least `least_ns`
 * ago; otherwise it is at work. A collective waits for the members that have not entered it; one
 * that begins at its root waits for the root alone, when that has not entered. A message waits for
 * its partner. Calls whose partner is not known (MPI_Wait, a receive from any rank) wait for no
 * rank here. */
#ifndef PW_ANALYSIS_HANG_H
#define PW_ANALYSIS_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "core/live.h"

enum { PW_HANG_GROUPS = 64 }; /* collectives looked at; the rest are counted in `more_groups` */

/* A collective in which ranks wait. Ranks are rows of the input. */
struct pw_hang_group {
    uint64_t comm_uid;                /* 0: all ranks of the job (MPI_Init, MPI_Finalize) */
    int64_t seq;                      /* -1: its function is not counted (MPI_Comm_split) */
    uint16_t op;                      /* of the first that waits */
    int is_mismatched;                /* they wait in different functions */
    int32_t root;                     /* world rank, -1 none */
    int64_t size;                     /* members */
    const int32_t *waiting, *missing; /* rising */
    size_t nwaiting, nmissing;
    size_t unknown;    /* members that are not among the input */
    int64_t waited_ns; /* of the one that waits longest */
};

enum pw_hang_kind {
    PW_HANG_NOBODY,  /* no rank waits for another */
    PW_HANG_HELD,    /* all wait, directly or not, for `roots` */
    PW_HANG_CYCLE,   /* the ranks of `cycle` wait for each other: none will ever go on */
    PW_HANG_UNKNOWN, /* ranks wait in calls of which nothing follows */
};

struct pw_hang {
    enum pw_hang_kind kind;
    const int32_t *roots; /* rows: others wait for them, and they wait for no rank that is known */
    size_t nroots;
    const int32_t *cycle; /* rows: each waits for the next, the last for the first */
    size_t ncycle;
    size_t held;    /* ranks that wait for these, directly or not, themselves not counted */
    size_t waiting; /* ranks that wait */
    struct pw_hang_group groups[PW_HANG_GROUPS];
    size_t ngroups, more_groups;
};

/* Integers that pw_hang_find() needs as scratch for `n` ranks with `threads` threads in all. */
size_t pw_hang_scratch(size_t n, size_t threads);

/* `ranks` are n, sorted by rank; calls that are younger than `least_ns` do not count as waiting.
 * What *out points to is in `scratch`. */
void pw_hang_find(const struct pw_live *ranks, size_t n, int64_t least_ns, int32_t *scratch,
                  struct pw_hang *out);

/* Whether the rank waits. */
int pw_hang_waits(const struct pw_live *rank, int64_t least_ns);

/* Small directed graphs in memory that the caller gives: cycles, and what leads where. */

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
