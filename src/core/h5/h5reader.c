/* Checked reads of compound tables; see h5reader.h. */
#include "core/h5/h5reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/h5/h5types.h"
#include "core/h5/h5vet.h"
#include "core/h5/h5watch.h"
#include "core/h5/rowform.h"

enum {
    BLOCK_BYTES = 1 << 24, /* bytes that one call of HDF5 reads, so that each call returns soon */
    MOST_CHUNKS = 4096,    /* chunks of one call: HDF5 allocates 1 to 2 KB for each */
    /* Size of the buffer in which HDF5 converts rows; an element must fit. HDF5 clears the whole
     * buffer (1 MiB by default) for every read, which would be most of the time for small
     * tables. */
    BUFFER_LEAST = 1 << 16,
    BUFFER_MOST = 1 << 20,
};

int pw_h5_open(const char *path, hid_t *out)
{
    struct stat about;
    if (stat(path, &about) != 0 || access(path, R_OK) != 0)
        return -errno;
    if (!S_ISREG(about.st_mode)) /* opening a pipe could block for ever */
        return -EINVAL;
    pw_h5_quiet();
    pw_h5_watch_open(path);
    hid_t file = H5Fis_hdf5(path) > 0 ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    pw_h5_watch_opened(file);
    if (file < 0)
        return -EINVAL;
    *out = file;
    return 0;
}

void pw_h5_close(hid_t file)
{
    H5Fclose(file);
    pw_h5_watch_closed(file);
}

/* True when every group on the way to `path` and the dataset itself is a hard link: a soft or
 * external link could lead out of the file. */
static int is_own_object(hid_t file, const char *path)
{
    char prefix[128];
    size_t length = strlen(path);
    if (length >= sizeof(prefix))
        return 0;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        H5L_info_t link;
        if (H5Lexists(file, prefix, H5P_DEFAULT) <= 0 ||
            H5Lget_info(file, prefix, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
            return 0;
    }
    return 1;
}

static int open_dataset(hid_t file, const char *path, H5T_class_t want, hid_t *out,
                        struct pw_h5_storage *storage)
{
    pw_h5_watch_touch(file);
    if (!is_own_object(file, path))
        return -ENOENT;
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0)
        return -EINVAL;
    hid_t type = H5Dget_type(dataset);
    H5T_class_t got = H5Tget_class(type);
    size_t element = H5Tget_size(type);
    H5Tclose(type);
    const int err = got == want ? pw_h5_vet_storage(dataset, element, storage) : -EINVAL;
    if (err)
        H5Dclose(dataset);
    else
        *out = dataset;
    return err;
}

static int dataset_extent(hid_t dataset, hsize_t dims[2])
{
    hsize_t found[2] = {0, 1};
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank == 1 || rank == 2)
        H5Sget_simple_extent_dims(space, found, NULL);
    H5Sclose(space);
    if ((rank != 1 && rank != 2) || (found[1] && found[0] > INT64_MAX / found[1]))
        return -EINVAL;
    dims[0] = found[0];
    dims[1] = found[1];
    return 0;
}

static int open_table(hid_t file, int table, hid_t *out, hsize_t dims[2],
                      struct pw_h5_storage *storage)
{
    const struct pw_table *info = pw_table_borrow(table);
    hid_t dataset;
    int err = open_dataset(file, info->path, H5T_COMPOUND, &dataset, storage);
    if (err)
        return err;
    err = dataset_extent(dataset, dims);
    err = err ? err : pw_h5_vet_rows(file, dataset, storage, dims, info->row_size);
    if (err)
        H5Dclose(dataset);
    else
        *out = dataset;
    return err;
}

int pw_h5_open_table(hid_t file, int table, hid_t *out, hsize_t dims[2])
{
    struct pw_h5_storage storage;
    return open_table(file, table, out, dims, &storage);
}

int pw_h5_extent(hid_t file, int table, hsize_t dims[2])
{
    hid_t dataset;
    int err = pw_h5_open_table(file, table, &dataset, dims);
    if (!err)
        H5Dclose(dataset);
    return err;
}

/* Returns transfer properties for a read of `bytes` bytes. */
static hid_t transfer_of(uint64_t bytes)
{
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    size_t buffer = bytes < BUFFER_LEAST  ? BUFFER_LEAST
                    : bytes > BUFFER_MOST ? BUFFER_MOST
                                          : (size_t)bytes;
    if (transfer >= 0)
        H5Pset_buffer(transfer, buffer, NULL, NULL);
    return transfer;
}

static int read_piece(hid_t dataset, hid_t type, hid_t transfer, const struct pw_h5_piece *piece,
                      void *out)
{
    hsize_t n = piece->count[0] * piece->count[1];
    hid_t file_space = H5Dget_space(dataset), memory_space = H5Screate_simple(1, &n, NULL);
    int ok = file_space >= 0 && memory_space >= 0 &&
             H5Sselect_hyperslab(file_space, H5S_SELECT_SET, piece->start, NULL, piece->count,
                                 NULL) >= 0 &&
             H5Dread(dataset, type, memory_space, file_space, transfer, out) >= 0;
    if (memory_space >= 0)
        H5Sclose(memory_space);
    if (file_space >= 0)
        H5Sclose(file_space);
    return ok ? 0 : -EIO;
}

static hsize_t least(hsize_t a, hsize_t b)
{
    return a < b ? a : b;
}

/* Sets `count` to the rows and columns of a piece of a dataset of `width` columns: whole rows of
 * chunks where they fit, or a part of one row when a row is too large. */
static void size_pieces(const struct pw_h5_storage *storage, size_t row_size, hsize_t width,
                        hsize_t count[2])
{
    count[0] = BLOCK_BYTES / row_size / width + 1;
    count[1] = width;
    if (!storage->chunk[0])
        return;
    hsize_t across = (width - 1) / storage->chunk[1] + 1, down = MOST_CHUNKS / across;
    count[0] = least(count[0], down ? down * storage->chunk[0] : 1);
    if (!down)
        count[1] = MOST_CHUNKS * storage->chunk[1];
    else if (count[0] > storage->chunk[0])
        count[0] -= count[0] % storage->chunk[0];
}

/* A table that is being read. */
struct source {
    hid_t file, dataset;
    int table;
    struct pw_h5_storage storage;
    /* 1: rows are stored as pw_h5_file_type(), so that they are taken from the chunks that were
     * decompressed to be checked. HDF5 would decompress them again, and convert them. */
    int is_packed;
    struct pw_row_layout layout; /* if is_packed */
};

static int is_packed(const struct source *from)
{
    hid_t stored = H5Dget_type(from->dataset);
    hid_t packed = pw_h5_file_type(pw_table_borrow(from->table));
    const int same = stored >= 0 && packed >= 0 && H5Tequal(stored, packed) > 0;
    if (packed >= 0)
        H5Tclose(packed);
    if (stored >= 0)
        H5Tclose(stored);
    return same;
}

static void find_layout(struct source *from)
{
    from->is_packed = from->storage.deflate >= 0 &&
                      pw_row_layout_make(from->table, &from->layout) == 0 && is_packed(from);
}

/* Where the rows of a piece go. */
struct target {
    const struct source *from;
    const struct pw_h5_piece *piece;
    char *rows;
};

/* Copies the rows that a chunk and the piece have in common. */
static void take_rows(void *context, const struct pw_h5_unpacked *chunk)
{
    const struct target *to = context;
    const struct pw_row_layout *layout = &to->from->layout;
    const hsize_t *size = to->from->storage.chunk, *at = chunk->at;
    const hsize_t *start = to->piece->start, *count = to->piece->count;
    const hsize_t left = at[1] > start[1] ? at[1] : start[1];
    const hsize_t right = least(at[1] + size[1], start[1] + count[1]);
    const hsize_t last = least(at[0] + size[0], start[0] + count[0]);
    for (hsize_t row = at[0] > start[0] ? at[0] : start[0]; row < last && left < right; row++) {
        const size_t first = (size_t)((row - at[0]) * size[1] + left - at[1]);
        const size_t n = (size_t)(right - left);
        char *rows = to->rows + ((row - start[0]) * count[1] + left - start[1]) * layout->row_size;
        if (chunk->is_shuffled)
            pw_rows_unshuffle(layout,
                              (struct pw_row_planes){chunk->bytes, (size_t)(size[0] * size[1])},
                              first, n, rows);
        else
            pw_rows_unpack(layout, chunk->bytes, first, n, rows);
    }
}

/* Checks the chunks of a piece, and takes its rows from them. Returns 0, -errno, or 1 when HDF5 has
 * to read them. */
static int take_piece(const struct source *from, const struct pw_h5_piece *piece, char *rows)
{
    struct target to = {from, piece, rows};
    const int err = pw_h5_vet_visit(from->dataset, &from->storage, piece,
                                    from->is_packed ? take_rows : NULL, &to);
    return err || from->is_packed ? err : 1;
}

static int read_pieces(const struct source *from, hsize_t first, const hsize_t dims[2], char *rows)
{
    const struct pw_table *info = pw_table_borrow(from->table);
    hsize_t width = dims[1], count[2], n;
    hid_t type = -1, transfer = -1; /* until HDF5 has to read */
    int err = 0;
    size_pieces(&from->storage, info->row_size, width, count);
    for (hsize_t at = 0; at < dims[0] * width && !err; at += n) {
        hsize_t row = at / width, column = at % width;
        const struct pw_h5_piece piece = {
            {first + row, column},
            {least(count[0], dims[0] - row), least(count[1], width - column)}};
        n = piece.count[0] * piece.count[1];
        pw_h5_watch_touch(from->file);
        err = take_piece(from, &piece, rows + at * info->row_size);
        if (err > 0 && type < 0) {
            type = pw_h5_memory_type(info);
            transfer = transfer_of(dims[0] * width * info->row_size);
        }
        if (err > 0 && (type < 0 || transfer < 0))
            err = -EIO;
        if (err > 0)
            err = read_piece(from->dataset, type, transfer, &piece, rows + at * info->row_size);
    }
    if (transfer >= 0)
        H5Pclose(transfer);
    if (type >= 0)
        H5Tclose(type);
    return err;
}

int pw_h5_read_rows(hid_t file, int table, hsize_t first, size_t count, void *rows)
{
    const struct pw_table *info = pw_table_borrow(table);
    struct source from = {.file = file, .table = table};
    int err = open_dataset(file, info->path, H5T_COMPOUND, &from.dataset, &from.storage);
    if (err)
        return err;

    hsize_t dims[2];
    err = dataset_extent(from.dataset, dims);
    if (!err && (dims[1] != 1 || first > dims[0] || count > dims[0] - first))
        err = -ERANGE;
    err = err ? err : pw_h5_vet_rows(file, from.dataset, &from.storage, dims, info->row_size);
    if (!err && count) {
        memset(rows, 0, count * info->row_size);
        find_layout(&from);
        err = read_pieces(&from, first, (hsize_t[2]){count, 1}, rows);
    }
    H5Dclose(from.dataset);
    return err;
}

int pw_h5_read_all(hid_t file, int table, void **rows, size_t *count)
{
    const struct pw_table *info = pw_table_borrow(table);
    struct source from = {.file = file, .table = table};
    hsize_t dims[2];
    int err = open_table(file, table, &from.dataset, dims, &from.storage);
    if (err)
        return err;

    size_t n = (size_t)(dims[0] * dims[1]);
    void *buffer = NULL;
    if (n > (size_t)1 << 31)
        err = -ENOMEM;
    if (!err && n) {
        buffer = calloc(n, info->row_size);
        find_layout(&from);
        err = buffer ? read_pieces(&from, 0, dims, buffer) : -ENOMEM;
    }
    H5Dclose(from.dataset);
    if (err) {
        free(buffer);
        return err;
    }
    *rows = buffer;
    *count = n;
    return 0;
}

/* Cells whose chunks are being read. */
struct cells_source {
    struct pw_cells *cells;
    int is_missed; /* 1: a chunk was not put */
};

/* Puts a chunk into the cells. */
static void put_chunk(void *context, const struct pw_h5_unpacked *chunk)
{
    struct cells_source *to = context;
    if (chunk->is_shuffled)
        pw_cells_put(to->cells, (size_t)chunk->at[0], (size_t)chunk->at[1], chunk->bytes);
    else
        to->is_missed = 1;
}

/* Reads a table by its chunks. Returns 0, -errno, or 1 when it has to be read by rows. */
static int read_chunks(const struct source *from, const hsize_t dims[2], struct pw_cells *cells)
{
    const hsize_t *chunk = from->storage.chunk;
    const struct pw_h5_piece whole = {{0, 0}, {dims[0], dims[1]}};
    struct cells_source to = {cells, 0};
    if (!from->is_packed || from->storage.shuffle < 0)
        return 1;
    int err = pw_cells_init(cells, from->table, (size_t[2]){(size_t)dims[0], (size_t)dims[1]},
                            (size_t[2]){(size_t)chunk[0], (size_t)chunk[1]});
    if (err)
        return err == -EINVAL ? 1 : err;
    err = pw_h5_vet_visit(from->dataset, &from->storage, &whole, put_chunk, &to);
    err = err ? err : to.is_missed;
    if (err)
        pw_cells_fini(cells);
    else
        pw_cells_shrink(cells);
    return err;
}

int pw_h5_read_cells(hid_t file, int table, const size_t dims[2], struct pw_cells *cells)
{
    struct source from = {.file = file, .table = table};
    hsize_t stored[2];
    int err = open_table(file, table, &from.dataset, stored, &from.storage);
    if (err)
        return err;
    const hsize_t n = stored[0] * stored[1];
    *cells = pw_cells_of_rows(table, NULL, dims[0], dims[1]);
    if (n && n != (hsize_t)dims[0] * dims[1])
        err = -EINVAL;
    else if (n > (hsize_t)1 << 31)
        err = -ENOMEM;
    if (!err && n && stored[0] == dims[0] && stored[1] == dims[1]) {
        find_layout(&from);
        err = read_chunks(&from, stored, cells);
    } else if (!err && n) {
        err = 1;
    }
    H5Dclose(from.dataset);
    if (err <= 0)
        return err;
    void *rows = NULL;
    size_t count;
    err = pw_h5_read_all(file, table, &rows, &count);
    *cells = pw_cells_of_rows(table, rows, dims[0], dims[1]);
    return err;
}

int pw_h5_check_table(hid_t file, int table, uint64_t rows, size_t share, size_t shares)
{
    struct pw_h5_storage storage;
    hsize_t dims[2];
    hid_t dataset;
    int err = open_table(file, table, &dataset, dims, &storage);
    if (err)
        return err == -ENOENT && !rows ? 0 : err;
    err = dims[0] * dims[1] != rows ? -EINVAL
                                    : pw_h5_vet_written(dataset, &storage, dims, share, shares);
    H5Dclose(dataset);
    return err;
}

/* The allocations that HDF5 makes for strings. They are kept in a list, because HDF5 does not free
 * all of them when a read fails. Together they may not be larger than the file: in a hostile file,
 * many rows may claim the same bytes. */
struct text {
    struct text *next;
    char bytes[];
};

struct texts {
    struct text *first;
    size_t left;
};

static void *take(size_t size, void *context)
{
    struct texts *texts = context;
    struct text *text = size <= texts->left ? malloc(sizeof(*text) + size) : NULL;
    if (!text)
        return NULL;
    texts->left -= size;
    text->next = texts->first;
    texts->first = text;
    return text->bytes;
}

static void free_text(void *bytes, void *context)
{
    (void)bytes, (void)context;
}

static void free_texts(struct texts *texts)
{
    for (struct text *text = texts->first, *next; text; text = next) {
        next = text->next;
        free(text);
    }
}

/* Copies the strings into one allocation: first the pointers, then the texts. Returns 0 or
 * -ENOMEM. */
static int pack_strings(char **from, size_t n, char ***strings)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += from[i] ? strlen(from[i]) + 1 : 1;
    char **to = malloc(n * sizeof(*to) + bytes + 1);
    if (!to)
        return -ENOMEM;
    char *next = (char *)(to + n);
    for (size_t i = 0; i < n; i++) {
        const char *text = from[i] ? from[i] : "";
        to[i] = next;
        next = stpcpy(next, text) + 1;
    }
    *strings = to;
    return 0;
}

static int read_texts(hid_t file, hid_t dataset, char **raw, struct texts *texts)
{
    hsize_t whole = 0;
    if (H5Fget_filesize(file, &whole) < 0)
        return -EIO;
    texts->left = (size_t)whole;
    hid_t transfer = transfer_of(BUFFER_LEAST), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Pset_vlen_mem_manager(transfer, take, texts, free_text, NULL);
    int err = H5Dread(dataset, type, H5S_ALL, H5S_ALL, transfer, raw) < 0 ? -EIO : 0;
    H5Tclose(type);
    H5Pclose(transfer);
    return err;
}

static int read_packed(hid_t file, hid_t dataset, size_t n, char ***strings)
{
    struct texts texts = {0};
    char **raw = calloc(n + 1, sizeof(*raw));
    int err = raw ? 0 : -ENOMEM;
    if (!err && n)
        err = read_texts(file, dataset, raw, &texts);
    if (!err)
        err = pack_strings(raw, n, strings);
    free_texts(&texts);
    free(raw);
    return err;
}

int pw_h5_read_strings(hid_t file, const char *path, char ***strings, size_t *count)
{
    struct pw_h5_storage storage;
    hid_t dataset;
    int err = open_dataset(file, path, H5T_STRING, &dataset, &storage);
    if (err)
        return err;

    hsize_t dims[2];
    hid_t stored = H5Dget_type(dataset);
    err = dataset_extent(dataset, dims);
    if (!err && (dims[1] != 1 || dims[0] > 1 << 22 || H5Tis_variable_str(stored) <= 0))
        err = -EINVAL;
    err = err ? err : pw_h5_vet_rows(file, dataset, &storage, dims, sizeof(char *));
    err = err ? err : pw_h5_vet_chunks(dataset, &storage, (hsize_t[2]){0, 0}, dims);
    err = err ? err : read_packed(file, dataset, (size_t)dims[0], strings);
    if (!err)
        *count = (size_t)dims[0];
    H5Tclose(stored);
    H5Dclose(dataset);
    return err;
}
