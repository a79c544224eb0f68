/* The order of the collectives on a communicator: what the probe adds up for each call, so that
 * `profwrap ctl check` and the report of a hang can tell in which call a rank differs from others.
 *
 * The *signature* of a call is a hash of what MPI requires to be equal on all members: the
 * operation, the root, the bytes of one block (count x size of the type), and, in the lowest bits,
 * the reduction. What MPI lets members choose differently is not in it: lists of counts,
 * neighbourhoods, different types of equal size. The *hash* of a communicator after n
 * collectives is
 *
 *     hash(0) = 0,  hash(n) = hash(n - 1) * PW_CALLORDER_FACTOR + signature
 *
 * The creation of a communicator is added in the same way to the hash of its parent, with its
 * operation as the signature and without counting.
 *
 * Ranks are asked at different moments, so they have made different numbers of collectives. So the
 * last hash of each *level* is kept: the level of n is the number of zero bits at its end. Two
 * ranks with n and m collectives always have the hash of one common number: the leading bits that n
 * and m have in common, then zeros. With n = 13 (1101) and m = 15 (1111) it is 12 (1100). */
#ifndef PW_CORE_CALLORDER_H
#define PW_CORE_CALLORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PW_CALLORDER_LEVELS = 24, /* the last one: numbers that end with as many zeros, or more */
    PW_CALLORDER_REDUCTION_BITS = 5,
    PW_CALLORDER_REDUCTION_MASK = (1 << PW_CALLORDER_REDUCTION_BITS) - 1,
};
#define PW_CALLORDER_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Why the order of a communicator is not compared; PW_CALLORDER_COMPARED: it is. */
enum pw_callorder_state {
    PW_CALLORDER_COMPARED = 0,
    PW_CALLORDER_PERSISTENT, /* persistent collectives may be started in any order */
    PW_CALLORDER_FAILED,     /* a call returned an error, perhaps on this rank only */
    PW_CALLORDER_INTER,      /* the two groups of an intercommunicator give other arguments */
};

/* PW_REDUCTION(name in MPI, Open MPI's variable). */
#define PW_REDUCTIONS(R)            \
    R(MAX, "ompi_mpi_op_max")       \
    R(MIN, "ompi_mpi_op_min")       \
    R(SUM, "ompi_mpi_op_sum")       \
    R(PROD, "ompi_mpi_op_prod")     \
    R(LAND, "ompi_mpi_op_land")     \
    R(BAND, "ompi_mpi_op_band")     \
    R(LOR, "ompi_mpi_op_lor")       \
    R(BOR, "ompi_mpi_op_bor")       \
    R(LXOR, "ompi_mpi_op_lxor")     \
    R(BXOR, "ompi_mpi_op_bxor")     \
    R(MINLOC, "ompi_mpi_op_minloc") \
    R(MAXLOC, "ompi_mpi_op_maxloc") \
    R(REPLACE, "ompi_mpi_op_replace")

/* The lowest bits of a signature. */
enum pw_reduction {
    PW_REDUCTION_NONE = 0,
#define R(name, symbol) PW_REDUCTION_##name,
    PW_REDUCTIONS(R)
#undef R
        PW_REDUCTION_KINDS,
    PW_REDUCTION_USER = 30,    /* one that the program has made */
    PW_REDUCTION_UNKNOWN = 31, /* the signature is not known */
};

/* A collective of a rank, or the creation of a communicator from the one that is compared. */
struct pw_ordered_call {
    uint64_t start; /* ticks of the rank */
    int64_t seq;    /* -1: a creation, which has no number */
    int64_t bytes;  /* the larger of those that the rank sent and received */
    int32_t root;   /* world rank, -1 none */
    uint32_t signature;
    uint16_t op;
};

/* The signature of an operation of a process group on Gloo, or with `has_size` false of a group of
 * MindSpore, whose sizes are not compared. `root` is a world rank, -1 none. PW_REDUCTION_UNKNOWN
 * when its size must be equal on all members and is not known. The kind of reduction is not in it.
 */
uint32_t pw_callorder_sign(uint16_t op, int32_t root, int64_t sent_bytes, int64_t recv_bytes,
                           bool has_size);

/* The same of an operation of NCCL, whose blocks have `bytes` on all members; -1 not known. */
uint32_t pw_callorder_sign_block(uint16_t op, int32_t root, int64_t bytes);

static inline size_t pw_callorder_level(uint32_t count)
{
    return (size_t)__builtin_ctz(count | 1u << (PW_CALLORDER_LEVELS - 1));
}

/* The largest number of this level up to `count`; 0 when there is none. */
static inline uint32_t pw_callorder_at(uint32_t count, unsigned level)
{
    uint32_t above = count >> level;
    if (level < PW_CALLORDER_LEVELS - 1 && above && !(above & 1))
        above--;
    return above << level;
}

#endif
