/* The different operations of NCCL and Gloo in a rank's traces: operation, data type and process
 * group. There are few, so a record has only the number of its operation in this table. Formats and
 * rankwrite.c call this. It reads names of operations, types and kernels; communicators.h finds
 * communicators. */
#ifndef PW_IMPORT_TRACEOPS_H
#define PW_IMPORT_TRACEOPS_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"
#include "core/tables.h"

enum { PW_COLLECTIVE_MEMBERS = 4096, PW_MOST_COLLECTIVES = 1 << 16 };

/* The library of an operation. */
enum pw_library {
    PW_LIBRARY_NCCL,
    PW_LIBRARY_GLOO,
    PW_LIBRARY_HCCL,
    PW_LIBRARY_ONECCL,
    PW_LIBRARY_DEVICE, /* kernels that ranks write for each other (core/comm_kernel.h) */
    PW_LIBRARIES
};
enum pw_source pw_library_source(enum pw_library library);

/* The texts are rows of /strings; 0: not known. */
struct pw_collective {
    uint16_t op;     /* enum pw_op; PW_OP_None: the kernel does not say */
    uint8_t library; /* enum pw_library */
    uint32_t datatype, element_bytes;
    uint32_t group, group_note; /* the process group's name and description */
    uint32_t members;           /* the list of world ranks as a text */
    int32_t group_size;         /* -1: not known */
    int32_t peer;          /* a rank of the job in Kineto's traces, else of the group; -1: none */
    int32_t first, stride; /* the members' first rank and stride; -1: not known */
    int32_t my_rank;       /* this rank's number in the group; -1: not known */
    uint32_t algorithm, protocol;
};

struct pw_collectives {
    struct pw_collective *items; /* number i is items[i - 1] */
    struct pw_hash hash;
    size_t n, capacity;
};

/* Returns the number of an operation, which it adds if it is new; 0 when there are too many, or
 * memory is short. */
uint32_t pw_collectives_find(struct pw_collectives *all, const struct pw_collective *one);

/* Returns the operation with this number, or NULL when there is none. */
const struct pw_collective *pw_collectives_borrow(const struct pw_collectives *all,
                                                  uint32_t number);

void pw_collectives_fini(struct pw_collectives *all);

/* Returns the operation (enum pw_op) that PyTorch's process groups call "allreduce",
 * "_allgather_base", "all_to_allv" and so on; PW_OP_None for other names. */
uint16_t pw_collective_op(const char *name, size_t length);

/* What the name of an NCCL kernel says. The texts point into the name. */
struct pw_nccl_kernel {
    uint16_t op;
    const char *datatype, *algorithm, *protocol;
    size_t datatype_length, algorithm_length, protocol_length;
};

/* Reads a kernel's name. Returns 0, and leaves *out as it is, when the kernel is not NCCL's or
 * RCCL's. */
int pw_collective_kernel(const char *name, size_t length, struct pw_nccl_kernel *out);

/* Returns the bytes of an element of a type, by PyTorch's, NCCL's or C's name of the type; 0 for
 * other names. */
uint32_t pw_collective_element(const char *name, size_t length);

#endif
