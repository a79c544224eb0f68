/* Processes that come later: spawned ones, which run unprofiled and are of another MPI_COMM_WORLD,
 * and ones that meet through a port. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INT = (int)sizeof(int), CHILDREN = 2 };

static struct place world;

static void child(void)
{
    MPI_Comm parent;
    int value = 0, rank;
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&value, 1, MPI_INT, 0, parent);
    expect_true(value == 7, "what the parents broadcast");
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, parent, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 6, parent);
    }
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
}

/* The children's world ranks are not known here: -1. */
static void use(MPI_Comm comm, const char *op, const char *label)
{
    struct place p;
    int value = 7;
    expect_op(op, "world", 0, 0, -1, 0, 0, 0, 0);
    expect_interplace(&p, comm, label);
    MPI_Bcast(&value, 1, MPI_INT, world.me == 0 ? MPI_ROOT : MPI_PROC_NULL, comm);
    expect_op("Bcast", label, world.me == 0 ? INT : 0, 0, world.me == 0 ? 0 : -1, 0,
              world.me == 0 ? ROOT : 0, 0, 0);
    if (world.me == 0) {
        MPI_Send(&value, 1, MPI_INT, 0, 5, comm);
        expect_op("Send", label, INT, 0, -1, 5, 0, 0, 1);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        expect_op("Recv", label, 0, INT, -1, 6, 0, 0, 1);
    }
    MPI_Barrier(comm);
    expect_op("Barrier", label, 0, 0, -1, 0, 0, 1, 0);
    MPI_Comm_disconnect(&comm);
    expect_op("Comm_disconnect", label, 0, 0, -1, 0, 0, 0, 0);
}

static void spawn(char *program)
{
    char *arguments[] = {"child", NULL}, *programs[2] = {program, program};
    char **both[2] = {arguments, arguments};
    int errors[CHILDREN], numbers[2] = {1, 1};
    MPI_Info none[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm comm;
    MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, errors);
    use(comm, "Comm_spawn", "spawned");
    MPI_Comm_spawn_multiple(2, programs, both, numbers, none, 0, MPI_COMM_WORLD, &comm,
                            MPI_ERRCODES_IGNORE);
    use(comm, "Comm_spawn_multiple", "spawned-too");
}

/* The first half waits at a port, the second comes. */
static void meet(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    const int guest = world.me >= (world.n + 1) / 2;
    struct place half, p;
    MPI_Comm comm, inter;
    int sum = 0, one = 1, remote;
    if (world.n < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, guest, 0, &comm);
    expect_op("Comm_split", "world", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&half, comm, guest ? "guests" : "hosts", "-");
    if (world.me == 0)
        PMPI_Open_port(MPI_INFO_NULL, port);
    PMPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (guest)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &inter);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &inter);
    expect_op(guest ? "Comm_connect" : "Comm_accept", half.label, 0, 0, -1, 0, 0, 0, 0);
    expect_interplace(&p, inter, "met");
    PMPI_Comm_remote_size(inter, &remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    expect_true(sum == remote, "the other side's sum");
    expect_collective(&p, "Allreduce", -1, INT, INT, 0);
    MPI_Comm_disconnect(&inter);
    expect_op("Comm_disconnect", "met", 0, 0, -1, 0, 0, 0, 0);
    MPI_Comm_free(&comm);
    expect_op("Comm_free", half.label, 0, 0, -1, 0, 0, 0, 0);
    if (world.me == 0)
        PMPI_Close_port(port);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (strcmp(argv[1], "child") == 0) {
        child();
        return 0;
    }
    expect_start(argv[1], "Init", &world);
    spawn(argv[0]);
    meet();
    return expect_finalize();
}
