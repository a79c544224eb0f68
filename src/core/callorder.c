/* Signs the operations of process groups; see callorder.h. */
#include "core/callorder.h"

#include "core/ops.h"

/* The bytes that must be equal on all members; 0: none must. The members of a scattered reduction
 * may take parts of different sizes. */
static int64_t equal_bytes(uint16_t op, int64_t sent, int64_t received)
{
    switch (op) {
    case PW_OP_Allreduce:
    case PW_OP_Bcast:
    case PW_OP_Reduce:
    case PW_OP_Gather:
    case PW_OP_Allgather:
        return sent;
    case PW_OP_Scatter:
        return received;
    default:
        return 0;
    }
}

uint32_t pw_callorder_sign_block(uint16_t op, int32_t root, int64_t bytes)
{
    uint64_t hash = ((uint64_t)op << 32 | (uint32_t)root) * PW_CALLORDER_FACTOR;
    if (bytes < 0)
        return PW_REDUCTION_UNKNOWN;
    hash = ((hash ^ hash >> 29) + (uint64_t)bytes) * PW_CALLORDER_FACTOR;
    return (uint32_t)(hash >> 32) & ~(uint32_t)PW_CALLORDER_REDUCTION_MASK;
}

uint32_t pw_callorder_sign(uint16_t op, int32_t root, int64_t sent_bytes, int64_t recv_bytes,
                           bool has_size)
{
    return pw_callorder_sign_block(op, root,
                                   has_size ? equal_bytes(op, sent_bytes, recv_bytes) : 0);
}
