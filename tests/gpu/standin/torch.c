/* What the stand-in for PyTorch (python/torch) does on its "GPU": kernels by the stand-in for
 * libcuda, a profiler that takes CUPTI as Kineto does, and an allreduce by NCCL as ncclhost.c
 * plays it, whose kernel ends when all ranks have come. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../mpi/programs/ncclhost.h"
#include "../../mpi/programs/standin/standin.h"
#include "cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define NCCL_KERNEL "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

enum { CONCURRENT_KERNEL = 10, FORCED = 1 };

EXPORT int torch_start(void);
EXPORT void torch_kernel(const char *name, uint64_t ns);
EXPORT void torch_synchronize(void);
EXPORT void torch_range_push(const char *name);
EXPORT void torch_range_pop(void);
EXPORT int torch_profiler_begin(void);
EXPORT int torch_profiler_end(void);
EXPORT void torch_profiler_pause(void);
EXPORT int torch_nccl_begin(int ranks, int rank);
EXPORT void torch_nccl_allreduce(size_t count);
EXPORT void torch_nccl_end(void);

int cuInit(unsigned flags);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);

static void *stream, *module;

EXPORT int torch_start(void)
{
    return cuInit(0) || cuModuleLoadData(&module, "") || cuStreamCreate(&stream, 0);
}

EXPORT void torch_kernel(const char *name, uint64_t ns)
{
    void *function, *parameters[] = {&ns};
    if (cuModuleGetFunction(&function, module, name) == 0)
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

EXPORT void torch_range_push(const char *name)
{
    nvtxRangePushA(name);
}

EXPORT void torch_range_pop(void)
{
    nvtxRangePop();
}

/* ---- a profiler in the program ---- */

static int theirs;

static int find(const char *name, void *pointer)
{
    /* With the fault, past a library that has put functions of these names before CUPTI's. */
    void *found = standin_fault("rude") ? NULL : dlsym(RTLD_DEFAULT, name);
    if (!found)
        found = dlsym(dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW), name);
    memcpy(pointer, &found, sizeof(found));
    return found ? 0 : -1;
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 1 << 16;
    *buffer = calloc(1, *size);
    *most = 0;
}

static void complete(void *context, uint32_t queue, uint8_t *buffer, size_t size, size_t used)
{
    int (*next)(uint8_t *, size_t, void **);
    void *record = NULL;
    (void)context, (void)queue, (void)size;
    if (find("cuptiActivityGetNextRecord", &next) == 0)
        while (next(buffer, used, &record) == 0)
            theirs++;
    free(buffer);
}

static uint64_t clock_of_theirs(void)
{
    return (uint64_t)standin_cuda_ns();
}

EXPORT int torch_profiler_begin(void)
{
    int (*set_callbacks)(standin_request *, standin_complete *), (*set_clock)(uint64_t(*)(void));
    int (*enable)(int);
    theirs = 0;
    return find("cuptiActivityRegisterTimestampCallback", &set_clock) ||
           find("cuptiActivityRegisterCallbacks", &set_callbacks) ||
           find("cuptiActivityEnable", &enable) || set_clock(clock_of_theirs) ||
           set_callbacks(request, complete) || enable(CONCURRENT_KERNEL);
}

/* How many records there were. */
EXPORT int torch_profiler_end(void)
{
    int (*flush)(uint32_t), (*disable)(int);
    if (find("cuptiActivityFlushAll", &flush) || find("cuptiActivityDisable", &disable))
        return -1;
    flush(FORCED);
    if (!standin_fault("greedy"))
        disable(CONCURRENT_KERNEL);
    return theirs;
}

/* Kineto's toggleCollectionDynamic(false): its kinds are switched off, and again when it stops. */
EXPORT void torch_profiler_pause(void)
{
    torch_profiler_end();
}

/* ---- NCCL ---- */

static struct host host;
static struct host_comm world;
static struct {
    uint32_t correlation;
    int64_t start;
    int turn;
} reduction;

static void launch(void)
{
    reduction.correlation = standin_cuda_launch(NCCL_KERNEL);
    reduction.start = standin_cuda_soonest();
}

EXPORT int torch_nccl_begin(int ranks, int rank)
{
    const uint64_t hash = 0x1234567890abcdef + (standin_fault("apart") ? (uint64_t)rank : 0);
    if (!host_load(&host, 0))
        return -1;
    host.launch = launch;
    host_comm_init(&world, &host, "default_pg", hash, ranks, rank);
    return 0;
}

EXPORT void torch_nccl_allreduce(size_t count)
{
    struct host_op op = {.func = HOST_ALLREDUCE, .count = count, .datatype = HOST_FLOAT32};
    host_group(&world, &op, 1);
}

EXPORT void torch_nccl_end(void)
{
    host_comm_end(&world);
}

EXPORT void torch_synchronize(void)
{
    cuStreamSynchronize(stream);
    if (!reduction.correlation)
        return;
    host_meet("STANDIN_MEET", reduction.turn++, world.ranks);
    usleep(500);
    standin_cuda_ran(reduction.correlation, NCCL_KERNEL, reduction.start, standin_cuda_ns());
    reduction.correlation = 0;
}
