/* An MPI program that ends, makes errors or forks, according to its first argument.
 * test_transparency.py runs it with and without profwrap. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;

static void reduce(int times)
{
    double one = 1, sum;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int finish_with(char **argv)
{
    reduce(5);
    MPI_Finalize();
    return atoi(argv[0]);
}

/* Never gets to MPI_Finalize. */
static int leave_at_once(char **argv)
{
    reduce(5);
    fflush(stdout);
    _exit(atoi(argv[0]));
}

static int abort_all(char **argv)
{
    reduce(5);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[0]));
    sleep(20);
    return 0;
}

static int handled;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static void say(const char *what, int rc)
{
    int class = 0;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    printf("%s rc %d class %d handled %d\n", what, rc, class, handled);
}

/* Wrong arguments to functions of every kind that is recorded. */
static void make_mistakes(MPI_Comm comm)
{
    int value = 0, flag, index, counts[1] = {-1};
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm none;
    say("Send rank", MPI_Send(&value, 1, MPI_INT, 999, 0, comm));
    say("Send tag", MPI_Send(&value, 1, MPI_INT, 0, -5, comm));
    say("Send count", MPI_Send(&value, -1, MPI_INT, 0, 0, comm));
    say("Send type", MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, comm));
    say("Send comm", MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    say("Recv rank", MPI_Recv(&value, 1, MPI_INT, 999, 0, comm, MPI_STATUS_IGNORE));
    say("Recv count", MPI_Recv(&value, -2, MPI_INT, 0, 0, comm, &status));
    say("Isend rank", MPI_Isend(&value, 1, MPI_INT, 999, 0, comm, &request));
    say("Irecv type", MPI_Irecv(&value, 1, MPI_DATATYPE_NULL, 0, 0, comm, &request));
    say("Sendrecv", MPI_Sendrecv(&value, 1, MPI_INT, 999, 0, &value, 1, MPI_INT, 0, 0, comm,
                                 MPI_STATUS_IGNORE));
    say("Bcast root", MPI_Bcast(&value, 1, MPI_INT, 999, comm));
    say("Bcast count", MPI_Bcast(&value, -1, MPI_INT, 0, comm));
    say("Allreduce op", MPI_Allreduce(&value, &index, 1, MPI_INT, MPI_OP_NULL, comm));
    say("Allreduce comm", MPI_Allreduce(&value, &index, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    say("Gatherv root",
        MPI_Gatherv(&value, 1, MPI_INT, &index, counts, counts, MPI_INT, 999, comm));
    say("Iallreduce op", MPI_Iallreduce(&value, &index, 1, MPI_INT, MPI_OP_NULL, comm, &request));
    say("Waitall count", MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE));
    say("Wait null", MPI_Wait(&request, &status));
    say("Test null", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    say("Comm_dup", MPI_Comm_dup(MPI_COMM_NULL, &none));
    say("Comm_split", MPI_Comm_split(comm, -77, 0, &none));
    say("Comm_free", MPI_Comm_free(&(MPI_Comm){MPI_COMM_NULL}));
}

/* A message longer than the receive: an error that only the data shows. */
static void truncate_message(void)
{
    int two[2] = {1, 2}, one;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(&one, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(two, 2, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
    int rc = MPI_Waitall(2, requests, statuses);
    say("Waitall truncated", rc);
    if (rc == MPI_ERR_IN_STATUS)
        printf("status errors %d %d\n", statuses[0].MPI_ERROR, statuses[1].MPI_ERROR);
    MPI_Irecv(&one, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]);
    MPI_Send(two, 2, MPI_INT, 0, 4, MPI_COMM_SELF);
    say("Wait truncated", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static int refuse(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    return MPI_ERR_BUFFER;
}

static int free_nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* A generalized request of which the program's own function reports an error. */
static void fail_to_query(void)
{
    MPI_Request request;
    MPI_Grequest_start(refuse, free_nothing, cancel_nothing, NULL, &request);
    MPI_Grequest_complete(request);
    say("Wait query", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int err(char **argv)
{
    MPI_Errhandler handler;
    (void)argv;
    if (rank != 0)
        fclose(stdout);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    make_mistakes(MPI_COMM_WORLD);
    truncate_message();
    fail_to_query();
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    make_mistakes(MPI_COMM_WORLD);
    fail_to_query();
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}

static int err_fatally(char **argv)
{
    int value = 0;
    (void)argv;
    MPI_Send(&value, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
    return 0;
}

/* A child without exec, which returns to main's caller and runs its exit handlers. */
static int fork_in_the_middle(char **argv)
{
    int status = -1;
    (void)argv;
    reduce(5);
    pid_t pid = fork();
    if (pid == 0)
        _exit(17);
    reduce(5);
    waitpid(pid, &status, 0);
    reduce(5);
    MPI_Finalize();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* With MPI_NO_OP the origin's arguments mean nothing: not even that they are a type. */
static int get_by_no_op(char **argv)
{
    int mine = 7, got[3] = {0};
    MPI_Win window;
    MPI_Request request;
    (void)argv;
    MPI_Win_create(&mine, sizeof(mine), sizeof(mine), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &got[0], 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP,
                       window);
    MPI_Get_accumulate(NULL, 1, MPI_DATATYPE_NULL, &got[1], 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP,
                       window);
    MPI_Rget_accumulate(&mine, 1, MPI_DATATYPE_NULL, &got[2], 1, MPI_INT, 0, 0, 1, MPI_INT,
                        MPI_NO_OP, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(0, window);
    printf("got %d %d %d\n", got[0], got[1], got[2]);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}

static int ask_outside(char **argv)
{
    int major, minor, flag, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    (void)argv;
    reduce(5);
    MPI_Finalize();
    MPI_Finalized(&flag);
    printf("finalized %d\n", flag);
    MPI_Initialized(&flag);
    MPI_Get_version(&major, &minor);
    MPI_Get_library_version(text, &length);
    printf("initialized %d version %d.%d length %d\n", flag, major, minor, length);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} modes[] = {
    {"exit", finish_with},    {"_exit", leave_at_once},     {"abort", abort_all},
    {"errors", err},          {"fatal-error", err_fatally}, {"fork", fork_in_the_middle},
    {"outside", ask_outside}, {"no-op", get_by_no_op},
};

int main(int argc, char **argv)
{
    int flag, major, minor;
    MPI_Initialized(&flag);
    MPI_Get_version(&major, &minor);
    if (flag || major < 3)
        return 65;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2);
    return 64;
}
