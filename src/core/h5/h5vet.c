/* Checks datasets of files that may be damaged or hostile; see h5vet.h. */
#include "core/h5/h5vet.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "core/h5/h5types.h"
#include "core/h5/h5watch.h"

enum {
    MOST_CHUNK_BYTES = 1 << 24,
    MOST_ELEMENT_BYTES = 1 << 15, /* h5reader.c's smallest buffer is twice this */
    CHECKSUM_BYTES = 4,
    FREE_BYTES = 1 << 20, /* smaller tables are not compared with the stored size: it would take
                           * longer than reading them */
    /* Bytes in memory per stored byte. Deflate expands by 1032 at most; rows in memory also have
     * padding, and fields that an older file lacks. */
    MOST_GROWTH = 2048,
    LEAST_PLACE_BYTES = 8, /* bytes that the file needs for each chunk's address, at least */
    FREE_CHUNKS = 64,
};

/* Accepts each filter at most once: two deflates could expand a byte a million times. */
static int are_filters_known(hid_t properties, struct pw_h5_storage *out)
{
    int n = H5Pget_nfilters(properties);
    out->shuffle = out->deflate = out->checksum = -1;
    for (int i = 0; i < n; i++) {
        const H5Z_filter_t filter = pw_h5_filter(properties, i);
        int *known = filter == H5Z_FILTER_DEFLATE      ? &out->deflate
                     : filter == H5Z_FILTER_FLETCHER32 ? &out->checksum
                     : filter == H5Z_FILTER_SHUFFLE    ? &out->shuffle
                                                       : NULL;
        if (!known || *known >= 0)
            return 0;
        *known = i;
    }
    return n >= 0;
}

static int are_chunks_small(hid_t properties, struct pw_h5_storage *out)
{
    hsize_t *dims = out->chunk;
    dims[1] = 1;
    out->rank = H5Pget_chunk(properties, 2, dims);
    return (out->rank == 1 || out->rank == 2) && dims[0] && dims[1] &&
           dims[0] <= MOST_CHUNK_BYTES && dims[1] <= MOST_CHUNK_BYTES / dims[0] &&
           dims[0] * dims[1] <= MOST_CHUNK_BYTES / out->element;
}

static int is_layout_plain(hid_t properties, struct pw_h5_storage *out)
{
    switch (H5Pget_layout(properties)) {
    case H5D_CONTIGUOUS:
        return H5Pget_external_count(properties) == 0;
    case H5D_CHUNKED:
        return are_chunks_small(properties, out) && are_filters_known(properties, out);
    default: /* virtual: data in other files. compact: profwrap never writes it */
        return 0;
    }
}

int pw_h5_vet_storage(hid_t dataset, size_t element, struct pw_h5_storage *out)
{
    hid_t properties = H5Dget_create_plist(dataset);
    *out = (struct pw_h5_storage){.element = element, .shuffle = -1, .deflate = -1, .checksum = -1};
    int ok = properties >= 0 && out->element > 0 && out->element <= MOST_ELEMENT_BYTES &&
             is_layout_plain(properties, out);
    if (properties >= 0)
        H5Pclose(properties);
    return ok ? 0 : -EINVAL;
}

/* Limits the number of chunks: a hostile file can claim many that were never written, and looking
 * for each takes HDF5 20 us. */
static int are_chunks_few(const struct pw_h5_storage *storage, const hsize_t dims[2], hsize_t whole)
{
    if (!storage->chunk[0] || !dims[0] || !dims[1])
        return 1;
    hsize_t most = whole / LEAST_PLACE_BYTES + FREE_CHUNKS;
    hsize_t down = (dims[0] - 1) / storage->chunk[0] + 1;
    hsize_t across = (dims[1] - 1) / storage->chunk[1] + 1;
    return down <= most && across <= most / down;
}

int pw_h5_vet_rows(hid_t file, hid_t dataset, const struct pw_h5_storage *storage,
                   const hsize_t dims[2], size_t row_size)
{
    hsize_t whole = 0, count = dims[0] * dims[1];
    if (H5Fget_filesize(file, &whole) < 0 || !are_chunks_few(storage, dims, whole))
        return -EINVAL;
    if (count <= FREE_BYTES / row_size)
        return 0;
    hsize_t stored = H5Dget_storage_size(dataset);
    stored = stored < whole ? stored : whole;
    return count / MOST_GROWTH <= stored / row_size ? 0 : -EINVAL;
}

/* Buffers for decompressing chunks to learn their length. */
struct unpacking {
    struct libdeflate_decompressor *inflater;
    char *stored, *data;
    size_t stored_capacity, size; /* `size`: bytes of a decompressed chunk */
    int must_be_written;
    pw_h5_chunk_visitor *visit; /* or NULL */
    void *context;
    int is_missed; /* 1: a chunk was not visited */
};

static int unpacking_init(struct unpacking *u, const struct pw_h5_storage *storage)
{
    *u = (struct unpacking){.size =
                                (size_t)(storage->chunk[0] * storage->chunk[1]) * storage->element};
    u->inflater = libdeflate_alloc_decompressor();
    u->data = malloc(u->size + CHECKSUM_BYTES);
    return u->inflater && u->data ? 0 : -ENOMEM;
}

static void unpacking_fini(struct unpacking *u)
{
    libdeflate_free_decompressor(u->inflater);
    free(u->stored);
    free(u->data);
}

static int make_room(struct unpacking *u, size_t bytes)
{
    if (bytes <= u->stored_capacity)
        return 0;
    char *stored = realloc(u->stored, bytes);
    if (!stored)
        return -ENOMEM;
    u->stored = stored;
    u->stored_capacity = bytes;
    return 0;
}

static int is_applied(int filter, unsigned skipped)
{
    return filter >= 0 && !(skipped >> filter & 1);
}

/* Sets *bytes to the length of the chunk as it is stored; 0: it was never written. Returns 0 or
 * -EIO. H5Dget_chunk_info_by_coord() reads the places of all chunks before this one, so that
 * checking a table would take time in proportion to the square of its length. The other function
 * looks the chunk up. It calls it an error when the chunk was never written, and without filters it
 * does not tell the length in the file. */
static int find_chunk(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t at[2],
                      hsize_t *bytes)
{
    const int is_filtered =
        storage->shuffle >= 0 || storage->deflate >= 0 || storage->checksum >= 0;
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    if (is_filtered && H5Dget_chunk_storage_size(dataset, at, bytes) >= 0 && *bytes)
        return 0;
    if (H5Dget_chunk_info_by_coord(dataset, at, &skipped, &address, bytes) < 0)
        return -EIO;
    *bytes = address == HADDR_UNDEF ? 0 : *bytes;
    return address == HADDR_UNDEF || *bytes ? 0 : -EIO;
}

/* Reads the chunk at `at`, which is stored in `bytes` bytes, into u->stored. *skipped: the filters
 * that were not applied, as bits. Returns 0 or -errno. */
static int read_chunk(struct unpacking *u, hid_t dataset, const hsize_t at[2], size_t bytes,
                      uint32_t *skipped)
{
    int err = bytes > MOST_CHUNK_BYTES ? -EIO : make_room(u, bytes);
    return !err && H5Dread_chunk(dataset, H5P_DEFAULT, at, skipped, u->stored) < 0 ? -EIO : err;
}

/* Returns 0 when the first `bytes` of u->stored inflate to exactly `size` bytes, else -EIO. */
static int inflates_to(const struct unpacking *u, size_t bytes, size_t size)
{
    return libdeflate_zlib_decompress(u->inflater, u->stored, bytes, u->data, size, NULL) ==
                   LIBDEFLATE_SUCCESS
               ? 0
               : -EIO;
}

/* Sets *out when u->data has the rows of the chunk. Returns 0 or -EIO. */
static int vet_chunk(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t at[2],
                     struct unpacking *u, struct pw_h5_unpacked *out)
{
    hsize_t bytes = 0;
    uint32_t skipped = 0;
    int err = find_chunk(dataset, storage, at, &bytes);
    if (err)
        return err;
    if (!bytes) /* never written: read as zeros; pw_h5_vet_rows() limits how many */
        return u->must_be_written ? -EIO : 0;
    err = read_chunk(u, dataset, at, (size_t)bytes, &skipped);
    if (err)
        return err;
    size_t checksum = is_applied(storage->checksum, skipped) ? CHECKSUM_BYTES : 0;
    if (bytes <= checksum)
        return -EIO;
    const int is_deflated = is_applied(storage->deflate, skipped);
    if (!is_deflated)
        err = bytes == u->size + checksum ? 0 : -EIO;
    else if (storage->checksum < storage->deflate) /* the checksum was computed before deflate, or
                                                    * there is none */
        err = inflates_to(u, (size_t)bytes, u->size + checksum);
    else
        err = inflates_to(u, (size_t)bytes - checksum, u->size);
    if (!err && storage->checksum < 0 && storage->shuffle < storage->deflate)
        *out = (struct pw_h5_unpacked){{at[0], at[1]},
                                       is_deflated ? u->data : u->stored,
                                       is_applied(storage->shuffle, skipped)};
    return err;
}

/* Checks a chunk, and visits it when that is wanted and its rows are known. */
static int take_chunk(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t at[2],
                      struct unpacking *u)
{
    struct pw_h5_unpacked chunk = {.bytes = NULL};
    const int err = vet_chunk(dataset, storage, at, u, &chunk);
    pw_h5_watch_progress();
    if (err || !u->visit)
        return err;
    if (chunk.bytes)
        u->visit(u->context, &chunk);
    else
        u->is_missed = 1;
    return 0;
}

static int vet_piece(hid_t dataset, const struct pw_h5_storage *storage,
                     const struct pw_h5_piece *piece, struct unpacking *u)
{
    const hsize_t *chunk = storage->chunk, *start = piece->start;
    const hsize_t end[2] = {start[0] + piece->count[0], start[1] + piece->count[1]};
    int err = 0;
    for (hsize_t row = start[0] - start[0] % chunk[0]; !err && row < end[0]; row += chunk[0])
        for (hsize_t column = start[1] - start[1] % chunk[1]; !err && column < end[1];
             column += chunk[1])
            err = take_chunk(dataset, storage, (hsize_t[2]){row, column}, u);
    return err;
}

int pw_h5_vet_visit(hid_t dataset, const struct pw_h5_storage *storage,
                    const struct pw_h5_piece *piece, pw_h5_chunk_visitor *visit, void *context)
{
    struct unpacking u;
    if (!storage->chunk[0])
        return visit ? 1 : 0;
    int err = unpacking_init(&u, storage);
    u.visit = visit;
    u.context = context;
    err = err ? err : vet_piece(dataset, storage, piece, &u);
    unpacking_fini(&u);
    return err ? err : u.is_missed;
}

int pw_h5_vet_chunks(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t start[2],
                     const hsize_t count[2])
{
    const struct pw_h5_piece piece = {{start[0], start[1]}, {count[0], count[1]}};
    return pw_h5_vet_visit(dataset, storage, &piece, NULL, NULL);
}

int pw_h5_vet_written(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t dims[2],
                      hsize_t first, hsize_t stride)
{
    const hsize_t *chunk = storage->chunk;
    struct unpacking u;
    if (!dims[0] || !dims[1])
        return 0;
    if (!chunk[0])
        return -EIO;
    hsize_t down = (dims[0] - 1) / chunk[0] + 1, across = (dims[1] - 1) / chunk[1] + 1;
    int err = unpacking_init(&u, storage);
    u.must_be_written = 1;
    for (hsize_t i = first; !err && i < down * across; i += stride)
        err = take_chunk(dataset, storage,
                         (hsize_t[2]){i / across * chunk[0], i % across * chunk[1]}, &u);
    unpacking_fini(&u);
    return err;
}
