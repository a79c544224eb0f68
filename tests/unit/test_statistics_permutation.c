/* Tests of the permutation test, against values worked by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/statistics.h"

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* Only this one of the 70 ways to part 8 values, and its mirror image, are as far apart. */
static void test_all_partitions_of_eight_values(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    assert_near(pw_permutation_test(a, 4, b, 4, 1), 2.0 / 70, 1e-12);
    assert_near(pw_permutation_test(b, 4, a, 4, 1), 2.0 / 70, 1e-12);
}

/* 20 and two of {0, 1, 2, 3, 4} against the rest: the means are as far apart as 25 and 5 make them
 * when the two add up to 5 or more: {1, 4}, {2, 3}, {2, 4} and {3, 4}, of 10. Both ways round: 8
 * of 20. */
static void test_one_large_value_is_no_difference(void **state)
{
    (void)state;
    const double a[] = {0, 2, 3}, b[] = {1, 4, 20};
    assert_near(pw_permutation_test(a, 3, b, 3, 1), 8.0 / 20, 1e-12);
}

/* Three large values of 100 in the second series alone: chance puts all three on one side in
 * 2 x (100 x 99 x 98) / (200 x 199 x 198) = 0.2462 of the ways. Drawing stops after about 80. */
static void test_few_of_many(void **state)
{
    (void)state;
    double a[100], b[100];
    for (int i = 0; i < 100; i++)
        a[i] = b[i] = 60;
    b[10] = b[50] = b[90] = 180;
    assert_near(pw_permutation_test(a, 100, b, 100, 1), 0.2462, 0.12);
    for (int i = 30; i < 50; i++)
        b[i] = 120;
    assert_near(pw_permutation_test(a, 100, b, 100, 1), 1e-4, 1e-9); /* the least of 9999 draws */
}

/* 14 values, 7 of each: two in a block would leave 4 blocks, so none are joined. 28 with blocks of
 * two are 7 and 7 blocks: the most extreme of 3432 ways, both ways round. */
static void test_blocks(void **state)
{
    (void)state;
    double a[14], b[14];
    for (int i = 0; i < 14; i++) {
        a[i] = i / 2;
        b[i] = 100 + i / 2;
    }
    assert_near(pw_permutation_test(a, 7, b, 7, 9), 2.0 / 3432, 1e-12);
    assert_near(pw_permutation_test(a, 14, b, 14, 9), 2.0 / 3432, 1e-12);
}

static void test_equal_or_single_values_are_not_significant(void **state)
{
    (void)state;
    const double same[] = {3, 3, 3}, one[] = {1};
    assert_near(pw_permutation_test(same, 3, same, 3, 1), 1, 0);
    assert_near(pw_permutation_test(one, 1, same, 3, 1), 1, 0);
}

/* -1 and 1 in turn: autocorrelations 1, -31/32: the first pair is 1/32, and 2/32 - 1 is below 1.
 * Fours of them, 32 values: products of values k apart sum to 32, 17 (24 of 31 pairs alike), 2,
 * -13, so the pairs are 49/32 and -11/32: 49/16 - 1. */
static void test_correlation_length(void **state)
{
    (void)state;
    double swinging[32], slow[32];
    for (int i = 0; i < 32; i++) {
        swinging[i] = i % 2 ? 1 : -1;
        slow[i] = i / 4 % 2 ? 1 : -1;
    }
    assert_near(pw_correlation_length(swinging, 32), 1, 0);
    assert_near(pw_correlation_length(slow, 32), 49.0 / 16 - 1, 1e-12);
    assert_near(pw_correlation_length(slow, 4), 1, 0); /* none differ */
    assert_near(pw_correlation_length(slow, 0), 1, 0);
}

/* For two series of one normal distribution p is below 0.05 in about 5 of 100 pairs: 400 pairs, 20
 * expected, standard deviation 4.4. */
static void test_false_alarms(void **state)
{
    (void)state;
    uint64_t seed = 5;
    int alarms = 0;
    for (int pair = 0; pair < 400; pair++) {
        double a[30], b[40];
        for (int i = 0; i < 30; i++)
            a[i] = unit_normal(&seed);
        for (int i = 0; i < 40; i++)
            b[i] = unit_normal(&seed);
        alarms += pw_permutation_test(a, 30, b, 40, 1) < 0.05;
    }
    assert_in_range(alarms, 7, 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_partitions_of_eight_values),
        cmocka_unit_test(test_one_large_value_is_no_difference),
        cmocka_unit_test(test_few_of_many),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_equal_or_single_values_are_not_significant),
        cmocka_unit_test(test_correlation_length),
        cmocka_unit_test(test_false_alarms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
