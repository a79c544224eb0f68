/* A stand-in for libcuda.so.1 without a GPU, for the test of validate.sh: the functions that
 * gpukernels calls. Kernels take the time that they are told to, one after the other, by the
 * host's clock, and are declared to the stand-in for libcupti that STANDIN_CUPTI names. Like the
 * real one, cuInit() calls what CUDA_INJECTION64_PATH names. */
#include "cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../mpi/programs/standin/standin.h"

#define EXPORT __attribute__((visibility("default")))

enum { NOT_INITIALIZED = 3, NODES = 64, FUNCTIONS = 8, DRIVER = 1, H2D = 1, STREAM = 7 };

typedef void *handle;

#define STANDIN_POINTER(answer, name, parameters) answer(*name) parameters;
static struct {
    STANDIN_FUNCTIONS(STANDIN_POINTER)
} cupti;

/* Over gpu, for programs that launch from several threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bool has_cupti, captures;
    uint32_t correlation, kernels;
    int64_t free_ns; /* the stream has nothing more to do */
    size_t nodes;
    struct {
        const char *name;
        uint64_t ns;
    } node[NODES];
} gpu;

EXPORT int standin_cuda(void)
{
    return 1;
}

EXPORT bool standin_fault(const char *which)
{
    const char *fault = getenv("STANDIN_FAULT");
    return fault && strcmp(fault, which) == 0;
}

/* ---- time ---- */

EXPORT int64_t standin_cuda_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A GPU begins some microseconds after the launch. */
EXPORT int64_t standin_cuda_soonest(void)
{
    enum { LATENCY_NS = 2000 };
    return standin_cuda_ns() + LATENCY_NS;
}

static void sleep_until(int64_t ns)
{
    const struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
        ;
}

struct reading {
    int64_t ns;
    uint64_t ticks; /* of the clock that CUPTI was given, whose unit is its own affair */
};

/* Both clocks at once: of some readings the one that took least. */
static struct reading read_clocks(void)
{
    struct reading best = {0};
    int64_t least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        const int64_t before = standin_cuda_ns();
        const uint64_t ticks = cupti.now();
        const int64_t took = standin_cuda_ns() - before;
        if (took < least) {
            least = took;
            best = (struct reading){before + took / 2, ticks};
        }
    }
    return best;
}

static double ticks_per_ns;

static void compare_clocks(void)
{
    enum { LONG_ENOUGH_NS = 20000000 };
    const struct reading first = read_clocks();
    sleep_until(first.ns + LONG_ENOUGH_NS);
    const struct reading last = read_clocks();
    ticks_per_ns = (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns);
}

/* By a new reading each time: the rate is too rough for times that are long after it was measured,
 * above all where the machine is busy. */
static uint64_t in_cupti(int64_t ns)
{
    const struct reading now = read_clocks();
    return now.ticks + (uint64_t)(int64_t)((double)(ns - now.ns) * ticks_per_ns);
}

/* ---- what CUPTI learns ---- */

static uint32_t call(uint32_t function)
{
    pthread_mutex_lock(&lock);
    const uint32_t correlation = ++gpu.correlation;
    pthread_mutex_unlock(&lock);
    const uint64_t entered = gpu.has_cupti ? cupti.now() : 0;
    if (gpu.has_cupti)
        cupti.call(DRIVER, function, correlation, entered, cupti.now());
    return correlation;
}

static void ran(uint32_t correlation, uint64_t node, const char *name, int64_t start, int64_t end)
{
    static const int32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
    const int64_t early = standin_fault("early") ? 1000000 : 0;
    if (!gpu.has_cupti || (standin_fault("lose") && ++gpu.kernels % 100 == 0))
        return;
    const struct standin_work w = {.start = in_cupti(start - early),
                                   .end = in_cupti(end - early),
                                   .stream = STREAM,
                                   .correlation = correlation,
                                   .graph_node = node};
    cupti.kernel(&w, name, grid, block);
}

/* As long as the GPU needs for it, after what it has to do already. */
static void queue(uint32_t correlation, uint64_t node, const char *name, uint64_t ns)
{
    const int64_t soonest = standin_cuda_soonest();
    pthread_mutex_lock(&lock);
    const int64_t start = gpu.free_ns > soonest ? gpu.free_ns : soonest;
    gpu.free_ns = start + (int64_t)ns;
    pthread_mutex_unlock(&lock);
    ran(correlation, node, name, start, start + (int64_t)ns);
}

EXPORT uint32_t standin_cuda_launch(const char *name)
{
    (void)name;
    return call(STANDIN_LAUNCH);
}

EXPORT void standin_cuda_ran(uint32_t correlation, const char *name, int64_t start, int64_t end)
{
    ran(correlation, 0, name, start, end);
}

/* ---- CUDA ---- */

static void open_cupti(void)
{
    const char *path = getenv("STANDIN_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return;
#define STANDIN_FIND(answer, name, parameters)              \
    {                                                       \
        void *found = dlsym(library, "standin_" #name);     \
        if (!found)                                         \
            return;                                         \
        memcpy((char *)&cupti.name, &found, sizeof(found)); \
    }
    STANDIN_FUNCTIONS(STANDIN_FIND)
    gpu.has_cupti = true;
}

EXPORT int cuInit(unsigned flags)
{
    static bool has_begun;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    (void)flags;
    if (has_begun)
        return 0;
    has_begun = true;
    open_cupti();
    void *tool = path && !standin_fault("deaf") ? dlopen(path, RTLD_NOW) : NULL;
    void *found = tool ? dlsym(tool, "InitializeInjection") : NULL;
    int (*initialize)(void);
    memcpy(&initialize, &found, sizeof(found));
    if (found && !initialize())
        return NOT_INITIALIZED;
    if (gpu.has_cupti)
        compare_clocks();
    return 0;
}

EXPORT int cuDeviceGet(int *device, int number)
{
    *device = number;
    return number != 0;
}

EXPORT int cuDevicePrimaryCtxRetain(handle *context, int device)
{
    (void)device;
    *context = &gpu;
    return 0;
}

EXPORT int cuCtxSetCurrent(handle context)
{
    return context != &gpu;
}

EXPORT int cuModuleLoadData(handle *module, const void *image)
{
    *module = &gpu;
    return image == NULL;
}

/* A function is its name. */
EXPORT int cuModuleGetFunction(handle *function, handle module, const char *name)
{
    static const char *names[FUNCTIONS];
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (!names[i])
            names[i] = strdup(name);
        *function = &names[i];
        if (names[i] && strcmp(names[i], name) == 0)
            return module != &gpu;
    }
    return 1;
}

EXPORT int cuStreamCreate(handle *stream, unsigned flags)
{
    (void)flags;
    *stream = &gpu.free_ns;
    return 0;
}

EXPORT int cuStreamSynchronize(handle stream)
{
    while (standin_fault("hang"))
        pause();
    sleep_until(gpu.free_ns);
    return stream != &gpu.free_ns;
}

EXPORT int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, handle stream,
                          void **parameters, void **extra)
{
    const char *name = *(const char *const *)function;
    uint64_t ns;
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
    memcpy(&ns, parameters[0], sizeof(ns));
    if (gpu.captures) {
        if (gpu.nodes == NODES)
            return 1;
        gpu.node[gpu.nodes].name = name;
        gpu.node[gpu.nodes++].ns = ns;
    } else {
        const uint32_t correlation = call(STANDIN_LAUNCH);
        queue(correlation, 0, name, ns);
    }
    return stream != &gpu.free_ns;
}

EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    *pointer = 1 << 20;
    return bytes == 0;
}

/* With the fault, CUPTI keeps more from look to look. */
EXPORT int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    static size_t looks;
    *total = (size_t)80 << 30;
    *unused = *total / 2 -
              (gpu.has_cupti && cupti.enabled() && standin_fault("hoard") ? ++looks << 28 : 0);
    return 0;
}

EXPORT int cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    *pointer = calloc(1, bytes);
    return *pointer == NULL;
}

static struct standin_work work_now(uint32_t function)
{
    const uint32_t correlation = call(function);
    const uint64_t now = gpu.has_cupti ? cupti.now() : 0;
    return (struct standin_work){
        .start = now, .end = now + 1000, .stream = STREAM, .correlation = correlation};
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, handle stream)
{
    const struct standin_work w = work_now(STANDIN_COPY);
    (void)to, (void)from;
    if (gpu.has_cupti)
        cupti.copy(&w, H2D, bytes, 1);
    return stream != &gpu.free_ns;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, handle stream)
{
    const struct standin_work w = work_now(STANDIN_COPY);
    (void)to;
    if (gpu.has_cupti)
        cupti.set(&w, value, bytes);
    return stream != &gpu.free_ns;
}

EXPORT int cuStreamBeginCapture_v2(handle stream, int mode)
{
    (void)mode;
    gpu.captures = true;
    gpu.nodes = 0;
    return stream != &gpu.free_ns;
}

EXPORT int cuStreamEndCapture(handle stream, handle *graph)
{
    gpu.captures = false;
    *graph = gpu.node;
    return stream != &gpu.free_ns;
}

EXPORT int cuGraphInstantiateWithFlags(handle *executable, handle graph, unsigned long long flags)
{
    (void)flags;
    *executable = graph;
    return graph != gpu.node;
}

EXPORT int cuGraphLaunch(handle executable, handle stream)
{
    enum { FIRST_NODE = 1001 };
    const uint32_t correlation = call(STANDIN_GRAPH);
    for (size_t i = 0; i < gpu.nodes; i++)
        queue(correlation, FIRST_NODE + i, gpu.node[i].name, gpu.node[i].ns);
    return stream != &gpu.free_ns || executable != gpu.node;
}
