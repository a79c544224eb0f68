/* Writes whole chunks, one for each process at a time, after reserving room on the disk; see
 * clusterfile.h. */
#include "aggregate/output/clusterfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5columns.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"

enum { STEP = 1 << 18 }; /* bytes; also the reserve for HDF5's own tables between two checks */

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

/* A process writes one chunk at a time, from one buffer: given thousands of chunks at once,
 * HDF5 1.10 and MPI-IO wrote from addresses behind their buffers (Open MPI's "pwritev: Bad
 * address", a crash in ROMIO). Chunks are written as a whole, so that none is compressed twice. */
enum {
    CHUNK_ROWS = PW_CLUSTERFILE_CHUNK,
    GRID_RANKS = 64,
    /* Steps in a chunk of a grid. With few ranks there are more steps, up to LEAST_CELLS cells,
     * because every chunk has a fixed cost. */
    GRID_STEPS = 64,
    LEAST_CELLS = 1024,
    DEFLATE = 1,
};

static int all_agree(MPI_Comm comm, int err)
{
    int worst;
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm);
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
    MPI_Comm_size(file->comm, &processes);
    reserve(file, (uint64_t)processes * rows * table->row_size);
    return has_failed(file);
}

/* Creates an empty file with a new, random name. HDF5 would follow links and use an existing file.
 * Returns 0 or -errno. */
static int make_empty(const char *path, char *part, size_t size, struct pw_diskroom *room)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    snprintf(part, size, "%s.part-%016llx", path, (unsigned long long)random);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *room = (struct pw_diskroom){.fd = fd};
    return fd < 0 ? -errno : diskroom_reserve(room, 0);
}

/* Serial HDF5, which the merge of one process has, does not know MPI. */
#ifdef H5_HAVE_PARALLEL
static void open_together(hid_t access, MPI_Comm comm)
{
    H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
}

static void write_together(hid_t transfer)
{
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
}
#else
static void open_together(hid_t access, MPI_Comm comm)
{
    (void)access, (void)comm;
}

static void write_together(hid_t transfer)
{
    (void)transfer;
}
#endif

int pw_clusterfile_create(const char *path, MPI_Comm comm, struct pw_clusterfile *out)
{
    *out = (struct pw_clusterfile){.comm = comm, .room = {.fd = -1}, .file = -1};
    MPI_Comm_rank(comm, &out->process);
    snprintf(out->path, sizeof(out->path), "%s", path);
    int err = out->process == 0 ? make_empty(path, out->part, sizeof(out->part), &out->room) : 0;
    err = all_agree(comm, err);
    MPI_Bcast(out->part, sizeof(out->part), MPI_CHAR, 0, comm);
    if (!err) {
        hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        open_together(access, comm);
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
        out->file = H5Fcreate(out->part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        H5Pclose(access);
        err = all_agree(comm, out->file < 0 ? -EIO : 0);
    }
    if (err) {
        if (out->file >= 0)
            H5Fclose(out->file);
        if (out->room.fd >= 0)
            unlink(out->part);
        diskroom_fini(&out->room);
        return err;
    }
    out->room.reserved = 0; /* HDF5 truncated the file */
    reserve(out, 0);
    note_error(out, pw_format_stamp(out->file, PW_FORMAT_CLUSTER));
    return 0;
}

/* Returns a copy of the rows without padding, as they are in the file: parallel HDF5 writes
 * compressed chunks only without a conversion. NULL when memory is short; `count` may be 0. */
static char *pack_rows(const struct pw_table *table, const void *rows, size_t count)
{
    size_t packed_size = 0;
    for (size_t i = 0; i < table->nfields; i++)
        packed_size += table->fields()[i].size;
    char *packed = malloc(packed_size * count + 1), *to = packed;
    for (size_t r = 0; packed && r < count; r++)
        for (size_t i = 0; i < table->nfields; i++) {
            const struct pw_field *field = &table->fields()[i];
            memcpy(to, (const char *)rows + r * table->row_size + field->offset, field->size);
            to += field->size;
        }
    return packed;
}

/* A part of a dataset; it may be empty. */
struct box {
    hid_t dataset;
    int table, rank; /* rank: dimensions */
    hsize_t start[2], n[2];
};

/* Writes the rows of every process to its selection. Parallel writes of compressed chunks must be
 * collective, also for processes without rows. */
static void write_selected(struct pw_clusterfile *file, const struct box *box, hid_t memory,
                           hid_t space, const void *rows)
{
    const size_t count = (size_t)(box->rank == 1 ? box->n[0] : box->n[0] * box->n[1]);
    char *packed = pack_rows(pw_table_borrow(box->table), rows, count);
    hid_t type = pw_h5_file_type(pw_table_borrow(box->table));
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    write_together(transfer);
    if (!packed)
        H5Sselect_none(space), H5Sselect_none(memory);
    note_error(file, H5Dwrite(box->dataset, type, memory, space, transfer, packed) < 0 || !packed);
    H5Pclose(transfer);
    H5Tclose(type);
    free(packed);
}

/* Rows in memory, as the source of pw_clusterfile_maker. */
struct held {
    const void *rows;
    size_t size, first;
};

static void take_held(void *context, size_t first, size_t count, void *rows)
{
    const struct held *held = context;
    memcpy(rows, (const char *)held->rows + (first - held->first) * held->size, count * held->size);
}

static void write_box(struct pw_clusterfile *file, const struct box *box, const void *rows)
{
    hid_t space = H5Dget_space(box->dataset), memory = H5Screate_simple(box->rank, box->n, NULL);
    if (box->n[0] && (box->rank == 1 || box->n[1])) {
        H5Sselect_hyperslab(space, H5S_SELECT_SET, box->start, NULL, box->n, NULL);
    } else {
        H5Sselect_none(space);
        H5Sselect_none(memory);
    }
    write_selected(file, box, memory, space, rows);
    H5Sclose(memory);
    H5Sclose(space);
}

/* Creates a dataset with what its columns mean. Returns it, or a negative value after an error. */
static hid_t create_table(struct pw_clusterfile *file, const struct pw_table *table,
                          const struct pw_h5_form *form)
{
    const hid_t dataset = pw_h5_create_table(file->file, table, form);
    note_error(file, dataset < 0 || pw_h5_meanings_write(dataset, table));
    return dataset;
}

void pw_clusterfile_write(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                          struct pw_clusterfile_rows mine, const void *rows)
{
    struct held held = {rows, pw_table_borrow(table)->row_size, mine.first};
    pw_clusterfile_write_made(file, table, mine, take_held, &held);
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
    hsize_t dims = total, chunk = total && total < CHUNK_ROWS ? total : CHUNK_ROWS;
    const struct pw_h5_form form = {1, &dims, &chunk, total == 0, DEFLATE};
    hid_t dataset = create_table(file, info, &form);
    unsigned long most = mine.count;
    file->rows[table] = total;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, file->comm);
    char *rows = malloc(info->row_size * CHUNK_ROWS);
    note_errno(file, rows ? 0 : -ENOMEM);
    for (size_t at = 0; at < most && !has_no_room(file, CHUNK_ROWS, info); at += CHUNK_ROWS) {
        const size_t left = at < mine.count ? mine.count - at : 0;
        const size_t n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        const struct box box = {dataset, (int)table, 1, {mine.first + at}, {n}};
        if (n)
            make(context, mine.first + at, n, rows);
        write_box(file, &box, rows);
    }
    free(rows);
    if (dataset >= 0)
        H5Dclose(dataset);
}

void pw_clusterfile_write_root(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t count, const void *rows)
{
    unsigned long total = count;
    MPI_Bcast(&total, 1, MPI_UNSIGNED_LONG, 0, file->comm);
    const struct pw_clusterfile_rows mine = {total, 0, file->process == 0 ? count : 0};
    pw_clusterfile_write(file, table, mine, rows);
}

/* ---- grids ---- */

/* Processes have columns of a grid, but must write whole chunks. Chunk i is written by process i %
 * processes, which receives its cells from all processes in round i / processes. */
struct grid {
    size_t dims[2], chunk[2], per_row,
        nchunks; /* number of chunks in a row of chunks, and in all */
    size_t row_size;
    int process, processes;
    size_t *firsts; /* [processes + 1] first column of each process */
    int *counts; /* [4 * processes] counts and offsets of sent cells, counts and offsets of received
                    cells */
    char *send, *receive, *whole;
    MPI_Datatype cell;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

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
    int ok = g->firsts && g->counts && g->send && g->receive && g->whole;
    if (all_agree(file->comm, ok ? 0 : -ENOMEM))
        return -ENOMEM;
    MPI_Allgather(&mine, 1, MPI_UNSIGNED_LONG, g->firsts, 1, MPI_UNSIGNED_LONG, file->comm);
    g->firsts[p] = g->dims[1];
    MPI_Type_contiguous((int)row_size, MPI_BYTE, &g->cell);
    MPI_Type_commit(&g->cell);
    return 0;
}

static void grid_fini(struct grid *g)
{
    if (g->cell != MPI_DATATYPE_NULL)
        MPI_Type_free(&g->cell);
    free(g->firsts);
    free(g->counts);
    free(g->send);
    free(g->receive);
    free(g->whole);
}

/* Packs this process's cells for all chunks of a round, in the order of the writing processes. */
static void pack_round(struct grid *g, size_t round, const char *rows, size_t columns)
{
    int *counts = g->counts, *places = counts + g->processes, at = 0;
    for (int q = 0; q < g->processes; q++) {
        struct piece p = piece_of(g, round + (size_t)q, g->process);
        places[q] = at;
        counts[q] = (int)(p.nsteps * p.n);
        for (size_t s = 0; p.n && s < p.nsteps; s++, at += (int)p.n)
            memcpy(g->send + (size_t)at * g->row_size,
                   rows + ((p.step + s) * columns + p.first - g->firsts[g->process]) * g->row_size,
                   p.n * g->row_size);
    }
}

/* Exchanges the cells of a round. Returns the part of the grid that this process writes. */
static struct piece swap_round(struct grid *g, size_t round, MPI_Comm comm)
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
    MPI_Alltoallv(g->send, counts, places, g->cell, g->receive, in, in_places, g->cell, comm);
    struct piece mine = piece_of(g, number, g->process);
    for (int q = 0; q < g->processes; q++) {
        struct piece p = piece_of(g, number, q);
        for (size_t s = 0; p.n && s < p.nsteps; s++)
            memcpy(g->whole + (s * p.ncolumns + p.first - p.column) * g->row_size,
                   g->receive + ((size_t)in_places[q] + s * p.n) * g->row_size, p.n * g->row_size);
    }
    return mine;
}

void pw_clusterfile_write_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               struct pw_clusterfile_columns mine, const void *rows)
{
    const struct pw_table *info = pw_table_borrow(table);
    const size_t nsteps = mine.nsteps, nranks = mine.nranks;
    struct grid g = {.dims = {nsteps, nranks}, .process = file->process, .cell = MPI_DATATYPE_NULL};
    MPI_Comm_size(file->comm, &g.processes);
    g.chunk[1] = smaller(nranks, GRID_RANKS);
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
    hid_t dataset = create_table(file, info, &form);
    file->rows[table] = (uint64_t)nsteps * nranks;
    note_errno(file, grid_init(&g, file, info->row_size, mine.first));
    for (size_t at = 0; at < g.nchunks && !has_no_room(file, g.chunk[0] * g.chunk[1], info);
         at += (size_t)g.processes) {
        pack_round(&g, at, rows, mine.count);
        struct piece p = swap_round(&g, at, file->comm);
        const struct box box = {dataset, (int)table, 2, {p.step, p.column}, {p.nsteps, p.ncolumns}};
        write_box(file, &box, g.whole);
    }
    grid_fini(&g);
    if (dataset >= 0)
        H5Dclose(dataset);
}

void pw_clusterfile_set_int(struct pw_clusterfile *file, const char *name, int64_t value)
{
    note_error(file, pw_h5_set_int(file->file, name, value));
}

void pw_clusterfile_set_text(struct pw_clusterfile *file, const char *name, const char *value)
{
    note_error(file, pw_h5_set_text(file->file, name, value));
}

void pw_clusterfile_link_ranks(struct pw_clusterfile *file, const struct pw_row_c_rank *ranks,
                               size_t n)
{
    reserve(file, n * 256 + (1 << 16)); /* 64 KiB for the meanings */
    if (has_failed(file))
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

/* Unpacks a share of the chunks of the closed file, to check that they were written correctly. A
 * small table is checked by one process. Returns 0 or -errno. */
static int check_share(const struct pw_clusterfile *written)
{
    hid_t file;
    int processes, err = pw_h5_open(written->part, &file);
    if (err)
        return err;
    MPI_Comm_size(written->comm, &processes);
    err = pw_format_check(file, PW_FORMAT_CLUSTER);
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT && !err; table++) {
        int share = (written->process + table) % processes;
        int is_shared = written->rows[table] > LEAST_CELLS;
        if (share == 0 || is_shared)
            err = pw_h5_check_table(file, table, written->rows[table], (size_t)share,
                                    is_shared ? (size_t)processes : 1);
    }
    pw_h5_close(file);
    return err && err != -ENOMEM ? -EIO : err;
}

static int sync_and_rename(const char *part, const char *path)
{
    int fd = open(part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int err = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return err ? err : rename(part, path) ? -errno : 0;
}

int pw_clusterfile_close(struct pw_clusterfile *file)
{
    note_error(file, H5Fclose(file->file) < 0);
    diskroom_fini(&file->room);
    int err = all_agree(file->comm, file->error);
    err = err ? err : all_agree(file->comm, check_share(file));
    if (file->process == 0) {
        err = err ? err : sync_and_rename(file->part, file->path);
        if (err)
            unlink(file->part);
    }
    return all_agree(file->comm, err);
}
