/* Rows of integers kept in few bytes: what is put is what is read. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/rowpack.h"

enum { STEPS = 5, RANKS = 3, MEMBERS = 4 };

/* Columns: equal values; differences of one byte; of two bytes, with a value that is not known; the
 * whole range. */
static const int64_t some_rows[STEPS][MEMBERS] = {
    {7, 1000000000000, 300, INT64_MIN},     {7, 1000000000255, -1, INT64_MAX},
    {7, 1000000000001, 65534, 0},           {7, 1000000000000, 256, -1},
    {7, 1000000000128, 255, INT64_MAX - 1},
};

static void check_rank(const struct pw_rowpack *rows, size_t rank)
{
    int64_t read[STEPS][MEMBERS];
    for (size_t first = 0; first <= STEPS; first++)
        for (size_t n = 0; first + n <= STEPS; n++) {
            const struct pw_rowpack_span span = {first, n};
            pw_rowpack_get(rows, rank, span, read[0]);
            assert_memory_equal(read, some_rows[first], n * sizeof(read[0]));
            for (size_t i = 0; i < MEMBERS; i++) {
                int64_t values[STEPS];
                pw_rowpack_get_member(rows, rank, i, span, values);
                for (size_t s = 0; s < n; s++)
                    assert_int_equal(values[s], some_rows[first + s][i]);
            }
        }
    for (size_t s = 0; s < STEPS; s++)
        for (size_t i = 0; i < MEMBERS; i++)
            assert_int_equal(pw_rowpack_value(rows, rank, s, i), some_rows[s][i]);
}

static void test_what_is_put_is_read(void **state)
{
    struct pw_rowpack rows;
    int64_t read[STEPS][MEMBERS];
    (void)state;
    assert_int_equal(pw_rowpack_init(&rows, STEPS, RANKS, MEMBERS), 0);
    assert_int_equal(pw_rowpack_put(&rows, 1, some_rows[0]), 0);
    check_rank(&rows, 1);
    pw_rowpack_get(&rows, 2, (struct pw_rowpack_span){1, 3}, read[0]); /* nothing was put */
    for (size_t i = 0; i < 3 * MEMBERS; i++)
        assert_int_equal(read[i / MEMBERS][i % MEMBERS], -1);
    assert_int_equal(pw_rowpack_value(&rows, 0, 4, 3), -1);
    pw_rowpack_fini(&rows);
}

static void test_bytes_of_a_member(void **state)
{
    static const uint8_t widths[MEMBERS] = {0, 1, 2, 8};
    struct pw_rowpack rows;
    (void)state;
    assert_int_equal(pw_rowpack_init(&rows, STEPS, RANKS, MEMBERS), 0);
    assert_int_equal(pw_rowpack_put(&rows, 0, some_rows[0]), 0);
    for (size_t i = 0; i < MEMBERS; i++)
        assert_int_equal(rows.ranks[0].members[i].width, widths[i]);
    pw_rowpack_fini(&rows);
}

static void test_a_rank_that_is_put_again(void **state)
{
    int64_t other[STEPS][MEMBERS];
    struct pw_rowpack rows;
    (void)state;
    memset(other, 0x55, sizeof(other));
    assert_int_equal(pw_rowpack_init(&rows, STEPS, RANKS, MEMBERS), 0);
    assert_int_equal(pw_rowpack_put(&rows, 2, other[0]), 0);
    assert_int_equal(pw_rowpack_put(&rows, 2, some_rows[0]), 0);
    check_rank(&rows, 2);
    pw_rowpack_fini(&rows);
}

/* The other members are -1 then. */
static void test_members_that_are_dropped(void **state)
{
    struct pw_rowpack rows;
    (void)state;
    assert_int_equal(pw_rowpack_init(&rows, STEPS, RANKS, MEMBERS), 0);
    assert_int_equal(pw_rowpack_put(&rows, 0, some_rows[0]), 0);
    pw_rowpack_keep(&rows, 1U << 2 | 1U << 0);
    for (size_t s = 0; s < STEPS; s++) {
        assert_int_equal(pw_rowpack_value(&rows, 0, s, 0), 7);
        assert_int_equal(pw_rowpack_value(&rows, 0, s, 1), -1);
        assert_int_equal(pw_rowpack_value(&rows, 0, s, 2), some_rows[s][2]);
        assert_int_equal(pw_rowpack_value(&rows, 0, s, 3), -1);
        assert_int_equal(pw_rowpack_value(&rows, 1, s, 0), -1);
    }
    pw_rowpack_fini(&rows);
}

static void test_no_steps(void **state)
{
    struct pw_rowpack rows;
    (void)state;
    assert_int_equal(pw_rowpack_init(&rows, 0, 1, MEMBERS), 0);
    assert_int_equal(pw_rowpack_put(&rows, 0, some_rows[0]), 0);
    pw_rowpack_get(&rows, 0, (struct pw_rowpack_span){0, 0}, NULL);
    pw_rowpack_keep(&rows, 0);
    pw_rowpack_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_is_read),
        cmocka_unit_test(test_bytes_of_a_member),
        cmocka_unit_test(test_a_rank_that_is_put_again),
        cmocka_unit_test(test_members_that_are_dropped),
        cmocka_unit_test(test_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
