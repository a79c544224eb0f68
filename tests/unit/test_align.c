/* Clocks from the order of events, against values worked by hand and against a simulated run. */
#include "unit.h"

#include <stdlib.h>

#include "analysis/align.h"

#define NONE PW_ALIGN_NONE

static void test_coarse(void **state)
{
    (void)state;
    /* Clock 1 shows 1000 less than clock 0; clock 2 only ever hears. */
    struct pw_order orders[] = {
        {0, 1, 5000, 4100}, /* sent at 5000, received at 5100 */
        {0, 1, 5500, 4900},
        {1, 0, 5000, 6200}, /* sent at 6000, received at 6200 */
        {0, 2, 100, 200},
    };
    int32_t hops[3];
    int64_t shift[3];
    pw_align_coarse(orders, 4, 3, hops, shift);
    assert_int_equal(shift[0], 0);
    assert_int_equal(shift[1], 1050); /* between 5000 - 4100 and 6200 - 5000 */
    assert_int_equal(shift[2], NONE);
}

/* Clock 2 knows clock 0 only by way of clock 1. */
static void test_coarse_bounds_through_another_clock(void **state)
{
    (void)state;
    struct pw_order orders[] = {{0, 1, 10, 0}, {1, 0, 0, 10}, {1, 2, 0, 7}, {2, 1, 7, 0}};
    int32_t hops[3];
    int64_t shift[3];
    pw_align_coarse(orders, 4, 3, hops, shift);
    assert_int_equal(shift[1], 10);
    assert_int_equal(shift[2], 3);
}

static void test_at_constant(void **state)
{
    (void)state;
    struct pw_align_bound lower[] = {{0, -10}, {100, -4}}, upper[] = {{50, 6}};
    struct pw_align_bounds b = {lower, upper, 2, 1};
    int64_t low, high;
    assert_int_equal(pw_align_at(&b, 50, (struct pw_align_rates){0, 0}, &low, &high), 0);
    assert_int_equal(low, -4);
    assert_int_equal(high, 6);
}

/* Bounds 2 apart about a line of slope 1: at 0 it is in [-1, 1]. */
static void test_at_slope(void **state)
{
    (void)state;
    struct pw_align_bound lower[] = {{990, -11}, {1010, 9}}, upper[] = {{990, -9}, {1010, 11}};
    struct pw_align_bounds b = {lower, upper, 2, 2};
    int64_t low, high;
    assert_int_equal(pw_align_at(&b, 1000, (struct pw_align_rates){2, 0}, &low, &high), 0);
    assert_in_range(low + 2, 0, 1); /* -1, rounded outwards */
    assert_in_range(high, 1, 2);
}

/* The same, but clocks are said to part by 0.5 at most: at slope 0.5 the bounds cross by 8. */
static void test_at_contradiction(void **state)
{
    (void)state;
    struct pw_align_bound lower[] = {{-10, -11}, {10, 9}}, upper[] = {{-10, -9}, {10, 11}};
    struct pw_align_bounds b = {lower, upper, 2, 2};
    int64_t low, high;
    assert_int_equal(pw_align_at(&b, 0, (struct pw_align_rates){0.5, 0}, &low, &high), -1);
    assert_in_range(low + 5, 0, 1); /* -4 */
    assert_in_range(high, 4, 5);
}

static void test_at_wander(void **state)
{
    (void)state;
    struct pw_align_bound lower[] = {{100, 0}}, upper[] = {{-100, 10}};
    struct pw_align_bounds b = {lower, upper, 1, 1};
    int64_t low, high;
    assert_int_equal(pw_align_at(&b, 0, (struct pw_align_rates){0, 0.25}, &low, &high), 0);
    assert_int_equal(low, -25);
    assert_int_equal(high, 35);
}

static void test_at_one_side(void **state)
{
    (void)state;
    struct pw_align_bound lower[] = {{0, 5}, {10, 3}};
    struct pw_align_bounds b = {lower, NULL, 2, 0};
    int64_t low, high;
    assert_int_equal(pw_align_at(&b, 0, (struct pw_align_rates){0.0001, 0}, &low, &high), 0);
    assert_int_equal(low, 5);
    assert_int_equal(high, NONE);
    b = (struct pw_align_bounds){lower, NULL, 0, 0};
    assert_int_equal(pw_align_at(&b, 0, (struct pw_align_rates){0.0001, 0}, &low, &high), 0);
    assert_int_equal(low, -NONE);
    assert_int_equal(high, NONE);
}

/* Clock 2 is bounded best by way of clock 1; nothing leads to clock 3. */
static void test_bounds_through_another_clock(void **state)
{
    (void)state;
    const struct pw_align_edge edges[] = {{1, 2, 5}, {0, 1, 10}, {0, 2, 100}, {2, 0, -3},
                                          {2, 1, 4}, {3, 0, 1},  {1, 3, NONE}};
    int64_t most[4];
    int32_t scratch[8];
    assert_int_equal(pw_align_reach(&(struct pw_align_graph){edges, 7, 4}, PW_ALIGN_FROM_REFERENCE,
                                    most, scratch),
                     0);
    assert_int_equal(most[0], 0);
    assert_int_equal(most[1], 10);
    assert_int_equal(most[2], 15);
    assert_int_equal(most[3], NONE);
    assert_int_equal(
        pw_align_reach(&(struct pw_align_graph){edges, 7, 4}, PW_ALIGN_TO_REFERENCE, most, scratch),
        0);
    assert_int_equal(most[1], 2); /* 1 to 2 to 0 */
    assert_int_equal(most[2], -3);
    assert_int_equal(most[3], 1);
}

/* Clock 1 at most 5 ahead of clock 0 and at least 6; the same of two that are further away. */
static void test_reach_contradiction(void **state)
{
    (void)state;
    const struct pw_align_edge near[] = {{0, 1, 5}, {1, 0, -6}};
    const struct pw_align_edge far[] = {{0, 1, 5}, {1, 0, 5}, {1, 2, 1}, {2, 3, 2}, {3, 1, -4}};
    int64_t most[4];
    int32_t scratch[8];
    for (int d = PW_ALIGN_FROM_REFERENCE; d <= PW_ALIGN_TO_REFERENCE; d++) {
        enum pw_align_direction direction = (enum pw_align_direction)d;
        assert_int_equal(
            pw_align_reach(&(struct pw_align_graph){near, 2, 2}, direction, most, scratch), -1);
        assert_int_equal(
            pw_align_reach(&(struct pw_align_graph){far, 5, 4}, direction, most, scratch), -1);
    }
}

/* Against every path of random graphs with corrections that exist: no bound contradicts. */
static void test_reach_all_paths(void **state)
{
    (void)state;
    enum { N = 9, EDGES = 30 };
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        int64_t truth[N], all[N][N], most[N];
        int32_t scratch[2 * N];
        struct pw_align_edge edges[EDGES];
        for (int i = 0; i < N; i++) {
            truth[i] = (int64_t)(unit_random(&seed) % 1000);
            for (int j = 0; j < N; j++)
                all[i][j] = i == j ? 0 : NONE;
        }
        for (int k = 0; k < EDGES; k++) {
            int a = (int)(unit_random(&seed) % N), b = (int)(unit_random(&seed) % N);
            int64_t bound = truth[b] - truth[a] + (int64_t)(unit_random(&seed) % 50);
            edges[k] = (struct pw_align_edge){a, b, bound};
            all[a][b] = bound < all[a][b] ? bound : all[a][b];
        }
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++)
                    if (all[i][k] < NONE && all[k][j] < NONE && all[i][k] + all[k][j] < all[i][j])
                        all[i][j] = all[i][k] + all[k][j];
        assert_int_equal(pw_align_reach(&(struct pw_align_graph){edges, EDGES, N},
                                        PW_ALIGN_FROM_REFERENCE, most, scratch),
                         0);
        for (int i = 0; i < N; i++)
            assert_int_equal(most[i], all[0][i]);
        assert_int_equal(pw_align_reach(&(struct pw_align_graph){edges, EDGES, N},
                                        PW_ALIGN_TO_REFERENCE, most, scratch),
                         0);
        for (int i = 0; i < N; i++)
            assert_int_equal(most[i], all[i][0]);
    }
}

static void test_violations(void **state)
{
    (void)state;
    const struct pw_order orders[] = {{0, 1, 100, 90}, {0, 1, 100, 97}, {1, 0, 5, 6}};
    const int64_t exact[] = {0, 0}, rough[] = {3, 4};
    int64_t found[2] = {0, 0};
    assert_int_equal(pw_align_violations(orders, 3, exact, found), 2);
    assert_int_equal(pw_align_violations(orders, 3, rough, found), 1);
    assert_int_equal(found[0], 3);
    assert_int_equal(found[1], 3);
}

/* Clock 1 drifts by 50 us/s from clock 0 and wanders; 2000 collectives in 10 s, each late by up to
 * 200 us on either side and 20 us at least. The truth must be inside, and the inside small. */
static void test_truth_is_within_the_bounds_of_simulated_clocks(void **state)
{
    (void)state;
    enum { N = 2000 };
    static struct pw_align_bound lower[N], upper[N];
    for (int64_t at = 1000000000; at < 10000000000; at += 2000000000) {
        uint64_t seed = 7;
        for (int64_t i = 0; i < N; i++) {
            int64_t t = i * 5000000;
            double bend = (double)(t - 5000000000) * (double)(t - 5000000000) * 1e-17;
            int64_t truth = (int64_t)((double)t * 50e-6 + bend);
            lower[i] =
                (struct pw_align_bound){t, truth - 20000 - (int64_t)(unit_random(&seed) % 200000)};
            upper[i] =
                (struct pw_align_bound){t, truth + 20000 + (int64_t)(unit_random(&seed) % 200000)};
        }
        struct pw_align_bounds b = {lower, upper, N, N};
        double bend = (double)(at - 5000000000) * (double)(at - 5000000000) * 1e-17;
        int64_t low, high, truth = (int64_t)((double)at * 50e-6 + bend);
        assert_int_equal(pw_align_at(&b, at, (struct pw_align_rates){100e-6, 1e-6}, &low, &high),
                         0);
        assert_true(low <= truth && truth <= high);
        assert_true(high - low < 60000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coarse),
        cmocka_unit_test(test_coarse_bounds_through_another_clock),
        cmocka_unit_test(test_at_constant),
        cmocka_unit_test(test_at_slope),
        cmocka_unit_test(test_at_contradiction),
        cmocka_unit_test(test_at_wander),
        cmocka_unit_test(test_at_one_side),
        cmocka_unit_test(test_bounds_through_another_clock),
        cmocka_unit_test(test_reach_contradiction),
        cmocka_unit_test(test_reach_all_paths),
        cmocka_unit_test(test_violations),
        cmocka_unit_test(test_truth_is_within_the_bounds_of_simulated_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
