/* The kernels of the job, summed up in an operator tree (optree.h), so that they are joined between
 * processes as operators are.
 *
 * A kernel is in it twice: by name, its path below the operator that launched it; and by name and
 * launch configuration, to compare ranks at the same work. */
#ifndef PW_AGGREGATE_GPU_KERNELS_H
#define PW_AGGREGATE_GPU_KERNELS_H

#include "aggregate/input/job.h"
#include "aggregate/operators/optree.h"

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

#endif
