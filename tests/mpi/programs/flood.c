/* Reads commands from standard input, and records events as each command says: "calls N",
 * "ranges N", "steps N", "names N" (N ranges, each with a new name), "threads T N" (N ranges in
 * each of T new threads), "crowd T N" (N MPI calls in each of T new threads that run at the same
 * time), "dup NAME" (a communicator), "dup-calls N" (calls on that communicator). Answers each
 * command with "done". */
#include <mpi.h>
#include <profwrap.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64 };

static MPI_Comm own = MPI_COMM_NULL;
static long step, named;

static void reduce(MPI_Comm comm, long times)
{
    int one = 1, sum;
    for (long i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void mark(const char *name, long times)
{
    for (long i = 0; i < times; i++) {
        profwrap_range_push(name);
        profwrap_range_pop();
    }
}

static void name_ranges(long times)
{
    for (long i = 0; i < times; i++) {
        char name[32];
        snprintf(name, sizeof(name), "name %ld", named++);
        mark(name, 1);
    }
}

static pthread_barrier_t crowd;

struct caller {
    MPI_Comm comm;
    long times;
};

static void *call_many(void *arg)
{
    const struct caller *caller = arg;
    reduce(caller->comm, 1);
    pthread_barrier_wait(&crowd);
    reduce(caller->comm, caller->times - 1);
    return NULL;
}

static void run_crowd(long n, long times)
{
    static struct caller callers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    n = n < THREADS_MAX ? n : THREADS_MAX;
    pthread_barrier_init(&crowd, NULL, (unsigned)n);
    for (long i = 0; i < n; i++) {
        callers[i].times = times;
        MPI_Comm_dup(MPI_COMM_SELF, &callers[i].comm);
        if (pthread_create(&threads[i], NULL, call_many, &callers[i]))
            exit(1);
    }
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i < n; i++)
        MPI_Comm_free(&callers[i].comm);
}

/* No thread records before all exist: under a limit on the address space, the ring of the first
 * could take the room of another's stack. Each thread gets a ring of its own, because no thread
 * ends before all have recorded. */
static void *mark_many(void *times)
{
    pthread_barrier_wait(&crowd);
    mark("of a thread", 1);
    pthread_barrier_wait(&crowd);
    mark("of a thread", *(long *)times - 1);
    return NULL;
}

static void run_threads(long n, long times)
{
    pthread_t threads[THREADS_MAX];
    n = n < THREADS_MAX ? n : THREADS_MAX;
    pthread_barrier_init(&crowd, NULL, (unsigned)n);
    for (long i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, mark_many, &times))
            exit(1);
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void obey(const char *what, const char *name, long n)
{
    if (strcmp(what, "calls") == 0)
        reduce(MPI_COMM_SELF, n);
    else if (strcmp(what, "ranges") == 0)
        mark("a range", n);
    else if (strcmp(what, "names") == 0)
        name_ranges(n);
    else if (strcmp(what, "dup-calls") == 0)
        reduce(own, n);
    else if (strcmp(what, "dup") == 0) {
        MPI_Comm_dup(MPI_COMM_SELF, &own);
        MPI_Comm_set_name(own, name);
    }
    for (long i = 0; i < n && strcmp(what, "steps") == 0; i++)
        profwrap_step(step++);
}

int main(void)
{
    char line[128], what[32], name[64];
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    while (fgets(line, sizeof(line), stdin)) {
        long threads, times;
        if (sscanf(line, "threads %ld %ld", &threads, &times) == 2)
            run_threads(threads, times);
        else if (sscanf(line, "crowd %ld %ld", &threads, &times) == 2)
            run_crowd(threads, times);
        else if (sscanf(line, "%31s %63s", what, name) == 2)
            obey(what, name, atol(name));
        puts("done");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
