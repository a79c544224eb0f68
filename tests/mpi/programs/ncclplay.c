/* A program without MPI that uses ncclhost.c as NCCL. ncclplay SCENARIO [VERSION]; rank and size
 * are RANK and WORLD_SIZE. The tests compare its operations with the rank file. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ncclhost.h"
#include "profwrap.h"
#include "standin/standin.h"

#define HASH 0x1234567890abcdefull

static int number(const char *name, int fallback)
{
    const char *text = getenv(name);
    return text ? atoi(text) : fallback;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct host host;
static struct host_comm world;

static struct host_op op(int func, size_t count, int datatype, int peer)
{
    return (struct host_op){.func = func, .count = count, .datatype = datatype, .peer = peer};
}

static void one(int func, size_t count, int datatype, int peer)
{
    struct host_op o = op(func, count, datatype, peer);
    host_group(&world, &o, 1);
}

static void all(void)
{
    one(HOST_ALLREDUCE, 1000, HOST_FLOAT32, 0);
    one(HOST_ALLGATHER, 100, HOST_FLOAT32, 0);
    one(HOST_REDUCESCATTER, 100, HOST_BFLOAT16, 0);
    one(HOST_BROADCAST, 10, HOST_FLOAT32, 1);
    one(HOST_REDUCE, 10, HOST_FLOAT32, 1);
    struct host_op pair[] = {op(HOST_SEND, 7, HOST_FLOAT32, !world.rank),
                             op(HOST_RECV, 7, HOST_FLOAT32, !world.rank)};
    host_group(&world, pair, 2);
    struct host_op two[] = {op(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0),
                            op(HOST_ALLREDUCE, 2, HOST_FLOAT32, 0)};
    host_group(&world, two, 2);
}

/* An all-to-all of messages whose functions are not wrapped: what NCCL says is all there is. */
static void alltoall(void)
{
    one(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
    one(HOST_ALLTOALL, 5, HOST_FLOAT32, 0);
    one(HOST_ALLREDUCE, 2, HOST_FLOAT32, 0);
}

static struct host_op proxied;

static void *proxy_thread(void *arg)
{
    (void)arg;
    host_proxy(&world, &proxied, getpid(), !world.rank, true, 3);
    host_proxy(&world, &proxied, getpid(), !world.rank, false, 2);
    host_proxy(&world, &proxied, getpid() + 1, !world.rank, true, 1); /* PXN: not ours */
    uint64_t t = now_ns();
    host_channel(&world, &proxied, 0, t - 5000000, t - 2000000);
    host_channel(&world, &proxied, 1, t - 4000000, t - 1000000);
    return NULL;
}

static void proxies(void)
{
    pthread_t thread;
    proxied = op(HOST_ALLREDUCE, 1000, HOST_FLOAT32, 0);
    host_group(&world, &proxied, 1);
    pthread_create(&thread, NULL, proxy_thread, NULL);
    pthread_join(thread, NULL);
}

static void graph(void)
{
    struct host_op captured = op(HOST_ALLREDUCE, 1000, HOST_FLOAT32, 0);
    captured.captured = true;
    one(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
    host_group(&world, &captured, 1);
    for (int i = 0; i < 3 + world.rank; i++) /* not as often on each rank */
        host_replay(&world, &captured, 1);
    one(HOST_ALLREDUCE, 2, HOST_FLOAT32, 0);
}

static void copies(void)
{
    struct host_op o = op(HOST_ALLGATHER, 100, HOST_FLOAT32, 0);
    host_ce(&world, &o);
}

static void symmetric(void)
{
    struct host_op o = op(HOST_ALLGATHER, 100, HOST_FLOAT32, 0);
    host_symmetric(&world, &o);
}

static void forks(void)
{
    one(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        one(HOST_ALLREDUCE, 2, HOST_FLOAT32, 0);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    one(HOST_ALLREDUCE, 3, HOST_FLOAT32, 0);
}

/* The communicator goes while its events are under way; NCCL may still end them. */
static void early(void)
{
    struct host_op o = op(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
    struct pw_nccl_descr_v6 d = {.type = PW_NCCL_COLL_API};
    void *handle = NULL;
    host_group(&world, &o, 1);
    d.coll_api.func = "AllReduce";
    d.coll_api.datatype = "ncclFloat32";
    host.start(world.context, &handle, &d);
    void *context = world.context;
    host_comm_end(&world);
    host.stop(handle);
    host.stop(handle);
    handle = &d;
    host.start(context, &handle, &d); /* of a communicator that is gone */
    printf("after the end: %s\n", handle ? "a handle" : "nothing");
    host.stop((void *)(uintptr_t)0x123456789abcde16);
}

static void alone(void)
{
    host_comm_end(&world);
    host_comm_init(&world, &host, "one", HASH + 1, 1, 0);
    one(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
}

/* Steps of 10 ms, of rank 1 30 ms, each with an allreduce of 2 ms on the GPU that waits for all. */
static void steps(void)
{
    for (int i = 0; i < 20; i++) {
        profwrap_step(i);
        usleep(world.rank == 1 ? 30000 : 10000);
        struct host_op o = op(HOST_ALLREDUCE, 1 << 20, HOST_FLOAT32, 0);
        host_group(&world, &o, 1);
        uint64_t begin = now_ns();
        host_meet("NCCLPLAY_MEET", i, world.ranks);
        usleep(2000);
        host_channel(&world, &o, 0, begin, now_ns());
    }
}

/* As steps, and rank 1 computes for 300 ms before its first step. */
static void late_steps(void)
{
    const uint64_t end = now_ns() + 300000000;
    while (world.rank == 1 && now_ns() < end)
        ;
    steps();
}

static void many(void)
{
    for (int i = 0; i < 20000; i++)
        one(HOST_ALLREDUCE, (size_t)i, HOST_FLOAT32, 0);
}

/* A kernel on the GPU, which begins now and ends when all ranks have begun theirs. */
static void run_kernel(struct standin_work *w, const char *name, int turn)
{
    static const int32_t grid[3] = {4, 1, 1}, block[3] = {512, 1, 1};
    void *cupti = dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW | RTLD_LOCAL);
    uint64_t (*now)(void) = (uint64_t(*)(void))(uintptr_t)dlsym(cupti, "standin_now");
    void (*kernel)(const struct standin_work *, const char *, const int32_t *, const int32_t *) =
        (void (*)(const struct standin_work *, const char *, const int32_t *, const int32_t *))(
            uintptr_t)dlsym(cupti, "standin_kernel");
    w->start = now();
    host_meet("NCCLPLAY_MEET", turn, world.ranks);
    usleep(2000);
    w->end = now();
    kernel(w, name, grid, block);
}

/* A graph of an allreduce and an allgather, replayed in each step, which rank 1 begins 20 ms late.
 */
static void replays(void)
{
    enum { STEPS = 12 };
    struct host_op reduce = op(HOST_ALLREDUCE, 1000, HOST_FLOAT32, 0);
    struct host_op gather = op(HOST_ALLGATHER, 500, HOST_FLOAT32, 0);
    reduce.captured = gather.captured = true;
    host_group(&world, &reduce, 1);
    host_group(&world, &gather, 1);
    for (int i = 0; i < STEPS; i++) {
        struct standin_work w = {.stream = 7, .correlation = (uint32_t)(100 + i)};
        profwrap_step(i);
        usleep(world.rank == 1 ? 25000 : 5000);
        w.graph_node = (UINT64_C(3) << 32) + 1;
        run_kernel(&w, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 2 * i);
        w.graph_node++;
        run_kernel(&w, "ncclDevKernel_AllGather_RING_LL(int)", 2 * i + 1);
    }
}

/* Another communicator of the process, while other threads read the mask. */
static void second(void)
{
    struct host_comm other;
    host_protect_mask(&host);
    host_comm_init(&other, &host, "other", HASH + 1, 2, world.rank);
    host_comm_end(&other);
    one(HOST_ALLREDUCE, 1, HOST_FLOAT32, 0);
}

/* As cuInit() does, before NCCL begins. */
static void begin_cuda(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*inject)(void) =
        library ? (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection") : NULL;
    printf("injected %d\n", inject ? inject() : -1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } scenarios[] = {{"all", all},
                     {"proxies", proxies},
                     {"graph", graph},
                     {"copies", copies},
                     {"forks", forks},
                     {"early", early},
                     {"alone", alone},
                     {"steps", steps},
                     {"late_steps", late_steps},
                     {"many", many},
                     {"second", second},
                     {"alltoall", alltoall},
                     {"symmetric", symmetric},
                     {"replays", replays}};
    const char *name = argc > 1 ? argv[1] : "";
    if (getenv("NCCLPLAY_LOADED"))
        dlopen(getenv("NCCLPLAY_LOADED"), RTLD_NOW);
    if (getenv("NCCLPLAY_CUDA"))
        begin_cuda();
    if (!host_load(&host, argc > 2 ? atoi(argv[2]) : 0)) {
        printf("no plugin\n");
        return strcmp(name, "none") != 0;
    }
    host.launch_us = strcmp(name, "many") == 0 ? 0 : 100;
    host_comm_init(&world, &host, "world", HASH, number("WORLD_SIZE", 2), number("RANK", 0));
    printf("version %d mask %d\n", host.version, *host.mask);
    if (strcmp(name, "types") == 0)
        printf("handles %d\n", host_all_types(&world));
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (strcmp(name, scenarios[i].name) == 0)
            scenarios[i].play();
    host_comm_end(&world);
    return 0;
}
