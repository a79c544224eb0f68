/* NCCL's operations between their records and their rows. What an operation is comes in several
 * records, from several threads, and when its kernel ran comes later, from another collector. So
 * many wait in a table; the oldest gets its rows when there is no more room, with what is known by
 * then. Used by nccl_tool.c. */
#ifndef PW_NCCL_OPS_H
#define PW_NCCL_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "rank/file/rankfile.h"

/* When something ran on the GPU, ns on the rank's clock. */
struct pw_nccl_span {
    int64_t start, end; /* start INT64_MAX: not known */
};

struct pw_nccl_op {
    uint64_t id; /* 0: none */
    bool has_call, has_task, is_alone;
    bool is_launched; /* launch is the kernel's, else the kernel was launched before it */
    bool has_kernel, is_written;
    uint16_t op, task_op, call_thread, task_thread;
    uint8_t flags; /* of /events/comm */
    uint32_t comm; /* index in records */
    int32_t comm_row, size;
    int64_t seq;
    int32_t peer;
    int64_t count;
    uint32_t element_bytes;
    uint32_t datatype, algorithm, protocol, stream, stack;
    int32_t channels;
    uint64_t plan;
    struct pw_nccl_span call, launch, channel;
    struct pw_nccl_span timer; /* the channels by the GPU's timer */
    struct pw_row_kernel kernel;
};

struct pw_nccl_ops;

/* NULL when memory is short. */
struct pw_nccl_ops *pw_nccl_ops_create(struct pw_rankfile *file);
void pw_nccl_ops_destroy(struct pw_nccl_ops *ops);

/* The operation with this number, made when it is new, with the rows of what was in its place
 * written. NULL when it is over already. */
struct pw_nccl_op *pw_nccl_ops_at(struct pw_nccl_ops *ops, uint64_t id);

/* The same, without making it. */
struct pw_nccl_op *pw_nccl_ops_find(struct pw_nccl_ops *ops, uint64_t id);

/* The task of the operation is known now. */
void pw_nccl_ops_join(struct pw_nccl_ops *ops, struct pw_nccl_op *op);

/* A kernel of NCCL ran. */
void pw_nccl_ops_take_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel);

/* The same, where the kernel is not kept when there is no operation yet that it is of; then false.
 */
bool pw_nccl_ops_match_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel);

/* Rows of an operation that is in no table. */
void pw_nccl_ops_write(struct pw_nccl_ops *ops, struct pw_nccl_op *op);

/* Writes all rows that are left; numbers begin again. */
void pw_nccl_ops_flush(struct pw_nccl_ops *ops);

/* What of an operation's bytes this rank sent and received. */
void pw_nccl_ops_bytes(const struct pw_nccl_op *op, int64_t *sent, int64_t *received);

/* For /overhead: kernels that no operation was found for; operations without their call. */
int64_t pw_nccl_ops_kernels_alone(const struct pw_nccl_ops *ops);
int64_t pw_nccl_ops_incomplete(const struct pw_nccl_ops *ops);

#endif
