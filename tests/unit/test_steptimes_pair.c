/* Tests of what differs between the steps of two runs, against values worked by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/steptimes.h"

enum { STEPS = 100 };

static double scratch[6 * STEPS];

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* 58, 59 ... 62, 58 ...: mean and median 60, a fifth of them 62. */
static void make(double *values)
{
    for (int i = 0; i < STEPS; i++)
        values[i] = 58 + i % 5;
}

static void test_like_runs(void **state)
{
    (void)state;
    double a[STEPS], b[STEPS];
    struct pw_steppair pair;
    make(a);
    make(b);
    pw_steppair((struct pw_run_steps[]){{a, STEPS}, {b, STEPS}}, scratch, &pair);
    assert_near(pair.runs[1].mean, 60, 1e-9);
    assert_near(pair.runs[1].median, 60, 0);
    assert_near(pair.runs[1].p90, 62, 0);
    assert_near(pair.runs[1].slowest, 62, 0);
    assert_near(pair.noise_ns, 2, 0);
    assert_true(pair.p_mean > 0.9 && pair.p_median > 0.9 && pair.p_tail > 0.9);
    assert_near(pair.p_few, 1, 0);
    assert_int_equal(pair.runs[0].few + pair.runs[1].few, 0);
    assert_near(pair.tail_ns, 0, 1e-9);
}

/* 20 of 100 steps 60 longer: 12 more on average. Below them are 80 values, 16 of each, so the 50th
 * and 51st are 61: the median hardly moves. The slowest tenth of both runs are these 20, by 58 on
 * average above the 62 before them. */
static void test_twenty_of_hundred_doubled(void **state)
{
    (void)state;
    double a[STEPS], b[STEPS];
    struct pw_steppair pair;
    make(a);
    make(b);
    for (int i = 40; i < 60; i++)
        b[i] += 60;
    pw_steppair((struct pw_run_steps[]){{a, STEPS}, {b, STEPS}}, scratch, &pair);
    assert_near(pair.runs[1].mean, 72, 1e-9);
    assert_near(pair.runs[1].rest, 72, 1e-9);
    assert_near(pair.runs[1].median, 61, 0);
    assert_near(pair.runs[1].p90, 120, 0);
    assert_near(pair.tail_ns, 20 * 58, 1e-9);
    assert_int_equal(pair.runs[1].beyond, 20);
    assert_int_equal(pair.runs[0].beyond, 0);
    assert_int_equal(pair.block, 1);
    assert_near(pair.p_mean, 1e-4, 1e-9); /* the least of 9999 draws */
    assert_near(pair.p_tail, 1e-4, 1e-9);
    assert_int_equal(pair.runs[1].few, 0);
}

/* Two steps of 560 and 1060, 500 and 1000 above the median; the noise is 2: 3 (2 / 500)^2. The
 * other 98 are as before, so nothing else differs. */
static void test_two_large_steps_are_significant(void **state)
{
    (void)state;
    double a[STEPS], b[STEPS];
    struct pw_steppair pair;
    make(a);
    make(b);
    b[12] = 560; /* was 60, as was the other */
    b[37] = 1060;
    pw_steppair((struct pw_run_steps[]){{a, STEPS}, {b, STEPS}}, scratch, &pair);
    assert_int_equal(pair.runs[1].few, 2);
    assert_near(pair.runs[1].few_ns, 1500, 1e-9);
    assert_near(pair.runs[1].few_from, 560, 0);
    assert_near(pair.runs[1].rest, 60, 1e-9);
    assert_near(pair.p_few, 3 * 16e-6, 1e-12);
    assert_near(pair.noise_ns, 2, 0);
    assert_true(pair.p_mean > 0.9);
    assert_near(pair.runs[1].mean, 75, 1e-9);
}

/* The same, but the first run had one as large: so it is nothing new. */
static void test_large_steps_in_both_runs_are_no_difference(void **state)
{
    (void)state;
    double a[STEPS], b[STEPS];
    struct pw_steppair pair;
    make(a);
    make(b);
    b[12] = b[37] = 1060;
    a[62] = 900;
    pw_steppair((struct pw_run_steps[]){{a, STEPS}, {b, STEPS}}, scratch, &pair);
    assert_int_equal(pair.runs[0].few + pair.runs[1].few, 0);
    assert_near(pair.p_few, 1, 0);
    assert_true(pair.p_mean > 0.1);
}

/* Every third step 6 more, every other 3 less: the mean stays 60, and the slowest tenth is all in
 * the second run. */
static void test_tail_alone(void **state)
{
    (void)state;
    double a[STEPS], b[STEPS];
    struct pw_steppair pair;
    make(a);
    make(b);
    for (int i = 0; i < 99; i++)
        b[i] += i % 3 ? -3 : 6;
    pw_steppair((struct pw_run_steps[]){{a, STEPS}, {b, STEPS}}, scratch, &pair);
    assert_near(pair.runs[1].mean, 60, 1e-9);
    assert_true(pair.p_mean > 0.5);
    assert_near(pair.p_tail, 1e-4, 1e-9);
    assert_true(pair.tail_ns > 0);
}

static void test_chance_of_large_steps(void **state)
{
    (void)state;
    assert_near(pw_steppair_chance(10, 1), 0.03, 1e-12);
    assert_near(pw_steppair_chance(1, 1), 1, 0);
    assert_near(pw_steppair_chance(0, 0), 1, 0);
    assert_true(pw_steppair_chance(PW_STEPPAIR_TIMES, 1) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_runs),
        cmocka_unit_test(test_twenty_of_hundred_doubled),
        cmocka_unit_test(test_two_large_steps_are_significant),
        cmocka_unit_test(test_large_steps_in_both_runs_are_no_difference),
        cmocka_unit_test(test_tail_alone),
        cmocka_unit_test(test_chance_of_large_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
