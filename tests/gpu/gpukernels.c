/* Runs kernels of known number and length through CUDA's driver, which it opens at run time: it is
 * built without a CUDA toolkit, and exits 77 where there is no driver or no GPU. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profwrap.h"
#include "spin_ptx.h"

enum { SKIP = 77, CAPTURE_THREAD = 1 };

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
    D("cuMemAllocHost_v2", allocate_pinned, (void **, size_t))                                  \
    D("cuMemsetD8Async", set_async, (uint64_t, unsigned char, size_t, handle))                  \
    D("cuMemcpyHtoDAsync_v2", copy_async, (uint64_t, const void *, size_t, handle))             \
    D("cuStreamBeginCapture_v2", capture_begin, (handle, int))                                  \
    D("cuStreamEndCapture", capture_end, (handle, handle *))                                    \
    D("cuGraphInstantiateWithFlags", graph_instantiate, (handle *, handle, unsigned long long)) \
    D("cuGraphLaunch", graph_launch, (handle, handle))

#define MEMBER(symbol, name, parameters) int(*name) parameters;
static struct {
    DRIVER_FUNCTIONS(MEMBER)
} cuda;

static handle stream, spin;

static void must(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: CUDA error %d\n", what, result);
        exit(1);
    }
}

static void find(void *library, const char *symbol, void *pointer)
{
    void *found = dlsym(library, symbol);
    if (!found) {
        fprintf(stderr, "libcuda has no %s\n", symbol);
        exit(SKIP);
    }
    memcpy(pointer, &found, sizeof(found));
}

static void start(void)
{
    handle context, module;
    int device;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "no CUDA driver: %s\n", dlerror());
        exit(SKIP);
    }
#define FIND(symbol, name, parameters) find(library, symbol, &cuda.name);
    DRIVER_FUNCTIONS(FIND)
    if (cuda.init(0) || cuda.device_get(&device, 0)) {
        fprintf(stderr, "no GPU that can be used\n");
        exit(SKIP);
    }
    must(cuda.context_retain(&context, device), "context");
    must(cuda.context_set(context), "context");
    must(cuda.module_load(&module, spin_ptx), "module");
    must(cuda.module_function(&spin, module, "spin"), "kernel");
    must(cuda.stream_create(&stream, 1), "stream");
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void run_kernel(uint64_t ns)
{
    void *parameters[] = {&ns};
    must(cuda.launch(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL), "launch");
}

/* Each inside a range of its own, which ends after it. */
static void in_ranges(long n, uint64_t ns)
{
    for (long i = 0; i < n; i++) {
        profwrap_range_push("work");
        run_kernel(ns);
        must(cuda.stream_wait(stream), "wait");
        profwrap_range_pop();
    }
}

/* Steps of 50 kernels and a wait; the time of a step. */
static void steps(long n, uint64_t ns)
{
    enum { KERNELS = 50, WARMUP = 5 };
    int64_t begin = 0;
    for (long step = -WARMUP; step < n; step++) {
        if (step == 0)
            begin = now_ns();
        for (int i = 0; i < KERNELS; i++)
            run_kernel(ns);
        must(cuda.stream_wait(stream), "wait");
    }
    printf("step_ns %.0f\n", (double)(now_ns() - begin) / (double)n);
}

/* 10 nodes, launched n times. */
static void graph(long n, uint64_t ns)
{
    handle captured, executable;
    must(cuda.capture_begin(stream, CAPTURE_THREAD), "capture");
    for (int i = 0; i < 10; i++)
        run_kernel(ns);
    must(cuda.capture_end(stream, &captured), "capture");
    must(cuda.graph_instantiate(&executable, captured, 0), "graph");
    for (long i = 0; i < n; i++)
        must(cuda.graph_launch(executable, stream), "graph launch");
    must(cuda.stream_wait(stream), "wait");
}

static void copies(long n)
{
    enum { BYTES = 1 << 20 };
    void *host;
    uint64_t device;
    must(cuda.allocate(&device, BYTES), "memory");
    /* Pinned: from other memory CUDA may copy in pieces. */
    must(cuda.allocate_pinned(&host, BYTES), "memory of the host");
    for (long i = 0; i < n; i++) {
        must(cuda.copy_async(device, host, BYTES, stream), "copy");
        must(cuda.set_async(device, 7, BYTES, stream), "memset");
    }
    must(cuda.stream_wait(stream), "wait");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "kernels";
    const long n = argc > 2 ? atol(argv[2]) : 1000;
    const uint64_t ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000;
    const struct timespec second = {.tv_sec = 1};
    start();
    if (strcmp(what, "kernels") == 0)
        in_ranges(n, ns);
    else if (strcmp(what, "steps") == 0)
        steps(n, ns);
    else if (strcmp(what, "graph") == 0)
        graph(n, ns);
    else if (strcmp(what, "copies") == 0)
        copies(n);
    else if (strcmp(what, "die") == 0) {
        in_ranges(n, ns);
        if (argc > 4)
            nanosleep(&second, NULL);
        kill(getpid(), SIGKILL);
    } else {
        return 2;
    }
    return 0;
}
