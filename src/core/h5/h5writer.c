/* Buffered appends to compound tables; see h5writer.h. */
#include "core/h5/h5writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5/h5contents.h"
#include "core/h5/h5types.h"
#include "core/h5/rowform.h"

/* The rows of one table that wait until a chunk is full. The newest rows are row structs. As soon
 * as there are some of them, and while they are in the processor's cache, they are moved to the
 * form in which the file has them. If this were done for a whole chunk, all of its rows would be
 * read from memory again. */

/* Rows that are moved at once. 128 rows of /events/comm take 12 KiB, a third of a core's cache. */
enum { PW_RECENT_ROWS = 128 };

struct pw_rowbuffer {
    struct pw_row_layout layout;
    size_t most;      /* rows of a full chunk; 0: not initialised */
    bool is_shuffled; /* else rows are packed */
    char *recent;     /* row structs */
    size_t nrecent;
    char *moved;         /* older rows, shuffled or packed; NULL: none yet */
    size_t nmoved, room; /* `room`: rows for which `moved` has memory, the distance of planes */
};

static inline size_t pw_rowbuffer_rows(const struct pw_rowbuffer *buffer)
{
    return buffer->nmoved + buffer->nrecent;
}

static int rowbuffer_move(struct pw_rowbuffer *b);

/* Adds a row to a buffer that is not full. Returns it, to be filled in by the caller before the
 * next call; NULL when memory is short. */
static inline void *pw_rowbuffer_add(struct pw_rowbuffer *buffer)
{
    if (buffer->nrecent == PW_RECENT_ROWS && rowbuffer_move(buffer))
        return NULL;
    return buffer->recent + buffer->nrecent++ * buffer->layout.row_size;
}

/* Makes an empty buffer for chunks of `most` rows. Returns 0, -E2BIG or -ENOMEM. */
static int rowbuffer_init(struct pw_rowbuffer *b, int table, size_t most, bool is_shuffled)
{
    *b = (struct pw_rowbuffer){.is_shuffled = is_shuffled};
    const int err = pw_row_layout_make(table, &b->layout);
    b->recent = err ? NULL : malloc(PW_RECENT_ROWS * b->layout.row_size);
    if (b->recent)
        b->most = most;
    return err ? err : b->recent ? 0 : -ENOMEM;
}

static void rowbuffer_fini(struct pw_rowbuffer *b)
{
    free(b->recent);
    free(b->moved);
    *b = (struct pw_rowbuffer){.most = 0};
}

/* Makes room in `moved`, which has no rows, for `rows` rows. Planes begin with a cache line. */
static int make_room(struct pw_rowbuffer *b, size_t rows)
{
    enum { LINE = 64 };
    const size_t size = rows * b->layout.packed_size;
    free(b->moved);
    b->moved = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    b->room = b->moved ? rows : 0;
    return b->moved ? 0 : -ENOMEM;
}

/* Moves the recent rows. `rows`: for how many rows there must be room. */
static int move_recent(struct pw_rowbuffer *b, size_t rows)
{
    const struct pw_row_layout *layout = &b->layout;
    if (b->nmoved == 0 && b->room < rows && make_room(b, rows))
        return -ENOMEM;
    if (b->is_shuffled)
        pw_rows_shuffle(layout, b->recent, b->nrecent, b->moved + b->nmoved, b->room);
    else
        pw_rows_pack(layout, b->recent, b->nrecent, b->moved + b->nmoved * layout->packed_size);
    b->nmoved += b->nrecent;
    b->nrecent = 0;
    return 0;
}

/* Moves the recent rows, so that there is room for others. Returns 0 or -ENOMEM. */
static int rowbuffer_move(struct pw_rowbuffer *b)
{
    return move_recent(b, b->most);
}

/* Makes the planes `rows` bytes long: shorter ones, or ones that end with zeros. */
static void set_planes(struct pw_rowbuffer *b, size_t rows)
{
    for (size_t k = 0; k < b->layout.packed_size; k++) {
        char *plane = b->moved + k * rows;
        if (rows < b->room)
            memmove(plane, b->moved + k * b->room, b->nmoved);
        memset(plane + b->nmoved, 0, rows - b->nmoved);
    }
}

/* Returns the bytes of a chunk of `chunk_rows` rows, the first of which are all rows of the buffer;
 * the others are zero. The bytes are valid until the next row is added; the buffer is empty then.
 * Returns NULL when memory is short. */
static const char *rowbuffer_take(struct pw_rowbuffer *b, size_t chunk_rows)
{
    if (move_recent(b, chunk_rows) || chunk_rows > b->room)
        return NULL;
    const size_t size = b->layout.packed_size;
    if (!b->is_shuffled)
        memset(b->moved + b->nmoved * size, 0, (chunk_rows - b->nmoved) * size);
    else if (b->nmoved < b->room || chunk_rows < b->room)
        set_planes(b, chunk_rows);
    b->nmoved = 0;
    return b->moved;
}

/* Rows in a chunk: enough for deflate to compress well, and few enough that a killed collector
 * loses little and the file of a short run stays small. Tables of events are most of a long run's
 * file. Their chunks are larger because the upper bytes of times change slowly: 8192 rows compress
 * 5 % better than 4096. 16384 rows would save another 4 %, but add 4 KB to the file of a short
 * run. */
enum { CHUNK_ROWS = 4096, EVENT_CHUNK_ROWS = 8192, CHUNK_INDEX_K = 4 };

struct table_buffer {
    hid_t dataset;     /* -1 until the first chunk is written */
    size_t chunk_rows; /* of the dataset */
    struct pw_rowbuffer rows;
    int64_t written;
    bool required;
};

struct pw_h5_writer {
    hid_t file;
    int level;
    int error;
    int64_t refused;
    struct pw_chunkpack pack;
    struct table_buffer tables[PW_TABLE_COUNT];
};

static size_t chunk_rows(int table)
{
    int events =
        table == PW_TABLE_comm_event || table == PW_TABLE_range || table == PW_TABLE_kernel;
    return events ? EVENT_CHUNK_ROWS : CHUNK_ROWS;
}

/* HDF5 opens files without O_CLOEXEC; the profiled program must not inherit the descriptor. */
static void close_on_exec(hid_t file)
{
    void *fd;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &fd) >= 0)
        fcntl(*(int *)fd, F_SETFD, FD_CLOEXEC);
}

int pw_h5_writer_create(const char *path, int level, struct pw_h5_writer **out)
{
    struct pw_h5_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;

    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* Object headers of version 1.8 are a third of the size; every HDF5 since 1.10 reads them. */
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    hid_t creation = pw_h5_creation();
    /* Each table's index of chunks is a B-tree whose nodes have room for twice this number of
     * chunks. With the default of 64, these nodes would be most of a short run's file. */
    H5Pset_istore_k(creation, CHUNK_INDEX_K);
    errno = 0;
    writer->file = H5Fcreate(path, H5F_ACC_EXCL, creation, access);
    H5Pclose(creation);
    H5Pclose(access);
    if (writer->file < 0) {
        int err = errno ? -errno : -EIO;
        if (err != -EEXIST)
            unlink(path); /* the disk was full: the file was created, but HDF5's first write
                           * failed */
        free(writer);
        return err;
    }

    close_on_exec(writer->file);
    writer->level = level;
    pw_chunkpack_init(&writer->pack, level);
    for (int i = 0; i < PW_TABLE_COUNT; i++)
        writer->tables[i].dataset = -1;
    *out = writer;
    return 0;
}

/* A table that is written at once gets a chunk of its own size: HDF5 pads chunks to their full size
 * before it compresses them, which would take longer than the rows of a small table. */
static int open_dataset(struct pw_h5_writer *writer, int table)
{
    struct table_buffer *buffer = &writer->tables[table];
    const size_t rows = pw_rowbuffer_rows(&buffer->rows);
    buffer->chunk_rows = rows ? rows : chunk_rows(table);
    hsize_t none = 0, chunk = buffer->chunk_rows;
    const struct pw_h5_form form = {1, &none, &chunk, 1, writer->level};
    buffer->dataset = pw_h5_create_table(writer->file, pw_table_borrow(table), &form);
    return buffer->dataset < 0 ? -EIO : 0;
}

/* Writes the buffered rows as the dataset's next chunk. */
static int write_chunk(struct pw_h5_writer *writer, struct table_buffer *buffer)
{
    struct pw_packed_chunk chunk;
    const size_t rows = pw_rowbuffer_rows(&buffer->rows);
    const char *bytes = rowbuffer_take(&buffer->rows, buffer->chunk_rows);
    const size_t size = buffer->chunk_rows * buffer->rows.layout.packed_size;
    const int err = bytes ? pw_chunkpack_deflate(&writer->pack, bytes, size, &chunk) : -ENOMEM;
    if (err)
        return err;
    const hsize_t first = (hsize_t)buffer->written, end = first + rows;
    errno = 0;
    if (H5Dset_extent(buffer->dataset, &end) < 0 ||
        H5Dwrite_chunk(buffer->dataset, H5P_DEFAULT, chunk.skipped, &first, chunk.size,
                       chunk.bytes) < 0)
        return errno ? -errno : -EIO;
    buffer->written += (int64_t)rows;
    return 0;
}

static int write_buffered(struct pw_h5_writer *writer, int table)
{
    struct table_buffer *buffer = &writer->tables[table];
    const int err = buffer->dataset < 0 ? open_dataset(writer, table) : 0;
    return err || !pw_rowbuffer_rows(&buffer->rows) ? err : write_chunk(writer, buffer);
}

static_assert(CHUNK_ROWS % PW_RECENT_ROWS == 0 && EVENT_CHUNK_ROWS % PW_RECENT_ROWS == 0,
              "a full chunk has no room for recent rows");

/* Adds a row when there may be no room for it. Not inline, so that pw_h5_writer_add() needs few
 * registers. */
static __attribute__((noinline)) void *make_room_and_add(struct pw_h5_writer *writer, int table)
{
    struct pw_rowbuffer *rows = &writer->tables[table].rows;
    if (!writer->error && !rows->most)
        writer->error = rowbuffer_init(rows, table, chunk_rows(table), writer->level > 0);
    if (!writer->error && pw_rowbuffer_rows(rows) == rows->most)
        writer->error = write_buffered(writer, table);
    void *row = writer->error ? NULL : pw_rowbuffer_add(rows);
    if (!row) {
        writer->error = writer->error ? writer->error : -ENOMEM;
        writer->refused++;
    }
    return row;
}

void *pw_h5_writer_add(struct pw_h5_writer *writer, int table)
{
    struct pw_rowbuffer *rows = &writer->tables[table].rows;
    const bool has_room = !writer->error && rows->most && rows->nrecent < PW_RECENT_ROWS;
    return has_room ? pw_rowbuffer_add(rows) : make_room_and_add(writer, table);
}

int pw_h5_writer_append(struct pw_h5_writer *writer, int table, const void *row)
{
    void *place = pw_h5_writer_add(writer, table);
    if (!place)
        return writer->error;
    memcpy(place, row, writer->tables[table].rows.layout.row_size);
    return 0;
}

void pw_h5_writer_require(struct pw_h5_writer *writer, int table)
{
    writer->tables[table].required = true;
}

int64_t pw_h5_writer_rows(const struct pw_h5_writer *writer, int table)
{
    return writer->tables[table].written + (int64_t)pw_rowbuffer_rows(&writer->tables[table].rows);
}

int64_t pw_h5_writer_refused(const struct pw_h5_writer *writer)
{
    return writer->refused;
}

int64_t pw_h5_writer_bytes(const struct pw_h5_writer *writer)
{
    hsize_t bytes = 0;
    H5Fget_filesize(writer->file, &bytes);
    for (int i = 0; i < PW_TABLE_COUNT; i++)
        bytes += pw_rowbuffer_rows(&writer->tables[i].rows) * pw_table_borrow(i)->row_size;
    return (int64_t)bytes;
}

hid_t pw_h5_writer_borrow_file(struct pw_h5_writer *writer)
{
    return writer->file;
}

static void write_rest(struct pw_h5_writer *writer)
{
    for (int i = 0; i < PW_TABLE_COUNT && !writer->error; i++)
        if (pw_rowbuffer_rows(&writer->tables[i].rows) || writer->tables[i].required)
            writer->error = write_buffered(writer, i);
    if (!writer->error && H5Fflush(writer->file, H5F_SCOPE_LOCAL) < 0)
        writer->error = -EIO;
}

static void describe_table(const struct pw_h5_writer *writer, int table, struct pw_h5_draft *draft)
{
    const struct table_buffer *buffer = &writer->tables[table];
    const uint64_t most = (uint64_t)buffer->chunk_rows * buffer->rows.layout.packed_size;
    struct pw_h5_place place = {.table = table,
                                .rows = (uint64_t)buffer->written,
                                .chunk_rows = buffer->chunk_rows,
                                .shuffle = writer->level > 0 ? 0 : -1,
                                .deflate = writer->level > 0 ? 1 : -1};
    const int err = pw_h5_place_list(buffer->dataset, most, &place);
    if (!err)
        pw_h5_draft_add(draft, &place);
    draft->err = draft->err ? draft->err : err;
    pw_h5_place_fini(&place);
}

/* Collects the contents of the file. Returns a descriptor that stays open when HDF5 closes the
 * file, so that they can be appended then; -1 when the file gets none, as a file with tables of
 * cluster files. */
static int describe(struct pw_h5_writer *writer, struct pw_h5_draft *draft)
{
    void *fd;
    if (writer->error || H5Fget_vfd_handle(writer->file, H5P_DEFAULT, &fd) < 0)
        return -1;
    for (int i = PW_RANK_TABLE_COUNT; i < PW_TABLE_COUNT; i++)
        if (writer->tables[i].dataset >= 0)
            return -1;
    pw_h5_draft_begin(draft, writer->file);
    for (int i = 0; i < PW_RANK_TABLE_COUNT; i++)
        if (writer->tables[i].written)
            describe_table(writer, i, draft);
    return fcntl(*(int *)fd, F_DUPFD_CLOEXEC, 0);
}

int pw_h5_writer_close(struct pw_h5_writer *writer)
{
    struct pw_h5_draft draft = {0};
    write_rest(writer);
    const int fd = describe(writer, &draft);
    int err = writer->error;
    for (int i = 0; i < PW_TABLE_COUNT; i++) {
        if (writer->tables[i].dataset >= 0)
            H5Dclose(writer->tables[i].dataset);
        rowbuffer_fini(&writer->tables[i].rows);
    }
    errno = 0;
    if (H5Fclose(writer->file) < 0 && !err)
        err = errno ? -errno : -EIO;
    pw_h5_draft_append(&draft, err ? -1 : fd);
    if (fd >= 0)
        close(fd);
    pw_chunkpack_fini(&writer->pack);
    free(writer);
    return err;
}

/* Returns transfer properties for a write of `bytes` bytes, which the caller closes. By default
 * HDF5 clears two buffers of 1 MiB for every write that converts, which would be most of the time
 * for few strings. */
static hid_t transfer_of(size_t bytes)
{
    enum { LEAST = 1 << 12, MOST = 1 << 20 };
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_buffer(transfer, bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes, NULL, NULL);
    return transfer;
}

int pw_h5_write_strings(hid_t file, const char *path, const char *const *strings, size_t count)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    hsize_t size = count;
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    enum { STORED_BYTES = 16 }; /* bytes of a string's reference in the file */
    hid_t transfer = transfer_of(count * STORED_BYTES);
    int err = dataset < 0 ? -EIO : 0;
    if (!err && count && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, transfer, strings) < 0)
        err = -EIO;
    if (dataset >= 0)
        H5Dclose(dataset);
    H5Pclose(transfer);
    H5Sclose(space);
    H5Tclose(type);
    return err;
}
