/* From a rank's clock to the cluster's, against values worked by hand. */
#include "unit.h"

#include "core/clockmap.h"

/* Knots at 1 s and 3 s; the offset grows from 100 to 300 ns between them. */
static const struct pw_row_clock two[] = {{1000000000, 100, 10}, {3000000000, 300, 40}};

static void test_clock_times(void **state)
{
    (void)state;
    assert_int_equal(pw_clock_to_cluster(NULL, 0, 12345), 12345);
    assert_int_equal(pw_clock_to_cluster(two, 1, 0), 100);
    assert_int_equal(pw_clock_to_cluster(two, 1, 9000000000), 9000000100);
    assert_int_equal(pw_clock_to_cluster(two, 2, 0), 100); /* before: held */
    assert_int_equal(pw_clock_to_cluster(two, 2, 1000000000), 1000000100);
    assert_int_equal(pw_clock_to_cluster(two, 2, 2000000000), 2000000200); /* half-way */
    assert_int_equal(pw_clock_to_cluster(two, 2, 1500000000), 1500000150);
    assert_int_equal(pw_clock_to_cluster(two, 2, 3000000000), 3000000300);
    assert_int_equal(pw_clock_to_cluster(two, 2, 5000000000), 5000000300); /* after: held */
    const struct pw_row_clock falls[] = {{0, 1000, 1}, {10, -1000, 1}};
    assert_int_equal(pw_clock_to_cluster(falls, 2, 5), 5);
    assert_int_equal(pw_clock_to_cluster(falls, 2, -5), 995);
}

static void test_clock_errors(void **state)
{
    (void)state;
    assert_int_equal(pw_clock_error(NULL, 0, 0), -1);
    assert_int_equal(pw_clock_error(two, 2, 2000000000), 25 + 1000); /* half-way */
    assert_int_equal(pw_clock_error(two, 2, 1200000000), 13 + 200);
    assert_int_equal(pw_clock_error(two, 2, 1000000000), 10);
    assert_int_equal(pw_clock_error_max(two, 2, 1000000000, 3000000000), 1025);
    assert_int_equal(pw_clock_error_max(two, 2, 1000000000, 1200000000), 213);
    assert_int_equal(pw_clock_error(two, 2, 3000000000), 40);
    /* 100 us per second outside. */
    assert_int_equal(pw_clock_error(two, 2, 0), 10 + 100001);
    assert_int_equal(pw_clock_error(two, 2, 5000000000), 40 + 200001);
    assert_int_equal(pw_clock_error(two, 1, 1000000000), 10);
    assert_int_equal(pw_clock_error(two, 1, 1500000000), 10 + 50001);
}

static void test_clock_validity(void **state)
{
    (void)state;
    assert_true(pw_clock_is_valid(NULL, 0));
    assert_true(pw_clock_is_valid(two, 2));
    struct pw_row_clock bad[][2] = {
        {{5, 0, 0}, {5, 0, 0}},         /* does not rise */
        {{5, 0, 0}, {4, 0, 0}},         /* falls */
        {{5, 0, -1}, {6, 0, 0}},        /* negative error */
        {{5, 0, 0}, {6, 0, INT64_MAX}}, /* error beyond all use */
        {{5, INT64_MAX, 0}, {6, 0, 0}}, /* offsets whose step would overflow */
        {{5, INT64_MIN, 0}, {6, 0, 0}}, /* the same */
        {{INT64_MIN, 0, 0}, {6, 0, 0}}, /* times that cannot be subtracted */
        {{5, 0, 0}, {INT64_MAX, 0, 0}}, /* the same */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(pw_clock_is_valid(bad[i], 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_times),
        cmocka_unit_test(test_clock_errors),
        cmocka_unit_test(test_clock_validity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
