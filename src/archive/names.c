/* Tables of what MPI's functions are in OTF2; see names.h. */
#include "archive/names.h"

#include <string.h>
#include <strings.h>

/* Tables of what MPI's functions are in OTF2. */

OTF2_RegionRole pw_otf2_role(uint32_t op)
{
    const struct pw_op_info *info = pw_op_info(op);
    switch (info->cls) {
    case PW_CLASS_COLL:
        return op == PW_OP_Barrier || op == PW_OP_Ibarrier ? OTF2_REGION_ROLE_BARRIER
               : info->shape == PW_SHAPE_FROM_ROOT         ? OTF2_REGION_ROLE_COLL_ONE2ALL
               : info->shape == PW_SHAPE_TO_ROOT           ? OTF2_REGION_ROLE_COLL_ALL2ONE
               : info->shape == PW_SHAPE_ALL               ? OTF2_REGION_ROLE_COLL_ALL2ALL
                                                           : OTF2_REGION_ROLE_COLL_OTHER;
    case PW_CLASS_SEND:
    case PW_CLASS_RECV:
    case PW_CLASS_WAIT:
    case PW_CLASS_PROBE:
        return OTF2_REGION_ROLE_POINT2POINT;
    case PW_CLASS_RMA:
        return OTF2_REGION_ROLE_RMA;
    case PW_CLASS_IO:
        return OTF2_REGION_ROLE_FILE_IO;
    default:
        return OTF2_REGION_ROLE_FUNCTION;
    }
}

static const struct {
    uint32_t op, nonblocking;
    OTF2_CollectiveOp collective;
} collectives[] = {
#define BOTH(name, inner, collective)                                 \
    {                                                                 \
        PW_OP_##name, PW_OP_I##inner, OTF2_COLLECTIVE_OP_##collective \
    }
    BOTH(Barrier, barrier, BARRIER),
    BOTH(Bcast, bcast, BCAST),
    BOTH(Gather, gather, GATHER),
    BOTH(Gatherv, gatherv, GATHERV),
    BOTH(Scatter, scatter, SCATTER),
    BOTH(Scatterv, scatterv, SCATTERV),
    BOTH(Allgather, allgather, ALLGATHER),
    BOTH(Allgatherv, allgatherv, ALLGATHERV),
    BOTH(Alltoall, alltoall, ALLTOALL),
    BOTH(Alltoallv, alltoallv, ALLTOALLV),
    BOTH(Alltoallw, alltoallw, ALLTOALLW),
    BOTH(Allreduce, allreduce, ALLREDUCE),
    BOTH(Reduce, reduce, REDUCE),
    BOTH(Reduce_scatter, reduce_scatter, REDUCE_SCATTER),
    BOTH(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK),
    BOTH(Scan, scan, SCAN),
    BOTH(Exscan, exscan, EXSCAN),
#undef BOTH
};
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

int pw_otf2_collective(uint32_t op)
{
    for (size_t i = 0; i < COLLECTIVES; i++)
        if (collectives[i].op == op || collectives[i].nonblocking == op)
            return (int)collectives[i].collective;
    return -1;
}

uint16_t pw_otf2_remote(uint32_t op, uint32_t *atomic)
{
    static const struct {
        uint32_t op;
        uint16_t what;
        uint32_t atomic;
    } remotes[] = {
        {PW_OP_Put, PW_OTF2_PUT, 0},
        {PW_OP_Rput, PW_OTF2_PUT, 0},
        {PW_OP_Get, PW_OTF2_GET, 0},
        {PW_OP_Rget, PW_OTF2_GET, 0},
        {PW_OP_Accumulate, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE},
        {PW_OP_Raccumulate, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE},
        {PW_OP_Get_accumulate, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE},
        {PW_OP_Rget_accumulate, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE},
        {PW_OP_Fetch_and_op, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE},
        {PW_OP_Compare_and_swap, PW_OTF2_ATOMIC, OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP},
        {PW_OP_Win_fence, PW_OTF2_FENCE, 0},
        {PW_OP_Win_lock, PW_OTF2_LOCK, 0},
        {PW_OP_Win_unlock, PW_OTF2_UNLOCK, 0},
    };
    for (size_t i = 0; i < sizeof(remotes) / sizeof(remotes[0]); i++)
        if (remotes[i].op == op) {
            *atomic = remotes[i].atomic;
            return remotes[i].what;
        }
    return PW_OTF2_PLAIN;
}

uint32_t pw_otf2_op_named(const char *name)
{
    const char *at = strncasecmp(name, "PMPI_", 5) == 0 ? name + 5 : name + 4;
    if (strncasecmp(name, "PMPI_", 5) != 0 && strncasecmp(name, "MPI_", 4) != 0)
        return PW_OP_None;
    size_t length = strlen(at);
    while (length && at[length - 1] == '_')
        length--;
    for (uint32_t op = 0; op < PW_OP_COUNT; op++) {
        const char *known = pw_op_info(op)->name;
        if (op != PW_OP_None && strlen(known) == length && strncasecmp(known, at, length) == 0)
            return op;
    }
    return PW_OP_None;
}
