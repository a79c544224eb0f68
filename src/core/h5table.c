/* Streaming reads of one table; see h5table.h. */
#include "core/h5table.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/h5chunk.h"
#include "core/h5reader.h"
#include "core/newfile.h"

struct pw_h5_table {
    const struct pw_h5_place *place;
    struct pw_row_layout layout;
    int fd;     /* -1: HDF5 reads */
    hid_t file; /* -1: this reads */
    struct libdeflate_decompressor *inflater;
    char *stored; /* a chunk as it is in the file */
    char *data;   /* and decompressed */
    size_t chunk; /* which is there; SIZE_MAX: none */
};

static int open_chunked(struct pw_h5_table *t, const char *path)
{
    const struct pw_h5_place *place = t->place;
    size_t most = 1;
    for (size_t i = 0; i < place->nchunks; i++)
        most = place->chunks[i].bytes > most ? place->chunks[i].bytes : most;
    t->inflater = libdeflate_alloc_decompressor();
    t->stored = malloc(most);
    t->data = malloc(place->chunk_rows * t->layout.packed_size);
    if (!t->inflater || !t->stored || !t->data)
        return -ENOMEM;
    t->fd = pw_open_regular(path, 0);
    return t->fd < 0 ? t->fd : 0;
}

int pw_h5_table_open(const char *path, const struct pw_h5_place *place, struct pw_h5_table **out)
{
    struct pw_h5_table *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    *t = (struct pw_h5_table){.place = place, .fd = -1, .file = -1, .chunk = SIZE_MAX};
    int err = pw_row_layout_make(place->table, &t->layout);
    if (!err && place->rows)
        err = place->chunk_rows ? open_chunked(t, path) : pw_h5_open(path, &t->file);
    if (err) {
        pw_h5_table_close(t);
        return err;
    }
    *out = t;
    return 0;
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

/* Brings a chunk into `data`, still shuffled if it was. */
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
            pw_rows_unshuffle(&t->layout, t->data, place->chunk_rows, from, n, rows);
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
    if (t->fd >= 0)
        close(t->fd);
    if (t->file >= 0)
        pw_h5_close(t->file);
    libdeflate_free_decompressor(t->inflater);
    free(t->stored);
    free(t->data);
    free(t);
}
