/* A job that hangs as a script in the first argument says: "02 Barrier; 1 sleep" has ranks 0 and 2
 * call MPI_Barrier, and rank 1 sleep. `*` stands for all ranks. Then each rank waits in a barrier.
 * A word is an action and its numbers, as "Recv/1/7": from rank 1, tag 7. "@half" and the like
 * select the communicator of the words after it. hangkinds.py has the scripts. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1 << 20, MOST = 16, TAG = 7 };

static int rank, size;
static int number = 1; /* elements of a message */
static int peer, tag;  /* numbers of the present word; `peer` is also the root */
static int *out, *in;
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];
static MPI_Comm at; /* the communicator of the words */
static MPI_Comm other = MPI_COMM_NULL;
static MPI_Win window = MPI_WIN_NULL;
static MPI_File file;
static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int nrequests;

#define ONE MPI_INT

/* C(Name of the blocking function, rest of the name of the nonblocking one, parameters) */
#define COLLECTIVES(C)                                                                    \
    C(Bcast, bcast, out, number, ONE, peer, at)                                           \
    C(Gather, gather, out, 1, ONE, in, 1, ONE, peer, at)                                  \
    C(Gatherv, gatherv, out, 1, ONE, in, counts, places, ONE, peer, at)                   \
    C(Scatter, scatter, out, 1, ONE, in, 1, ONE, peer, at)                                \
    C(Scatterv, scatterv, out, counts, places, ONE, in, 1, ONE, peer, at)                 \
    C(Reduce, reduce, out, in, 1, ONE, MPI_SUM, peer, at)                                 \
    C(Barrier, barrier, at)                                                               \
    C(Allreduce, allreduce, out, in, number, ONE, MPI_SUM, at)                            \
    C(Allgather, allgather, out, 1, ONE, in, 1, ONE, at)                                  \
    C(Allgatherv, allgatherv, out, 1, ONE, in, counts, places, ONE, at)                   \
    C(Alltoall, alltoall, out, 1, ONE, in, 1, ONE, at)                                    \
    C(Alltoallv, alltoallv, out, counts, places, ONE, in, counts, places, ONE, at)        \
    C(Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types, at)      \
    C(Reduce_scatter, reduce_scatter, out, in, counts, ONE, MPI_SUM, at)                  \
    C(Reduce_scatter_block, reduce_scatter_block, out, in, 1, ONE, MPI_SUM, at)           \
    C(Scan, scan, out, in, 1, ONE, MPI_SUM, at)                                           \
    C(Exscan, exscan, out, in, 1, ONE, MPI_SUM, at)                                       \
    C(Neighbor_allgather, neighbor_allgather, out, 1, ONE, in, 1, ONE, at)                \
    C(Neighbor_allgatherv, neighbor_allgatherv, out, 1, ONE, in, counts, places, ONE, at) \
    C(Neighbor_alltoall, neighbor_alltoall, out, 1, ONE, in, 1, ONE, at)                  \
    C(Neighbor_alltoallv, neighbor_alltoallv, out, counts, places, ONE, in, counts, places, ONE, at)

#define CALL(Name, name, ...)                             \
    static void call_##Name(void)                         \
    {                                                     \
        MPI_##Name(__VA_ARGS__);                          \
    }                                                     \
    static void call_I##name(void)                        \
    {                                                     \
        MPI_I##name(__VA_ARGS__, &requests[nrequests++]); \
    }
COLLECTIVES(CALL)

/* Other calls: D(name of the action, statement) */
#define CHILD other
#define DOES(D)                                                                                    \
    D(Reduce_max, MPI_Reduce(out, in, 1, ONE, MPI_MAX, peer, at))                                  \
    D(Allreduce_max, MPI_Allreduce(out, in, 1, ONE, MPI_MAX, at))                                  \
    D(Scan_max, MPI_Scan(out, in, 1, ONE, MPI_MAX, at))                                            \
    D(Bcast_double, MPI_Bcast(out, 1, MPI_DOUBLE, peer, at))                                       \
    D(Allgather_double, MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, at))                  \
    D(Comm_dup, MPI_Comm_dup(at, &CHILD))                                                          \
    D(Comm_dup_with_info, MPI_Comm_dup_with_info(at, MPI_INFO_NULL, &CHILD))                       \
    D(Comm_idup, MPI_Comm_idup(at, &CHILD, &requests[nrequests++]))                                \
    D(Comm_split, MPI_Comm_split(at, rank % 2, 0, &CHILD))                                         \
    D(Comm_split_type, MPI_Comm_split_type(at, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &CHILD))    \
    D(Comm_create, MPI_Comm_create(at, group_of(size), &CHILD))                                    \
    D(Comm_create_group, MPI_Comm_create_group(at, group_of(size - 1), 0, &CHILD))                 \
    D(Cart_create, MPI_Cart_create(at, 1, &size, &number, 0, &CHILD))                              \
    D(Cart_sub, MPI_Cart_sub(at, &number, &CHILD))                                                 \
    D(Graph_create, MPI_Graph_create(at, 1, places, places, 0, &CHILD))                            \
    D(Dist_graph_create_adjacent,                                                                  \
      MPI_Dist_graph_create_adjacent(at, 0, places, places, 0, places, places, MPI_INFO_NULL, 0,   \
                                     &CHILD))                                                      \
    D(Intercomm_create, MPI_Intercomm_create(at, 0, MPI_COMM_WORLD, 1 - rank % 2, TAG, &CHILD))    \
    D(Intercomm_merge, MPI_Intercomm_merge(at, rank % 2, &CHILD))                                  \
    D(Comm_disconnect, MPI_Comm_disconnect(&at))                                                   \
    D(Win_create, MPI_Win_create(in, 64, 1, MPI_INFO_NULL, at, &window))                           \
    D(Win_allocate, MPI_Win_allocate(64, 1, MPI_INFO_NULL, at, &in, &window))                      \
    D(Win_allocate_shared, MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, at, &in, &window))        \
    D(Win_create_dynamic, MPI_Win_create_dynamic(MPI_INFO_NULL, at, &window))                      \
    D(Win_free, MPI_Win_free(&window))                                                             \
    D(Win_fence, MPI_Win_fence(0, window))                                                         \
    D(Win_post, MPI_Win_post(group_alone(peer), 0, window))                                        \
    D(Win_start, MPI_Win_start(group_alone(peer), 0, window))                                      \
    D(Win_complete, MPI_Win_complete(window))                                                      \
    D(Win_wait, MPI_Win_wait(window))                                                              \
    D(Win_lock, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window))                                 \
    D(Win_lock_all, MPI_Win_lock_all(0, window))                                                   \
    D(Win_flush, MPI_Win_flush(peer, window))                                                      \
    D(Win_unlock, MPI_Win_unlock(peer, window))                                                    \
    D(Put, MPI_Put(out, 1, ONE, peer, 0, 1, ONE, window))                                          \
    D(File_open, MPI_File_open(at, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) \
    D(File_close, MPI_File_close(&file))                                                           \
    D(File_sync, MPI_File_sync(file))                                                              \
    D(File_set_size, MPI_File_set_size(file, 4096))                                                \
    D(File_set_view, MPI_File_set_view(file, 0, ONE, ONE, "native", MPI_INFO_NULL))                \
    D(File_write_all, MPI_File_write_all(file, out, 1, ONE, statuses))                             \
    D(File_write_at_all, MPI_File_write_at_all(file, 4 * rank, out, 1, ONE, statuses))             \
    D(File_read_all, MPI_File_read_all(file, in, 1, ONE, statuses))                                \
    D(File_write_ordered, MPI_File_write_ordered(file, out, 1, ONE, statuses))                     \
    D(Send, MPI_Send(out, number, ONE, peer, tag, at))                                             \
    D(Ssend, MPI_Ssend(out, number, ONE, peer, tag, at))                                           \
    D(Recv, MPI_Recv(in, LARGE, ONE, peer, tag, at, statuses))                                     \
    D(Recv_any, MPI_Recv(in, LARGE, ONE, MPI_ANY_SOURCE, tag, at, statuses))                       \
    D(Probe, MPI_Probe(peer, tag, at, statuses))                                                   \
    D(Mprobe, mprobe())                                                                            \
    D(Sendrecv,                                                                                    \
      MPI_Sendrecv(out, number, ONE, peer, tag, in, LARGE, ONE, peer, tag, at, statuses))          \
    D(Sendrecv_replace, MPI_Sendrecv_replace(in, number, ONE, peer, tag, peer, tag, at, statuses)) \
    D(Isend, MPI_Isend(out, number, ONE, peer, tag, at, &requests[nrequests++]))                   \
    D(Issend, MPI_Issend(out, number, ONE, peer, tag, at, &requests[nrequests++]))                 \
    D(Irecv, MPI_Irecv(in, LARGE, ONE, peer, tag, at, &requests[nrequests++]))                     \
    D(Irecv_any, MPI_Irecv(in, LARGE, ONE, MPI_ANY_SOURCE, tag, at, &requests[nrequests++]))       \
    D(Recv_init, MPI_Recv_init(in, LARGE, ONE, peer, tag, at, &requests[nrequests++]))             \
    D(Send_init, MPI_Send_init(out, number, ONE, peer, tag, at, &requests[nrequests++]))           \
    D(Ssend_init, MPI_Ssend_init(out, number, ONE, peer, tag, at, &requests[nrequests++]))         \
    D(Start, MPI_Start(&requests[nrequests - 1]))                                                  \
    D(Startall, MPI_Startall(nrequests, requests))                                                 \
    D(Wait, MPI_Wait(&requests[nrequests - 1], statuses))                                          \
    D(Waitall, MPI_Waitall(nrequests, requests, statuses))                                         \
    D(Waitany, MPI_Waitany(nrequests, requests, &places[0], statuses))                             \
    D(Waitsome, MPI_Waitsome(nrequests, requests, &places[0], &places[1], statuses))               \
    D(Test, poll(test, NULL))                                                                      \
    D(Testall, poll(testall, NULL))                                                                \
    D(Testany, poll(testany, NULL))                                                                \
    D(Testsome, poll(testsome, NULL))                                                              \
    D(Iprobe, poll(iprobe, NULL))                                                                  \
    D(Improbe, poll(improbe, NULL))                                                                \
    D(Iprobe_any, poll(iprobe_any, NULL))                                                          \
    D(Iprobe_Test, poll(iprobe, test))                                                             \
    D(Testany_Iprobe, poll(testany, iprobe))                                                       \
    D(Test_each, poll(test_each, NULL))                                                            \
    D(large, number = LARGE)                                                                       \
    D(two, number = 2)                                                                             \
    D(other, MPI_Comm_dup(at, &other); name_it(other, "other"))                                    \
    D(half, MPI_Comm_split(at, rank % 2, 0, &other); name_it(other, rank % 2 ? "odd" : "even"))    \
    D(ring, MPI_Cart_create(at, 1, &size, &number, 0, &other); name_it(other, "ring"))             \
    D(both, MPI_Intercomm_create(other, 0, MPI_COMM_WORLD, 1 - rank % 2, TAG, &other);             \
      name_it(other, "both"))                                                                      \
    D(named, name_it(other, "other"))                                                              \
    D(sleep, sleep_long())                                                                         \
    D(compute, compute())                                                                          \
    D(stop, raise(SIGSTOP))                                                                        \
    D(second, usleep(1000000))                                                                     \
    D(finalize, MPI_Finalize())                                                                    \
    D(thread, second_thread())

#if MPI_VERSION >= 4
#define DOES_4(D)                                                                                \
    D(Psend_init,                                                                                \
      MPI_Psend_init(out, 2, number, ONE, peer, tag, at, MPI_INFO_NULL, &requests[nrequests++])) \
    D(Precv_init,                                                                                \
      MPI_Precv_init(in, 2, number, ONE, peer, tag, at, MPI_INFO_NULL, &requests[nrequests++]))  \
    D(Pready, MPI_Pready(peer, requests[nrequests - 1]))
#else
#define DOES_4(D)
#endif

/* ---- what the words need ---- */

static void name_it(MPI_Comm comm, const char *name)
{
    MPI_Comm_set_name(comm, name);
    at = comm;
}

static MPI_Group group_of(int n)
{
    MPI_Group all, group;
    const int range[1][3] = {{0, n - 1, 1}};
    MPI_Comm_group(at, &all);
    MPI_Group_range_incl(all, 1, (int(*)[3])range, &group);
    return group;
}

static MPI_Group group_alone(int member)
{
    MPI_Group all, group;
    MPI_Comm_group(at, &all);
    MPI_Group_incl(all, 1, &member, &group);
    return group;
}

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

static void mprobe(void)
{
    MPI_Message message;
    MPI_Mprobe(peer, tag, at, &message, statuses);
}

static int test(void)
{
    int flag;
    MPI_Test(&requests[nrequests - 1], &flag, statuses);
    return flag;
}

static int testall(void)
{
    int flag;
    MPI_Testall(nrequests, requests, &flag, statuses);
    return flag;
}

static int testany(void)
{
    int flag;
    MPI_Testany(nrequests, requests, &places[0], &flag, statuses);
    return flag;
}

static int testsome(void)
{
    int n;
    MPI_Testsome(nrequests, requests, &n, places, statuses);
    return n > 0;
}

static int iprobe(void)
{
    int flag;
    MPI_Iprobe(peer, tag, at, &flag, statuses);
    return flag;
}

static int improbe(void)
{
    int flag;
    MPI_Message message;
    MPI_Improbe(peer, tag, at, &flag, &message, statuses);
    return flag;
}

static int iprobe_any(void)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, at, &flag, statuses);
    return flag;
}

static int test_each(void)
{
    int flag, all = 1;
    for (int i = 0; i < nrequests; i++) {
        MPI_Test(&requests[i], &flag, statuses);
        all &= flag;
    }
    return all;
}

/* Calls the tests in turn until one of them succeeds. */
static void poll(int (*first)(void), int (*second)(void))
{
    while (!first() && (!second || !second()))
        ;
}

static void *run_thread(void *argument)
{
    MPI_Recv(in, 1, ONE, peer, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return argument;
}

/* A helper that waits for messages as long as the job runs. */
static void second_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_thread, NULL);
    usleep(300000);
}

#define DOES_IT(name, ...)      \
    static void do_##name(void) \
    {                           \
        __VA_ARGS__;            \
    }
DOES(DOES_IT)
DOES_4(DOES_IT)

/* ---- the script ---- */

static const struct {
    const char *name;
    void (*make)(void);
} actions[] = {
#define ROWS(Name, name, ...) {#Name, call_##Name}, {"I" #name, call_I##name},
    COLLECTIVES(ROWS)
#define ROW(name, ...) {#name, do_##name},
        DOES(ROW) DOES_4(ROW)};

static void act(const char *word)
{
    char name[64] = "";
    peer = 0;
    tag = TAG;
    sscanf(word, "%63[^/]/%d/%d", name, &peer, &tag);
    if (strcmp(name, "@world") == 0) {
        at = MPI_COMM_WORLD;
        return;
    }
    if (strcmp(name, "@other") == 0) {
        at = other;
        return;
    }
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(actions[i].name, name) == 0) {
            actions[i].make();
            return;
        }
    fprintf(stderr, "no such action: %s\n", word);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void run(char *script)
{
    char *part, *rest = script, *words;
    while ((part = strtok_r(rest, ";", &rest))) {
        const char *ranks = strtok_r(part, " ", &words);
        if (ranks && ranks[0] != '*' && !strchr(ranks, '0' + rank))
            continue;
        for (const char *word; (word = strtok_r(NULL, " ", &words));)
            act(word);
    }
}

int main(int argc, char **argv)
{
    int provided;
    char *script = strdup(argc > 1 ? argv[1] : "");
    MPI_Init_thread(&argc, &argv,
                    strstr(script, "thread") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(LARGE, sizeof(*out));
    in = calloc(LARGE, sizeof(*in));
    for (int i = 0; i < MOST; i++) {
        counts[i] = 1;
        places[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    at = MPI_COMM_WORLD;
    run(script);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
