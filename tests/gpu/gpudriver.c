/* See gpudriver.h. */
#include "gpudriver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profwrap.h"
#include "spin_ptx.h"

struct cuda cuda;
handle context, stream;
static handle spin;

void must(int result, const char *what)
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

void start(void)
{
    handle module;
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

void run_kernel_on(handle which, uint64_t ns)
{
    void *parameters[] = {&ns};
    must(cuda.launch(spin, 1, 1, 1, 32, 1, 1, 0, which, parameters, NULL), "launch");
}

void run_kernel(uint64_t ns)
{
    run_kernel_on(stream, ns);
}

void run_in_ranges(const char *name, long n, uint64_t ns)
{
    for (long i = 0; i < n; i++) {
        profwrap_range_push(name);
        run_kernel(ns);
        must(cuda.stream_wait(stream), "wait");
        profwrap_range_pop();
    }
}
