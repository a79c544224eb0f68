/* Tests of whether two series differ, against values worked by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/statistics.h"

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* U = 0 of mean 12.5, variance 25 * 11 / 12: z = 12 / 4.7871. */
static void test_mann_whitney_of_separate_samples(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10};
    assert_near(pw_mann_whitney(a, 5, b, 5, 0), 0.0121858, 1e-6);
    assert_near(pw_mann_whitney(b, 5, a, 5, 0), 0.0121858, 1e-6);
}

/* Ranks 2, 5.5 and 8: U = 5 of mean 8; ties 24 + 60 make the variance 10, r = 0.5 three times that:
 * z = 2.5 / 3.1623 and 2.5 / 5.4772. */
static void test_ties_and_correlation(void **state)
{
    (void)state;
    const double a[] = {1, 1, 2, 2}, b[] = {1, 2, 2, 3};
    assert_near(pw_mann_whitney(a, 4, b, 4, 0), 0.42920, 1e-4);
    assert_near(pw_mann_whitney(a, 4, b, 4, 0.5), 0.64808, 1e-4);
    assert_near(pw_mann_whitney(a, 4, b, 4, -0.5), 0.42920, 1e-4);
}

static void test_nothing_to_tell(void **state)
{
    (void)state;
    const double same[] = {3, 3, 3}, one[] = {1};
    assert_near(pw_mann_whitney(same, 3, same, 3, 0), 1, 0);
    assert_near(pw_mann_whitney(one, 1, same, 3, 0), 1, 0);
    assert_near(pw_mann_whitney(same, 3, one, 0, 0), 1, 0);
    const double a[] = {1, 2, 3}, b[] = {4, 5, 6};
    assert_true(pw_mann_whitney(a, 3, b, 3, 1) > 0.5); /* all as the one before: one value */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mann_whitney_of_separate_samples),
        cmocka_unit_test(test_ties_and_correlation),
        cmocka_unit_test(test_nothing_to_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
