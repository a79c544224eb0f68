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

/* Calls with `count` integers and the arguments before them; `said` is wrote() or got(). */
#define BLOCKING(said, name, count, ...)                                   \
    MPI_File_##name(file, __VA_ARGS__, count, MPI_INT, MPI_STATUS_IGNORE); \
    said("File_" #name, count, 0);

#define NONBLOCKING_CALL(said, name, count, ...)                  \
    MPI_File_##name(file, __VA_ARGS__, count, MPI_INT, &request); \
    wait_for(&request);                                           \
    said("File_" #name, count, NONBLOCKING);

#define SPLIT(said, name, count, buffer, ...)                   \
    MPI_File_##name##_begin(file, __VA_ARGS__, count, MPI_INT); \
    other("File_" #name "_begin");                              \
    MPI_File_##name##_end(file, buffer, MPI_STATUS_IGNORE);     \
    said("File_" #name "_end", count, 0);

/* All calls at the file pointer, and all at the shared one; `rw` is read or write. */
#define AT_POINTER(said, rw, buffer)               \
    BLOCKING(said, rw, 3, buffer)                  \
    BLOCKING(said, rw##_all, 4, buffer)            \
    NONBLOCKING_CALL(said, i##rw, 2, buffer)       \
    NONBLOCKING_CALL(said, i##rw##_all, 2, buffer) \
    SPLIT(said, rw##_all, 3, buffer, buffer)

#define AT_SHARED_POINTER(said, rw, buffer)           \
    PMPI_File_seek_shared(file, 0, MPI_SEEK_SET);     \
    BLOCKING(said, rw##_shared, 3, buffer)            \
    NONBLOCKING_CALL(said, i##rw##_shared, 2, buffer) \
    PMPI_Barrier(MPI_COMM_WORLD);                     \
    BLOCKING(said, rw##_ordered, 4, buffer)           \
    SPLIT(said, rw##_ordered, 3, buffer, buffer)

/* Each rank has EACH integers of the file. */
static void at_offsets(void)
{
    const MPI_Offset mine = (MPI_Offset)place.me * EACH * INT;
    MPI_Request request;
    MPI_Status status;
    MPI_File_write_at(file, mine, data, 4, MPI_INT, &status);
    wrote("File_write_at", 4, 0);
    BLOCKING(wrote, write_at_all, EACH, mine, data)
    NONBLOCKING_CALL(wrote, iwrite_at, 5, mine, data)
    NONBLOCKING_CALL(wrote, iwrite_at_all, 6, mine, data)
    SPLIT(wrote, write_at_all, 7, data, mine, data)
    MPI_File_sync(file);
    other("File_sync");
    MPI_File_read_at(file, mine, back, 4, MPI_INT, &status);
    got("File_read_at", 4, 0);
    BLOCKING(got, read_at_all, 5, mine, back)
    NONBLOCKING_CALL(got, iread_at, 6, mine, back)
    NONBLOCKING_CALL(got, iread_at_all, 7, mine, back)
    SPLIT(got, read_at_all, 8, back, mine, back)
    /* Past the end: fewer than were asked for. */
    MPI_File_read_at(file, (MPI_Offset)(place.n * EACH - 3) * INT, back, 10, MPI_INT, &status);
    got("File_read_at", 3, 0);
    BLOCKING(got, read_at, 0, 0, back)
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
    AT_POINTER(wrote, write, data)
    PMPI_File_seek(file, 0, MPI_SEEK_SET);
    AT_POINTER(got, read, back)
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    other("File_set_view");
    PMPI_Type_free(&piece);
}

static void shared_pointer(void)
{
    MPI_Request request;
    AT_SHARED_POINTER(wrote, write, data)
    AT_SHARED_POINTER(got, read, back)
}

int main(int argc, char **argv)
{
    char name[64];
    struct place self;
    expect_init(&argc, &argv, &world);
    expect_self(&self, &world);
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
    return expect_finalize();
}
