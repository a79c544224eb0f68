/* Calls MPI over and over, keeps the number of calls that have returned in a file that outlives it,
 * and ends as its arguments say: what is in the profile can be compared with what was done.
 *
 *   tally FILE CALLS return|exit|_exit STATUS, abort, segv, kill, memory, mpi_abort STATUS, stay or
 * leave
 *
 * CALLS calls of MPI_Allreduce, each inside a range; `stay` goes on until somebody ends it, and so
 * does `leave`, in another thread than the main one, which ends; with
 * TALLY_WITHOUT_MPI in the environment only the ranges. FILE is one 64-bit count in the machine's
 * order; "-" for none. With TALLY_THREADS=N so many threads do it at once and never pause, without
 * MPI; each has a count of its own, 64 bytes after that of the one before. With TALLY_WORK in the
 * environment each call also says an amount of work. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profwrap.h"

enum { MOST_THREADS = 64, SLOT = 64 };

static _Atomic uint64_t *count;
static int with_mpi, with_work, threads;
static long most_calls; /* of a thread; 0: no end */

static int open_count(const char *path)
{
    static _Atomic uint64_t none[MOST_THREADS * SLOT / sizeof(uint64_t)];
    const size_t size = threads > 1 ? (size_t)threads * SLOT : sizeof(*count);
    count = none;
    if (strcmp(path, "-") == 0)
        return 0;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size))
        return -1;
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return -1;
    count = page;
    return 0;
}

static void call_once(void)
{
    double one = 1, sum;
    profwrap_range_push("call");
    if (with_mpi)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    if (with_work)
        profwrap_work(1);
    profwrap_range_pop();
    atomic_fetch_add(count, 1);
}

/* Until the limit of the cgroup, or the machine's memory, is met. */
static void take_all_memory(void)
{
    enum { PIECE = 16 << 20 };
    for (;;) {
        char *piece = malloc(PIECE);
        if (!piece)
            abort();
        memset(piece, 1, PIECE);
    }
}

static void *call_without_pause(void *slot)
{
    _Atomic uint64_t *mine = slot;
    for (long i = 0; most_calls == 0 || i < most_calls; i++) {
        profwrap_range_push("call");
        if (with_work)
            profwrap_work(1);
        profwrap_range_pop();
        atomic_fetch_add(mine, 1);
    }
    return NULL;
}

static void call_in_threads(void)
{
    pthread_t ids[MOST_THREADS];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&ids[i], NULL, call_without_pause, (char *)count + i * SLOT))
            abort();
    call_without_pause(count);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static void *stay(void *unused)
{
    (void)unused;
    const struct timespec pause = {.tv_nsec = 500000};
    for (int i = 1;; i++) {
        call_once();
        if (i % 64 == 0)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static void leave_to_another_thread(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, stay, NULL))
        abort();
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("TALLY_THREADS");
    threads = wanted ? atoi(wanted) : 0;
    if (argc < 4 || threads < 0 || threads > MOST_THREADS || open_count(argv[1]))
        return 99;
    const char *how = argv[3];
    const int status = argc > 4 ? atoi(argv[4]) : 0;
    with_work = getenv("TALLY_WORK") != NULL;
    with_mpi = getenv("TALLY_WITHOUT_MPI") == NULL && !threads;
    if (with_mpi)
        MPI_Init(&argc, &argv);
    if (threads) {
        most_calls = strcmp(how, "stay") == 0 ? 0 : atol(argv[2]);
        call_in_threads();
        return status;
    }
    for (long i = atol(argv[2]); i > 0; i--)
        call_once();
    if (strcmp(how, "exit") == 0)
        exit(status);
    if (strcmp(how, "_exit") == 0)
        _exit(status);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "memory") == 0)
        take_all_memory();
    if (strcmp(how, "mpi_abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    if (strcmp(how, "stay") == 0)
        stay(NULL);
    if (strcmp(how, "leave") == 0)
        leave_to_another_thread();
    if (with_mpi)
        MPI_Finalize();
    return status;
}
