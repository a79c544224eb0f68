/* Runs kernels of known number and length through CUDA's driver, which it opens at run time: it is
 * built without a CUDA toolkit, and exits 77 where there is no driver or no GPU. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpudriver.h"
#include "gpunccl.h"
#include "gpuprofiler.h"
#include "profwrap.h"

enum { CAPTURE_THREAD = 1, MOST_THREADS = 256 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
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

static handle make_graph(int nodes, uint64_t ns)
{
    handle captured, executable;
    must(cuda.capture_begin(stream, CAPTURE_THREAD), "capture");
    for (int i = 0; i < nodes; i++)
        run_kernel(ns);
    must(cuda.capture_end(stream, &captured), "capture");
    must(cuda.graph_instantiate(&executable, captured, 0), "graph");
    return executable;
}

/* 10 nodes, launched n times. */
static void graph(long n, uint64_t ns)
{
    handle executable = make_graph(10, ns);
    for (long i = 0; i < n; i++)
        must(cuda.graph_launch(executable, stream), "graph launch");
    must(cuda.stream_wait(stream), "wait");
}

static size_t free_memory(void)
{
    size_t unused, total;
    must(cuda.memory(&unused, &total), "memory");
    return unused;
}

/* Launched n times: a replay's time, and by how much more of the device's memory was taken
 * than after the first of them. */
static void replay(long n, int nodes)
{
    enum { BETWEEN_LOOKS = 1000 };
    handle executable = make_graph(nodes, 0);
    size_t first = 0, least = SIZE_MAX;
    const int64_t begin = now_ns();
    for (long i = 1; i <= n; i++) {
        must(cuda.graph_launch(executable, stream), "graph launch");
        if (i % BETWEEN_LOOKS)
            continue;
        must(cuda.stream_wait(stream), "wait");
        const size_t unused = free_memory();
        first = first ? first : unused;
        least = unused < least ? unused : least;
    }
    must(cuda.stream_wait(stream), "wait");
    printf("replay_ns %.0f taken_bytes %zu\n", (double)(now_ns() - begin) / (double)n,
           first ? first - least : 0);
}

/* ---- many threads ---- */

static struct {
    pthread_barrier_t all_are_there;
    long each;
} crew;

static void *launch_some(void *nothing)
{
    handle own;
    /* Time in which the collector finds the thread: of calls that it reads before that, it does not
     * know which thread's they are. */
    const struct timespec known = {.tv_nsec = 500000000};
    must(cuda.context_set(context), "context");
    must(cuda.stream_create(&own, 1), "stream");
    profwrap_range_push("begin");
    profwrap_range_pop();
    nanosleep(&known, NULL);
    pthread_barrier_wait(&crew.all_are_there);
    for (long i = 0; i < crew.each; i++) {
        profwrap_range_push("thread");
        run_kernel_on(own, 1000);
        profwrap_range_pop();
    }
    must(cuda.stream_wait(own), "wait");
    /* None ends, and gives back what CUPTI holds for it, before all have launched. */
    pthread_barrier_wait(&crew.all_are_there);
    return nothing;
}

static void threads(long n, long each)
{
    pthread_t ids[MOST_THREADS];
    n = n < MOST_THREADS ? n : MOST_THREADS;
    crew.each = each;
    pthread_barrier_init(&crew.all_are_there, NULL, (unsigned)n);
    for (long i = 0; i < n; i++)
        if (pthread_create(&ids[i], NULL, launch_some, NULL))
            exit(1);
    for (long i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
}

/* ---- a collector that does not get on ---- */

static bool is_stopped(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    const size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    const char *state = n ? strrchr(text, ')') : NULL;
    return state && strncmp(state, ") T", 3) == 0;
}

/* profwrap, whose child this is, is stopped during the first n. */
static void stall(long n, long later)
{
    const pid_t collector = getppid();
    const struct timespec moment = {.tv_nsec = 1000000};
    kill(collector, SIGSTOP);
    for (int i = 0; i < 1000 && !is_stopped(collector); i++)
        nanosleep(&moment, NULL);
    printf("%s\n", is_stopped(collector) ? "stalled" : "not stopped");
    for (long i = 0; i < n; i++) {
        run_kernel(0);
        if (i % 1000 == 0)
            must(cuda.stream_wait(stream), "wait");
    }
    must(cuda.stream_wait(stream), "wait");
    kill(collector, SIGCONT);
    for (long i = 0; i < later; i++) {
        nanosleep(&moment, NULL);
        run_kernel(0);
    }
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
    if (strcmp(what, "profiler") == 0)
        return argc == 3 ? profile_twice(argv[2]) : 2;
    if (strcmp(what, "nccl") == 0)
        return argc == 3 ? use_nccl(argv[2]) : 2;
    start();
    if (strcmp(what, "kernels") == 0)
        run_in_ranges("work", n, ns);
    else if (strcmp(what, "steps") == 0)
        steps(n, ns);
    else if (strcmp(what, "graph") == 0)
        graph(n, ns);
    else if (strcmp(what, "replay") == 0)
        replay(n, (int)ns);
    else if (strcmp(what, "threads") == 0)
        threads(n, (long)ns);
    else if (strcmp(what, "stall") == 0)
        stall(n, (long)ns);
    else if (strcmp(what, "copies") == 0)
        copies(n);
    else if (strcmp(what, "die") == 0) {
        run_in_ranges("work", n, ns);
        if (argc > 4)
            nanosleep(&second, NULL);
        kill(getpid(), SIGKILL);
    } else {
        return 2;
    }
    return 0;
}
