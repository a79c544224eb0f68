/* Reads and thins a clock's knots; see knots.h. */
#include "aggregate/input/knots.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/clockmap.h"
#include "core/grow.h"

/* FULL: the first knot and then pairs, with room left for two knots at the end. */
enum { BLOCK = 1 << 16, FULL = PW_KNOTS_MOST - 1 };

static_assert(FULL % 2 == 1, "no knot is left over in halves");

static int append(struct pw_knots *k, const struct pw_row_clock *row)
{
    struct pw_row_clock *v = pw_grow(k->v, k->n, sizeof(*v), &k->capacity);
    if (!v)
        return -ENOMEM;
    k->v = v;
    k->v[k->n++] = *row;
    return 0;
}

static const struct pw_row_clock *better(const struct pw_row_clock *a, const struct pw_row_clock *b)
{
    return b->error_ns < a->error_ns ? b : a;
}

/* Doubles the size of the groups: keeps the better knot of each pair. The first knot belongs to no
 * group. */
static void halve(struct pw_knots *k)
{
    size_t kept = 1;
    for (size_t i = 1; i < k->n; i += 2)
        k->v[kept++] = *better(&k->v[i], &k->v[i + 1]);
    k->n = kept;
    k->group *= 2;
}

int pw_knots_add(struct pw_knots *k, const struct pw_row_clock *row)
{
    struct pw_row_clock pair[2] = {k->last, *row};
    int is_first = k->group == 0;
    if (!pw_clock_is_valid(is_first ? row : pair, is_first ? 1 : 2))
        return -EDOM;
    k->last = *row;
    if (is_first) {
        k->group = 1;
        return append(k, row);
    }
    k->best = k->waiting ? *better(&k->best, row) : *row;
    if (++k->waiting < k->group)
        return 0;
    int err = append(k, &k->best);
    k->waiting = 0;
    if (!err && k->n == FULL)
        halve(k);
    return err;
}

int pw_knots_finish(struct pw_knots *k)
{
    int err = k->waiting ? append(k, &k->best) : 0;
    if (err || !k->n || k->v[k->n - 1].local_ns == k->last.local_ns)
        return err;
    return append(k, &k->last);
}

static int read_blocks(struct pw_h5_table *table, uint64_t rows, struct pw_knots *k)
{
    struct pw_row_clock *block = malloc(BLOCK * sizeof(*block));
    int err = block ? 0 : -ENOMEM;
    for (uint64_t at = 0; at < rows && !err; at += BLOCK) {
        size_t n = rows - at < BLOCK ? (size_t)(rows - at) : BLOCK;
        err = pw_h5_table_read(table, at, n, block);
        for (size_t i = 0; i < n && !err; i++)
            err = pw_knots_add(k, &block[i]);
    }
    free(block);
    return err ? err : pw_knots_finish(k);
}

static int read_many(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    struct pw_knots knots = {0};
    struct pw_h5_place place;
    struct pw_h5_table *table;
    int err = pw_h5_file_place(file, PW_TABLE_clock, &place);
    if (err)
        return err;
    err = pw_h5_file_table(file, &place, &table);
    if (!err) {
        err = read_blocks(table, place.rows, &knots);
        pw_h5_table_close(table);
    }
    pw_h5_place_fini(&place);
    if (err) {
        free(knots.v);
        return err;
    }
    *out = knots.v;
    *count = knots.n;
    return 0;
}

static int read_few(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    void *rows;
    size_t n;
    int err = pw_h5_file_read_all(file, PW_TABLE_clock, &rows, &n);
    if (err)
        return err;
    if (!pw_clock_is_valid(rows, n)) {
        free(rows);
        return -EDOM;
    }
    *out = rows;
    *count = n;
    return 0;
}

int pw_knots_read(const struct pw_h5_file *file, struct pw_row_clock **out, size_t *count)
{
    uint64_t rows;
    int err = pw_h5_file_rows(file, PW_TABLE_clock, &rows);
    if (!err)
        err = rows > PW_KNOTS_MOST ? read_many(file, out, count) : read_few(file, out, count);
    return err == -ENOENT ? 0 : err;
}
