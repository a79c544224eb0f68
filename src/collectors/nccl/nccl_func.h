/* What NCCL's functions and data types are called, in texts and in the numbers of plugin version 1
 * (nccl_common.h, nccl.h); each function's operation in ours. In-app code, without state. */
#ifndef PW_NCCL_FUNC_H
#define PW_NCCL_FUNC_H

#include <stdint.h>

/* Functions in the order of NCCL's own numbers, which version 1 gives. */
enum pw_nccl_func {
    PW_NCCL_BROADCAST,
    PW_NCCL_REDUCE,
    PW_NCCL_ALLGATHER,
    PW_NCCL_REDUCESCATTER,
    PW_NCCL_ALLREDUCE,
    PW_NCCL_SENDRECV,
    PW_NCCL_SEND,
    PW_NCCL_RECV,
    PW_NCCL_ALLTOALL,
    PW_NCCL_SCATTER,
    PW_NCCL_GATHER,
    PW_NCCL_FUNCS
};

/* The function of this name, with or without "nccl" before it; -1: none that is recorded. */
int pw_nccl_func_find(const char *name);

/* "ncclFloat32" for 7; "" for what is unknown. */
const char *pw_nccl_type_name(uint32_t number);

/* "RING", "SIMPLE": of version 1's numbers. */
const char *pw_nccl_algorithm_name(uint32_t number);
const char *pw_nccl_protocol_name(uint32_t number);

/* Bytes of an element of the type of this name; 0: unknown. */
uint32_t pw_nccl_type_bytes(const char *name);

/* enum pw_op of a function; PW_OP_None for what is none. */
uint16_t pw_nccl_func_op(int func);

/* Whether it has a root. */
int pw_nccl_func_is_rooted(int func);

#endif
