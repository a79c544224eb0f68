/* What a trace says of its NCCL operations: which one, on what, in which group. There are few
 * different ones, so that records hold their numbers in a table of the rank. Formats and
 * rankwrite.c call this; it knows names of operations, types and kernels, and nothing of
 * communicators (communicators.h). */
#ifndef PW_IMPORT_TRACEOPS_H
#define PW_IMPORT_TRACEOPS_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"

enum { PW_COLLECTIVE_MEMBERS = 4096, PW_MOST_COLLECTIVES = 1 << 16 };

/* Texts are rows of /strings, of which 0 is: not known. */
struct pw_collective {
    uint16_t op;     /* enum pw_op; None: a kernel of NCCL that does not say */
    uint8_t is_gloo; /* of a log, whose name of the operation says so; 0: NCCL's */
    uint32_t datatype, element_bytes;
    uint32_t group, group_note; /* the process group's name and what it is for */
    uint32_t members;           /* text of the list of world ranks */
    int32_t group_size;         /* -1: not known */
    int32_t peer;               /* as the trace says: Kineto's is a rank of the job; -1 none */
    int32_t first, stride;      /* of the members; -1: not known */
    int32_t my_rank;            /* of this rank in the group; -1: not known */
    uint32_t algorithm, protocol;
};

struct pw_collectives {
    struct pw_collective *items; /* number i is items[i - 1] */
    struct pw_hash hash;
    size_t n, capacity;
};

/* Its number; 0 when there are too many, or memory is short. */
uint32_t pw_collectives_find(struct pw_collectives *all, const struct pw_collective *one);

/* Number `number`, or NULL for 0. */
const struct pw_collective *pw_collectives_borrow(const struct pw_collectives *all,
                                                  uint32_t number);

void pw_collectives_fini(struct pw_collectives *all);

/* "allreduce", "_allgather_base", "all_to_allv", as PyTorch's processes groups name what they do;
 * None for what is none. */
uint16_t pw_collective_op(const char *name, size_t length);

/* Whether the kernel is NCCL's (or RCCL's), by its name in every spelling of theirs; then *op and
 * where its data type and algorithm and protocol are in the name, else untouched. */
struct pw_nccl_kernel {
    uint16_t op;
    const char *datatype, *algorithm, *protocol;
    size_t datatype_length, algorithm_length, protocol_length;
};
int pw_collective_kernel(const char *name, size_t length, struct pw_nccl_kernel *out);

/* Bytes of an element, by PyTorch's or NCCL's or C's name of its type; 0 for what is none. */
uint32_t pw_collective_element(const char *name, size_t length);

#endif
