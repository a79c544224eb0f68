/* Streaming reads of one table; see h5table.h. */
#include "core/h5/h5table.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/h5/rowform.h"
#include "core/safefile.h"
#include "core/tables.h"

enum { MOST_CHUNK_ROWS = 1 << 20 };

/* The encoded type of a file that was found equal to ours. */
struct known {
    void *bytes;
    size_t size;
};

struct pw_h5_types {
    struct known tables[PW_TABLE_COUNT];
};

struct pw_h5_types *pw_h5_types_create(void)
{
    return calloc(1, sizeof(struct pw_h5_types));
}

void pw_h5_types_destroy(struct pw_h5_types *types)
{
    for (int i = 0; types && i < PW_TABLE_COUNT; i++)
        free(types->tables[i].bytes);
    free(types);
}

/* Returns 1 when the dataset's type is the table's, without padding. */
static int is_ours(struct pw_h5_types *types, hid_t dataset, int table)
{
    struct known *known = &types->tables[table];
    hid_t stored = H5Dget_type(dataset);
    size_t size = 0;
    int same = 0;
    void *bytes = H5Tencode(stored, NULL, &size) >= 0 ? malloc(size + 1) : NULL;
    if (bytes && H5Tencode(stored, bytes, &size) >= 0) {
        same = known->size == size && memcmp(known->bytes, bytes, size) == 0;
        if (!same) {
            hid_t packed = pw_h5_file_type(pw_table_borrow(table));
            same = H5Tequal(stored, packed) > 0;
            H5Tclose(packed);
            if (same) {
                free(known->bytes);
                *known = (struct known){bytes, size};
                bytes = NULL;
            }
        }
    }
    free(bytes);
    H5Tclose(stored);
    return same;
}

/* Returns 1 when the filters are none, deflate, or shuffle followed by deflate. */
static int understand_filters(hid_t properties, struct pw_h5_place *p)
{
    int n = H5Pget_nfilters(properties);
    p->shuffle = p->deflate = -1;
    for (int i = 0; i < n; i++) {
        const H5Z_filter_t filter = pw_h5_filter(properties, i);
        if (filter == H5Z_FILTER_SHUFFLE && p->deflate < 0 && p->shuffle < 0)
            p->shuffle = i;
        else if (filter == H5Z_FILTER_DEFLATE && p->deflate < 0)
            p->deflate = i;
        else
            return 0;
    }
    return n >= 0;
}

/* Returns 1 when addresses count from the beginning of the file. */
static int begins_at_zero(hid_t file)
{
    hid_t properties = H5Fget_create_plist(file);
    hsize_t block = 1;
    int known = properties >= 0 && H5Pget_userblock(properties, &block) >= 0;
    if (properties >= 0)
        H5Pclose(properties);
    return known && block == 0;
}

static int understand_layout(hid_t dataset, struct pw_h5_place *p)
{
    hid_t properties = H5Dget_create_plist(dataset);
    hsize_t rows = 0;
    int ok = properties >= 0 && H5Pget_layout(properties) == H5D_CHUNKED &&
             H5Pget_chunk(properties, 1, &rows) == 1 && rows > 0 && rows <= MOST_CHUNK_ROWS &&
             understand_filters(properties, p);
    if (properties >= 0)
        H5Pclose(properties);
    p->chunk_rows = ok ? (size_t)rows : 0;
    return ok;
}

static int list_chunks(hid_t dataset, struct pw_h5_place *p, uint64_t most_bytes)
{
    const size_t columns = p->columns ? p->columns : 1;
    for (size_t i = 0; i < p->nchunks; i++) {
        const hsize_t at[2] = {(hsize_t)i * (p->chunk_rows / columns), 0};
        hsize_t bytes = 0;
        unsigned skipped = 0;
        haddr_t address = HADDR_UNDEF;
        if (H5Dget_chunk_info_by_coord(dataset, at, &skipped, &address, &bytes) < 0 ||
            address == HADDR_UNDEF || bytes == 0 || bytes > most_bytes)
            return -EINVAL;
        p->chunks[i] = (struct pw_h5_chunk){address, (uint32_t)bytes, skipped};
    }
    return 0;
}

int pw_h5_place_list(hid_t dataset, uint64_t most_bytes, struct pw_h5_place *p)
{
    p->nchunks = (size_t)((p->rows + p->chunk_rows - 1) / p->chunk_rows);
    p->chunks = malloc(sizeof(*p->chunks) * p->nchunks);
    const int err = p->chunks ? list_chunks(dataset, p, most_bytes) : -ENOMEM;
    if (err) {
        free(p->chunks);
        p->chunks = NULL;
        p->chunk_rows = p->nchunks = 0;
    }
    return err;
}

static int find_chunks(struct pw_h5_types *types, hid_t file, hid_t dataset, struct pw_h5_place *p)
{
    const struct pw_table *info = pw_table_borrow(p->table);
    if (!p->rows || !begins_at_zero(file) || !understand_layout(dataset, p))
        return 0;
    if (!is_ours(types, dataset, p->table)) {
        p->chunk_rows = 0;
        return 0;
    }
    const int err =
        pw_h5_place_list(dataset, 2 * (uint64_t)p->chunk_rows * info->row_size + 4096, p);
    return err == -EINVAL ? 0 : err; /* HDF5 reads the table */
}

int pw_h5_place_find(struct pw_h5_types *types, hid_t file, int table, struct pw_h5_place *out)
{
    struct pw_h5_place p = {.table = table};
    hsize_t dims[2];
    hid_t dataset;
    int err = pw_h5_open_table(file, table, &dataset, dims);
    if (!err) {
        p.rows = dims[0];
        err = dims[1] == 1 ? find_chunks(types, file, dataset, &p) : -EINVAL;
        H5Dclose(dataset);
    }
    if (err == -ENOENT)
        err = 0;
    if (!err)
        *out = p;
    return err;
}

void pw_h5_place_fini(struct pw_h5_place *place)
{
    free(place->chunks);
    *place = (struct pw_h5_place){0};
}

struct pw_h5_table {
    const struct pw_h5_place *place;
    struct pw_row_layout layout;
    int fd;          /* of the file; -1: HDF5 reads the table */
    int is_borrowed; /* 1: `fd` is the caller's */
    hid_t file;      /* -1: read without HDF5 */
    struct libdeflate_decompressor *inflater;
    char *stored; /* a chunk as it is in the file */
    char *data;   /* the same chunk decompressed */
    size_t chunk; /* number of the chunk in `data`; SIZE_MAX: none */
};

static int make_buffers(struct pw_h5_table *t)
{
    const struct pw_h5_place *place = t->place;
    size_t most = 1;
    for (size_t i = 0; i < place->nchunks; i++)
        most = place->chunks[i].bytes > most ? place->chunks[i].bytes : most;
    t->inflater = libdeflate_alloc_decompressor();
    t->stored = malloc(most);
    t->data = malloc(place->chunk_rows * t->layout.packed_size);
    return t->inflater && t->stored && t->data ? 0 : -ENOMEM;
}

static int open_chunked(struct pw_h5_table *t, const char *path)
{
    t->fd = pw_open_regular(path, 0);
    return t->fd < 0 ? t->fd : make_buffers(t);
}

/* Makes a table whose file is not open yet. Returns 0 or -errno. */
static int make_table(const struct pw_h5_place *place, struct pw_h5_table **out)
{
    struct pw_h5_table *t = malloc(sizeof(*t));
    if (!t)
        return -ENOMEM;
    *t = (struct pw_h5_table){.place = place, .fd = -1, .file = -1, .chunk = SIZE_MAX};
    const int err = pw_row_layout_make(place->table, &t->layout);
    if (err)
        free(t);
    else
        *out = t;
    return err;
}

int pw_h5_table_open(const char *path, const struct pw_h5_place *place, struct pw_h5_table **out)
{
    struct pw_h5_table *t;
    int err = make_table(place, &t);
    if (err)
        return err;
    if (place->rows)
        err = place->chunk_rows ? open_chunked(t, path) : pw_h5_open(path, &t->file);
    if (err)
        pw_h5_table_close(t);
    else
        *out = t;
    return err;
}

int pw_h5_table_open_at(int fd, const struct pw_h5_place *place, struct pw_h5_table **out)
{
    struct pw_h5_table *t;
    int err = place->rows && !place->chunk_rows ? -EINVAL : make_table(place, &t);
    if (err)
        return err;
    t->fd = fd;
    t->is_borrowed = 1;
    err = place->rows ? make_buffers(t) : 0;
    if (err)
        pw_h5_table_close(t);
    else
        *out = t;
    return err;
}

static int read_stored(int fd, const struct pw_h5_chunk *chunk, char *to)
{
    for (size_t got = 0; got < chunk->bytes;) {
        ssize_t n = pread(fd, to + got, chunk->bytes - got, (off_t)(chunk->address + got));
        if (n == 0 || (n < 0 && errno != EINTR))
            return -EIO;
        got += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int is_applied(const struct pw_h5_chunk *chunk, int filter)
{
    return filter >= 0 && !(chunk->skipped >> filter & 1);
}

/* Reads and decompresses chunk `i` into `data`; does not undo shuffling. */
static int load_chunk(struct pw_h5_table *t, size_t i)
{
    const struct pw_h5_chunk *chunk = &t->place->chunks[i];
    size_t size = t->place->chunk_rows * t->layout.packed_size;
    if (t->chunk == i)
        return 0;
    t->chunk = SIZE_MAX;
    if (is_applied(chunk, t->place->deflate)) {
        if (read_stored(t->fd, chunk, t->stored) ||
            libdeflate_zlib_decompress(t->inflater, t->stored, chunk->bytes, t->data, size, NULL) !=
                LIBDEFLATE_SUCCESS)
            return -EIO;
    } else if (chunk->bytes != size || read_stored(t->fd, chunk, t->data)) {
        return -EIO;
    }
    t->chunk = i;
    return 0;
}

int pw_h5_place_check(int fd, const struct pw_h5_place *place)
{
    struct pw_h5_table *t;
    int err = pw_h5_table_open_at(fd, place, &t);
    if (err)
        return err;
    for (size_t i = 0; i < place->nchunks && !err; i++)
        err = load_chunk(t, i);
    pw_h5_table_close(t);
    return err;
}

static int read_chunks(struct pw_h5_table *t, uint64_t first, size_t count, char *rows)
{
    const struct pw_h5_place *place = t->place;
    while (count) {
        size_t i = (size_t)(first / place->chunk_rows), from = (size_t)(first % place->chunk_rows);
        size_t n = place->chunk_rows - from < count ? place->chunk_rows - from : count;
        int err = load_chunk(t, i);
        if (err)
            return err;
        if (is_applied(&place->chunks[i], place->shuffle))
            pw_rows_unshuffle(&t->layout, (struct pw_row_planes){t->data, place->chunk_rows}, from,
                              n, rows);
        else
            pw_rows_unpack(&t->layout, t->data, from, n, rows);
        first += n;
        count -= n;
        rows += n * t->layout.row_size;
    }
    return 0;
}

int pw_h5_table_read(struct pw_h5_table *t, uint64_t first, size_t count, void *rows)
{
    if (first > t->place->rows || count > t->place->rows - first)
        return -ERANGE;
    if (!count)
        return 0;
    return t->file >= 0 ? pw_h5_read_rows(t->file, t->place->table, first, count, rows)
                        : read_chunks(t, first, count, rows);
}

void pw_h5_table_close(struct pw_h5_table *t)
{
    if (!t)
        return;
    if (t->fd >= 0 && !t->is_borrowed)
        close(t->fd);
    if (t->file >= 0)
        pw_h5_close(t->file);
    libdeflate_free_decompressor(t->inflater);
    free(t->stored);
    free(t->data);
    free(t);
}
