/* Makes NCCL operations from NCCL's NVTX ranges. For programs in which neither our profiler plugin
 * nor our wrappers see NCCL's calls. Each call is a range in the domain "NCCL", whose payload has
 * the hash of the communicator and the bytes. Called by nccl_tool.c. Tool half: used only while no
 * other source reports. */
#ifndef PW_NCCL_NVTX_H
#define PW_NCCL_NVTX_H

#include <stdbool.h>

#include "rank/collect/module.h"

struct pw_nccl_nvtx;

/* The record types that pw_nccl_nvtx_see() must get. */
#define PW_NCCL_NVTX_WATCHES (PW_WATCH(PW_REC_NVTX) | PW_WATCH(PW_REC_NVTX_PAYLOAD))

/* Returns NULL when memory is short. */
struct pw_nccl_nvtx *pw_nccl_nvtx_create(struct pw_rankfile *file);
void pw_nccl_nvtx_destroy(struct pw_nccl_nvtx *nvtx);

void pw_nccl_nvtx_see(struct pw_nccl_nvtx *nvtx, const struct pw_record *record,
                      const struct pw_origin *origin);

/* To be called when a wrapper reports a call: drops a range inside it, which is the same
 * operation. */
void pw_nccl_nvtx_drop(struct pw_nccl_nvtx *nvtx, const struct pw_origin *call);

/* To be called when the profiler plugin reports this process's operations: ignores all its
 * ranges. */
void pw_nccl_nvtx_refuse(struct pw_nccl_nvtx *nvtx);

/* Whether ranges of this process may become operations. */
bool pw_nccl_nvtx_is_active(const struct pw_nccl_nvtx *nvtx);

/* Adds an NCCL kernel that belongs to no other operation. */
void pw_nccl_nvtx_take_kernel(struct pw_nccl_nvtx *nvtx, const struct pw_row_kernel *kernel);

/* Writes the remaining operations of a process, when another process begins and at the end. */
void pw_nccl_nvtx_flush(struct pw_nccl_nvtx *nvtx);

/* For /overhead: number of operations from NVTX; number of kernels without an operation. */
int64_t pw_nccl_nvtx_operations(const struct pw_nccl_nvtx *nvtx);
int64_t pw_nccl_nvtx_kernels_alone(const struct pw_nccl_nvtx *nvtx);

#endif
