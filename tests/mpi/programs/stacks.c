/* MPI calls from known functions, on two threads; test_stacks.py knows the functions. Built with
 * debug information and without frame pointers. */
#include <mpi.h>
#include <pthread.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static int value = 1;

APART static int inner(MPI_Comm comm)
{
    int sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum + 1;
}

APART static int middle(MPI_Comm comm)
{
    return inner(comm) + 1;
}

APART static int other_way(MPI_Comm comm)
{
    return inner(comm) + 2;
}

APART static int begin_late(MPI_Request *requests)
{
    MPI_Startall(2, requests);
    return 1;
}

static void *run(void *nothing)
{
    value = other_way(MPI_COMM_SELF);
    return nothing;
}

int main(int argc, char **argv)
{
    int provided, got = 0;
    pthread_t thread;
    MPI_Request requests[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 100; i++)
        value = middle(MPI_COMM_WORLD) - 1;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    MPI_Recv_init(&got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);
    value += begin_late(requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}
