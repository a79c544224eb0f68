/* Binary search among rows, and arrays that grow. */
#include "unit.h"

#include <stdlib.h>

#include "core/grow.h"
#include "core/search.h"

struct row {
    int16_t other;
    int32_t rank;
    int64_t time;
};

static const struct row rows[] = {{9, -3, -5}, {8, 1, 2}, {7, 1, 2}, {6, 4, 2}, {5, 70, INT64_MAX}};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void test_first_at_least(void **state)
{
    (void)state;
    const struct pw_search_key by_rank = PW_SEARCH_KEY(struct row, rank);
    const struct pw_search_key by_time = PW_SEARCH_KEY(struct row, time);
    assert_int_equal(pw_search(rows, ROWS, by_rank, INT64_MIN), 0);
    assert_int_equal(pw_search(rows, ROWS, by_rank, -3), 0);
    assert_int_equal(pw_search(rows, ROWS, by_rank, -2), 1);
    assert_int_equal(pw_search(rows, ROWS, by_rank, 1), 1);
    assert_int_equal(pw_search(rows, ROWS, by_rank, 71), ROWS);
    assert_int_equal(pw_search(rows, ROWS, by_time, 2), 1);
    assert_int_equal(pw_search(rows, ROWS, by_time, 3), 4);
    assert_int_equal(pw_search(NULL, 0, by_time, 3), 0);
}

static void test_those_until(void **state)
{
    (void)state;
    const struct pw_search_key by_time = PW_SEARCH_KEY(struct row, time);
    assert_int_equal(pw_search_until(rows, ROWS, by_time, -6), 0);
    assert_int_equal(pw_search_until(rows, ROWS, by_time, 2), 4);
    assert_int_equal(pw_search_until(rows, ROWS, by_time, INT64_MAX - 1), 4);
    assert_int_equal(pw_search_until(rows, ROWS, by_time, INT64_MAX), ROWS);
    assert_int_equal(pw_search_until(NULL, 0, by_time, 2), 0);
}

static void test_grown_array_keeps_its_items(void **state)
{
    (void)state;
    int32_t *v = NULL;
    size_t capacity = 0;
    for (int32_t i = 0; i < 1000; i++) {
        v = pw_grow(v, (size_t)i, sizeof(*v), &capacity);
        assert_non_null(v);
        assert_true(capacity > (size_t)i);
        v[i] = i;
    }
    for (int32_t i = 0; i < 1000; i++)
        assert_int_equal(v[i], i);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_at_least),
        cmocka_unit_test(test_those_until),
        cmocka_unit_test(test_grown_array_keeps_its_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
