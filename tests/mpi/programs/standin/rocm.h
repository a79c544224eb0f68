/* Functions by which a program tells the stand-in for rocprofiler-sdk what its GPUs have done. */
#ifndef STANDIN_ROCM_H
#define STANDIN_ROCM_H

#include <stdint.h>

/* Agents: 1 is the host, 2 is a GPU that HIP hides from the program, 3 and 4 are the visible
 * ones. */
enum { STANDIN_HOST = 1, STANDIN_HIDDEN, STANDIN_FIRST, STANDIN_SECOND };
/* More kernels than any program here launches. If a place were used again before its first kernel
 * has run, that kernel would get the numbers of the second. */
enum { STANDIN_MOST_LAUNCHED = 1 << 15 };

struct standin_dispatch {
    uint64_t agent, queue, kernel, start, end;
};

struct standin_copied {
    int operation;
    uint64_t source, target, bytes, start, end;
};

#define STANDIN_ROCM_FUNCTIONS(F)                                                             \
    F(uint64_t, rocm_now, (void))                                                             \
    F(void, rocm_code, (uint64_t kernel, const char *name, uint32_t group_bytes))             \
    F(void, rocm_call, (const char *name, int64_t stream, void (*inside)(void *), void *arg)) \
    F(void, rocm_hsa_call, (const char *name, void (*inside)(void *), void *arg))             \
    F(int, rocm_launch, (void))                                                               \
    F(void, rocm_ran, (int launched, const struct standin_dispatch *dispatch))                \
    F(void, rocm_copy, (const struct standin_copied *copied))                                 \
    F(void, rocm_memory, (int operation, uint64_t agent, uint64_t address, uint64_t bytes))   \
    F(void, rocm_scratch, (int operation, uint64_t agent))                                    \
    F(int, rocm_faults, (void))

#endif
