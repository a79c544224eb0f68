/* A job that hangs by the fault that the first argument names; test_hang_kinds.py runs it, and says
 * for each fault which rank is to blame. Unless a fault says otherwise, a rank that comes out of it
 * waits for the others in a barrier, and the rank that is to blame sleeps. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 1 << 20, TAG = 7, MOST = 8 };

static int rank, size;
static double *large, *other_large; /* above every limit for messages that are sent at once */
static int values[64];
static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];

static void sleep_long(void)
{
    for (;;)
        sleep(100);
}

static void compute(void)
{
    for (volatile double x = 1;; x = x * 1.0000001)
        ;
}

static int left_of(int of)
{
    return (of + size - 1) % size;
}

static int right_of(int of)
{
    return (of + 1) % size;
}

static MPI_Request *receive(int i, int from, int tag)
{
    MPI_Irecv(&values[i], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
    return &requests[i];
}

static void wait_all(int n)
{
    MPI_Waitall(n, requests, statuses);
}

/* ---- messages ---- */

/* One exchange with both neighbours after the other; the last rank sleeps before the third. */
static void halo_late(void)
{
    for (int round = 0; round < 5; round++) {
        if (rank == size - 1 && round == 2)
            sleep_long();
        receive(0, left_of(rank), TAG);
        receive(1, right_of(rank), TAG);
        MPI_Isend(&rank, 1, MPI_INT, right_of(rank), TAG, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&rank, 1, MPI_INT, left_of(rank), TAG, MPI_COMM_WORLD, &requests[3]);
        wait_all(4);
    }
}

/* As before, with large messages: the last rank sends them, and receives none. */
static void halo_unreceived(void)
{
    const int is_last = rank == size - 1;
    for (int i = 0; i < MOST; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < 2; i++) {
        const int peer = i ? left_of(rank) : right_of(rank);
        if (!is_last)
            MPI_Irecv(i ? large : other_large, LARGE / 2, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD,
                      &requests[i]);
        MPI_Isend(large, LARGE / 2, MPI_DOUBLE, peer, TAG, MPI_COMM_WORLD, &requests[2 + i]);
    }
    if (is_last)
        sleep_long();
    wait_all(4);
}

/* Each waits for the message of its left neighbour before it sends its own. */
static void circle_of_waitalls(void)
{
    receive(0, left_of(rank), TAG);
    receive(1, left_of(rank), TAG + 1);
    wait_all(2);
}

static void other_tag(void)
{
    if (rank == 0) {
        MPI_Send(&rank, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
        sleep_long();
    }
    if (rank == 1)
        MPI_Recv(values, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other_tag_in_waitall(void)
{
    if (rank == 0) {
        MPI_Send(&rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        MPI_Send(&rank, 1, MPI_INT, 1, TAG + 2, MPI_COMM_WORLD);
        sleep_long();
    }
    if (rank == 1) {
        receive(0, 0, TAG);
        receive(1, 0, TAG + 1);
        wait_all(2);
    }
}

static void both_send(void)
{
    MPI_Send(large, LARGE, MPI_DOUBLE, 1 - rank, TAG, MPI_COMM_WORLD);
    MPI_Recv(large, LARGE, MPI_DOUBLE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void unreceived_send(void)
{
    if (rank == 1)
        MPI_Send(large, LARGE, MPI_DOUBLE, 2, TAG, MPI_COMM_WORLD);
}

static void synchronous_send(void)
{
    if (rank == 1)
        sleep_long();
    if (rank == 0)
        MPI_Ssend(&rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
}

static void other_target(void)
{
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    if (rank == 2)
        MPI_Recv(values, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void shift_without_one(void)
{
    if (rank == size - 1)
        sleep_long();
    MPI_Sendrecv(&rank, 1, MPI_INT, right_of(rank), TAG, values, 1, MPI_INT, left_of(rank), TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 has the message of rank 1, and sends to rank 2, which does not receive. */
static void shift_unreceived(void)
{
    if (rank == 2)
        sleep_long();
    if (rank == 1)
        MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Sendrecv(large, LARGE, MPI_DOUBLE, 2, TAG, values, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void wait_any(int of)
{
    int index;
    if (rank == 2)
        sleep_long();
    if (rank == 1 && of == 1)
        sleep_long();
    receive(0, 2, TAG);
    receive(1, of, TAG);
    if (rank == 0)
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void waitany_of_one(void)
{
    wait_any(2);
}

static void waitany_of_two(void)
{
    wait_any(1);
}

static void waitsome(void)
{
    int n, indices[2];
    if (rank == 2)
        sleep_long();
    receive(0, 2, TAG);
    receive(1, 2, TAG + 1);
    if (rank == 0)
        MPI_Waitsome(2, requests, &n, indices, statuses);
}

/* Rank 2 waits for ranks 0 and 1; rank 0 has sent. */
static void waitall_of_two(void)
{
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD);
    if (rank == 1)
        compute();
    if (rank == 2) {
        receive(0, 0, TAG);
        receive(1, 1, TAG);
        wait_all(2);
    }
}

static void testall(void)
{
    int is_done = rank != 1;
    if (rank == 2)
        sleep_long();
    if (rank == 1) {
        receive(0, 2, TAG);
        receive(1, 2, TAG + 1);
    }
    while (!is_done)
        MPI_Testall(2, requests, &is_done, statuses);
}

static void iprobe(void)
{
    int is_there = rank != 1;
    if (rank == 2)
        sleep_long();
    while (!is_there)
        MPI_Iprobe(2, TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

/* With a pause between two tests, as programs that save power do. */
static void slow_polling(void)
{
    int is_done = rank != 1;
    if (rank == 2)
        sleep_long();
    if (rank == 1)
        receive(0, 2, TAG);
    while (!is_done) {
        MPI_Test(requests, &is_done, MPI_STATUS_IGNORE);
        usleep(20000);
    }
}

static void both_poll(void)
{
    int is_done = 0;
    receive(0, 1 - rank, TAG);
    while (!is_done)
        MPI_Test(requests, &is_done, MPI_STATUS_IGNORE);
}

static void probe(void)
{
    if (rank == 2)
        sleep_long();
    if (rank == 1)
        MPI_Probe(2, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    if (rank == 0)
        sleep_long();
    MPI_Recv_init(values, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, requests);
    if (rank == 1) {
        MPI_Start(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
}

/* ---- collectives ---- */

static void sub_communicator(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
    if (rank == size - 1)
        sleep_long();
    MPI_Barrier(half);
}

static void gather_root(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Gather(&rank, 1, MPI_INT, values, 1, MPI_INT, rank == 2, MPI_COMM_WORLD);
    if (rank == 2)
        sleep_long();
}

static void order_of_two(void)
{
    const int is_other = rank == 1 || rank == 4;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_other)
        MPI_Allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(values, 1, MPI_INT, values + 32, 1, MPI_INT, MPI_COMM_WORLD);
    if (is_other)
        sleep_long();
    MPI_Allgather(&rank, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD);
}

static void alltoall(void)
{
    if (rank == 5)
        compute();
    MPI_Alltoall(values, 1, MPI_INT, values + 32, 1, MPI_INT, MPI_COMM_WORLD);
}

static void scan(void)
{
    if (rank == 0)
        sleep_long();
    MPI_Scan(&rank, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void duplicate(void)
{
    MPI_Comm copy;
    if (rank == 1)
        sleep_long();
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

static void two_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, TAG, &both);
    MPI_Comm_set_name(both, "both");
    if (rank == 3)
        sleep_long();
    MPI_Barrier(both);
}

static void neighbours(void)
{
    MPI_Comm ring;
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    if (rank == 2)
        sleep_long();
    MPI_Neighbor_alltoall(values, 1, MPI_INT, values + 8, 1, MPI_INT, ring);
}

static void nonblocking_collective(void)
{
    if (rank == size - 1)
        sleep_long();
    MPI_Iallreduce(&rank, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    wait_all(2);
}

static void polled_collective(void)
{
    int is_done = 0;
    if (rank == size - 1)
        sleep_long();
    MPI_Ibarrier(MPI_COMM_WORLD, requests);
    while (!is_done)
        MPI_Test(requests, &is_done, MPI_STATUS_IGNORE);
}

/* ---- windows and files ---- */

static void fence(void)
{
    MPI_Win window;
    MPI_Win_create(values, sizeof(values), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 2)
        sleep_long();
    MPI_Win_fence(0, window);
}

/* Rank 0 holds the lock of rank 1's window; rank 2 waits for it, in one call or another. */
static void lock(void)
{
    MPI_Win window;
    int one = 1;
    MPI_Win_create(values, sizeof(values), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
        MPI_Win_flush(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        sleep_long();
    if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
        MPI_Win_unlock(1, window);
    }
}

static void create_window(void)
{
    MPI_Win window;
    if (rank == 0)
        sleep_long();
    MPI_Win_create(values, sizeof(values), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void open_file(void)
{
    MPI_File file;
    if (rank == 1)
        sleep_long();
    MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}

static void close_file(void)
{
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 1)
        sleep_long();
    MPI_File_close(&file);
}

/* ---- what the rank to blame does ---- */

static void handler(int number)
{
    (void)number;
    sleep_long();
}

static void in_handler(void)
{
    signal(SIGUSR2, handler);
    if (rank == 1)
        raise(SIGUSR2);
}

static void in_exit(void)
{
    if (rank == 1) {
        atexit(sleep_long);
        exit(0);
    }
}

static void in_loop(void)
{
    if (rank == 1)
        compute();
}

static void in_pipe(void)
{
    int ends[2];
    char byte;
    if (rank == 1 && pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
        sleep_long();
}

static void in_fifo(void)
{
    if (rank == 1 && mkfifo("fifo", 0600) == 0 && open("fifo", O_RDONLY) < 0)
        sleep_long();
}

static void in_mutex(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 2 && rank == 1; i++)
        pthread_mutex_lock(&mutex);
}

static void in_waitpid(void)
{
    pid_t child = rank == 1 ? fork() : -1;
    if (child == 0) {
        alarm(60);
        sleep_long();
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void *sleeping_thread(void *argument)
{
    sleep_long();
    return argument;
}

static void in_join(void)
{
    pthread_t thread;
    if (rank == 1 && pthread_create(&thread, NULL, sleeping_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

static void stop_itself(int number)
{
    (void)number;
    raise(SIGSTOP);
}

/* Stopped while it is in a barrier, which it has entered last: nobody is missing. */
static void stopped_inside(void)
{
    signal(SIGALRM, stop_itself);
    if (rank == 1)
        alarm(1);
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*make)(void);
} faults[] = {
    {"halo late", halo_late},
    {"halo unreceived", halo_unreceived},
    {"circle of waitalls", circle_of_waitalls},
    {"other tag", other_tag},
    {"other tag in waitall", other_tag_in_waitall},
    {"both send", both_send},
    {"unreceived send", unreceived_send},
    {"synchronous send", synchronous_send},
    {"other target", other_target},
    {"shift without one", shift_without_one},
    {"shift unreceived", shift_unreceived},
    {"waitany of one", waitany_of_one},
    {"waitany of two", waitany_of_two},
    {"waitsome", waitsome},
    {"waitall of two", waitall_of_two},
    {"waitall of two, threads", waitall_of_two},
    {"testall", testall},
    {"iprobe", iprobe},
    {"slow polling", slow_polling},
    {"both poll", both_poll},
    {"probe", probe},
    {"persistent", persistent},
    {"sub-communicator", sub_communicator},
    {"gather root", gather_root},
    {"order of two", order_of_two},
    {"alltoall", alltoall},
    {"scan", scan},
    {"duplicate", duplicate},
    {"two groups", two_groups},
    {"neighbours", neighbours},
    {"nonblocking collective", nonblocking_collective},
    {"polled collective", polled_collective},
    {"fence", fence},
    {"lock", lock},
    {"create window", create_window},
    {"open file", open_file},
    {"close file", close_file},
    {"in handler", in_handler},
    {"in exit", in_exit},
    {"in loop", in_loop},
    {"in pipe", in_pipe},
    {"in fifo", in_fifo},
    {"in mutex", in_mutex},
    {"in waitpid", in_waitpid},
    {"in join", in_join},
    {"stopped inside", stopped_inside},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const char *before = getenv("OMPI_COMM_WORLD_RANK");
    int provided;
    before = before ? before : getenv("PMI_RANK");
    if (strcmp(name, "before MPI_Init") == 0 && before && atoi(before) == 1)
        sleep_long();
    MPI_Init_thread(&argc, &argv, strstr(name, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    large = calloc(LARGE, sizeof(*large));
    other_large = calloc(LARGE, sizeof(*other_large));
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (strcmp(faults[i].name, name) == 0)
            faults[i].make();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
