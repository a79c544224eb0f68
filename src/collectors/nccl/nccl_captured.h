/* Stores NCCL calls that were captured into CUDA graphs, and the kernels that NCCL launched for
 * them during the capture. Each kernel (a "unit" here) becomes a node of the graph. Only
 * nccl_graph.c calls it. Tool half: its memory is limited. */
#ifndef PW_NCCL_CAPTURED_H
#define PW_NCCL_CAPTURED_H

#include "collectors/nccl/nccl_ops.h"

/* Kinds of operations that the names of NCCL's kernels distinguish. */
enum pw_nccl_kernel_kind {
    PW_NCCL_KERNEL_ALLREDUCE = 1,
    PW_NCCL_KERNEL_ALLGATHER = 2,
    PW_NCCL_KERNEL_REDUCESCATTER = 4,
    PW_NCCL_KERNEL_BROADCAST = 8,
    PW_NCCL_KERNEL_REDUCE = 16,
    PW_NCCL_KERNEL_MESSAGES = 32,
    PW_NCCL_KERNEL_OTHER = 64,
    PW_NCCL_KERNEL_ANY = 127,
};

/* Returns the kinds (bits) of operations that a kernel of this name can run. */
unsigned pw_nccl_kernel_kinds(const char *name);

struct pw_nccl_captured_call {
    struct pw_nccl_op op;
    struct pw_row_comms comm;
    uint32_t unit; /* 1 + number of the unit that has the call; 0: not known yet */
};

/* A kernel and its calls. `ncalls` 0: a further kernel for the calls of the unit before. */
struct pw_nccl_captured_unit {
    uint32_t comm, ncalls, first; /* first: index in `calls` of its first call; calls of other units
                                   * may be between */
    int64_t time;
    unsigned kinds; /* kinds of its calls, bits of enum pw_nccl_kernel_kind */
    bool is_taken;  /* assigned to a graph for which no other unit fits */
};

struct pw_nccl_captured {
    struct pw_budget *budget;
    struct pw_nccl_captured_call *calls;
    struct pw_nccl_captured_unit *units; /* in the order of their records */
    uint32_t ncalls, calls_capacity, nunits, units_capacity;
    uint32_t nsorted; /* the calls before this index have a unit */
    bool is_mixed;    /* records are not in order of time, as when several threads capture */
};

/* The first function adds a call, the second a kernel. Both return false when there is no more
 * room. */
bool pw_nccl_captured_call(struct pw_nccl_captured *c, const struct pw_nccl_op *op,
                           const struct pw_row_comms *comm);
bool pw_nccl_captured_launch(struct pw_nccl_captured *c, uint32_t comm, int64_t time);

/* Assigns each call to the kernel that was launched next. Done later, because the record of a call
 * may come after that of its kernel. */
void pw_nccl_captured_sort(struct pw_nccl_captured *c);

/* Returns the nth call of a unit; NULL when it has fewer. */
const struct pw_nccl_captured_call *pw_nccl_captured_borrow(const struct pw_nccl_captured *c,
                                                            uint32_t unit, uint32_t nth);

void pw_nccl_captured_fini(struct pw_nccl_captured *c);

/* Makes room for one more item in an array of `n`. Returns false when memory or budget is short. */
bool pw_nccl_captured_grow(struct pw_budget *budget, void **array, uint32_t n, uint32_t *capacity,
                           size_t size);

#endif
