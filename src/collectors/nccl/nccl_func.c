/* Tables of NCCL's names; see nccl_func.h. */
#include "collectors/nccl/nccl_func.h"

#include <stddef.h>
#include <string.h>

#include "core/ops.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *name;
    uint16_t op;
    uint8_t is_rooted;
} funcs[PW_NCCL_FUNCS] = {
    [PW_NCCL_BROADCAST] = {"Broadcast", PW_OP_Bcast, 1},
    [PW_NCCL_REDUCE] = {"Reduce", PW_OP_Reduce, 1},
    [PW_NCCL_ALLGATHER] = {"AllGather", PW_OP_Allgather, 0},
    [PW_NCCL_REDUCESCATTER] = {"ReduceScatter", PW_OP_Reduce_scatter_block, 0},
    [PW_NCCL_ALLREDUCE] = {"AllReduce", PW_OP_Allreduce, 0},
    [PW_NCCL_SENDRECV] = {"SendRecv", PW_OP_Sendrecv, 0},
    [PW_NCCL_SEND] = {"Send", PW_OP_Send, 0},
    [PW_NCCL_RECV] = {"Recv", PW_OP_Recv, 0},
    [PW_NCCL_ALLTOALL] = {"AlltoAll", PW_OP_Alltoall, 0},
    [PW_NCCL_SCATTER] = {"Scatter", PW_OP_Scatter, 1},
    [PW_NCCL_GATHER] = {"Gather", PW_OP_Gather, 1},
};

/* In the order of ncclDataType_t. */
static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
};

static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

int pw_nccl_func_find(const char *name)
{
    if (!name)
        return -1;
    if (strncmp(name, "nccl", 4) == 0)
        name += 4;
    for (int i = 0; i < PW_NCCL_FUNCS; i++)
        if (strcmp(name, funcs[i].name) == 0)
            return i;
    return strcmp(name, "Bcast") == 0 ? PW_NCCL_BROADCAST : -1;
}

const char *pw_nccl_type_name(uint32_t number)
{
    return number < COUNT(types) ? types[number].name : "";
}

const char *pw_nccl_algorithm_name(uint32_t number)
{
    return number < COUNT(algorithms) ? algorithms[number] : "";
}

const char *pw_nccl_protocol_name(uint32_t number)
{
    return number < COUNT(protocols) ? protocols[number] : "";
}

uint32_t pw_nccl_type_bytes(const char *name)
{
    for (size_t i = 0; name && i < COUNT(types); i++)
        if (strcmp(name, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

uint16_t pw_nccl_func_op(int func)
{
    return func >= 0 && func < PW_NCCL_FUNCS ? funcs[func].op : (uint16_t)PW_OP_None;
}

int pw_nccl_func_is_rooted(int func)
{
    return func >= 0 && func < PW_NCCL_FUNCS && funcs[func].is_rooted;
}
