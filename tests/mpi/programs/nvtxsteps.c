/* Steps that only the names of NVTX ranges tell:
 *
 *     nvtxsteps STEPS [MS]    or for MS ms, or until there is a file "enough"; steps without any
 *                             communication, of 4 + rank / 2 ms
 *
 * Every fourth step is named in the same way: as PyTorch's profiler does; by a registered string in
 * a domain; in wide characters; in attributes. Inside each is a loop of its own whose ranges look
 * like steps, and another thread counts too. */
#include <mpi.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { WAYS = 4, INNER = 3 };

static nvtxDomainHandle_t domain;

static void sleep_ms(double ms)
{
    struct timespec t = {.tv_nsec = (long)(ms * 1e6)};
    nanosleep(&t, NULL);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void begin_step(long n)
{
    char text[64];
    wchar_t wide[64];
    nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    snprintf(text, sizeof(text), n % WAYS ? "step %ld" : "ProfilerStep#%ld", n);
    switch (n % WAYS) {
    case 0:
        nvtxRangePushA(text);
        break;
    case 1:
        e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        e.message.registered = nvtxDomainRegisterStringA(domain, text);
        nvtxDomainRangePushEx(domain, &e);
        break;
    case 2:
        swprintf(wide, sizeof(wide) / sizeof(*wide), L"Iteration_%ld", n);
        nvtxRangePushW(wide);
        break;
    default:
        e.messageType = NVTX_MESSAGE_TYPE_ASCII;
        e.message.ascii = text;
        nvtxRangePushEx(&e);
        break;
    }
}

static void end_step(long n)
{
    if (n % WAYS == 1)
        nvtxDomainRangePop(domain);
    else
        nvtxRangePop();
}

static void *count_too(void *arg)
{
    char text[64];
    for (long i = 1000; !__atomic_load_n((int *)arg, __ATOMIC_RELAXED); i++) {
        snprintf(text, sizeof(text), "iter %ld", i);
        nvtxRangePushA(text);
        sleep_ms(1);
        nvtxRangePop();
    }
    return NULL;
}

static void work(double ms)
{
    char text[64];
    for (int i = 0; i < INNER; i++) {
        snprintf(text, sizeof(text), "iteration %d", 500 + i);
        nvtxRangePushA(text);
        nvtxRangePushA("sleep");
        sleep_ms(ms / INNER);
        nvtxRangePop();
        nvtxRangePop();
    }
}

int main(int argc, char **argv)
{
    int rank, ends = 0;
    pthread_t other;
    long steps = argc > 1 ? atol(argv[1]) : 0;
    double until = now_ms() + (argc > 2 ? atof(argv[2]) : 1e9);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    domain = nvtxDomainCreateA("steps");
    nvtxRangePushA("epoch");
    for (long n = 0; n < steps && now_ms() < until && access("enough", F_OK) != 0; n++) {
        begin_step(n);
        if (n == 0 && pthread_create(&other, NULL, count_too, &ends))
            MPI_Abort(MPI_COMM_WORLD, 2);
        work(4 + 0.5 * rank);
        end_step(n);
    }
    nvtxRangePop();
    __atomic_store_n(&ends, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
