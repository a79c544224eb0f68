/* Tables by step and rank: what is put in chunks is read as from rows. */
#include "unit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/cells.h"
#include "core/tables.h"

enum { TABLE = PW_TABLE_c_step_trace, STEPS = 50, RANKS = 45, FIELDS = 11 };

static const size_t dims[2] = {STEPS, RANKS};

/* The values of a field need as many bytes as its number, with both signs from the third on. */
static int64_t value_of(size_t step, size_t rank, size_t field)
{
    const uint64_t noise = (step * RANKS + rank + 1) * UINT64_C(0x9e3779b97f4a7c15);
    if (field == 0)
        return 0;
    if (field > 8)
        return field == 9 ? -1 : step < 20 ? -1 : 12345678;
    const int64_t value = (int64_t)noise >> (64 - 8 * field);
    return field < 3 && value < 0 ? ~value : value;
}

static int64_t *make_rows(void)
{
    int64_t *rows = calloc((size_t)STEPS * RANKS * FIELDS, sizeof(*rows));
    for (size_t i = 0; i < (size_t)STEPS * RANKS * FIELDS; i++)
        rows[i] = value_of(i / FIELDS / RANKS, i / FIELDS % RANKS, i % FIELDS);
    return rows;
}

/* Puts the chunk at this step and rank; what is beyond the end has values that nobody may see. */
static void put_chunk(struct pw_cells *cells, const size_t chunk[2], size_t step, size_t rank)
{
    const size_t n = chunk[0] * chunk[1];
    uint8_t *planes = malloc(n * FIELDS * 8);
    for (size_t i = 0; i < n; i++) {
        const size_t s = step + i / chunk[1], r = rank + i % chunk[1];
        for (size_t f = 0; f < FIELDS; f++) {
            const uint64_t value =
                s < STEPS && r < RANKS ? (uint64_t)value_of(s, r, f) : UINT64_C(0x7173757779717375);
            for (size_t k = 0; k < 8; k++)
                planes[(f * 8 + k) * n + i] = (uint8_t)(value >> 8 * k);
        }
    }
    pw_cells_put(cells, step, rank, (const char *)planes);
    free(planes);
}

static struct pw_cells make_chunks(size_t steps, size_t ranks)
{
    const size_t chunk[2] = {steps, ranks};
    struct pw_cells cells;
    assert_int_equal(pw_cells_init(&cells, TABLE, dims, chunk), 0);
    for (size_t s = 0; s < STEPS; s += steps)
        for (size_t r = 0; r < RANKS; r += ranks)
            put_chunk(&cells, chunk, s, r);
    pw_cells_shrink(&cells);
    return cells;
}

static void check_area(const struct pw_cells *cells, struct pw_cells_area area)
{
    int64_t values[STEPS * RANKS];
    for (size_t f = 0; f < FIELDS; f++) {
        pw_cells_read(cells, f * 8, &area, values);
        for (size_t i = 0; i < area.steps * area.ranks; i++)
            assert_int_equal(values[i],
                             value_of(area.step + i / area.ranks, area.rank + i % area.ranks, f));
    }
}

static void check(const struct pw_cells *cells)
{
    struct pw_row_c_step_trace row;
    check_area(cells, (struct pw_cells_area){0, STEPS, 0, RANKS});
    check_area(cells, (struct pw_cells_area){STEPS - 1, 1, RANKS - 1, 1});
    for (size_t s = 0; s < STEPS; s += 7)
        for (size_t r = 0; r < RANKS; r += 11) {
            check_area(cells, (struct pw_cells_area){s, 1, 0, RANKS});
            check_area(cells, (struct pw_cells_area){0, STEPS, r, 1});
            check_area(cells, (struct pw_cells_area){s, STEPS - s, r, RANKS - r});
            check_area(cells, (struct pw_cells_area){s / 2, 17, r / 2, 22});
            pw_cells_rows(cells, &(struct pw_cells_area){s, 1, r, 1}, &row);
            assert_int_equal(row.interval_ns, 0);
            assert_int_equal(row.own_ns, value_of(s, r, 10));
            assert_int_equal(pw_cells_value(cells, 64, s, r), value_of(s, r, 8));
        }
}

static void test_chunks_are_read_as_rows(void **state)
{
    (void)state;
    const size_t chunks[][2] = {{16, 32}, {7, 9}, {64, 64}, {STEPS, RANKS}, {1, 1}, {1000, 3}};
    struct pw_cells rows = pw_cells_of_rows(TABLE, make_rows(), STEPS, RANKS);
    check(&rows);
    assert_int_equal(pw_cells_bits(&rows, 0), 63);
    pw_cells_fini(&rows);
    assert_false(pw_cells_is_known(&rows));
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        struct pw_cells cells = make_chunks(chunks[i][0], chunks[i][1]);
        check(&cells);
        for (size_t f = 0; f <= 8; f++)
            assert_int_equal(pw_cells_bits(&cells, f * 8), f ? 8 * f - 1 : 0);
        pw_cells_fini(&cells);
    }
}

static void test_steps_are_kept(void **state)
{
    (void)state;
    const size_t steps[] = {0, 3, 4, 17, STEPS - 1};
    enum { KEPT = sizeof(steps) / sizeof(steps[0]) };
    struct pw_cells cells[] = {pw_cells_of_rows(TABLE, make_rows(), STEPS, RANKS),
                               make_chunks(16, 32)};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pw_cells_keep_steps(&cells[i], steps, KEPT), 0);
        assert_int_equal(cells[i].nsteps, KEPT);
        for (size_t s = 0; s < KEPT; s++)
            for (size_t r = 0; r < RANKS; r++)
                for (size_t f = 0; f < FIELDS; f++)
                    assert_int_equal(pw_cells_value(&cells[i], f * 8, s, r),
                                     value_of(steps[s], r, f));
        pw_cells_fini(&cells[i]);
        assert_int_equal(pw_cells_keep_steps(&cells[i], steps, KEPT), 0); /* not known */
    }
}

static void test_other_tables_are_refused(void **state)
{
    (void)state;
    struct pw_cells cells;
    assert_int_equal(pw_cells_init(&cells, PW_TABLE_c_rank, dims, dims), -EINVAL);
    assert_int_equal(pw_cells_init(&cells, TABLE, (const size_t[2]){0, RANKS}, dims), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_are_read_as_rows),
        cmocka_unit_test(test_steps_are_kept),
        cmocka_unit_test(test_other_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
