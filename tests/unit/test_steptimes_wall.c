/* Durations of steps, worked by hand from the ranks' times that each test draws. */
#include "unit.h"

#include "analysis/steptimes.h"

static struct pw_stepwall *order[8];

/* Rank 0: 0-10, 10-12, 12-22. Rank 1: 0-4, 4-14, 14-22. The longest add up to 30, of 22. */
static void test_the_longest_rank_changes(void **state)
{
    (void)state;
    struct pw_stepwall steps[] = {{0, 10, 10, 0}, {4, 14, 10, 0}, {12, 22, 10, 0}};
    pw_stepwall_find(steps, 3, order);
    assert_int_equal(steps[0].wall, 10);
    assert_int_equal(steps[1].wall, 4);
    assert_int_equal(steps[2].wall, 8);
}

/* Rank 0 begins at 0, rank 1 at 90: of the 100 until it has ended, no rank was 100 in the step. The
 * same after a pause, from 120 to 200. */
static void test_ranks_that_begin_apart(void **state)
{
    (void)state;
    struct pw_stepwall steps[] = {{0, 100, 10, 0}, {100, 120, 20, 0}, {200, 260, 30, 0}};
    pw_stepwall_find(steps, 3, order);
    assert_int_equal(steps[0].wall, 10);
    assert_int_equal(steps[1].wall, 20);
    assert_int_equal(steps[2].wall, 30);
}

/* A program that counts its steps down; one that no rank recorded; one inside another. */
static void test_any_order(void **state)
{
    (void)state;
    struct pw_stepwall steps[] = {{20, 30, 10, 0},
                                  {10, 20, 10, 0},
                                  {INT64_MAX, INT64_MIN, -1, 0},
                                  {0, 10, 10, 0},
                                  {2, 8, 6, 0}};
    pw_stepwall_find(steps, 5, order);
    assert_int_equal(steps[0].wall, 10);
    assert_int_equal(steps[1].wall, 10);
    assert_int_equal(steps[2].wall, -1);
    assert_int_equal(steps[3].wall, 2); /* from 8, where the one inside it ended */
    assert_int_equal(steps[4].wall, 6);
    pw_stepwall_find(steps, 0, order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longest_rank_changes),
        cmocka_unit_test(test_ranks_that_begin_apart),
        cmocka_unit_test(test_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
