/* Collects rows in the form of the file; see rowbuffer.h. */
#include "core/h5/rowbuffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pw_rowbuffer_init(struct pw_rowbuffer *b, int table, size_t most, bool is_shuffled)
{
    *b = (struct pw_rowbuffer){.is_shuffled = is_shuffled};
    const int err = pw_row_layout_make(table, &b->layout);
    b->recent = err ? NULL : malloc(PW_RECENT_ROWS * b->layout.row_size);
    if (b->recent)
        b->most = most;
    return err ? err : b->recent ? 0 : -ENOMEM;
}

void pw_rowbuffer_fini(struct pw_rowbuffer *b)
{
    free(b->recent);
    free(b->moved);
    *b = (struct pw_rowbuffer){.most = 0};
}

/* Makes room in `moved`, which has no rows, for `rows` rows. Planes begin with a cache line. */
static int make_room(struct pw_rowbuffer *b, size_t rows)
{
    enum { LINE = 64 };
    const size_t size = rows * b->layout.packed_size;
    free(b->moved);
    b->moved = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    b->room = b->moved ? rows : 0;
    return b->moved ? 0 : -ENOMEM;
}

/* Moves the recent rows. `rows`: for how many rows there must be room. */
static int move_recent(struct pw_rowbuffer *b, size_t rows)
{
    const struct pw_row_layout *layout = &b->layout;
    if (b->nmoved == 0 && b->room < rows && make_room(b, rows))
        return -ENOMEM;
    if (b->is_shuffled)
        pw_rows_shuffle(layout, b->recent, b->nrecent, b->moved + b->nmoved, b->room);
    else
        pw_rows_pack(layout, b->recent, b->nrecent, b->moved + b->nmoved * layout->packed_size);
    b->nmoved += b->nrecent;
    b->nrecent = 0;
    return 0;
}

int pw_rowbuffer_move(struct pw_rowbuffer *b)
{
    return move_recent(b, b->most);
}

/* Makes the planes `rows` bytes long: shorter ones, or ones that end with zeros. */
static void set_planes(struct pw_rowbuffer *b, size_t rows)
{
    for (size_t k = 0; k < b->layout.packed_size; k++) {
        char *plane = b->moved + k * rows;
        if (rows < b->room)
            memmove(plane, b->moved + k * b->room, b->nmoved);
        memset(plane + b->nmoved, 0, rows - b->nmoved);
    }
}

const char *pw_rowbuffer_take(struct pw_rowbuffer *b, size_t chunk_rows)
{
    if (move_recent(b, chunk_rows) || chunk_rows > b->room)
        return NULL;
    const size_t size = b->layout.packed_size;
    if (!b->is_shuffled)
        memset(b->moved + b->nmoved * size, 0, (chunk_rows - b->nmoved) * size);
    else if (b->nmoved < b->room || chunk_rows < b->room)
        set_planes(b, chunk_rows);
    b->nmoved = 0;
    return b->moved;
}
