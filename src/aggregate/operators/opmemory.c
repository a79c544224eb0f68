/* Keeps for each thread a list of the blocks with its samples, and some blocks in memory; see
 * opmemory.h. */
#include "aggregate/operators/opmemory.h"

#include <errno.h>
#include <stdlib.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/tables.h"

enum { BLOCK = 4096, AT_HAND = 16, THREADS = 1 << 16, MOST_PLACES = 1 << 22, NONE = -1 };

/* An entry in a thread's list: a block with samples of the thread, and the entry of the block
 * before. */
struct place {
    int32_t block, before;
};

struct cursor {
    int32_t place; /* entry of the current block; NONE: all samples were taken */
    int32_t rows;  /* rows of that block that are not examined yet */
};

struct held {
    int64_t block; /* NONE: no block */
    size_t n;
    struct pw_row_memory rows[BLOCK];
};

struct pw_opmemory {
    struct pw_h5_table *table;
    uint64_t rows;
    struct place *places;
    int32_t nplaces;
    size_t capacity;
    struct cursor cursors[THREADS];
    struct held held[AT_HAND];
};

/* Returns the block, which it reads if needed; NULL with *err set. */
static const struct held *hold(struct pw_opmemory *m, int64_t block, int *err)
{
    struct held *h = &m->held[block % AT_HAND];
    uint64_t at = (uint64_t)block * BLOCK;
    if (h->block == block)
        return h;
    h->n = m->rows - at < BLOCK ? (size_t)(m->rows - at) : BLOCK;
    *err = pw_h5_table_read(m->table, at, h->n, h->rows);
    h->block = *err ? NONE : block;
    return *err ? NULL : h;
}

static int add_place(struct pw_opmemory *m, uint16_t thread, int32_t block)
{
    struct cursor *c = &m->cursors[thread];
    if (c->place != NONE && m->places[c->place].block == block)
        return 0;
    if (m->nplaces == MOST_PLACES)
        return -ENOSPC;
    struct place *places = pw_grow(m->places, (size_t)m->nplaces, sizeof(*places), &m->capacity);
    if (!places)
        return -ENOMEM;
    m->places = places;
    m->places[m->nplaces] = (struct place){block, c->place};
    c->place = m->nplaces++;
    return 0;
}

static int find_places(struct pw_opmemory *m)
{
    int64_t blocks = (int64_t)((m->rows + BLOCK - 1) / BLOCK);
    int err = blocks > INT32_MAX ? -ENOSPC : 0;
    for (int64_t b = 0; b < blocks && !err; b++) {
        const struct held *h = hold(m, b, &err);
        for (size_t i = 0; h && i < h->n && !err; i++)
            err = add_place(m, h->rows[i].thread, (int32_t)b);
    }
    return err;
}

int pw_opmemory_open(const struct pw_input *input, struct pw_opmemory **out)
{
    const struct pw_h5_place *place = &input->memory_rows;
    *out = NULL;
    if (!place->rows)
        return 0;
    struct pw_opmemory *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->rows = place->rows;
    for (size_t i = 0; i < THREADS; i++)
        m->cursors[i] = (struct cursor){NONE, BLOCK};
    for (size_t i = 0; i < AT_HAND; i++)
        m->held[i].block = NONE;
    int err = pw_input_table(input, place, &m->table);
    err = err ? err : find_places(m);
    if (err) {
        pw_opmemory_close(m);
        return err;
    }
    *out = m;
    return 0;
}

int pw_opmemory_take(struct pw_opmemory *m, uint16_t thread, int64_t after, int64_t *time,
                     int64_t *delta_bytes)
{
    struct cursor *c = m ? &m->cursors[thread] : NULL;
    int err = 0;
    while (c && c->place != NONE) {
        const struct held *h = hold(m, m->places[c->place].block, &err);
        if (!h)
            return err;
        int32_t row = (c->rows < (int32_t)h->n ? c->rows : (int32_t)h->n) - 1;
        for (; row >= 0; row--) {
            const struct pw_row_memory *sample = &h->rows[row];
            if (sample->thread != thread || !pw_is_possible(sample->time) ||
                !pw_is_possible(sample->delta_bytes))
                continue;
            c->rows = row + (sample->time <= after);
            if (sample->time <= after)
                return 0;
            *time = sample->time;
            *delta_bytes = sample->delta_bytes;
            return 1;
        }
        *c = (struct cursor){m->places[c->place].before, BLOCK};
    }
    return 0;
}

void pw_opmemory_close(struct pw_opmemory *m)
{
    if (!m)
        return;
    pw_h5_table_close(m->table);
    free(m->places);
    free(m);
}
