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
    free(pack->plain.bytes);
    free(pack->deflated.bytes);
    *pack = (struct pw_chunkpack){0};
}

/* Makes room for `size` bytes. Returns 0 or -ENOMEM. */
static int make_room(struct pw_chunk_room *room, size_t size)
{
    if (room->size >= size)
        return 0;
    free(room->bytes);
    room->bytes = malloc(size);
    room->size = room->bytes ? size : 0;
    return room->bytes ? 0 : -ENOMEM;
}

int pw_chunkpack_deflate(struct pw_chunkpack *pack, const char *bytes, size_t size,
                         struct pw_packed_chunk *out)
{
    /* The bit of the second filter; and the size up to which building the codes takes longer than
     * it saves on the disk. */
    enum { DEFLATE_SKIPPED = 2, TOO_SMALL = 512 };
    const int is_tried = pack->deflater && size > TOO_SMALL;
    *out = (struct pw_packed_chunk){bytes, size, 0};
    if (pack->level == 0)
        return 0;
    if (is_tried && make_room(&pack->deflated, size))
        return -ENOMEM;
    const size_t deflated =
        is_tried ? pw_deflater_run(pack->deflater, bytes, size, pack->deflated.bytes, size - 1) : 0;
    if (deflated) /* 0 when the result would not be smaller */
        *out = (struct pw_packed_chunk){pack->deflated.bytes, deflated, 0};
    else
        out->skipped = DEFLATE_SKIPPED;
    return 0;
}

int pw_chunkpack_run(struct pw_chunkpack *pack, const struct pw_row_layout *layout,
                     struct pw_chunk_rows rows, struct pw_packed_chunk *out)
{
    const size_t size = rows.chunk_rows * layout->packed_size;
    if (make_room(&pack->plain, size))
        return -ENOMEM;
    char *plain = pack->plain.bytes;
    if (rows.count < rows.chunk_rows)
        memset(plain, 0, size);
    if (pack->level == 0)
        pw_rows_pack(layout, rows.rows, rows.count, plain);
    else
        pw_rows_shuffle(layout, rows.rows, rows.count, plain, rows.chunk_rows);
    return pw_chunkpack_deflate(pack, plain, size, out);
}
