/* Keeps what of NCCL was captured into CUDA graphs: calls, and the kernels that are launched for
 * them, each of which becomes a node. Only nccl_graph.c calls it. Tool half: its memory is
 * limited. */
#ifndef PW_NCCL_CAPTURED_H
#define PW_NCCL_CAPTURED_H

#include "collectors/nccl/nccl_ops.h"

/* What names of kernels tell apart. */
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

/* The kinds of operations that a kernel of this name may be of. */
unsigned pw_nccl_kernel_kinds(const char *name);

struct pw_nccl_captured_call {
    struct pw_nccl_op op;
    struct pw_row_comms comm;
    uint32_t unit; /* 1 + that of the kernel it is in; 0 not known yet */
};

/* What is in one kernel; `ncalls` 0: the rest of what the unit before it began. */
struct pw_nccl_captured_unit {
    uint32_t comm, ncalls, first; /* first: of `calls` in it, among which may be others' */
    int64_t time;
    unsigned kinds; /* bits of enum pw_nccl_kernel_kind of its calls */
    bool is_taken;  /* by a graph that nothing else fits */
};

struct pw_nccl_captured {
    struct pw_budget *budget;
    struct pw_nccl_captured_call *calls;
    struct pw_nccl_captured_unit *units; /* in the order in which they were told of */
    uint32_t ncalls, calls_capacity, nunits, units_capacity;
    uint32_t nsorted; /* all calls before have their unit */
    bool is_mixed;    /* not in the order of time, as where several threads capture */
};

/* False when there is no more room. */
bool pw_nccl_captured_call(struct pw_nccl_captured *c, const struct pw_nccl_op *op,
                           const struct pw_row_comms *comm);
bool pw_nccl_captured_launch(struct pw_nccl_captured *c, uint32_t comm, int64_t time);

/* Puts each call into the kernel that was launched next: a call may be told of after that. */
void pw_nccl_captured_sort(struct pw_nccl_captured *c);

/* The nth call of a unit; NULL: it has fewer. */
const struct pw_nccl_captured_call *pw_nccl_captured_borrow(const struct pw_nccl_captured *c,
                                                            uint32_t unit, uint32_t nth);

void pw_nccl_captured_fini(struct pw_nccl_captured *c);

/* Room for one more in an array of `n`; false: there is none. */
bool pw_nccl_captured_grow(struct pw_budget *budget, void **array, uint32_t n, uint32_t *capacity,
                           size_t size);

#endif
