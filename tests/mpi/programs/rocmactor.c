/* A program that uses ROCm, whose runtime, rocprofiler-register and rocprofiler-sdk are stand-ins
 * (standin/): it loads HIP with private names, as Python does, begins it, and declares to
 * rocprofiler, where that was loaded, what "ran" on its GPUs. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profwrap.h"
#include "standin/rocm.h"

#define STANDIN_MEMBER(answer, name, parameters) answer(*name) parameters;
static struct {
    STANDIN_ROCM_FUNCTIONS(STANDIN_MEMBER)
} gpu;

static void *hip, *tool;

static void find(void *library, const char *name, void *pointer)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(3);
    }
    memcpy(pointer, &found, sizeof(found));
}

static void nap(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

/* Prints what rocprofiler-register answered, and whether anybody loaded rocprofiler. */
static int start_hip(void)
{
    int (*init)(void);
    hip = dlopen(getenv("STANDIN_HIP"), RTLD_NOW | RTLD_LOCAL);
    if (!hip) {
        fprintf(stderr, "%s\n", dlerror());
        exit(4);
    }
    find(hip, "standin_hip_init", &init);
    printf("registered %d\n", init());
    const int is_loaded = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table") != NULL;
    printf("rocprofiler %d\n", is_loaded);
    fflush(stdout);
#define STANDIN_FIND(answer, name, parameters) find(RTLD_DEFAULT, "standin_" #name, &gpu.name);
    if (is_loaded) {
        STANDIN_ROCM_FUNCTIONS(STANDIN_FIND)
    }
    return is_loaded;
}

/* ---- kernels ---- */

enum { QUEUE = 0x7000 };

struct launch {
    uint64_t agent, kernel;
    int at;
};

static void launch_inside(void *arg)
{
    struct launch *l = arg;
    nap(1);
    l->at = gpu.rocm_launch();
}

static void run(const struct launch *l, uint64_t start, uint64_t end)
{
    const struct standin_dispatch d = {l->agent, QUEUE + l->agent, l->kernel, start, end};
    gpu.rocm_ran(l->at, &d);
}

static void launch(uint64_t agent, int64_t stream, uint64_t kernel)
{
    struct launch l = {.agent = agent, .kernel = kernel};
    gpu.rocm_call("hipLaunchKernel", stream, launch_inside, &l);
    const uint64_t start = gpu.rocm_now();
    nap(1);
    run(&l, start, gpu.rocm_now());
}

static void load_code(void)
{
    gpu.rocm_code(1, "_Z6kernelILi3EEvPf.kd", 1024);
    gpu.rocm_code(2, "second_kernel.kd", 0);
    gpu.rocm_code(3, "_Z21ncclDevKernel_Generic4Args.kd", 0);
    gpu.rocm_code(4, "never_launched.kd", 0);
}

/* ---- what it can be asked to do ---- */

static void copy_inside(void *arg)
{
    gpu.rocm_copy(arg);
}

static void copies(void)
{
    const uint64_t now = gpu.rocm_now();
    struct standin_copied all[] = {
        {2, STANDIN_HOST, STANDIN_SECOND, 4096, now, now + 10},
        {3, STANDIN_SECOND, STANDIN_HOST, 8192, now + 20, now + 30},
        {4, STANDIN_FIRST, STANDIN_FIRST, 5, now + 40, now + 50},
        {4, STANDIN_SECOND, STANDIN_FIRST, UINT64_C(5) << 30, now + 60, now + 70},
        {1, STANDIN_HOST, STANDIN_HOST, 1, now + 80, now + 90},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        gpu.rocm_call("hipMemcpyAsync", 4, copy_inside, &all[i]);
}

/* An address comes again before it is reported as freed, and handles are no addresses. */
static void memory(void)
{
    gpu.rocm_memory(1, STANDIN_HOST, 0x1000, 7);
    gpu.rocm_memory(1, STANDIN_FIRST, 0x2000, 1 << 20);
    gpu.rocm_memory(2, STANDIN_FIRST, 0x2000, 1 << 10);
    gpu.rocm_memory(3, 0, 0x2000, 0);
    gpu.rocm_memory(1, STANDIN_SECOND, 0x3000, 100);
    gpu.rocm_memory(1, STANDIN_SECOND, 0x3000, 200);
    gpu.rocm_memory(3, 0, 0x9999, 0);
    gpu.rocm_memory(4, 0, 0x2000, 0);
}

static void hsa_inside(void *arg)
{
    (void)arg;
    gpu.rocm_hsa_call("hsa_queue_create", NULL, NULL);
    gpu.rocm_hsa_call("hsa_signal_load_relaxed", NULL, NULL);
}

static void everything(void)
{
    load_code();
    profwrap_range_push("outer");
    profwrap_range_push("inner");
    launch(STANDIN_FIRST, 0, 1);
    profwrap_range_pop();
    launch(STANDIN_SECOND, 5, 2);
    copies();
    gpu.rocm_call("hipStreamSynchronize", 5, NULL, NULL);
    gpu.rocm_call("hipDeviceSynchronize", -1, NULL, NULL);
    profwrap_range_pop();
    launch(STANDIN_FIRST, 0, 3);
    memory();
    gpu.rocm_call("hipMalloc", -1, hsa_inside, NULL);
    gpu.rocm_scratch(1, STANDIN_FIRST);
}

/* They end in another order than they were launched in, and are reported in a third. */
static void unordered(void)
{
    struct launch l[3] = {{.agent = STANDIN_FIRST, .kernel = 1},
                          {.agent = STANDIN_FIRST, .kernel = 2},
                          {.agent = STANDIN_FIRST, .kernel = 3}};
    load_code();
    for (int i = 0; i < 3; i++) {
        profwrap_range_push(i == 0 ? "first" : i == 1 ? "second" : "third");
        gpu.rocm_call("hipLaunchKernel", i, launch_inside, &l[i]);
        profwrap_range_pop();
    }
    const uint64_t now = gpu.rocm_now();
    run(&l[2], now, now + 1000);
    run(&l[0], now + 4000, now + 9000);
    run(&l[1], now + 2000, now + 3000);
}

static void untimed(void)
{
    struct launch l = {.agent = STANDIN_FIRST, .kernel = 2};
    load_code();
    gpu.rocm_call("hipLaunchKernel", 0, launch_inside, &l);
    run(&l, 0, 0);
    run(&l, gpu.rocm_now(), 5);
    const uint64_t now = gpu.rocm_now();
    run(&l, now, now);
}

static void *launch_many(void *arg)
{
    struct launch l = {.agent = STANDIN_FIRST, .kernel = 2};
    for (int i = 0; i < *(const int *)arg; i++) {
        gpu.rocm_call("hipLaunchKernel", 1, NULL, NULL);
        l.at = gpu.rocm_launch();
        const uint64_t now = gpu.rocm_now();
        run(&l, now, now + 1);
    }
    return NULL;
}

static void many_threads(int nthreads, int each)
{
    pthread_t threads[64];
    load_code();
    for (int i = 0; i < nthreads; i++)
        pthread_create(&threads[i], NULL, launch_many, &each);
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
}

static void paused(void)
{
    load_code();
    launch(STANDIN_FIRST, 0, 1);
    profwrap_stop();
    launch(STANDIN_FIRST, 0, 2);
    profwrap_start();
    launch(STANDIN_FIRST, 0, 3);
}

static void forks(void)
{
    int status = 0;
    load_code();
    launch(STANDIN_FIRST, 0, 1);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    launch(STANDIN_FIRST, 0, 2);
}

/* Another program that uses the GPU, too. */
static void have_child(const char *self)
{
    int status = 0;
    load_code();
    launch(STANDIN_FIRST, 0, 1);
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "idle", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

static void load_tool(int forces)
{
    int (*force)(void);
    tool = dlopen(getenv("STANDIN_ROCTOOL"), RTLD_NOW | RTLD_LOCAL);
    if (!tool) {
        fprintf(stderr, "%s\n", dlerror());
        exit(5);
    }
    if (!forces)
        return;
    find(tool, "roctool_force", &force);
    printf("forced %d\n", force());
}

static void ask_tool(void)
{
    int (*count)(void);
    find(tool, "roctool_count", &count);
    printf("the other tool %d\n", count());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strncmp(what, "tool", 4) == 0)
        load_tool(strcmp(what, "tool-forced") == 0);
    const int is_loaded = strcmp(what, "nothing") != 0 && start_hip();
    if (!is_loaded)
        return 0;
    if (strcmp(what, "all") == 0 || tool)
        everything();
    else if (strcmp(what, "unordered") == 0)
        unordered();
    else if (strcmp(what, "untimed") == 0)
        untimed();
    else if (strcmp(what, "threads") == 0)
        many_threads(atoi(argv[2]), atoi(argv[3]));
    else if (strcmp(what, "pause") == 0)
        paused();
    else if (strcmp(what, "child") == 0)
        have_child(argv[0]);
    else if (strcmp(what, "fork") == 0)
        forks();
    else if (strcmp(what, "unload") == 0) {
        everything();
        dlclose(hip);
        dlclose(dlopen(getenv("STANDIN_ROCPROFILER"), RTLD_NOW | RTLD_NOLOAD));
    }
    if (tool)
        ask_tool();
    printf("faults %d\n", gpu.rocm_faults());
    return 0;
}
