/* The kernels of the job (docs/metrics.md, "Kernels"): read rank by rank into an operator tree
 * (optree.h), joined between processes as operators are, and written as rows of the cluster file. A
 * kernel is in the tree twice: by name, its path below the operator that launched it; and by name
 * and launch configuration, to compare ranks at the same work. gputrace.c adds each rank's kernels;
 * aggregate.c makes the rows on all processes together. */
#ifndef PW_AGGREGATE_GPU_KERNELROWS_H
#define PW_AGGREGATE_GPU_KERNELROWS_H

#include "aggregate/input/job.h"
#include "aggregate/operators/optree.h"

/* ---- the kernels of one rank ---- */

/* Kinds in the tree. A launcher has no calls, and counts for nothing. */
enum { PW_KERNEL_NAME = PW_KIND_OPERATOR, PW_KERNEL_CONFIG = PW_KIND_USER };
enum { PW_KERNEL_LAUNCHER = PW_KIND_FUNCTION };

/* Names of a rank's file, and what has been summed up under them. */
struct pw_kernelread;

int pw_kernelread_open(struct pw_optree *tree, const struct pw_input *input,
                       struct pw_kernelread **out);

/* Adds a kernel, unless its step warms up. 1 when it is one of NCCL's, 0, or -ENOMEM. */
int pw_kernelread_add(struct pw_kernelread *r, const struct pw_row_kernel *kernel);

/* Ends the rank. 0 or -ENOMEM. */
int pw_kernelread_close(struct pw_kernelread *r);

/* Rows that are written; what is beyond is joined in one. By rank: of the first so many, and as
 * many launch configurations are compared between ranks. */
enum { PW_KERNELS_MOST = 20000, PW_KERNELS_BY_RANK = 32, PW_KERNELS_COMPARED = 192 };

struct pw_kernels {
    struct pw_row_c_kernel *kernels;
    struct pw_row_c_kernel_rank *by_rank;
    struct pw_row_c_gpu_rank *ranks;     /* of all processes, by rank */
    struct pw_row_c_gpu_device *devices; /* of all processes; see gpudevices.h */
    size_t nkernels, nby_rank, nranks, ndevices;
};

/* Reduces the processes' kernels, of which process 0's tree is changed, makes the rows on process 0
 * and completes the GPU ranks, of which this process has `nmine`. Collective; 0 or the worst, the
 * same on all. */
int pw_kernels_make(struct pw_kernels *out, struct pw_job *job, struct pw_optree *tree,
                    const struct pw_row_c_gpu_rank *mine, size_t nmine);

void pw_kernels_fini(struct pw_kernels *kernels);

#endif
