/* NCCL's operations by what it tells NVTX: of programs whose NCCL has no profiler plugin, or
 * another one, and that our wrappers do not see. Each of its calls is a range of domain "NCCL" with
 * the hash of its communicator and its bytes as payload. In the collector; used by nccl_tool.c. */
#ifndef PW_NCCL_NVTX_H
#define PW_NCCL_NVTX_H

#include <stdbool.h>

#include "rank/collect/collector.h"

struct pw_nccl_nvtx;

/* What pw_nccl_nvtx_see() is to be called with. */
#define PW_NCCL_NVTX_WATCHES (PW_WATCH(PW_REC_NVTX) | PW_WATCH(PW_REC_NVTX_PAYLOAD))

/* NULL when memory is short. */
struct pw_nccl_nvtx *pw_nccl_nvtx_create(struct pw_rankfile *file);
void pw_nccl_nvtx_destroy(struct pw_nccl_nvtx *nvtx);

void pw_nccl_nvtx_see(struct pw_nccl_nvtx *nvtx, const struct pw_record *record,
                      const struct pw_origin *origin);

/* A wrapper reports a call: a range inside it is of the same operation. */
void pw_nccl_nvtx_drop(struct pw_nccl_nvtx *nvtx, const struct pw_origin *call);

/* The profiler plugin reports what this process does: ranges of it are no operations. */
void pw_nccl_nvtx_refuse(struct pw_nccl_nvtx *nvtx);

/* Whether operations of this process may be known by NVTX. */
bool pw_nccl_nvtx_is_active(const struct pw_nccl_nvtx *nvtx);

/* A kernel of NCCL's that nothing else has. */
void pw_nccl_nvtx_take_kernel(struct pw_nccl_nvtx *nvtx, const struct pw_row_kernel *kernel);

/* Writes what is left of a process: another begins, or none. */
void pw_nccl_nvtx_flush(struct pw_nccl_nvtx *nvtx);

/* For /overhead: operations known by NVTX, and kernels that no operation was found for. */
int64_t pw_nccl_nvtx_operations(const struct pw_nccl_nvtx *nvtx);
int64_t pw_nccl_nvtx_kernels_alone(const struct pw_nccl_nvtx *nvtx);

#endif
