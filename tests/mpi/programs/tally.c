/* Calls MPI over and over, keeps the number of calls that have returned in a file that outlives it,
 * and ends as it is told: what is in the profile can be compared with what was done.
 *
 *   tally FILE CALLS return|exit|_exit STATUS, abort, segv, kill, memory, mpi_abort STATUS, or stay
 *
 * CALLS calls of MPI_Allreduce, each inside a range; `stay` goes on until somebody ends it; with
 * TALLY_WITHOUT_MPI in the environment only the ranges. FILE is one 64-bit count in the machine's
 * order; "-" for none. */
#include <fcntl.h>
#include <mpi.h>
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

static _Atomic uint64_t *count;
static int with_mpi;

static int open_count(const char *path)
{
    static _Atomic uint64_t none;
    count = &none;
    if (strcmp(path, "-") == 0)
        return 0;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*count)))
        return -1;
    void *page = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

static void stay(void)
{
    const struct timespec pause = {.tv_nsec = 500000};
    for (int i = 1;; i++) {
        call_once();
        if (i % 64 == 0)
            nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || open_count(argv[1]))
        return 99;
    const char *how = argv[3];
    const int status = argc > 4 ? atoi(argv[4]) : 0;
    with_mpi = getenv("TALLY_WITHOUT_MPI") == NULL;
    if (with_mpi)
        MPI_Init(&argc, &argv);
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
        stay();
    if (with_mpi)
        MPI_Finalize();
    return status;
}
