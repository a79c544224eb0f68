/* Asks HDF5 where a table's chunks are; see h5place.h. */
#include "core/h5place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5reader.h"
#include "core/h5types.h"

enum { MOST_CHUNK_ROWS = 1 << 20 };

/* The encoding of a file's type that equals ours. */
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

/* 1 when the dataset's type is that of the table, packed. */
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

/* 1 when the filters are none, deflate, or shuffle and then deflate. */
static int understand_filters(hid_t properties, struct pw_h5_place *p)
{
    int n = H5Pget_nfilters(properties);
    p->shuffle = p->deflate = -1;
    for (int i = 0; i < n; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(properties, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter == H5Z_FILTER_SHUFFLE && p->deflate < 0 && p->shuffle < 0)
            p->shuffle = i;
        else if (filter == H5Z_FILTER_DEFLATE && p->deflate < 0)
            p->deflate = i;
        else
            return 0;
    }
    return n >= 0;
}

/* 1 when addresses count from the begin of the file. */
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

/* 0 when a chunk is not stored, or cannot be right. */
static int list_chunks(hid_t dataset, struct pw_h5_place *p, uint64_t most_bytes)
{
    for (size_t i = 0; i < p->nchunks; i++) {
        hsize_t first = (hsize_t)i * p->chunk_rows, bytes = 0;
        unsigned skipped = 0;
        haddr_t address = HADDR_UNDEF;
        if (H5Dget_chunk_info_by_coord(dataset, &first, &skipped, &address, &bytes) < 0 ||
            address == HADDR_UNDEF || bytes == 0 || bytes > most_bytes)
            return 0;
        p->chunks[i] = (struct pw_h5_chunk){address, (uint32_t)bytes, skipped};
    }
    return 1;
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
    p->nchunks = (size_t)((p->rows + p->chunk_rows - 1) / p->chunk_rows);
    p->chunks = malloc(sizeof(*p->chunks) * p->nchunks);
    if (!p->chunks)
        return -ENOMEM;
    if (!list_chunks(dataset, p, 2 * (uint64_t)p->chunk_rows * info->row_size + 4096)) {
        free(p->chunks);
        p->chunks = NULL;
        p->chunk_rows = p->nchunks = 0;
    }
    return 0;
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
