/* A library with functions of MPI's names that are its own, and what calls of them must stand:
 *
 * - use_mpi(): many of them, which cost little, and some that a signal's handler interrupts by
 *   calls of another one.
 * - OWN_IN_CONSTRUCTOR: the constructor waits for a thread that calls them, as libraries do that
 *   start a pool of threads. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

int MPI_Comm_size(long comm, int *size);
int MPI_Comm_size(long comm, int *size)
{
    *size = (int)comm + 40;
    return 0;
}

int MPI_Comm_rank(long comm, int *rank);
int MPI_Comm_rank(long comm, int *rank)
{
    *rank = (int)comm + 80;
    return 0;
}

#ifdef OWN_IN_CONSTRUCTOR
static void *call(void *found)
{
    MPI_Comm_size(2, found);
    return NULL;
}

__attribute__((constructor)) static void wait_for_thread(void)
{
    pthread_t thread;
    int found = 0;
    if (pthread_create(&thread, NULL, call, &found) == 0)
        pthread_join(thread, NULL);
    printf("in the constructor: %d\n", found);
}
#endif

static volatile sig_atomic_t interrupted, wrong;

static void interrupt(int number)
{
    int found = 0;
    (void)number;
    MPI_Comm_rank(3, &found);
    wrong += found != 83;
    interrupted++;
}

enum { CALLS = 20000, INTERRUPTS = 1000 };

int use_mpi(void);
int use_mpi(void)
{
    const struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    struct timespec begin, end;
    int found = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < CALLS; i++)
        wrong += MPI_Comm_size(i, &found) || found != i + 40;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double us =
        ((double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-3) /
        CALLS;
    signal(SIGALRM, interrupt);
    setitimer(ITIMER_REAL, &often, NULL);
    while (interrupted < INTERRUPTS)
        wrong += MPI_Comm_size(2, &found) || found != 42;
    setitimer(ITIMER_REAL, &never, NULL);
    fprintf(stderr, "%.3f us a call\n", us);
    printf("%s, %s\n", us < 20 ? "cheap" : "dear", wrong ? "wrong" : "right");
    return wrong != 0;
}
