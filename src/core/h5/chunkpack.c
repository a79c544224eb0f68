/* Shuffles and compresses one chunk; see chunkpack.h. */
#include "core/h5/chunkpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pw_chunkpack_init(struct pw_chunkpack *pack, int level)
{
    *pack = (struct pw_chunkpack){.level = level,
                                  .deflater = level > 0 ? pw_deflater_create(level) : NULL};
}

void pw_chunkpack_fini(struct pw_chunkpack *pack)
{
    pw_deflater_destroy(pack->deflater);
    free(pack->plain);
    free(pack->deflated);
    *pack = (struct pw_chunkpack){0};
}

/* Makes the two buffers hold a chunk of `bytes` bytes. 0 or -ENOMEM. */
static int make_room(struct pw_chunkpack *pack, size_t bytes)
{
    if (pack->room >= bytes)
        return 0;
    free(pack->plain);
    free(pack->deflated);
    pack->plain = malloc(bytes);
    pack->deflated = malloc(bytes);
    pack->room = pack->plain && pack->deflated ? bytes : 0;
    return pack->room ? 0 : -ENOMEM;
}

int pw_chunkpack_run(struct pw_chunkpack *pack, const struct pw_row_layout *layout,
                     struct pw_chunk_rows rows, struct pw_packed_chunk *out)
{
    enum { DEFLATE_SKIPPED = 2 }; /* the bit of the second filter */
    const size_t bytes = rows.chunk_rows * layout->packed_size;
    const int err = make_room(pack, bytes);
    if (err)
        return err;
    if (rows.count < rows.chunk_rows)
        memset(pack->plain, 0, bytes);
    *out = (struct pw_packed_chunk){pack->plain, bytes, 0};
    if (pack->level == 0) {
        pw_rows_pack(layout, rows.rows, rows.count, pack->plain);
        return 0;
    }
    pw_rows_shuffle(layout, rows.rows, rows.count, pack->plain, rows.chunk_rows);
    const size_t size = pack->deflater ? pw_deflater_run(pack->deflater, pack->plain, bytes,
                                                         pack->deflated, bytes - 1)
                                       : 0;
    if (size) /* 0 when the result would not be smaller */
        *out = (struct pw_packed_chunk){pack->deflated, size, 0};
    else
        out->skipped = DEFLATE_SKIPPED;
    return 0;
}
