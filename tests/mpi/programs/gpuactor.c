/* A program on a machine whose CUDA driver is a stand-in: like cuInit() it opens what
 * CUDA_INJECTION64_PATH names and calls it; what "ran" on its GPUs it declares to the stand-in for
 * libcupti (standin/), which STANDIN_CUPTI names. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpuactor.h"
#include "profwrap.h"

enum { RUNTIME = 2, DRIVER = 1 };

struct gpu gpu;

static const int32_t grid[3] = {7, 5, 3}, block[3] = {256, 2, 1};
static uint32_t correlation;

void find(void *library, const char *name, void *pointer)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(3);
    }
    memcpy(pointer, &found, sizeof(found));
}

static void find_standin(void)
{
    void *library = dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW | RTLD_LOCAL);
#define STANDIN_FIND(answer, name, parameters) find(library, "standin_" #name, &gpu.name);
    STANDIN_FUNCTIONS(STANDIN_FIND)
}

static void start_cuda(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void);
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library)
        return;
    find(library, "InitializeInjection", &initialize);
    if (!initialize())
        exit(4);
    initialize();     /* as a second context might */
    dlclose(library); /* as no program should, and CUDA may */
}

void nap(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

void launch(uint32_t device, uint32_t stream, const char *name)
{
    struct standin_work w = {.device = device, .stream = stream, .correlation = ++correlation};
    uint64_t entered = gpu.now();
    nap(1);
    gpu.call(RUNTIME, STANDIN_LAUNCH, w.correlation, entered, gpu.now());
    w.start = gpu.now();
    nap(1);
    w.end = gpu.now();
    gpu.kernel(&w, name, grid, block);
}

/* ---- what it can be asked to do ---- */

static void copies(void)
{
    struct standin_work w = {.device = 1, .stream = 9, .correlation = ++correlation};
    uint64_t entered = gpu.now();
    gpu.call(RUNTIME, STANDIN_COPY, w.correlation, entered, gpu.now());
    w.start = entered;
    w.end = gpu.now();
    gpu.copy(&w, 1, 4096, 1);
    gpu.copy(&w, 2, 8192, 0);
    gpu.peer_copy(&w, 0, UINT64_C(5) << 30);
    gpu.set(&w, 0xab, 77);
}

static void graph(void)
{
    struct standin_work w = {.stream = 3, .correlation = ++correlation};
    uint64_t entered = gpu.now();
    gpu.call(RUNTIME, STANDIN_GRAPH, w.correlation, entered, gpu.now());
    const uint64_t first = (UINT64_C(9) << 32) + 1001; /* of graph 9 */
    for (w.graph_node = first; w.graph_node < first + 3; w.graph_node++) {
        w.cluster[0] = 2;
        w.cluster[1] = 4;
        w.cluster[2] = 1;
        w.start = gpu.now();
        w.end = gpu.now();
        gpu.kernel(&w, "in_graph", grid, block);
    }
}

/* Not through the runtime, as Triton does. */
static void by_driver(void)
{
    struct standin_work w = {.stream = 4, .correlation = ++correlation};
    uint64_t entered = gpu.now();
    gpu.call(DRIVER, STANDIN_LAUNCH, w.correlation, entered, gpu.now());
    w.start = gpu.now();
    w.end = gpu.now();
    gpu.kernel(&w, "by_driver", grid, block);
}

static void waits(void)
{
    uint64_t entered = gpu.now();
    nap(2);
    gpu.sync(3, entered, gpu.now(), 1, 7);
    gpu.sync(4, entered, gpu.now(), 2, UINT32_MAX);
    gpu.overhead(entered, gpu.now());
}

static void everything(void)
{
    profwrap_range_push("outer");
    profwrap_range_push("inner");
    launch(0, 7, "_Z6kernelILi3EEvPf");
    profwrap_range_pop();
    launch(1, 8, "second_kernel");
    copies();
    graph();
    by_driver();
    profwrap_range_pop();
    launch(0, 7, "outside");
    waits();
    gpu.memory(0, 1, 3, 1 << 20);
    gpu.memory(0, 1, 1, 1 << 30); /* the host's: not recorded */
    gpu.memory(0, 0, 3, 1 << 18);
    uint64_t entered = gpu.now();
    gpu.call(RUNTIME, STANDIN_MALLOC, ++correlation, entered, gpu.now());
}

/* Names of C, and of C++; only the last are the linker's. */
static void plain_names(void)
{
    static const char *const all[] = {"f", "Kc", "_kernel", "_Z4scalPfi", "_ZN2ns4gemmEv"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        launch(0, 1, all[i]);
}

/* Its module is unloaded before anybody has read the record. */
static void unmapped_names(void)
{
    enum { PAGE = 4096 };
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *last = page + PAGE - sizeof("last");
    strcpy(page, "gone");
    strcpy(last, "last");
    launch(0, 1, "before");
    launch(0, 1, page);
    launch(0, 1, page + PAGE);
    launch(0, 1, last);
    munmap(page + PAGE, PAGE);
    if (getenv("STANDIN_UNMAPS"))
        munmap(page, PAGE);
    launch(0, 1, "after");
}

/* With no context, and no stream or event, as CUPTI says from 13.2 on and before it. */
static void wait_for_nothing(void)
{
    uint64_t entered = gpu.now();
    launch(0, 1, "kernel");
    gpu.sync(4, entered, gpu.now(), 1, 0);
    gpu.sync(4, entered, gpu.now(), 0, 0);
    gpu.sync(4, entered, gpu.now(), UINT32_MAX, UINT32_MAX);
    gpu.sync(3, entered, gpu.now(), 1, 0);
    gpu.sync(3, entered, gpu.now(), 1, 7);
}

struct create {
    const uint64_t *handle;
    size_t bytes;
    const struct {
        uint32_t type, handle_types, location;
        int32_t device;
    } * prop;
    uint64_t flags;
};

struct map {
    uint64_t address;
    size_t bytes, offset;
    uint64_t handle, flags;
};

static void map_segment(uint64_t handle, uint64_t address, size_t bytes)
{
    const struct map map = {.address = address, .bytes = bytes, .handle = handle};
    gpu.driver(STANDIN_MAP, &map, 0);
}

static void unmap_segments(uint64_t address, size_t bytes)
{
    const struct map map = {.address = address, .bytes = bytes};
    gpu.driver(STANDIN_UNMAP, &map, 0);
}

static void create_segment(uint64_t handle, size_t bytes, uint32_t location, int result)
{
    const struct {
        uint32_t type, handle_types, location;
        int32_t device;
    } prop = {.type = 1, .location = location, .device = 1};
    const struct create call = {&handle, bytes, (const void *)&prop, 0};
    gpu.driver(STANDIN_CREATE, &call, result);
}

/* Memory that the program maps itself, as PyTorch's expandable segments do: pieces of 2 MiB at
 * addresses next to each other. */
static void segments(void)
{
    enum { DEVICE = 1, HOST = 2, NO_MEMORY = 2, PIECE = 2 << 20 };
    const uint64_t base = UINT64_C(0x7f0000000000), unknown = 9999;
    for (uint64_t i = 0; i < 3; i++) {
        create_segment(100 + i, PIECE, DEVICE, 0);
        map_segment(100 + i, base + i * PIECE, PIECE);
    }
    create_segment(200, PIECE, HOST, 0);
    create_segment(201, PIECE, DEVICE, NO_MEMORY);
    uint64_t handle = 100;
    gpu.driver(STANDIN_RELEASE, &handle, 0); /* still mapped */
    unmap_segments(base, 2 * PIECE);         /* of which the second is still held */
    handle = 101;
    gpu.driver(STANDIN_RELEASE, &handle, 0);
    gpu.driver(STANDIN_RELEASE, &unknown, 0); /* another process's */
    /* Handles and addresses come again: that the third went was not seen. */
    create_segment(102, 2 * PIECE, DEVICE, 0);
    map_segment(102, base + 2 * PIECE, 2 * PIECE);
    create_segment(103, PIECE, DEVICE, 0);
    /* By its address the handle is held once more: it is there until it is released twice. */
    handle = 102;
    const struct {
        const uint64_t *handle;
        uint64_t address;
    } retain = {&handle, base + 2 * PIECE};
    gpu.driver(STANDIN_RETAIN, &retain, 0);
    gpu.driver(STANDIN_RELEASE, &handle, 0);
    unmap_segments(base + 2 * PIECE, 2 * PIECE);
    create_segment(104, PIECE, DEVICE, 0);
    handle = 102;
    gpu.driver(STANDIN_RELEASE, &handle, 0);
}

/* Two pools of a device, of which one is trimmed, the other destroyed, and memory without a pool.
 */
static void pools(void)
{
    enum { CREATED = 1, DESTROYED = 2, TRIMMED = 3 };
    const uint64_t one = 0x1000, other = 0x2000;
    gpu.pool(0, CREATED, one, 0);
    gpu.from_pool(0, 1, 3 << 20, one, 32 << 20);
    gpu.from_pool(0, 1, 1 << 20, other, 4 << 20);
    gpu.memory(0, 1, 3, 1 << 10);
    gpu.from_pool(0, 0, 3 << 20, one, 32 << 20);
    gpu.pool(0, TRIMMED, one, 2 << 20);
    gpu.pool(0, DESTROYED, other, 4 << 20);
}

static void flood(long n)
{
    struct standin_work w = {.stream = 1};
    for (long i = 0; i < n; i++) {
        w.correlation = ++correlation;
        w.start = gpu.now();
        gpu.call(RUNTIME, STANDIN_LAUNCH, w.correlation, w.start, gpu.now());
        w.end = gpu.now();
        gpu.kernel(&w, i % 2 ? "odd" : "even", grid, block);
        if (i % 1024 == 0)
            nap(2);
    }
}

/* More streams than there are buffers: CUPTI has no room, and counts. */
static void drop(uint32_t n)
{
    struct standin_work w = {.device = 0};
    for (w.stream = 0; w.stream < n; w.stream++) {
        w.start = gpu.now();
        w.end = gpu.now();
        gpu.kernel(&w, "many_streams", grid, block);
    }
}

/* As CUPTI says it when it had no memory on the device for times (parcagpu's issue 23). */
static void without_times(void)
{
    struct standin_work none = {.stream = 1, .correlation = ++correlation}, reversed = none;
    launch(0, 1, "timed");
    gpu.kernel(&none, "without_times", grid, block);
    reversed.start = gpu.now();
    reversed.end = reversed.start - 1;
    gpu.kernel(&reversed, "reversed", grid, block);
    gpu.copy(&none, 1, 4096, 1);
    launch(0, 1, "timed_again");
    printf("device memory %llu\n", (unsigned long long)gpu.device_memory());
}

static pthread_barrier_t all_launched;

static void *launch_and_wait(void *arg)
{
    struct standin_work w = {.stream = 1, .correlation = *(uint32_t *)arg};
    w.start = gpu.now();
    w.end = gpu.now();
    gpu.kernel(&w, "by_a_thread", grid, block);
    pthread_barrier_wait(&all_launched);
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 40 };
    pthread_t all[THREADS];
    uint32_t numbers[THREADS];
    pthread_barrier_init(&all_launched, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&all[i], NULL, launch_and_wait, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

static void die(void)
{
    flood(5000);
    nap(600); /* CUPTI is asked for what it has, and more comes after that */
    struct standin_work w = {.stream = 2};
    for (int i = 0; i < 10; i++) {
        w.correlation = ++correlation;
        w.start = gpu.now();
        w.end = gpu.now();
        gpu.kernel(&w, "odd", grid, block);
    }
    kill(getpid(), SIGKILL);
}

/* Killed when more streams have records than there are buffers, and kernels have no times yet. */
static void die_losing(void)
{
    struct standin_work none = {.stream = 0};
    flood(2000);
    nap(600); /* CUPTI is asked for what it has */
    drop(60);
    gpu.kernel(&none, "without_times", grid, block);
    gpu.kernel(&none, "without_times", grid, block);
    gpu.pool(0, 1, 0x1000, 0); /* of a kind that had not been seen */
    kill(getpid(), SIGKILL);
}

static void split(void)
{
    launch(0, 1, "parent");
    pid_t child = fork();
    if (child == 0) {
        launch(0, 1, "child");
        exit(0); /* with all handlers */
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    launch(0, 1, "parent again");
}

static int await(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* A data loader's worker that starts CUDA itself, and another program that does. */
static void have_children(const char *self)
{
    launch(0, 1, "parent");
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl(self, self, "threadless", (char *)NULL);
            _exit(1);
        }
        printf("child %d\n", await(child));
    }
    launch(0, 1, "parent again");
}

/* The first call of CUDA is in a child; the program itself records already. */
static void be_forked_first(void)
{
    profwrap_range_push("of the program");
    profwrap_range_pop();
    pid_t child = fork();
    if (child == 0) {
        start_cuda();
        _exit(0);
    }
    printf("child %d\n", await(child));
}

static void pause_and_go_on(void)
{
    launch(0, 1, "recorded");
    profwrap_stop();
    launch(0, 1, "paused");
    profwrap_start();
    launch(0, 1, "recorded again");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nothing";
    if (strcmp(what, "nothing") == 0) {
        const char *path = getenv("CUDA_INJECTION64_PATH");
        printf("injection %s\n", path ? path : "none");
        return 0;
    }
    if (strcmp(what, "forked-first") == 0) {
        be_forked_first();
        return 0;
    }
    if (getenv("STANDIN_LOADED"))
        dlopen(getenv("STANDIN_LOADED"), RTLD_NOW);
    const int is_late = getenv("STANDIN_LATE") != NULL; /* CUDA brings it, not the program */
    if (getenv("STANDIN_CUPTI") && !is_late)
        find_standin();
    if (strcmp(what, "profiled") == 0)
        profile_all_the_time();
    start_cuda();
    if (getenv("STANDIN_CUPTI") && is_late)
        find_standin();
    if (strcmp(what, "all") == 0)
        everything();
    else if (strcmp(what, "profiled") == 0)
        launch(0, 1, "theirs");
    else if (strcmp(what, "idle") == 0)
        nap(argc > 2 ? atoi(argv[2]) : 1500);
    else if (strcmp(what, "pools") == 0)
        pools();
    else if (strcmp(what, "segments") == 0)
        segments();
    else if (strcmp(what, "names") == 0)
        plain_names();
    else if (strcmp(what, "unmapped") == 0)
        unmapped_names();
    else if (strcmp(what, "waits") == 0)
        wait_for_nothing();
    else if (strcmp(what, "flood") == 0)
        flood(argc > 2 ? atol(argv[2]) : 1000);
    else if (strcmp(what, "drop") == 0)
        drop(argc > 2 ? (uint32_t)atol(argv[2]) : 60);
    else if (strcmp(what, "without-times") == 0)
        without_times();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (be_profiler(what))
        ;
    else if (strcmp(what, "die") == 0)
        die();
    else if (strcmp(what, "die-losing") == 0)
        die_losing();
    else if (strcmp(what, "fork") == 0)
        split();
    else if (strcmp(what, "children") == 0)
        have_children(argv[0]);
    else if (strcmp(what, "pause") == 0)
        pause_and_go_on();
    else if (strcmp(what, "sampled") == 0) {
        launch(0, 1, "sampled");
        nap(argc > 2 ? atoi(argv[2]) : 1500);
    }
    if (gpu.faults)
        printf("faults %d\n", gpu.faults());
    return 0;
}
