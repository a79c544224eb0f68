/* Periods of losses made by hand. */
#include "unit.h"

#include "analysis/straggler.h"

enum { STEPS = 40 };

static void every(int64_t *excess, size_t first, size_t period, int64_t ns)
{
    for (size_t s = 0; s < STEPS; s++)
        excess[s] = s >= first && (s - first) % period == 0 ? ns : (int64_t)(s % 3) - 1;
}

static void test_every_fifth_step(void **state)
{
    (void)state;
    int64_t excess[STEPS];
    every(excess, 3, 5, 100);
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 5);
    excess[8] = 0; /* 7 of 8 */
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 5);
    every(excess, 0, 10, 100); /* 4 losses */
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 10);
    assert_int_equal(pw_lossperiod_find(excess, 30), 0); /* 3 are too few */
    every(excess, 1, 2, 100);
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 2);
}

static void test_no_period(void **state)
{
    (void)state;
    int64_t excess[STEPS] = {0};
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 0);
    for (size_t s = 0; s < STEPS; s++)
        excess[s] = 100;
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 0); /* in each step */
    every(excess, 0, 5, 100);
    excess[12] = 500; /* one step has 38 % of all */
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 0);
    for (size_t s = 0; s < STEPS; s++)
        excess[s] = s == 1 || s == 7 || s == 8 || s == 20 || s == 31 ? 100 : 0;
    assert_int_equal(pw_lossperiod_find(excess, STEPS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fifth_step),
        cmocka_unit_test(test_no_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
