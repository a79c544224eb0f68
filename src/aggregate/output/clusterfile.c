/* Packs chunks on all processes, and writes them on process 0; see clusterfile.h. */
#include "aggregate/output/clusterfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5contents.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/safefile.h"

/* Reserves by fallocate(). */

enum { STEP = 1 << 18 }; /* bytes; also the reserve for HDF5's own tables between two checks */

/* Reserves room for the first `bytes` of the file, and some more. Returns 0 or -errno when the disk
 * is full. */
static int diskroom_reserve(struct pw_diskroom *room, uint64_t bytes)
{
    if (room->fd < 0 || bytes + STEP <= room->reserved)
        return 0;
    uint64_t want = (bytes + 2 * (uint64_t)STEP) / STEP * STEP;
    int err;
    do
        err = fallocate(room->fd, FALLOC_FL_KEEP_SIZE, (off_t)room->reserved,
                        (off_t)(want - room->reserved))
                  ? errno
                  : 0;
    while (err == EINTR);
    if (!err)
        room->reserved = want;
    return err == ENOSPC || err == EDQUOT || err == EFBIG ? -err : 0;
}

/* Releases the reserved room after the file's end, and closes the descriptor. */
static void diskroom_fini(struct pw_diskroom *room)
{
    struct stat about;
    if (room->fd < 0)
        return;
    int cut =
        room->reserved && fstat(room->fd, &about) == 0 && ftruncate(room->fd, about.st_size) == 0;
    (void)cut; /* room that is not released is freed with the file */
    close(room->fd);
    room->fd = -1;
}

/* Creates an empty file with a new, random name, in `part`. HDF5 would follow links and use an
 * existing file. Returns 0 or -errno. */
static int diskroom_make_file(const char *path, char *part, size_t size, struct pw_diskroom *room)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    snprintf(part, size, "%s.part-%016llx", path, (unsigned long long)random);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *room = (struct pw_diskroom){.fd = fd};
    return fd < 0 ? -errno : diskroom_reserve(room, 0);
}

/* Closes and checks cluster.h5. */

/* Tables with more rows are checked by all processes. */
enum { MOST_OF_ONE = 1024 };

/* Appends a table of contents, for readers without HDF5, to the closed file. */
static void append_contents(const struct pw_clusterfile *file, struct pw_h5_draft *draft)
{
    const int fd = open(file->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    pw_h5_draft_append(draft, fd);
    if (fd >= 0)
        close(fd);
}

/* Closes the file, on process 0. A small file gets a table of contents, if that is possible.
 * Returns 0 or -EIO. */
static int clusterend_close(struct pw_clusterfile *file)
{
    struct pw_h5_draft draft = {.kind = PW_H5_CLUSTER};
    const int is_listed = !file->error && !file->is_large;
    if (is_listed)
        pw_h5_draft_begin(&draft, file->file);
    for (int i = PW_RANK_TABLE_COUNT; i < PW_TABLE_COUNT; i++) {
        if (is_listed && file->places[i].rows)
            pw_h5_draft_add(&draft, &file->places[i]);
        pw_h5_place_fini(&file->places[i]);
    }
    const int err = H5Fclose(file->file) < 0 ? -EIO : 0;
    diskroom_fini(&file->room);
    if (is_listed && !err)
        append_contents(file, &draft);
    else
        pw_h5_draft_append(&draft, -1);
    return err;
}

/* Whether this process checks the table, and which of `*shares` parts of its chunks: a small table
 * is checked by one process. */
static int has_share(const struct pw_clusterfile *written, int table, int *share, int *shares)
{
    const int is_shared = written->rows[table] > MOST_OF_ONE;
    pw_ex_size(written->comm, shares);
    *share = (written->process + table) % *shares;
    *shares = is_shared ? *shares : 1;
    return *share == 0 || is_shared;
}

/* Unpacks the tables of this process in a file that has contents. */
static int check_places(const struct pw_clusterfile *written, const struct pw_h5_contents *contents,
                        int fd)
{
    int err = 0, share, shares;
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT && !err; table++) {
        struct pw_h5_place place;
        pw_h5_contents_place(contents, table, &place);
        if (place.rows != written->rows[table])
            err = -EIO;
        else if (has_share(written, table, &share, &shares) && share == 0)
            err = pw_h5_place_check(fd, &place);
    }
    return err;
}

static int check_by_hdf5(const struct pw_clusterfile *written)
{
    hid_t file;
    int err = pw_h5_open(written->part, &file), share, shares;
    if (err)
        return err;
    err = pw_format_check(file, PW_FORMAT_CLUSTER);
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT && !err; table++)
        if (has_share(written, table, &share, &shares))
            err =
                pw_h5_check_table(file, table, written->rows[table], (size_t)share, (size_t)shares);
    pw_h5_close(file);
    return err;
}

/* Unpacks this process's share of the chunks of the closed file, to check that they were written
 * correctly. Returns 0, -EIO or -ENOMEM. */
static int clusterend_check(const struct pw_clusterfile *written)
{
    struct pw_h5_contents *contents;
    const int fd = pw_open_regular(written->part, O_NOFOLLOW);
    int err = fd < 0 ? fd : pw_h5_contents_read(fd, &contents);
    if (!err) {
        err = check_places(written, contents, fd);
        pw_h5_contents_free(contents);
    } else if (err == -ENOENT) {
        err = check_by_hdf5(written);
    }
    if (fd >= 0)
        close(fd);
    return err && err != -ENOMEM ? -EIO : err;
}

/* Syncs the closed file to disk, and gives it its name. Returns 0 or -errno. */
static int clusterend_publish(const struct pw_clusterfile *file)
{
    const int fd = open(file->part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const int err = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return err ? err : rename(file->part, file->path) ? -errno : 0;
}

/* Process 0 alone has the file. HDF5 only stores the chunks. With parallel HDF5, all processes
 * could write, but its conversion, shuffle and zlib took most of the time of writing, and HDF5 1.10
 * and MPI-IO wrote from addresses behind their buffers when they got thousands of chunks at once.
 */
enum {
    CHUNK_ROWS = PW_CLUSTERFILE_CHUNK,
    GRID_RANKS = 64,
    /* Steps in a chunk of a grid. With few ranks there are more steps, up to LEAST_CELLS cells,
     * because every chunk has a fixed cost. A grid of up to CHUNK_ROWS cells has all ranks in a
     * chunk. */
    GRID_STEPS = 64,
    LEAST_CELLS = 1024,
    DEFLATE = 1,
    TAG = 1, /* of rows that are sent to process 0 */
    /* Chunks of a table in a file that gets a table of contents. HDF5 finds each by a search among
     * all. */
    MOST_LISTED = 16,
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int all_agree(pw_ex_comm comm, int err)
{
    int worst;
    pw_ex_allreduce(&err, &worst, 1, PW_EX_INT, PW_EX_MIN, comm);
    return worst;
}

static void note_errno(struct pw_clusterfile *file, int err)
{
    file->error = file->error ? file->error : err;
}

static void note_error(struct pw_clusterfile *file, int failed)
{
    note_errno(file, failed ? -EIO : 0);
}

/* Reserves room for `bytes` more than the file has now. */
static void reserve(struct pw_clusterfile *file, uint64_t bytes)
{
    hsize_t now = 0;
    if (file->room.fd >= 0 && H5Fget_filesize(file->file, &now) >= 0)
        note_errno(file, diskroom_reserve(&file->room, now + bytes));
}

/* The same for the chunks of a table: before they are written, HDF5 fills each with compressed
 * zeros. */
static void reserve_chunks(struct pw_clusterfile *file, const struct pw_table *table, uint64_t n,
                           uint64_t rows)
{
    reserve(file, n * (512 + rows * table->row_size / 64));
}

/* Returns 1 on all processes when one of them has met an error. Then nothing more is written.
 * Collective. */
static int has_failed(struct pw_clusterfile *file)
{
    file->error = all_agree(file->comm, file->error);
    return file->error != 0;
}

/* Reserves room before each process writes `rows` rows. Returns 1 when nothing more can be written.
 * Collective. */
static int has_no_room(struct pw_clusterfile *file, size_t rows, const struct pw_table *table)
{
    int processes;
    pw_ex_size(file->comm, &processes);
    reserve(file, (uint64_t)processes * rows * table->row_size);
    return has_failed(file);
}

int pw_clusterfile_create(const char *path, pw_ex_comm comm, struct pw_clusterfile *out)
{
    *out = (struct pw_clusterfile){.comm = comm, .room = {.fd = -1}, .file = -1};
    pw_ex_rank(comm, &out->process);
    snprintf(out->path, sizeof(out->path), "%s", path);
    int err =
        out->process == 0 ? diskroom_make_file(path, out->part, sizeof(out->part), &out->room) : 0;
    err = all_agree(comm, err);
    pw_ex_bcast(out->part, sizeof(out->part), PW_EX_CHAR, 0, comm);
    if (!err && out->process == 0) {
        hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = pw_h5_creation();
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
        out->file = H5Fcreate(out->part, H5F_ACC_TRUNC, creation, access);
        H5Pclose(creation);
        H5Pclose(access);
        err = out->file < 0 ? -EIO : 0;
    }
    err = all_agree(comm, err);
    if (err) {
        if (out->file >= 0)
            H5Fclose(out->file);
        if (out->room.fd >= 0)
            unlink(out->part);
        diskroom_fini(&out->room);
        return err;
    }
    pw_chunkpack_init(&out->pack, DEFLATE);
    out->room.reserved = 0; /* HDF5 truncated the file */
    reserve(out, 0);
    note_error(out, out->process == 0 && pw_format_stamp(out->file, PW_FORMAT_CLUSTER));
    return 0;
}

/* A table that is being written. */
struct target {
    struct pw_clusterfile *file;
    hid_t dataset; /* on process 0 */
    int table;
    struct pw_row_layout layout;
    size_t chunk_rows; /* rows, or cells, of a chunk */
    uint64_t rows;     /* rows, or cells, of the table */
    size_t columns;    /* of a grid whose chunks have all columns; 0: of a table with rows, */
    int is_split;      /* 1: of a grid whose chunks do not have all columns */
};

/* Creates a dataset with what its columns mean. Returns it, or a negative value after an error. */
static hid_t create_table(hid_t file, const struct pw_table *table, const struct pw_h5_form *form)
{
    const hid_t dataset = pw_h5_create_table(file, table, form);
    if (dataset < 0 || !pw_h5_meanings_write(dataset, table))
        return dataset;
    H5Dclose(dataset);
    return H5I_INVALID_HID;
}

/* Returns 0 or the first error of this process. */
static int target_init(struct target *t, struct pw_clusterfile *file, int table,
                       const struct pw_h5_form *form)
{
    const struct pw_table *info = pw_table_borrow(table);
    *t = (struct target){.file = file,
                         .dataset = -1,
                         .table = table,
                         .chunk_rows = (size_t)form->chunk[0],
                         .rows = form->dims[0]};
    if (form->rank == 2) {
        t->chunk_rows *= (size_t)form->chunk[1];
        t->rows *= form->dims[1];
        t->columns = (size_t)form->dims[1];
        t->is_split = form->dims[1] > form->chunk[1];
    }
    if (file->process == 0)
        t->dataset = create_table(file->file, info, form);
    const int err = pw_row_layout_make(table, &t->layout);
    return err ? err : file->process == 0 && t->dataset < 0 ? -EIO : 0;
}

/* Notes where the chunks are. */
static void list_chunks(struct target *t)
{
    struct pw_h5_place place = {.table = t->table,
                                .rows = t->rows,
                                .chunk_rows = t->chunk_rows,
                                .columns = t->columns,
                                .deflate = 1};
    struct pw_clusterfile *file = t->file;
    if (file->error || file->is_large || !t->rows)
        return;
    file->is_large = t->is_split || t->rows > MOST_LISTED * t->chunk_rows ||
                     pw_h5_place_list(t->dataset, t->chunk_rows * t->layout.packed_size, &place);
    if (!file->is_large)
        file->places[t->table] = place;
}

static void target_fini(struct target *t)
{
    if (t->dataset < 0)
        return;
    list_chunks(t);
    H5Dclose(t->dataset);
}

/* Stores a chunk, of which `at` is the first row and column. On process 0. */
static void store_chunk(struct target *t, const hsize_t at[2], const struct pw_packed_chunk *chunk)
{
    note_error(t->file, H5Dwrite_chunk(t->dataset, H5P_DEFAULT, chunk->skipped, at, chunk->size,
                                       chunk->bytes) < 0);
}

/* Rows in memory, as the source of pw_clusterfile_maker. */
struct held {
    const void *rows;
    size_t size, first;
};

static const char *borrow_held(const struct held *held, size_t first)
{
    return (const char *)held->rows + (first - held->first) * held->size;
}

static void take_held(void *context, size_t first, size_t count, void *rows)
{
    const struct held *held = context;
    memcpy(rows, borrow_held(held, first), count * held->size);
}

void pw_clusterfile_write(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                          struct pw_clusterfile_rows mine, const void *rows)
{
    struct held held = {rows, pw_table_borrow(table)->row_size, mine.first};
    pw_clusterfile_write_made(file, table, mine, take_held, &held);
}

/* The rows of a 1-D table on their way into chunks. */
struct stream {
    struct target target;
    const struct pw_table *table;
    pw_clusterfile_maker *make;
    void *context;
    size_t first; /* this process's first row */
    char *slab;   /* [CHUNK_ROWS, or all rows] rows of another process */
    char *rows;   /* [as many] rows of the next chunk; n: how many there are */
    size_t n;
    hsize_t stored; /* rows in earlier chunks */
};

/* Stores the next chunk, which has the s->n rows `first`. */
static void end_chunk(struct stream *s, const char *first)
{
    struct pw_packed_chunk chunk;
    const struct pw_chunk_rows rows = {s->target.chunk_rows, first, s->n};
    const int err = pw_chunkpack_run(&s->target.file->pack, &s->target.layout, rows, &chunk);
    note_errno(s->target.file, err);
    if (!err)
        store_chunk(&s->target, (hsize_t[2]){s->stored, 0}, &chunk);
    s->stored += s->n;
    s->n = 0;
}

static void add_rows(struct stream *s, size_t count)
{
    const size_t size = s->table->row_size;
    for (size_t at = 0, n; at < count; at += n) {
        n = smaller(count - at, s->target.chunk_rows - s->n);
        memcpy(s->rows + s->n * size, s->slab + at * size, n * size);
        s->n += n;
        if (s->n == s->target.chunk_rows)
            end_chunk(s, s->rows);
    }
}

/* Adds rows of process 0 itself, which come first: a chunk at a time, or all that it has. */
static void add_own_rows(struct stream *s, size_t at, size_t count)
{
    const int is_whole = count == s->target.chunk_rows, is_held = s->make == take_held;
    s->n = count;
    if (!is_whole || !is_held)
        s->make(s->context, s->first + at, count, s->rows);
    if (is_whole)
        end_chunk(s, is_held ? borrow_held(s->context, s->first + at) : s->rows);
}

/* Brings the `count` rows of process `from` to process 0, a slab at a time. Collective. */
static void pass_rows(struct stream *s, int from, size_t count)
{
    struct pw_clusterfile *file = s->target.file;
    for (size_t at = 0; at < count && !has_no_room(file, CHUNK_ROWS, s->table); at += CHUNK_ROWS) {
        const size_t n = smaller(count - at, CHUNK_ROWS);
        const int bytes = (int)(n * s->table->row_size);
        if (from == 0 && file->process == 0) {
            add_own_rows(s, at, n);
            continue;
        }
        if (file->process == from) {
            s->make(s->context, s->first + at, n, s->slab);
            pw_ex_send(s->slab, bytes, PW_EX_BYTE, 0, TAG, file->comm);
        } else if (file->process == 0) {
            pw_ex_recv(s->slab, bytes, PW_EX_BYTE, from, TAG, file->comm);
            add_rows(s, n);
        }
    }
}

void pw_clusterfile_write_made(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_rows mine, pw_clusterfile_maker *make,
                               void *context)
{
    const struct pw_table *info = pw_table_borrow(table);
    const size_t total = mine.total;
    reserve_chunks(file, info, total / CHUNK_ROWS + 1, CHUNK_ROWS);
    if (has_failed(file))
        return;
    int processes;
    pw_ex_size(file->comm, &processes);
    const hsize_t dims = total, chunk = total && total < CHUNK_ROWS ? total : CHUNK_ROWS;
    const struct pw_h5_form form = {1, &dims, &chunk, total == 0, DEFLATE};
    struct stream s = {.table = info, .make = make, .context = context, .first = mine.first};
    note_errno(file, target_init(&s.target, file, table, &form));
    file->rows[table] = total;
    s.slab = malloc(info->row_size * (size_t)chunk);
    s.rows = malloc(info->row_size * (size_t)chunk);
    unsigned long count = mine.count, *counts = malloc(sizeof(*counts) * (size_t)processes);
    note_errno(file, s.slab && s.rows && counts ? 0 : -ENOMEM);
    if (!has_failed(file))
        pw_ex_allgather(&count, 1, PW_EX_UNSIGNED_LONG, counts, 1, PW_EX_UNSIGNED_LONG, file->comm);
    for (int from = 0; from < processes && !has_failed(file); from++)
        pass_rows(&s, from, counts[from]);
    if (s.n && !file->error)
        end_chunk(&s, s.rows);
    target_fini(&s.target);
    free(s.slab);
    free(s.rows);
    free(counts);
}

void pw_clusterfile_write_root(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t count, const void *rows)
{
    unsigned long total = count;
    pw_ex_bcast(&total, 1, PW_EX_UNSIGNED_LONG, 0, file->comm);
    const struct pw_clusterfile_rows mine = {total, 0, file->process == 0 ? count : 0};
    pw_clusterfile_write(file, table, mine, rows);
}

/* ---- grids ---- */

/* Processes have columns of a grid, but chunks are packed as a whole. Chunk i is packed by process
 * i % processes, which receives its cells from all processes in round i / processes. Then process 0
 * receives the packed chunks of the round, and writes them. */
struct grid {
    size_t dims[2], chunk[2], per_row,
        nchunks; /* number of chunks in a row of chunks, and in all */
    size_t row_size;
    int process, processes;
    size_t *firsts; /* [processes + 1] first column of each process */
    int *counts; /* [4 * processes] counts and offsets of sent cells, counts and offsets of received
                    cells */
    char *send, *receive, *whole; /* whole: the cells of a chunk, zero outside the grid */
    char *column;                 /* [chunk[0]] cells of a column */
    int *sizes; /* [4 * processes] size and skipped filters of each packed chunk of the round; then
                   their sizes and offsets in `arrived` */
    char *arrived; /* on process 0 */
    pw_ex_type cell;
};

/* The steps and columns of a chunk, and the columns [first, first + n) that a process has of it. */
struct piece {
    size_t step, nsteps, first, n, column, ncolumns;
};

static struct piece piece_of(const struct grid *g, size_t number, int process)
{
    struct piece p = {.step = number / g->per_row * g->chunk[0],
                      .column = number % g->per_row * g->chunk[1]};
    if (number >= g->nchunks)
        return (struct piece){0};
    p.nsteps = smaller(g->chunk[0], g->dims[0] - p.step);
    p.ncolumns = smaller(g->chunk[1], g->dims[1] - p.column);
    size_t end = smaller(p.column + p.ncolumns, g->firsts[process + 1]);
    p.first = p.column > g->firsts[process] ? p.column : g->firsts[process];
    p.n = end > p.first ? end - p.first : 0;
    return p;
}

/* Prepares the exchange. Collective. Returns 0 or -ENOMEM, the same on all processes. */
static int grid_init(struct grid *g, const struct pw_clusterfile *file, size_t row_size,
                     size_t first)
{
    unsigned long mine = first;
    size_t p = (size_t)g->processes, bytes = g->chunk[0] * g->chunk[1] * row_size;
    g->row_size = row_size;
    g->firsts = calloc(p + 1, sizeof(*g->firsts));
    g->counts = calloc(4 * p, sizeof(*g->counts));
    g->send = malloc(bytes * p);
    g->receive = malloc(bytes);
    g->whole = malloc(bytes);
    g->column = malloc(g->chunk[0] * row_size);
    g->sizes = calloc(4 * p, sizeof(*g->sizes));
    g->arrived = malloc(file->process == 0 ? bytes * p : 1);
    int ok = g->firsts && g->counts && g->send && g->receive && g->whole && g->column && g->sizes &&
             g->arrived;
    if (all_agree(file->comm, ok ? 0 : -ENOMEM))
        return -ENOMEM;
    pw_ex_allgather(&mine, 1, PW_EX_UNSIGNED_LONG, g->firsts, 1, PW_EX_UNSIGNED_LONG, file->comm);
    g->firsts[p] = g->dims[1];
    pw_ex_type_contiguous((int)row_size, PW_EX_BYTE, &g->cell);
    return 0;
}

static void grid_fini(struct grid *g)
{
    if (g->cell != PW_EX_NO_TYPE)
        pw_ex_type_free(&g->cell);
    free(g->firsts);
    free(g->counts);
    free(g->send);
    free(g->receive);
    free(g->whole);
    free(g->column);
    free(g->sizes);
    free(g->arrived);
}

/* Packs this process's cells for all chunks of a round, in the order of the writing processes. */
static void pack_round(struct grid *g, size_t round, pw_clusterfile_column *make, void *context)
{
    const size_t size = g->row_size, mine = g->firsts[g->process];
    int *counts = g->counts, *places = counts + g->processes, at = 0;
    for (int q = 0; q < g->processes; q++) {
        struct piece p = piece_of(g, round + (size_t)q, g->process);
        places[q] = at;
        counts[q] = (int)(p.nsteps * p.n);
        for (size_t c = 0; c < p.n; c++) {
            make(context, p.first - mine + c, p.step, p.nsteps, g->column);
            for (size_t s = 0; s < p.nsteps; s++)
                memcpy(g->send + ((size_t)at + s * p.n + c) * size, g->column + s * size, size);
        }
        at += counts[q];
    }
}

/* Exchanges the cells of a round: `whole` gets the chunk that this process packs, if there is one.
 */
static void swap_round(struct grid *g, size_t round, pw_ex_comm comm)
{
    int *counts = g->counts, *places = counts + g->processes;
    int *in = places + g->processes, *in_places = in + g->processes, at = 0;
    size_t number = round + (size_t)g->process;
    for (int q = 0; q < g->processes; q++) {
        struct piece p = piece_of(g, number, q);
        in[q] = (int)(p.nsteps * p.n);
        in_places[q] = at;
        at += in[q];
    }
    pw_ex_alltoallv(g->send, counts, places, g->cell, g->receive, in, in_places, g->cell, comm);
    memset(g->whole, 0, g->chunk[0] * g->chunk[1] * g->row_size);
    for (int q = 0; q < g->processes; q++) {
        struct piece p = piece_of(g, number, q);
        for (size_t s = 0; p.n && s < p.nsteps; s++)
            memcpy(g->whole + (s * g->chunk[1] + p.first - p.column) * g->row_size,
                   g->receive + ((size_t)in_places[q] + s * p.n) * g->row_size, p.n * g->row_size);
    }
}

/* Packs this process's chunk of the round, and brings it to process 0. Collective. */
static void gather_round(struct grid *g, size_t round, struct target *t)
{
    const size_t cells = g->chunk[0] * g->chunk[1];
    const struct pw_chunk_rows chunk = {cells, g->whole, cells};
    int *sizes = g->sizes, *lengths = sizes + 2 * g->processes, *places = lengths + g->processes;
    struct pw_packed_chunk mine = {"", 0, 0};
    int at = 0;
    if (round + (size_t)g->process < g->nchunks)
        note_errno(t->file, pw_chunkpack_run(&t->file->pack, &t->layout, chunk, &mine));
    const int about[2] = {(int)mine.size, (int)mine.skipped};
    pw_ex_gather(about, 2, PW_EX_INT, sizes, 2, PW_EX_INT, 0, t->file->comm);
    for (int q = 0; q < g->processes && g->process == 0; q++) {
        lengths[q] = sizes[2 * q];
        places[q] = at;
        at += lengths[q];
    }
    pw_ex_gatherv(mine.bytes, about[0], PW_EX_BYTE, g->arrived, lengths, places, PW_EX_BYTE, 0,
                  t->file->comm);
}

static void store_round(const struct grid *g, size_t round, struct target *t)
{
    const int *sizes = g->sizes, *places = sizes + 3 * g->processes;
    for (int q = 0; q < g->processes && g->process == 0; q++) {
        const struct piece p = piece_of(g, round + (size_t)q, 0);
        const struct pw_packed_chunk chunk = {g->arrived + places[q], (size_t)sizes[2 * q],
                                              (uint32_t)sizes[2 * q + 1]};
        if (chunk.size)
            store_chunk(t, (hsize_t[2]){p.step, p.column}, &chunk);
    }
}

/* The rows of a grid in memory, by step and then rank. */
struct held_grid {
    const char *rows;
    size_t size, columns;
};

static void take_column(void *context, size_t column, size_t first, size_t count, void *rows)
{
    const struct held_grid *grid = context;
    for (size_t s = 0; s < count; s++)
        memcpy((char *)rows + s * grid->size,
               grid->rows + ((first + s) * grid->columns + column) * grid->size, grid->size);
}

void pw_clusterfile_write_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_columns mine, const void *rows)
{
    struct held_grid grid = {rows, pw_table_borrow(table)->row_size, mine.count};
    pw_clusterfile_write_made_grid(file, table, mine, take_column, &grid);
}

void pw_clusterfile_write_made_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                                    struct pw_clusterfile_columns mine, pw_clusterfile_column *make,
                                    void *context)
{
    const struct pw_table *info = pw_table_borrow(table);
    const size_t nsteps = mine.nsteps, nranks = mine.nranks;
    struct grid g = {.dims = {nsteps, nranks}, .process = file->process, .cell = PW_EX_NO_TYPE};
    pw_ex_size(file->comm, &g.processes);
    const int is_small = nsteps && nsteps * nranks <= CHUNK_ROWS;
    g.chunk[1] = is_small ? nranks : smaller(nranks, GRID_RANKS);
    size_t steps = LEAST_CELLS / g.chunk[1];
    g.chunk[0] = steps > GRID_STEPS ? steps : GRID_STEPS;
    g.chunk[0] = nsteps ? smaller(nsteps, g.chunk[0]) : g.chunk[0];
    g.per_row = (nranks + g.chunk[1] - 1) / g.chunk[1];
    g.nchunks = (nsteps + g.chunk[0] - 1) / g.chunk[0] * g.per_row;
    reserve_chunks(file, info, g.nchunks + 1, g.chunk[0] * g.chunk[1]);
    if (has_failed(file))
        return;
    const hsize_t dims[2] = {nsteps, nranks}, chunk[2] = {g.chunk[0], g.chunk[1]};
    const struct pw_h5_form form = {2, dims, chunk, nsteps == 0, DEFLATE};
    struct target target;
    note_errno(file, target_init(&target, file, table, &form));
    file->rows[table] = (uint64_t)nsteps * nranks;
    note_errno(file, grid_init(&g, file, info->row_size, mine.first));
    for (size_t at = 0; at < g.nchunks && !has_no_room(file, g.chunk[0] * g.chunk[1], info);
         at += (size_t)g.processes) {
        pack_round(&g, at, make, context);
        swap_round(&g, at, file->comm);
        gather_round(&g, at, &target);
        store_round(&g, at, &target);
    }
    grid_fini(&g);
    target_fini(&target);
}

void pw_clusterfile_set_int(struct pw_clusterfile *file, const char *name, int64_t value)
{
    note_error(file, file->process == 0 && pw_h5_set_int(file->file, name, value));
}

void pw_clusterfile_set_text(struct pw_clusterfile *file, const char *name, const char *value)
{
    note_error(file, file->process == 0 && pw_h5_set_text(file->file, name, value));
}

void pw_clusterfile_link_ranks(struct pw_clusterfile *file, const struct pw_row_c_rank *ranks,
                               size_t n)
{
    reserve(file, n * 256 + (1 << 16)); /* 64 KiB for the meanings */
    if (has_failed(file) || file->process != 0)
        return;
    hid_t group = H5Gcreate2(file->file, "/rank", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    note_error(file, group < 0 || pw_h5_rank_meanings_write(group));
    for (size_t r = 0; r < n && group >= 0; r++) {
        char name[16], target[32];
        if (!ranks[r].present)
            continue;
        snprintf(name, sizeof(name), "%05d", (int)ranks[r].rank);
        snprintf(target, sizeof(target), "rank-%05d.h5%s", (int)ranks[r].rank,
                 ranks[r].complete ? "" : ".part");
        note_error(file,
                   H5Lcreate_external(target, "/", group, name, H5P_DEFAULT, H5P_DEFAULT) < 0);
    }
    if (group >= 0)
        H5Gclose(group);
}

int pw_clusterfile_close(struct pw_clusterfile *file)
{
    note_errno(file, file->process == 0 ? clusterend_close(file) : 0);
    pw_chunkpack_fini(&file->pack);
    int err = all_agree(file->comm, file->error);
    err = err ? err : all_agree(file->comm, clusterend_check(file));
    if (file->process == 0) {
        err = err ? err : clusterend_publish(file);
        if (err)
            unlink(file->part);
    }
    return all_agree(file->comm, err);
}

void pw_clusterfile_abandon(struct pw_clusterfile *file)
{
    note_errno(file, -ECANCELED);
    pw_clusterfile_close(file);
}
