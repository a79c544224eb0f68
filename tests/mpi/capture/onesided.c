/* Windows of all kinds, every one-sided operation, and every way to synchronise. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

enum { INT = (int)sizeof(int), ROOM = 256 };

static struct place world, window;
static int origin[ROOM], result[ROOM], memory[ROOM];
static MPI_Win win;

static void sync_op(const char *op, int peer)
{
    expect_op(op, window.label, 0, 0, peer, 0, 0, 0, 1);
}

static void moved(const char *op, long sent, long received, int flags)
{
    expect_op(op, window.label, sent, received, world.right, 0, flags, 0, 1);
}

static void fence(int assertion)
{
    MPI_Win_fence(assertion, win);
    expect_collective(&window, "Win_fence", -1, 0, 0, 0);
}

/* The window is a place whose members are those of the world. */
static void made(const char *op, const char *label)
{
    expect_op(op, "world", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&window, MPI_COMM_WORLD, label, "window");
}

/* Open MPI 4.1 on one machine has no window on memory of the program's own for one rank alone. */
static const char *create(MPI_Comm comm)
{
    void *base;
    int n;
    PMPI_Comm_size(comm, &n);
    if (n > 1) {
        MPI_Win_create(memory, sizeof(memory), INT, MPI_INFO_NULL, comm, &win);
        return "Win_create";
    }
    MPI_Win_allocate(sizeof(memory), INT, MPI_INFO_NULL, comm, &base, &win);
    return "Win_allocate";
}

static void freed(void)
{
    MPI_Win_free(&win);
    expect_op("Win_free", window.label, 0, 0, -1, 0, 0, 0, 0);
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
}

/* What each rank's own cells are for: it alone writes them, in its right neighbour. */
static void operations(void)
{
    int compare = 0;
    fence(0);
    MPI_Put(origin, 3, MPI_INT, world.right, 0, 3, MPI_INT, win);
    moved("Put", 3 * INT, 0, 0);
    fence(0);
    MPI_Get(result, 4, MPI_INT, world.right, 0, 4, MPI_INT, win);
    moved("Get", 0, 4 * INT, 0);
    fence(0);
    MPI_Accumulate(origin, 5, MPI_INT, world.right, 8, 5, MPI_INT, MPI_SUM, win);
    moved("Accumulate", 5 * INT, 0, 0);
    fence(0);
    MPI_Get_accumulate(origin, 6, MPI_INT, result, 6, MPI_INT, world.right, 16, 6, MPI_INT, MPI_SUM,
                       win);
    moved("Get_accumulate", 6 * INT, 6 * INT, 0);
    fence(0);
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, result, 6, MPI_INT, world.right, 16, 6, MPI_INT,
                       MPI_NO_OP, win);
    moved("Get_accumulate", 0, 6 * INT, 0);
    fence(0);
    MPI_Fetch_and_op(origin, result, MPI_INT, world.right, 24, MPI_SUM, win);
    moved("Fetch_and_op", INT, INT, 0);
    fence(0);
    MPI_Compare_and_swap(origin, &compare, result, MPI_INT, world.right, 25, win);
    moved("Compare_and_swap", INT, INT, 0);
    fence(0);
    MPI_Put(origin, 0, MPI_INT, world.right, 0, 0, MPI_INT, win);
    moved("Put", 0, 0, 0);
    MPI_Put(origin, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win);
    expect_op("Put", window.label, 0, 0, -1, 0, 0, 0, 1);
    fence(MPI_MODE_NOSUCCEED);
}

static void with_requests(void)
{
    MPI_Request request;
    MPI_Win_lock_all(0, win);
    sync_op("Win_lock_all", -1);
    MPI_Rput(origin, 3, MPI_INT, world.right, 32, 3, MPI_INT, win, &request);
    wait_for(&request);
    moved("Rput", 3 * INT, 0, NONBLOCKING);
    MPI_Win_flush(world.right, win);
    sync_op("Win_flush", world.right);
    MPI_Rget(result, 4, MPI_INT, world.right, 32, 4, MPI_INT, win, &request);
    wait_for(&request);
    moved("Rget", 0, 4 * INT, NONBLOCKING);
    MPI_Win_flush_all(win);
    sync_op("Win_flush_all", -1);
    MPI_Raccumulate(origin, 5, MPI_INT, world.right, 40, 5, MPI_INT, MPI_SUM, win, &request);
    wait_for(&request);
    moved("Raccumulate", 5 * INT, 0, NONBLOCKING);
    MPI_Win_flush_local(world.right, win);
    sync_op("Win_flush_local", world.right);
    MPI_Rget_accumulate(origin, 6, MPI_INT, result, 6, MPI_INT, world.right, 48, 6, MPI_INT,
                        MPI_SUM, win, &request);
    wait_for(&request);
    moved("Rget_accumulate", 6 * INT, 6 * INT, NONBLOCKING);
    MPI_Win_flush_local_all(win);
    sync_op("Win_flush_local_all", -1);
    MPI_Win_sync(win);
    expect_op("Win_sync", window.label, 0, 0, -1, 0, 0, 0, 2);
    MPI_Win_unlock_all(win);
    sync_op("Win_unlock_all", -1);
}

static void locked(int type)
{
    MPI_Win_lock(type, world.right, 0, win);
    sync_op("Win_lock", world.right);
    MPI_Put(origin, 2, MPI_INT, world.right, 64, 2, MPI_INT, win);
    moved("Put", 2 * INT, 0, 0);
    MPI_Win_unlock(world.right, win);
    sync_op("Win_unlock", world.right);
}

/* Each rank is the target of its left neighbour and the origin for its right one. */
static void groups(int test)
{
    int target = world.right, source = world.left, flag = 0;
    MPI_Group all, to, from;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_incl(all, 1, &target, &to);
    PMPI_Group_incl(all, 1, &source, &from);
    MPI_Win_post(from, 0, win);
    sync_op("Win_post", -1);
    MPI_Win_start(to, 0, win);
    sync_op("Win_start", -1);
    MPI_Put(origin, 7, MPI_INT, world.right, 80, 7, MPI_INT, win);
    moved("Put", 7 * INT, 0, 0);
    MPI_Win_complete(win);
    sync_op("Win_complete", -1);
    while (test && !flag) {
        MPI_Win_test(win, &flag);
        sync_op("Win_test", -1);
    }
    if (!test) {
        MPI_Win_wait(win);
        sync_op("Win_wait", -1);
    }
    PMPI_Group_free(&to);
    PMPI_Group_free(&from);
    PMPI_Group_free(&all);
}

static void kinds(void)
{
    void *base;
    MPI_Info info;
    MPI_Win_allocate(ROOM * INT, INT, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    made("Win_allocate", "allocated");
    operations();
    freed();
    MPI_Win_allocate_shared(ROOM * INT, INT, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    made("Win_allocate_shared", "shared");
    operations();
    freed();
    if (world.n == 1)
        return; /* as in create() */
    PMPI_Info_create(&info);
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    made("Win_create_dynamic", "dynamic");
    fence(0);
    freed();
    PMPI_Info_free(&info);
}

/* A window that the program named, on other ranks than the world's. */
static void use_half(const struct place *half)
{
    const char *op = create(half->comm);
    char label[40];
    expect_op(op, half->label, 0, 0, -1, 0, 0, 0, 0);
    snprintf(label, sizeof(label), "win-%s", half->label);
    MPI_Win_set_name(win, "half a window");
    expect_place(&window, half->comm, label, "half_a_window");
    fence(0);
    MPI_Put(origin, 1, MPI_INT, 0, half->me, 1, MPI_INT, win);
    expect_op("Put", window.label, INT, 0, half->world[0], 0, 0, 0, 1);
    fence(0);
    freed();
}

/* On one half at a time: Open MPI 4.1 gives the windows of both the same file. */
static void on_half(void)
{
    struct place half;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world.me % 2, -world.me, &comm);
    expect_op("Comm_split", "world", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&half, comm, world.me % 2 ? "odd" : "even", "-");
    if (world.me % 2 == 0)
        use_half(&half);
    MPI_Comm_free(&comm);
    expect_op("Comm_free", half.label, 0, 0, -1, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv, &world);
    made(create(MPI_COMM_WORLD), "created");
    operations();
    with_requests();
    locked(MPI_LOCK_EXCLUSIVE);
    locked(MPI_LOCK_SHARED);
    groups(0);
    groups(1);
    freed();
    kinds();
    on_half();
    return expect_finalize();
}
