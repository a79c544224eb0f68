/* The kernels of the job (docs/metrics.md, "Kernels"): they are read rank by rank into an operator
 * tree (optree.h), joined between processes like operators, and written as rows of the cluster
 * file. A kernel is in the tree twice: by name, below the operator that launched it; and by name
 * and launch configuration, so that ranks can be compared at the same work. gputrace.c adds each
 * rank's kernels; aggregate.c makes the rows on all processes together. */
#ifndef PW_AGGREGATE_GPU_KERNELROWS_H
#define PW_AGGREGATE_GPU_KERNELROWS_H

#include "aggregate/input/job.h"
#include "aggregate/operators/optree.h"

/* ---- the kernels of one rank ---- */

/* Kinds in the tree. An operator that launched kernels is in the tree without calls, and does not
 * count. */
enum { PW_KERNEL_NAME = PW_KIND_OPERATOR, PW_KERNEL_CONFIG = PW_KIND_USER };
enum { PW_KERNEL_LAUNCHER = PW_KIND_FUNCTION };

/* The texts of a rank's file, and the sums of its kernels. */
struct pw_kernelread;

int pw_kernelread_open(struct pw_optree *tree, const struct pw_input *input,
                       struct pw_kernelread **out);

/* Adds a kernel, unless its step is warm-up. Returns 1 when it is one of NCCL's, 0 when not, or
 * -ENOMEM. */
int pw_kernelread_add(struct pw_kernelread *r, const struct pw_row_kernel *kernel);

/* Ends the rank. Returns 0 or -ENOMEM. */
int pw_kernelread_close(struct pw_kernelread *r);

/* Limits. _MOST: rows that are written; further kernels are joined in one row. _BY_RANK: the first
 * rows that also have figures of each rank. _COMPARED: launch configurations that are compared
 * between ranks. */
enum { PW_KERNELS_MOST = 20000, PW_KERNELS_BY_RANK = 32, PW_KERNELS_COMPARED = 192 };

struct pw_kernels {
    struct pw_row_c_kernel *kernels;
    struct pw_row_c_kernel_rank *by_rank;
    struct pw_row_c_gpu_rank *ranks;     /* from all processes, sorted by rank */
    struct pw_row_c_gpu_device *devices; /* from all processes; see gpudevices.h */
    size_t nkernels, nby_rank, nranks, ndevices;
};

/* Joins the kernels of all processes in process 0's tree, makes the rows on process 0, and
 * completes the GPU ranks. mine[nmine]: the GPU ranks of this process. Collective. Returns 0 or the
 * worst error of all processes, the same on all. */
int pw_kernels_make(struct pw_kernels *out, struct pw_job *job, struct pw_optree *tree,
                    const struct pw_row_c_gpu_rank *mine, size_t nmine);

void pw_kernels_fini(struct pw_kernels *kernels);

#endif
