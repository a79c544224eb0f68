/* Collective writes to cluster.h5; see clusterfile.h. */
#include "aggregate/clusterfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/format.h"
#include "core/h5types.h"

/* A slab is what is written at a time: whole chunks, so that none is compressed twice. */
enum {
    CHUNK_ROWS = PW_CLUSTERFILE_CHUNK,
    SLAB_ROWS = 8 * CHUNK_ROWS,
    GRID_STEPS = 64,
    GRID_RANKS = 64,
    SLAB_CELLS = 1 << 18,
    DEFLATE = 1,
};

static int all_agree(MPI_Comm comm, int err)
{
    int worst;
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm);
    return worst;
}

static void note_error(struct pw_clusterfile *file, int failed)
{
    if (failed && !file->error)
        file->error = -EIO;
}

/* HDF5 follows links and takes what is there: so one process makes the file first. */
static int make_empty(const char *part)
{
    unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : close(fd);
}

int pw_clusterfile_create(const char *path, MPI_Comm comm, struct pw_clusterfile *out)
{
    char part[4400];
    *out = (struct pw_clusterfile){.comm = comm};
    MPI_Comm_rank(comm, &out->process);
    snprintf(out->path, sizeof(out->path), "%s", path);
    snprintf(part, sizeof(part), "%s.part", path);

    int err = all_agree(comm, out->process == 0 ? make_empty(part) : 0);
    if (err)
        return err;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    out->file = H5Fcreate(part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    err = all_agree(comm, out->file < 0 ? -EIO : 0);
    if (err && out->file >= 0)
        H5Fclose(out->file);
    if (!err)
        note_error(out, pw_format_stamp(out->file, PW_FORMAT_CLUSTER));
    return err;
}

/* The rows as the file has them, without padding: parallel HDF5 writes through a filter only what
 * needs no conversion. NULL when memory is short; `count` may be 0. */
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

/* Rows of every process into the selection that each made. Parallel writes through a filter must be
 * collective, also by processes that have nothing to write. */
static void write_selected(struct pw_clusterfile *file, hid_t dataset, int table, hid_t memory,
                           hid_t space, const void *rows, size_t count)
{
    char *packed = pack_rows(pw_table_borrow(table), rows, count);
    hid_t type = pw_h5_file_type(pw_table_borrow(table));
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    if (!packed)
        H5Sselect_none(space), H5Sselect_none(memory);
    note_error(file, H5Dwrite(dataset, type, memory, space, transfer, packed) < 0 || !packed);
    H5Pclose(transfer);
    H5Tclose(type);
    free(packed);
}

/* Rows that are in memory already. */
struct held {
    const void *rows;
    size_t size, first;
};

static void take_held(void *context, size_t first, size_t count, void *rows)
{
    const struct held *held = context;
    memcpy(rows, (const char *)held->rows + (first - held->first) * held->size, count * held->size);
}

/* Selects a box, or nothing, of a dataset, and writes it. */
static void write_box(struct pw_clusterfile *file, hid_t dataset, int table, int rank,
                      const hsize_t *start, const hsize_t *n, const void *rows)
{
    size_t count = (size_t)(rank == 1 ? n[0] : n[0] * n[1]);
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(rank, n, NULL);
    if (count) {
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, n, NULL);
    } else {
        H5Sselect_none(space);
        H5Sselect_none(memory);
    }
    write_selected(file, dataset, table, memory, space, rows, count);
    H5Sclose(memory);
    H5Sclose(space);
}

void pw_clusterfile_write(struct pw_clusterfile *file, enum pw_cluster_table_id table, size_t total,
                          size_t first, size_t count, const void *rows)
{
    struct held held = {rows, pw_table_borrow(table)->row_size, first};
    pw_clusterfile_write_made(file, table, total, first, count, take_held, &held);
}

void pw_clusterfile_write_made(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t total, size_t first, size_t count, pw_clusterfile_maker *make,
                               void *context)
{
    hsize_t dims = total, chunk = total && total < CHUNK_ROWS ? total : CHUNK_ROWS;
    hid_t dataset = pw_h5_create_table(file->file, pw_table_borrow(table), 1, &dims, &chunk,
                                       total == 0, DEFLATE);
    unsigned long most = count;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, file->comm);
    char *rows = malloc(pw_table_borrow(table)->row_size * SLAB_ROWS);
    note_error(file, dataset < 0 || !rows);
    for (size_t at = 0; at < most && dataset >= 0; at += SLAB_ROWS) {
        size_t left = at < count ? count - at : 0;
        hsize_t start = first + at, n = !rows ? 0 : left < SLAB_ROWS ? left : SLAB_ROWS;
        if (n)
            make(context, first + at, (size_t)n, rows);
        write_box(file, dataset, table, 1, &start, &n, rows);
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
    pw_clusterfile_write(file, table, total, 0, file->process == 0 ? count : 0, rows);
}

void pw_clusterfile_write_grid(struct pw_clusterfile *file, enum pw_cluster_table_id table,
                               size_t nsteps, size_t nranks, size_t first, size_t count,
                               const void *rows)
{
    hsize_t dims[2] = {nsteps, nranks}, slab = GRID_STEPS;
    hsize_t chunk[2] = {nsteps && nsteps < GRID_STEPS ? nsteps : GRID_STEPS,
                        nranks < GRID_RANKS ? nranks : GRID_RANKS};
    hid_t dataset = pw_h5_create_table(file->file, pw_table_borrow(table), 2, dims, chunk,
                                       nsteps == 0, DEFLATE);
    note_error(file, dataset < 0);
    if (dataset < 0)
        return;
    while (slab * nranks < SLAB_CELLS)
        slab *= 2;
    for (hsize_t at = 0; at < nsteps; at += slab) {
        hsize_t start[2] = {at, first}, n[2] = {nsteps - at < slab ? nsteps - at : slab, count};
        write_box(file, dataset, table, 2, start, n,
                  (const char *)rows + at * count * pw_table_borrow(table)->row_size);
    }
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
    hid_t group = H5Gcreate2(file->file, "/rank", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    note_error(file, group < 0);
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

static int sync_and_rename(const char *part, const char *path)
{
    int fd = open(part, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return err ? err : rename(part, path) ? -errno : 0;
}

int pw_clusterfile_close(struct pw_clusterfile *file)
{
    char part[4400];
    snprintf(part, sizeof(part), "%s.part", file->path);
    note_error(file, H5Fclose(file->file) < 0);
    int err = all_agree(file->comm, file->error);
    if (!err && file->process == 0)
        err = sync_and_rename(part, file->path);
    return all_agree(file->comm, err);
}
