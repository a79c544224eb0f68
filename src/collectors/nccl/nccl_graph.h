/* Operations of NCCL in CUDA graphs. A captured call has not run: its kernel does in every replay,
 * and NCCL says nothing then. Which kernel is which call's follows from their order: NCCL launches
 * a kernel for each group of calls while they are captured, and the nodes of a graph have rising
 * numbers. A replay's kernels have one correlation number. Where several stretches of captured
 * calls fit, only what all of them say alike is known. Tool half, used by nccl_tool.c.
 *
 * Operations of replays are on a communicator of their own for each communicator and graph, whose
 * uid all members compute alike, and are numbered there from the graph's first replay on. So what a
 * rank does not see of a replay must not shift its numbers: where recording was interrupted,
 * replays that follow are only counted. */
#ifndef PW_NCCL_GRAPH_H
#define PW_NCCL_GRAPH_H

#include "collectors/nccl/nccl_ops.h"

struct pw_nccl_graphs;

/* NULL when memory is short. */
struct pw_nccl_graphs *pw_nccl_graphs_create(struct pw_rankfile *file, struct pw_nccl_ops *ops);
void pw_nccl_graphs_destroy(struct pw_nccl_graphs *graphs);

/* A captured call; `op` as if it had run, `comm` its communicator as it is known by now. */
void pw_nccl_graphs_call(struct pw_nccl_graphs *graphs, const struct pw_nccl_op *op,
                         const struct pw_row_comms *comm);

/* What was captured of the communicator before goes into a kernel. */
void pw_nccl_graphs_launch(struct pw_nccl_graphs *graphs, uint32_t comm, int64_t time);

/* A kernel of NCCL's that a graph launched, in any order. */
void pw_nccl_graphs_kernel(struct pw_nccl_graphs *graphs, const struct pw_row_kernel *kernel);

/* Captures and kernels may be lacking from now on. */
void pw_nccl_graphs_interrupt(struct pw_nccl_graphs *graphs);

/* Kernels that ran before `end` may be lacking: this matters for graphs that were captured by then.
 * A call that was captured before may be told later. */
void pw_nccl_graphs_lack(struct pw_nccl_graphs *graphs, int64_t end);

/* Rows of all replays; another process begins, or none. */
void pw_nccl_graphs_flush(struct pw_nccl_graphs *graphs);

/* For /overhead: kernels of replays that have operations, and that have none. */
int64_t pw_nccl_graphs_placed(const struct pw_nccl_graphs *graphs);
int64_t pw_nccl_graphs_unplaced(const struct pw_nccl_graphs *graphs);

#endif
