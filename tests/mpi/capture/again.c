/* Makes each blocking call, and each collective with a root, several times in a row on one
 * communicator with one datatype, which is what fast functions record. The calls vary in root,
 * count, peer, tag and buffer, and some fail. Each rank writes what its calls returned to the file
 * PREFIX-RANK. Runs with 2 ranks or more. */
#include <mpi.h>
#include <stdio.h>

enum { TIMES = 3, MANY = 700 };

static FILE *said;
static int rank, size, data[MANY], other[MANY];

static void say(const char *what, int rc, const MPI_Status *status)
{
    int class = 0, count = -1;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    if (status && rc == MPI_SUCCESS)
        MPI_Get_count(status, MPI_INT, &count);
    fprintf(said, "%s %d", what, class);
    if (count >= 0)
        fprintf(said, " from %d tag %d count %d", status->MPI_SOURCE, status->MPI_TAG, count);
    fprintf(said, "\n");
}

static void rooted(MPI_Comm comm)
{
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < TIMES * n; i++) {
        const int root = i % n;
        data[0] = me == root ? 100 + i : 0;
        say("Bcast", MPI_Bcast(data, i, MPI_INT, root, comm), NULL);
        say("Reduce", MPI_Reduce(data, other, i + 1, MPI_INT, MPI_SUM, root, comm), NULL);
        fprintf(said, "sum %d\n", me == root ? other[0] : 0);
        say("Reduce",
            MPI_Reduce(me == root ? MPI_IN_PLACE : data, other, 2, MPI_INT, MPI_MAX, root, comm),
            NULL);
    }
    MPI_Barrier(comm);
    for (int i = 0; i < TIMES; i++) {
        say("Bcast", MPI_Bcast(data, 1, MPI_INT, n + i, comm), NULL);
        say("Reduce", MPI_Reduce(data, other, 1, MPI_INT, MPI_SUM, -7, comm), NULL);
    }
}

/* The groups are the even and the odd ranks; the even rank 0 is the root. */
static void rooted_across(void)
{
    MPI_Comm half, across;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &across);
    const int root = rank % 2 ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
    for (int i = 0; i < TIMES; i++) {
        say("Bcast", MPI_Bcast(data, 3, MPI_INT, root, across), NULL);
        say("Reduce", MPI_Reduce(data, other, 3, MPI_INT, MPI_SUM, root, across), NULL);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

static void sends(MPI_Comm comm, int to)
{
    for (int i = 0; i < TIMES; i++) {
        say("Send", MPI_Send(data, i, MPI_INT, to, 10 + i, comm), NULL);
        say("Ssend", MPI_Ssend(data, 5, MPI_INT, to, 20 + i, comm), NULL);
        say("Send", MPI_Send(data, 4, MPI_INT, to, 30, comm), NULL);
        say("Send", MPI_Send(data, 9, MPI_INT, MPI_PROC_NULL, 1, comm), NULL);
        say("Send", MPI_Send(data, 1, MPI_INT, size + 3, 1, comm), NULL);
        say("Send", MPI_Send(data, 1, MPI_INT, to, -5, comm), NULL);
    }
}

static void receives(MPI_Comm comm, int from)
{
    MPI_Status status;
    for (int i = 0; i < TIMES; i++) {
        say("Recv", MPI_Recv(data, MANY, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status),
            &status);
        say("Recv", MPI_Recv(data, 5, MPI_INT, from, 20 + i, comm, MPI_STATUS_IGNORE), NULL);
        say("Recv", MPI_Recv(data, 2, MPI_INT, from, 30, comm, &status), NULL); /* too long */
        say("Recv", MPI_Recv(data, 2, MPI_INT, MPI_PROC_NULL, 1, comm, &status), &status);
        say("Recv", MPI_Recv(data, 2, MPI_INT, size + 3, 1, comm, MPI_STATUS_IGNORE), NULL);
    }
}

static void exchanges(MPI_Comm comm)
{
    MPI_Status status;
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    const int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < TIMES; i++) {
        say("Sendrecv",
            MPI_Sendrecv(data, i + me, MPI_INT, right, 40 + i, other, MANY, MPI_INT, left, 40 + i,
                         comm, &status),
            &status);
        say("Sendrecv",
            MPI_Sendrecv(data, 1, MPI_INT, right, 50, other, MANY, MPI_INT, MPI_ANY_SOURCE, 50,
                         comm, MPI_STATUS_IGNORE),
            NULL);
        say("Sendrecv",
            MPI_Sendrecv(data, 1, MPI_INT, me ? left : MPI_PROC_NULL, 60, other, MANY, MPI_INT,
                         me == n - 1 ? MPI_PROC_NULL : right, 60, comm, &status),
            &status);
        say("Sendrecv_replace",
            MPI_Sendrecv_replace(data, 6, MPI_INT, right, 70, left, 70, comm, &status), &status);
        say("Sendrecv",
            MPI_Sendrecv(data, 1, MPI_INT, n + 1, 80, other, 1, MPI_INT, n + 1, 80, comm, &status),
            NULL);
    }
}

/* So many that the ring is filled again and again: the two records of a call are always one after
 * the other. */
static void exchange_often(void)
{
    for (int i = 0; i < 3000; i++) {
        MPI_Sendrecv(data, 1, MPI_INT, 0, 1, other, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        if (i % 3 == 0)
            MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_SELF);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm backwards;
    char path[256];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s-%d", argc > 1 ? argv[1] : "said", rank);
    said = fopen(path, "w");
    if (!said)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(backwards, MPI_ERRORS_RETURN);
    rooted(MPI_COMM_WORLD);
    rooted(backwards);
    rooted_across();
    if (rank == 0)
        sends(MPI_COMM_WORLD, 1);
    else if (rank == 1)
        receives(MPI_COMM_WORLD, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    exchanges(MPI_COMM_WORLD);
    exchanges(backwards);
    exchange_often();
    MPI_Comm_free(&backwards);
    MPI_Finalize();
    return fclose(said) != 0;
}
