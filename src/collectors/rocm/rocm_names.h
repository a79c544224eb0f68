/* Tables of the names of kernels, functions, devices and queues. The application's threads add
 * kernels when they load code; all other names are added before recording begins. Read by
 * rocm_records.c. In-app code. */
#ifndef PW_ROCM_NAMES_H
#define PW_ROCM_NAMES_H

#include "collectors/rocm/rocm_layout.h"
#include "rank/probe/intern.h"

/* Adds a kernel that can be launched from now on. */
void pw_rocm_name_kernel(const struct pw_rocp_kernel_symbol *symbol);

/* Returns the id of the kernel's name, and sets *group_bytes to the local memory that its code
 * needs; 0 and 0: not known. To be called by one thread. */
uint32_t pw_rocm_kernel(struct pw_thread *thread, uint64_t kernel, uint32_t *group_bytes);

/* How a call is recorded. */
enum pw_rocm_use {
    PW_ROCM_LAUNCHES = 1, /* it launches work on a device */
    PW_ROCM_WAITS = 2,    /* it waits for a device (enum pw_sync) */
    PW_ROCM_TINY = 4,     /* too short and too frequent for a row */
};

struct pw_rocm_function {
    const struct pw_intern_entry *name;
    uint8_t use, sync;
};

/* Adds a function; to be called before recording begins. Returns false when the table is full. */
bool pw_rocm_name_function(int kind, int32_t operation, const char *name);

/* Returns the function, or NULL when it has no name. */
const struct pw_rocm_function *pw_rocm_function(int kind, int32_t operation);

enum { PW_ROCM_HOST = -1 };

/* pw_rocm_name_agents() adds all agents; to be called before recording begins. pw_rocm_device()
 * returns the device number of an agent; PW_ROCM_HOST: the agent is no GPU. */
int pw_rocm_name_agents(int version, const void **agents, size_t n, void *thread);
int pw_rocm_device(uint64_t agent);

/* Returns a small number for a queue. To be called by one thread. */
uint32_t pw_rocm_queue(uint64_t handle);

#endif
