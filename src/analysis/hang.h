/* Finds which ranks wait for which others in a job that hangs: from the calls that the ranks'
 * threads are in, and the number of the last collective that each rank entered on its
 * communicators. Called by report/live. Pure arithmetic: no I/O, no allocation; the caller gives
 * the memory.
 *
 * A rank waits when the latest event of all its threads is the entry into a call, at least
 * `least_ns` ago; otherwise it works. A rank in a collective waits for the members that have not
 * entered it; in a rooted collective that the root starts, only for the root. A rank in a send or
 * receive waits for the partner. A rank in a call that completes several requests waits for the
 * partners of those that are missing (pw_awaited_settle()). For a call whose partner is unknown (a
 * receive from any rank) it is not known for which rank the caller waits. Waits for any of several
 * ranks, and loops of tests, which may have another way to end, are *weak*: they count only when
 * the others tell nothing, and only if they lead to a rank that works, or none leads to a rank
 * outside of a cycle. */
#ifndef PW_ANALYSIS_HANG_H
#define PW_ANALYSIS_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "core/live.h"

enum { PW_HANG_GROUPS = 64 }; /* collectives looked at; the rest are counted in `more_groups` */

/* A collective in which ranks wait. Ranks are rows of the input. */
struct pw_hang_group {
    uint64_t comm_uid; /* 0: all ranks of the job (MPI_Init, MPI_Finalize) */
    uint8_t source;    /* enum pw_source: whose operation it is */
    int64_t seq;       /* -1: its function is not counted (MPI_Comm_split) */
    int64_t after;     /* of a function that is not counted: how many such calls the ranks have left
                        * there; -1 not known */
    uint16_t op;       /* operation of the first rank that waits */
    int is_mismatched; /* 1: the ranks wait in different functions */
    int32_t root;      /* world rank, -1 none */
    int64_t size;      /* members */
    const int32_t *waiting, *missing; /* rising */
    size_t nwaiting, nmissing;
    size_t unknown;    /* members that are not in the input */
    int64_t waited_ns; /* the longest wait of a rank */
};

enum pw_hang_kind {
    PW_HANG_NOBODY,  /* no rank waits for another */
    PW_HANG_HELD,    /* the waiting ranks wait, directly or by way of others, for `roots` */
    PW_HANG_CYCLE,   /* the ranks of `cycle` wait for each other: none will ever go on, unless
                      * is_likely */
    PW_HANG_UNKNOWN, /* ranks wait, and their calls do not tell for which rank */
};

struct pw_hang {
    enum pw_hang_kind kind;
    const int32_t *roots; /* rows: others wait for them, and they wait for no rank that is known */
    size_t nroots;
    const int32_t *cycle; /* rows: each waits for the next, the last for the first */
    size_t ncycle;
    int is_likely;  /* 1: ranks of the cycle call tests in a loop, which may end for another reason
                     */
    size_t held;    /* number of ranks that wait for the roots or the cycle, directly or through
                       others; the roots and the ranks of the cycle do not count */
    size_t waiting; /* ranks that wait */
    struct pw_hang_group groups[PW_HANG_GROUPS];
    size_t ngroups, more_groups;
};

/* Integers that pw_hang_find() needs as scratch for `n` ranks with `waits` threads and requests in
 * all. */
size_t pw_hang_scratch(size_t n, size_t waits);

/* Fills *out from ranks[n], sorted by rank, whose requests are settled (pw_awaited_settle()). Calls
 * that began less than `least_ns` ago do not count as waiting. The arrays of *out are in `scratch`.
 */
void pw_hang_find(const struct pw_live *ranks, size_t n, int64_t least_ns, int32_t *scratch,
                  struct pw_hang *out);

/* Marks the ranks that wait, directly or through others, for the ranks with marks[row] = 1: then
 * marks[n] has 1 for those, and 0 for the others and the ranks themselves. Any call counts as
 * waiting, however short. */
void pw_hang_mark(const struct pw_live *ranks, size_t n, int32_t *scratch, uint8_t *marks);

/* A thread of the rank that is in no call, beside its main thread, which is in one: the rank may be
 * about either, so that what it waits for is a weak wait. Not a thread that waits for another one
 * to end. NULL: there is none, or its stack is not known. */
const struct pw_live_thread *pw_hang_other(const struct pw_live *rank);

/* ---- small directed graphs, in the caller's memory: cycles and reachability ---- */

/* Edges of node v are to[first[v]] .. to[first[v + 1] - 1]. */
struct pw_digraph {
    int32_t *to, *first;
    int32_t nodes;
    int32_t open; /* edges so far of the node that is being added */
};

/* Integers of scratch per node that the functions below need. */
enum { PW_DIGRAPH_SCRATCH = 6 };

/* Makes an empty graph. `to` has room for all edges, `first` for the number of nodes + 1. Nodes are
 * added in order: first pw_digraph_add() for each edge, then pw_digraph_end_node(). */
void pw_digraph_init(struct pw_digraph *graph, int32_t *to, int32_t *first);
void pw_digraph_add(struct pw_digraph *graph, int32_t to);
void pw_digraph_end_node(struct pw_digraph *graph);

/* Finds a shortest cycle through the lowest node of the largest strongly connected component.
 * Writes its nodes in order to `cycle` (room for all nodes). Returns how many, 0 when there is no
 * cycle. */
size_t pw_digraph_cycle(const struct pw_digraph *graph, int32_t *cycle, int32_t *scratch);

/* Which of several requests a thread really waits for. A call such as MPI_Waitall does not tell
 * which of its messages are missing; the numbers of messages that both partners have counted do, in
 * many cases. Pure arithmetic.
 *
 * A receive is missing when its source has begun fewer sends to this rank, on that communicator,
 * than this rank has received or waits for. A send is matched when its target has received, or
 * waits for, as many messages as this rank has begun. A nonblocking collective is missing when a
 * member has not begun it. If all requests that are not matched have one partner, this partner is
 * waited for. For all others it is not known whether they are missing: never a guess. Of a call
 * that returns with any of its requests, none has completed: it waits for either partner. */

/* Sets `need` of all requests of ranks[n], sorted by rank, and which queues are held: operations on
 * the GPU (struct pw_live_thread) cannot end while a member of their communicator has called fewer
 * collectives there, or the peer of a message has not called its part. */
void pw_awaited_settle(struct pw_live *ranks, size_t n);

#endif
