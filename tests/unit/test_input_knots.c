/* Clock maps of long runs: what is kept of their knots. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/input.h"

enum { EVERY_NS = 5000 };

/* Those whose number can be divided by `best` have the least error. */
static void add_many(struct pw_knots *knots, size_t n, size_t best)
{
    for (size_t i = 0; i < n; i++) {
        struct pw_row_clock row = {
            .local_ns = EVERY_NS * (int64_t)i, .offset_ns = (int64_t)i, .error_ns = 10};
        if (i % best == 0)
            row.error_ns = 1;
        assert_int_equal(pw_knots_add(knots, &row), 0);
    }
    assert_int_equal(pw_knots_finish(knots), 0);
}

static void test_few_are_all_kept(void **state)
{
    (void)state;
    for (size_t n = 0; n < PW_KNOTS_MOST - 1; n = 3 * n + 1) {
        struct pw_knots knots = {0};
        add_many(&knots, n, 7);
        assert_int_equal(knots.n, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(knots.v[i].offset_ns, i);
        free(knots.v);
    }
}

/* In order, the first and the last among them, evenly over the run, of the least error. */
static void test_many_are_thinned(void **state)
{
    (void)state;
    for (size_t n = PW_KNOTS_MOST - 1; n < (size_t)1 << 22; n = 2 * n - 5) {
        struct pw_knots knots = {0};
        add_many(&knots, n, 2);
        assert_in_range(knots.n, PW_KNOTS_MOST / 2, PW_KNOTS_MOST);
        assert_int_equal(knots.v[0].offset_ns, 0);
        assert_int_equal(knots.v[knots.n - 1].offset_ns, n - 1);
        for (size_t i = 1; i < knots.n; i++) {
            int64_t apart = knots.v[i].offset_ns - knots.v[i - 1].offset_ns;
            assert_in_range(apart, 1, 2 * (int64_t)knots.group);
            if (i + 1 < knots.n && knots.group > 1)
                assert_int_equal(knots.v[i].error_ns, 1);
        }
        free(knots.v);
    }
}

static void test_impossible_ones_are_refused(void **state)
{
    (void)state;
    struct pw_knots knots = {0};
    const struct pw_row_clock first = {.local_ns = 5}, same = first, wrong = {.error_ns = -1};
    assert_int_equal(pw_knots_add(&knots, &wrong), -EDOM);
    assert_int_equal(pw_knots_add(&knots, &first), 0);
    assert_int_equal(pw_knots_add(&knots, &same), -EDOM);
    free(knots.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_are_all_kept),
        cmocka_unit_test(test_many_are_thinned),
        cmocka_unit_test(test_impossible_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
