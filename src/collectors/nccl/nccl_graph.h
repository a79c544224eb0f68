/* NCCL operations in CUDA graphs. A captured call does not run when the program calls it; its
 * kernel runs in each replay of the graph, and NCCL does not report replays. This file finds the
 * call of each replayed kernel by order: NCCL launches one kernel for each group of calls during
 * the capture, and the node numbers of a graph rise in the same order. All kernels of one replay
 * have the same correlation number. When several sequences of captured calls match a graph, only
 * the fields that are equal in all of them are known. Tool half, used by nccl_tool.c.
 *
 * For each pair of communicator and graph, the operations of replays get a virtual communicator.
 * All its ranks compute the same uid, and number the operations from the graph's first replay. A
 * rank that missed a replay would have wrong numbers. So after an interruption of recording,
 * replays are only counted. */
#ifndef PW_NCCL_GRAPH_H
#define PW_NCCL_GRAPH_H

#include "collectors/nccl/nccl_ops.h"

struct pw_nccl_graphs;

/* NULL when memory is short. */
struct pw_nccl_graphs *pw_nccl_graphs_create(struct pw_rankfile *file, struct pw_nccl_ops *ops);
void pw_nccl_graphs_destroy(struct pw_nccl_graphs *graphs);

/* Adds a captured call. `op` is filled as for a call that is not captured. `comm` is the row of the
 * call's communicator, as far as it is known now. */
void pw_nccl_graphs_call(struct pw_nccl_graphs *graphs, const struct pw_nccl_op *op,
                         const struct pw_row_comms *comm);

/* During a capture NCCL launched a kernel for the calls on this communicator that were captured
 * before. */
void pw_nccl_graphs_launch(struct pw_nccl_graphs *graphs, uint32_t comm, int64_t time);

/* Adds an NCCL kernel that a graph launched. Kernels may come in any order. */
void pw_nccl_graphs_kernel(struct pw_nccl_graphs *graphs, const struct pw_row_kernel *kernel);

/* From now on captured calls or kernels may be missing: replays are only counted. */
void pw_nccl_graphs_interrupt(struct pw_nccl_graphs *graphs);

/* To be called when kernels that ran before `end` may be missing. If a captured call was already
 * added, this acts like pw_nccl_graphs_interrupt(). Otherwise replays are only counted from when a
 * captured call that began before `end` is added. */
void pw_nccl_graphs_lack(struct pw_nccl_graphs *graphs, int64_t end);

/* Writes the rows of all replays. Called at the end, and before the records of another process. */
void pw_nccl_graphs_flush(struct pw_nccl_graphs *graphs);

/* For /overhead: number of replayed kernels with and without an operation. */
int64_t pw_nccl_graphs_placed(const struct pw_nccl_graphs *graphs);
int64_t pw_nccl_graphs_unplaced(const struct pw_nccl_graphs *graphs);

#endif
