/* CUDA's driver, opened at run time: what gpukernels is built of. */
#ifndef GPUDRIVER_H
#define GPUDRIVER_H

#include <stddef.h>
#include <stdint.h>

enum { SKIP = 77 };

typedef void *handle;

/* D(symbol, name, parameters): functions of libcuda; each answers a CUresult. */
#define DRIVER_FUNCTIONS(D)                                                                     \
    D("cuInit", init, (unsigned))                                                               \
    D("cuDeviceGet", device_get, (int *, int))                                                  \
    D("cuDevicePrimaryCtxRetain", context_retain, (handle *, int))                              \
    D("cuCtxSetCurrent", context_set, (handle))                                                 \
    D("cuModuleLoadData", module_load, (handle *, const void *))                                \
    D("cuModuleGetFunction", module_function, (handle *, handle, const char *))                 \
    D("cuStreamCreate", stream_create, (handle *, unsigned))                                    \
    D("cuStreamSynchronize", stream_wait, (handle))                                             \
    D("cuLaunchKernel", launch,                                                                 \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,    \
       void **, void **))                                                                       \
    D("cuMemAlloc_v2", allocate, (uint64_t *, size_t))                                          \
    D("cuMemGetInfo_v2", memory, (size_t *, size_t *))                                          \
    D("cuMemAllocHost_v2", allocate_pinned, (void **, size_t))                                  \
    D("cuMemsetD8Async", set_async, (uint64_t, unsigned char, size_t, handle))                  \
    D("cuMemcpyHtoDAsync_v2", copy_async, (uint64_t, const void *, size_t, handle))             \
    D("cuStreamBeginCapture_v2", capture_begin, (handle, int))                                  \
    D("cuStreamEndCapture", capture_end, (handle, handle *))                                    \
    D("cuGraphInstantiateWithFlags", graph_instantiate, (handle *, handle, unsigned long long)) \
    D("cuGraphLaunch", graph_launch, (handle, handle))

#define MEMBER(symbol, name, parameters) int(*name) parameters;
struct cuda {
    DRIVER_FUNCTIONS(MEMBER)
};
extern struct cuda cuda;
extern handle context, stream; /* once started */

/* Ends the program with SKIP where there is no driver or no GPU. */
void start(void);

/* Ends the program when the result is not success. */
void must(int result, const char *what);

void run_kernel(uint64_t ns);
void run_kernel_on(handle stream_of_it, uint64_t ns);

/* Kernels, each inside a range of its own with this name, which ends after it. */
void run_in_ranges(const char *name, long n, uint64_t ns);

#endif
