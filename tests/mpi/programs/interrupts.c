/* Threads that end within calls, and signal handlers that record while the program records,
 * according to the first argument. test_processes.py runs it. Where handlers call MPI functions,
 * programs/hollow.c replaces the MPI library. */
#include <mpi.h>
#include <profwrap.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HANDLER_TAG = 77, DEFAULT_STACK = 1 << 16 };

static void mark(const char *name, int times)
{
    for (int i = 0; i < times; i++) {
        profwrap_range_push(name);
        profwrap_range_pop();
    }
}

/* ---- threads ---- */

static void leave_thread(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
    pthread_exit(NULL);
}

/* Ends inside MPI_Reduce_local, whose operation is ours. */
static void *exit_inside_a_call(void *unused)
{
    int one = 1, two = 2;
    MPI_Op op;
    (void)unused;
    mark("doomed", 1);
    MPI_Op_create(leave_thread, 1, &op);
    MPI_Reduce_local(&one, &two, 1, MPI_INT, op);
    return NULL;
}

static void *mark_for_ever(void *unused)
{
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        mark("cancelled", 1);
    return NULL;
}

static void *mark_thrice(void *unused)
{
    (void)unused;
    mark("orderly", 3);
    return NULL;
}

/* argv[0] rounds: one thread ends in a call, one is cancelled anywhere, one ends in order. */
static int ends_of_threads(char **argv)
{
    int provided, rounds = atoi(argv[0]);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < rounds; i++) {
        struct timespec pause = {.tv_nsec = 50000 + 1000 * (i % 97)};
        void *(*const bodies[])(void *) = {exit_inside_a_call, mark_for_ever, mark_thrice};
        pthread_t threads[3];
        for (int k = 0; k < 3; k++)
            if (pthread_create(&threads[k], NULL, bodies[k], NULL))
                return 1;
        nanosleep(&pause, NULL);
        pthread_cancel(threads[1]);
        for (int k = 0; k < 3; k++)
            pthread_join(threads[k], NULL);
    }
    MPI_Finalize();
    printf("%d rounds\n", rounds);
    return 0;
}

static pthread_barrier_t barrier;

static void *mark_and_stay(void *unused)
{
    mark("at once", 1);
    pthread_barrier_wait(&barrier);
    return unused;
}

/* argv[0] threads that all live at the same time. */
static int crowd(char **argv)
{
    int n = atoi(argv[0]);
    pthread_t *threads = calloc((size_t)n, sizeof(*threads));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, DEFAULT_STACK);
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], &attributes, mark_and_stay, NULL))
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    printf("%d threads\n", n);
    return 0;
}

/* ---- signal handlers ---- */

/* While the main thread is in its handler, the next signal goes to one of MPI's own threads. */
static atomic_int entered, handled, is_over;

/* False when no more is to be handled: a thread may have a signal, but not have come to its handler
 * yet, when the main thread stops. */
static int enter(void)
{
    atomic_fetch_add(&entered, 1);
    if (!atomic_load(&is_over))
        return 1;
    atomic_fetch_sub(&entered, 1);
    return 0;
}

static void call_from_handler(int signal)
{
    int flag, zero = 0;
    (void)signal;
    if (!enter())
        return;
    MPI_Wtime();
    MPI_Iprobe(0, HANDLER_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Send(&zero, 1, MPI_INT, 0, HANDLER_TAG, MPI_COMM_SELF);
    mark("in a handler", 1);
    atomic_fetch_add(&handled, 1);
}

static void mark_from_handler(int signal)
{
    (void)signal;
    if (!enter())
        return;
    mark("in a handler", 1);
    atomic_fetch_add(&handled, 1);
}

static void handle(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_flags = SA_RESTART | flags};
    struct itimerval every = {{0, 50}, {0, 50}};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_handling(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN); /* also one that is pending */
    atomic_store(&is_over, 1);
    while (atomic_load(&entered) != atomic_load(&handled))
        sched_yield(); /* another thread is in its handler */
}

/* Calls and ranges, with names that were never used before among them, until `least` signals have
 * come. */
static void work_until(int least)
{
    long rounds = 0;
    for (; handled < least; rounds++) {
        char name[32];
        int one = 1, sum;
        snprintf(name, sizeof(name), "name %ld", rounds / 100 % 20000);
        for (int i = 0; i < 20; i++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        mark(name, 20);
    }
    stop_handling();
    printf("rounds %ld handled %d\n", rounds, atomic_load(&handled));
}

static int calls_in_handlers(char **argv)
{
    MPI_Init(NULL, NULL);
    handle(call_from_handler, 0);
    work_until(atoi(argv[0]));
    MPI_Finalize();
    return 0;
}

static int marks_in_handlers(char **argv)
{
    MPI_Init(NULL, NULL);
    handle(mark_from_handler, 0);
    work_until(atoi(argv[0]));
    MPI_Finalize();
    return 0;
}

/* The thread's very first records are made by handlers, on a stack of the least size and 8 KiB,
 * below which there is nothing. */
static int small_stack(char **argv)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 8192 + page - 1) / page * page;
    char *memory =
        mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) || sigaltstack(&stack, NULL))
        return 1;
    MPI_Init(NULL, NULL);
    handle(call_from_handler, SA_ONSTACK);
    work_until(atoi(argv[0]));
    MPI_Finalize();
    return 0;
}

static void *first_records(void *unused)
{
    mark("first", 1);
    return unused;
}

/* Handlers in every thread's first and last moments. */
static int short_threads(char **argv)
{
    int least = atoi(argv[0]), threads = 0;
    handle(mark_from_handler, 0);
    for (; handled < least; threads++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, first_records, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    stop_handling();
    printf("rounds %d handled %d\n", threads, atomic_load(&handled));
    return 0;
}

static sigjmp_buf back;

static void jump_out(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* Out of MPI_Recv by a jump: undefined as to MPI, but what a solver with a time limit does. */
static int jump(char **argv)
{
    int value;
    (void)argv;
    MPI_Init(NULL, NULL);
    signal(SIGALRM, jump_out);
    if (sigsetjmp(back, 1) == 0) {
        ualarm(100000, 0);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    mark("after the jump", 5);
    puts("jumped");
    fflush(stdout);
    _exit(0);
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} modes[] = {
    {"ends-of-threads", ends_of_threads},
    {"crowd", crowd},
    {"calls-in-handlers", calls_in_handlers},
    {"marks-in-handlers", marks_in_handlers},
    {"small-stack", small_stack},
    {"short-threads", short_threads},
    {"jump", jump},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2);
    return 64;
}
