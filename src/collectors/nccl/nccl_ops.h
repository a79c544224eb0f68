/* Collects the records of NCCL's operations and writes their rows. An operation has several
 * records, from several threads, and the times of its kernel come later, from the module gpu. So
 * operations wait in a table. When the table is full, the rows of the oldest operation are written
 * with the values that are known by then. Used by nccl_tool.c only. Tool half; its memory is
 * fixed. */
#ifndef PW_NCCL_OPS_H
#define PW_NCCL_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "rank/file/rankfile.h"

/* An interval on the GPU, ns of the rank's clock. */
struct pw_nccl_span {
    int64_t start, end; /* start INT64_MAX: not known */
};

struct pw_nccl_op {
    uint64_t id; /* 0: none */
    bool has_call, has_task, is_alone;
    bool is_launched; /* 1: `launch` is the kernel's launch; 0: the kernel was launched before
                       * `launch` */
    bool has_kernel, is_written;
    bool is_counted; /* of a message: it is in the numbers of messages */
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
    struct pw_nccl_span timer; /* first to last channel, by the GPU's timer */
    struct pw_row_kernel kernel;
};

struct pw_nccl_ops;

/* Returns NULL when memory is short. */
struct pw_nccl_ops *pw_nccl_ops_create(struct pw_rankfile *file);
void pw_nccl_ops_destroy(struct pw_nccl_ops *ops);

/* Returns the operation with this number. A new one takes the place of an old one, whose rows are
 * written. NULL when the rows of this operation were already written. */
struct pw_nccl_op *pw_nccl_ops_at(struct pw_nccl_ops *ops, uint64_t id);

/* Returns the operation with this number; NULL when there is none. */
struct pw_nccl_op *pw_nccl_ops_find(struct pw_nccl_ops *ops, uint64_t id);

/* To be called when the operation's task is known: gives it the kernel of its plan, if that has
 * come. */
void pw_nccl_ops_join(struct pw_nccl_ops *ops, struct pw_nccl_op *op);

/* Adds an NCCL kernel, and stores it when its operation is not known yet. */
void pw_nccl_ops_take_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel);

/* As pw_nccl_ops_take_kernel(), but does not store the kernel: returns false when its operation is
 * not known yet. */
bool pw_nccl_ops_match_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel);

/* Writes the rows of an operation that is not in the table. */
void pw_nccl_ops_write(struct pw_nccl_ops *ops, struct pw_nccl_op *op);

/* Calls `see` for the last collectives, and the last messages that are counted, newest first, until
 * it returns false. `ended`: its kernel has ended. */
void pw_nccl_ops_last(const struct pw_nccl_ops *ops,
                      bool (*see)(void *arg, const struct pw_nccl_op *op, bool ended), void *arg);

/* Writes the rows of all operations and empties the table: the next number is 1 again. */
void pw_nccl_ops_flush(struct pw_nccl_ops *ops);

/* For /overhead: number of kernels without an operation; of operations without a call. */
int64_t pw_nccl_ops_kernels_alone(const struct pw_nccl_ops *ops);
int64_t pw_nccl_ops_incomplete(const struct pw_nccl_ops *ops);

#endif
