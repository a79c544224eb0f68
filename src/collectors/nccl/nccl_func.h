/* The names of NCCL's functions and data types, their numbers in plugin version 1 (nccl_common.h,
 * nccl.h), and each function's enum pw_op. Called by the in-app files of this folder and
 * nccl_tool.c. Without state. */
#ifndef PW_NCCL_FUNC_H
#define PW_NCCL_FUNC_H

#include <stdint.h>

/* Functions in the order of NCCL's own numbers, which plugin version 1 uses. */
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

/* Returns the function of this name, with or without the prefix "nccl"; -1 when it is not
 * recorded. */
int pw_nccl_func_find(const char *name);

/* Returns a name such as "ncclFloat32" (7); "" for an unknown number. */
const char *pw_nccl_type_name(uint32_t number);

/* Return a name such as "RING" or "SIMPLE" for a number of plugin version 1. */
const char *pw_nccl_algorithm_name(uint32_t number);
const char *pw_nccl_protocol_name(uint32_t number);

/* Bytes of an element of the type of this name; 0: unknown. */
uint32_t pw_nccl_type_bytes(const char *name);

/* Returns the enum pw_op of a function; PW_OP_None for other numbers. */
uint16_t pw_nccl_func_op(int func);

/* Whether the function has a root. */
int pw_nccl_func_is_rooted(int func);

#endif
