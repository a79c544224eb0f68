/* MPI-IO: every way to read and write, with the bytes that really came. */
#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

enum { INT = (int)sizeof(int), ROOM = 256, EACH = 16 };

static struct place world, place;
static int data[ROOM], back[ROOM];
static MPI_File file;

static void other(const char *op)
{
    expect_op(op, place.label, 0, 0, -1, 0, 0, 0, 1);
}

static void wrote(const char *op, long ints, int flags)
{
    expect_op(op, place.label, ints * INT, 0, -1, 0, flags, 0, 1);
}

static void got(const char *op, long ints, int flags)
{
    expect_op(op, place.label, 0, ints * INT, -1, 0, flags, 0, 1);
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    expect_wait("Wait", 1);
}

static void opened(MPI_Comm comm, const struct place *on, const char *name, const char *label)
{
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    expect_op("File_open", on->label, 0, 0, -1, 0, 0, 0, 1);
    expect_place(&place, comm, label, name);
}

static void closed(void)
{
    MPI_File_close(&file);
    other("File_close");
}

/* Each rank has EACH integers of the file. */
static void at_offsets(void)
{
    const MPI_Offset mine = (MPI_Offset)place.me * EACH * INT;
    MPI_Request request;
    MPI_Status status;
    MPI_File_write_at(file, mine, data, 4, MPI_INT, &status);
    wrote("File_write_at", 4, 0);
    MPI_File_write_at_all(file, mine, data, EACH, MPI_INT, MPI_STATUS_IGNORE);
    wrote("File_write_at_all", EACH, 0);
    MPI_File_iwrite_at(file, mine, data, 5, MPI_INT, &request);
    wait_for(&request);
    wrote("File_iwrite_at", 5, NONBLOCKING);
    MPI_File_iwrite_at_all(file, mine, data, 6, MPI_INT, &request);
    wait_for(&request);
    wrote("File_iwrite_at_all", 6, NONBLOCKING);
    MPI_File_write_at_all_begin(file, mine, data, 7, MPI_INT);
    other("File_write_at_all_begin");
    MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    wrote("File_write_at_all_end", 7, 0);
    MPI_File_sync(file);
    other("File_sync");
    MPI_File_read_at(file, mine, back, 4, MPI_INT, &status);
    got("File_read_at", 4, 0);
    MPI_File_read_at_all(file, mine, back, 5, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read_at_all", 5, 0);
    MPI_File_iread_at(file, mine, back, 6, MPI_INT, &request);
    wait_for(&request);
    got("File_iread_at", 6, NONBLOCKING);
    MPI_File_iread_at_all(file, mine, back, 7, MPI_INT, &request);
    wait_for(&request);
    got("File_iread_at_all", 7, NONBLOCKING);
    MPI_File_read_at_all_begin(file, mine, back, 8, MPI_INT);
    other("File_read_at_all_begin");
    MPI_File_read_at_all_end(file, back, MPI_STATUS_IGNORE);
    got("File_read_at_all_end", 8, 0);
    /* Past the end: fewer than were asked for. */
    MPI_File_read_at(file, (MPI_Offset)(place.n * EACH - 3) * INT, back, 10, MPI_INT, &status);
    got("File_read_at", 3, 0);
    MPI_File_read_at(file, 0, back, 0, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read_at", 0, 0);
}

static void rewind_to(int ints)
{
    PMPI_File_seek(file, (MPI_Offset)ints * INT, MPI_SEEK_SET);
}

/* At the file pointer, through a view that gives each rank every n-th piece. */
static void at_pointer(void)
{
    MPI_Datatype piece;
    MPI_Request request;
    PMPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)place.n * INT, &piece);
    PMPI_Type_commit(&piece);
    MPI_File_set_view(file, (MPI_Offset)place.me * INT, MPI_INT, piece, "native", MPI_INFO_NULL);
    other("File_set_view");
    MPI_File_write(file, data, 3, MPI_INT, MPI_STATUS_IGNORE);
    wrote("File_write", 3, 0);
    MPI_File_write_all(file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    wrote("File_write_all", 4, 0);
    MPI_File_iwrite(file, data, 2, MPI_INT, &request);
    wait_for(&request);
    wrote("File_iwrite", 2, NONBLOCKING);
    MPI_File_iwrite_all(file, data, 2, MPI_INT, &request);
    wait_for(&request);
    wrote("File_iwrite_all", 2, NONBLOCKING);
    MPI_File_write_all_begin(file, data, 3, MPI_INT);
    other("File_write_all_begin");
    MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE);
    wrote("File_write_all_end", 3, 0);
    PMPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read(file, back, 3, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read", 3, 0);
    MPI_File_read_all(file, back, 4, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read_all", 4, 0);
    MPI_File_iread(file, back, 2, MPI_INT, &request);
    wait_for(&request);
    got("File_iread", 2, NONBLOCKING);
    MPI_File_iread_all(file, back, 2, MPI_INT, &request);
    wait_for(&request);
    got("File_iread_all", 2, NONBLOCKING);
    MPI_File_read_all_begin(file, back, 3, MPI_INT);
    other("File_read_all_begin");
    MPI_File_read_all_end(file, back, MPI_STATUS_IGNORE);
    got("File_read_all_end", 3, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    other("File_set_view");
    PMPI_Type_free(&piece);
}

static void shared_pointer(void)
{
    MPI_Request request;
    PMPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_shared(file, data, 3, MPI_INT, MPI_STATUS_IGNORE);
    wrote("File_write_shared", 3, 0);
    MPI_File_iwrite_shared(file, data, 2, MPI_INT, &request);
    wait_for(&request);
    wrote("File_iwrite_shared", 2, NONBLOCKING);
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_ordered(file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    wrote("File_write_ordered", 4, 0);
    MPI_File_write_ordered_begin(file, data, 3, MPI_INT);
    other("File_write_ordered_begin");
    MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
    wrote("File_write_ordered_end", 3, 0);
    PMPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_shared(file, back, 3, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read_shared", 3, 0);
    MPI_File_iread_shared(file, back, 2, MPI_INT, &request);
    wait_for(&request);
    got("File_iread_shared", 2, NONBLOCKING);
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_ordered(file, back, 4, MPI_INT, MPI_STATUS_IGNORE);
    got("File_read_ordered", 4, 0);
    MPI_File_read_ordered_begin(file, back, 3, MPI_INT);
    other("File_read_ordered_begin");
    MPI_File_read_ordered_end(file, back, MPI_STATUS_IGNORE);
    got("File_read_ordered_end", 3, 0);
}

int main(int argc, char **argv)
{
    char name[64];
    struct place self;
    MPI_Init(&argc, &argv);
    expect_begin(argv[1]);
    expect_op("Init", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_place(&world, MPI_COMM_WORLD, "world", "MPI_COMM_WORLD");
    snprintf(name, sizeof(name), "self-%d", world.me);
    expect_place(&self, MPI_COMM_SELF, name, "MPI_COMM_SELF");
    opened(MPI_COMM_WORLD, &world, "data", "file");
    MPI_File_set_size(file, (MPI_Offset)world.n * EACH * INT);
    other("File_set_size");
    at_offsets();
    rewind_to(0);
    at_pointer();
    shared_pointer();
    closed();
    /* A file of one's own, and an array of requests. */
    MPI_Request requests[2];
    snprintf(name, sizeof(name), "own-%d", world.me);
    opened(MPI_COMM_SELF, &self, name, name);
    MPI_File_iwrite_at(file, 0, data, 8, MPI_INT, &requests[0]);
    MPI_File_iwrite_at(file, 8 * INT, data, 9, MPI_INT, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 2);
    wrote("File_iwrite_at", 8, NONBLOCKING);
    wrote("File_iwrite_at", 9, NONBLOCKING);
    closed();
    expect_op("Finalize", "-", 0, 0, -1, 0, 0, 0, 0);
    expect_end();
    MPI_Finalize();
    return 0;
}
