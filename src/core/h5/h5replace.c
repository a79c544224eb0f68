/* Compresses all chunks before it writes the first one; see h5replace.h. */
#include "core/h5/h5replace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/deflater.h"
#include "core/h5/rowform.h"
#include "core/tables.h"

/* Compresses better than the level at which most files are written: so the result fits. */
enum { LEVEL = 9 };

struct replacing {
    const struct pw_h5_place *place;
    struct pw_row_layout layout;
    struct pw_deflater *deflater;
    char *plain;  /* a chunk before deflate */
    char *stored; /* all chunks as they will be stored, one after another */
};

static int is_applied(const struct pw_h5_chunk *chunk, int filter)
{
    return filter >= 0 && !(chunk->skipped >> filter & 1);
}

static size_t chunk_size(const struct replacing *r)
{
    return r->place->chunk_rows * r->layout.packed_size;
}

/* Makes the bytes of chunk `i`, which begins with `rows`. Returns 0, or 1 when they do not fit.
 * HDF5 ignores bytes after the end of compressed data. */
static int pack_chunk(struct replacing *r, size_t i, const char *rows, size_t count, char *to)
{
    const struct pw_h5_chunk *chunk = &r->place->chunks[i];
    const size_t size = chunk_size(r);
    const int is_deflated = is_applied(chunk, r->place->deflate);
    char *plain = is_deflated ? r->plain : to;
    if (!is_deflated && chunk->bytes != size)
        return 1;
    memset(plain, 0, size);
    if (is_applied(chunk, r->place->shuffle))
        pw_rows_shuffle(&r->layout, rows, count, plain, r->place->chunk_rows);
    else
        pw_rows_pack(&r->layout, rows, count, plain);
    return is_deflated && !pw_deflater_run(r->deflater, plain, size, to, chunk->bytes);
}

static int pack_all(struct replacing *r, const char *rows)
{
    const struct pw_h5_place *p = r->place;
    char *to = r->stored;
    int err = 0;
    for (size_t i = 0; i < p->nchunks && !err; i++) {
        const size_t first = i * p->chunk_rows, left = (size_t)p->rows - first;
        err = pack_chunk(r, i, rows + first * r->layout.row_size,
                         left < p->chunk_rows ? left : p->chunk_rows, to);
        to += p->chunks[i].bytes;
    }
    return err;
}

static int write_chunks(int fd, const struct pw_h5_place *place, const char *stored)
{
    for (size_t i = 0; i < place->nchunks; i++) {
        const struct pw_h5_chunk *chunk = &place->chunks[i];
        for (size_t done = 0; done < chunk->bytes;) {
            const ssize_t n =
                pwrite(fd, stored + done, chunk->bytes - done, (off_t)(chunk->address + done));
            if (n == 0 || (n < 0 && errno != EINTR))
                return -EIO;
            done += n > 0 ? (size_t)n : 0;
        }
        stored += chunk->bytes;
    }
    return 0;
}

int pw_h5_replace_rows(int fd, const struct pw_h5_place *place, const void *rows)
{
    struct replacing r = {.place = place};
    size_t bytes = 0;
    if (!place->rows)
        return 0;
    if (!place->chunk_rows || pw_row_layout_make(place->table, &r.layout))
        return 1;
    for (size_t i = 0; i < place->nchunks; i++)
        bytes += place->chunks[i].bytes;
    r.deflater = pw_deflater_create(LEVEL);
    r.plain = malloc(chunk_size(&r));
    r.stored = calloc(bytes, 1);
    int err = r.deflater && r.plain && r.stored ? pack_all(&r, rows) : -ENOMEM;
    err = err ? err : write_chunks(fd, place, r.stored);
    pw_deflater_destroy(r.deflater);
    free(r.plain);
    free(r.stored);
    return err;
}
