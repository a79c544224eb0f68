/* Names of kernels, functions, devices and queues. The application's threads report kernels as
 * they load them; everything else is known before recording begins. rocm_records.c reads them. In-
 * app code. */
#ifndef PW_ROCM_NAMES_H
#define PW_ROCM_NAMES_H

#include "collectors/rocm/rocm_layout.h"
#include "rank/probe/intern.h"

/* A kernel that can be launched from now on. */
void pw_rocm_name_kernel(const struct pw_rocp_kernel_symbol *symbol);

/* The name's id, and *group_bytes, of local memory, that its code asks for; 0 and 0 not known. By
 * one thread. */
uint32_t pw_rocm_kernel(struct pw_thread *thread, uint64_t kernel, uint32_t *group_bytes);

/* What a call is to us. */
enum pw_rocm_use {
    PW_ROCM_LAUNCHES = 1, /* it starts something on a device */
    PW_ROCM_WAITS = 2,    /* enum pw_sync says for what */
    PW_ROCM_TINY = 4,     /* too small, and too often called, to be worth a row */
};

struct pw_rocm_function {
    const struct pw_intern_entry *name;
    uint8_t use, sync;
};

/* Before recording begins. False: there is no room for it. */
bool pw_rocm_name_function(int kind, int32_t operation, const char *name);

/* NULL: it has no name. */
const struct pw_rocm_function *pw_rocm_function(int kind, int32_t operation);

enum { PW_ROCM_HOST = -1 };

/* All agents that there are, before recording begins; and which device one is, PW_ROCM_HOST none.
 */
int pw_rocm_name_agents(int version, const void **agents, size_t n, void *thread);
int pw_rocm_device(uint64_t agent);

/* A small number for a queue. By one thread. */
uint32_t pw_rocm_queue(uint64_t handle);

#endif
