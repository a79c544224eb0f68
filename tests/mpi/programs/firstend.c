/* A job of which a rank does not end well.
 *
 *   firstend HOW VICTIM OTHERS
 *
 * 20 steps, each with an all-reduce, in which rank 1 is 20 ms late. In the next step the rank
 * VICTIM
 * (-1: all) ends in the way HOW, 0.3 s after the others have entered what OTHERS says: collective,
 * receive (from VICTIM), chain (each from the rank below it), compute, or finalize. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use_memory(void)
{
    enum { PIECE = 1 << 24 };
    for (;;) {
        char *piece = malloc(PIECE);
        if (piece)
            memset(piece, 1, PIECE);
    }
}

/* Before the memory of the killed rank is free, the kernel may kill another one of its cgroup,
 * which then ends first. */
static void be_spared(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "w");
    if (file) {
        fputs("-1000", file);
        fclose(file);
    }
}

/* A message to itself, for which there is too little room. */
static void receive_too_much(void)
{
    int sent[2] = {1, 2}, received, rank;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Isend(sent, 2, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Recv(&received, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGSEGV); /* the error was returned */
}

static jmp_buf back;

static void jump_back(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

/* As a C++ program does whose error handler throws. */
static void leave_a_call_by_its_error(void)
{
    MPI_Errhandler handler;
    int value = 1;
    MPI_Comm_create_errhandler(jump_back, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(back) == 0)
        MPI_Send(&value, 1, MPI_INT, 100, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
}

static void end(const char *how)
{
    if (strcmp(how, "after_jump") == 0) {
        leave_a_call_by_its_error();
        _exit(3);
    }
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "exit3") == 0)
        _exit(3);
    if (strcmp(how, "exit0") == 0)
        _exit(0);
    if (strcmp(how, "mpi_abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "memory") == 0)
        use_memory();
    if (strcmp(how, "wrong_rank") == 0)
        MPI_Send(how, 1, MPI_CHAR, 99, 5, MPI_COMM_WORLD);
    if (strcmp(how, "truncate") == 0 || strcmp(how, "handled") == 0)
        receive_too_much();
}

static void compute(double seconds)
{
    for (double start = MPI_Wtime(); MPI_Wtime() - start < seconds;)
        ;
}

static void go_on(const char *others, int rank, int victim)
{
    int one = 1, sum;
    if (strcmp(others, "collective") == 0)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(others, "receive") == 0)
        MPI_Recv(&sum, 1, MPI_INT, victim, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(others, "chain") == 0 && rank > 0)
        MPI_Recv(&sum, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(others, "compute") == 0)
        compute(3);
}

int main(int argc, char **argv)
{
    int rank, one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4)
        return 1;
    const int victim = atoi(argv[2]);
    if (strcmp(argv[1], "memory") == 0 && rank != victim)
        be_spared();
    for (int i = 0; i < 20; i++) {
        MPI_Pcontrol(10);
        usleep(rank == 1 ? 25000 : 5000);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(10);
    if (strcmp(argv[1], "handled") == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == victim || victim < 0) {
        usleep(300000);
        end(argv[1]);
    }
    go_on(argv[3], rank, victim);
    MPI_Finalize();
    return strcmp(argv[1], "return7") == 0 ? 7 : 0;
}
