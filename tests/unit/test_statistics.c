/* Order statistics, sets of time, and bandwidths, against values worked by hand. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/collectives.h"
#include "analysis/intervals.h"
#include "analysis/statistics.h"
#include "core/ops.h"

static void assert_near(double value, double expected, double relative)
{
    if (fabs(value - expected) > relative * fabs(expected))
        fail_msg("%.15g is not %.15g", value, expected);
}

static void test_sort(void **state)
{
    (void)state;
    uint64_t seed = 42;
    int64_t whole[257];
    double real[257];
    for (size_t n = 0; n <= 257; n += n < 4 ? 1 : 23) {
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            whole[i] = (int64_t)(unit_random(&seed) >> (i % 3 ? 60 : 1)); /* with duplicates */
            real[i] = unit_normal(&seed);
            sum += (uint64_t)whole[i];
        }
        pw_sort_i64(whole, n);
        pw_sort_f64(real, n);
        for (size_t i = 0; i < n; i++)
            sum -= (uint64_t)whole[i];
        assert_int_equal(sum, 0);
        for (size_t i = 1; i < n; i++)
            assert_true(whole[i - 1] <= whole[i] && real[i - 1] <= real[i]);
    }
    int64_t extremes[] = {INT64_MAX, 0, INT64_MIN, -1};
    pw_sort_i64(extremes, 4);
    assert_true(extremes[0] == INT64_MIN && extremes[1] == -1 && extremes[3] == INT64_MAX);
}

static void test_median(void **state)
{
    (void)state;
    assert_int_equal(pw_median_i64((int64_t[]){7}, 1), 7);
    assert_int_equal(pw_median_i64((int64_t[]){9, 1, 5}, 3), 5);
    assert_int_equal(pw_median_i64((int64_t[]){9, 1, 5, 4}, 4), 4); /* (4 + 5) / 2 */
    assert_int_equal(pw_median_i64((int64_t[]){2, 8}, 2), 5);
    assert_int_equal(pw_median_i64((int64_t[]){-10, -4}, 2), -7);
    int64_t large[] = {INT64_MAX, INT64_MAX - 2}; /* their sum would overflow */
    assert_true(pw_median_i64(large, 2) == INT64_MAX - 1);
}

/* Against the middle of the sorted values: drawn, few different ones, rising, falling, and rising
 * to the middle and falling from there. */
static void test_median_of_many(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int64_t values[1000], sorted[1000];
    double real[1000];
    for (int order = 0; order < 5; order++)
        for (size_t n = 1; n <= 1000; n += n < 70 ? 1 : 37) {
            for (size_t i = 0; i < n; i++) {
                const int64_t drawn = (int64_t)(unit_random(&seed) >> 2);
                const int64_t of[] = {drawn, drawn & 3, (int64_t)i, -(int64_t)i,
                                      (int64_t)(i < n / 2 ? i : 2 * n - i) ^ 1};
                values[i] = sorted[i] = of[order];
                real[i] = (double)(of[order] >> 12); /* exact */
            }
            pw_sort_i64(sorted, n);
            const int64_t low = sorted[(n - 1) / 2];
            assert_true(pw_median_i64(values, n) == low + (sorted[n / 2] - low) / 2);
            const double middle = ((double)(low >> 12) + (double)(sorted[n / 2] >> 12)) / 2;
            assert_true(pw_median_f64(real, n) == middle);
        }
}

/* Against tables of Student's t: one degree has P(T >= 1) = 1 / 4; 0.025, 0.005 and 0.0005. */
static void test_student(void **state)
{
    (void)state;
    assert_near(pw_student_tail(1, 1), 0.25, 1e-12);
    assert_near(pw_student_tail(4.303, 2), 0.025, 1e-3);
    assert_near(pw_student_tail(2.571, 5), 0.025, 1e-3);
    assert_near(pw_student_tail(3.169, 10), 0.005, 1e-3);
    assert_near(pw_student_tail(3.646, 30), 0.0005, 1e-3);
    assert_near(pw_student_tail(0, 7), 0.5, 1e-12);
    assert_true(pw_student_tail(INFINITY, 4) < 1e-15);
}

/* The others are 0, 1, 2, 3 and 4: mean 2, s^2 = 2.5, so t = 10 is at 2 + 10 sqrt(3) = 19.32, and
 * six ranks have the chance 6 x P(T >= 10) of 4 degrees: 6 x 0.000281. */
static void test_outlier(void **state)
{
    (void)state;
    const int64_t values[] = {0, 1000000, 2000000, 19320508, 3000000, 4000000, -1};
    assert_near(pw_outlier_chance(values, 7, 3), 6 * 0.000281, 2e-3);
    assert_true(pw_outlier_chance(values, 7, 0) == 1);                     /* below the mean */
    assert_true(pw_outlier_chance((int64_t[]){5, 9}, 2, 1) == 1);          /* of two */
    assert_true(pw_outlier_chance((int64_t[]){5, -1, 9}, 3, 2) == 1);      /* that are known */
    assert_true(pw_outlier_chance((int64_t[]){5, 5, 5, 6}, 4, 3) < 1e-12); /* all alike */
    assert_true(pw_outlier_chance((int64_t[]){5, 5, 5, 5}, 4, 3) == 1);    /* it, too */
}

/* 1 - 2 / 2^5; of 9: 1 - 2 (1 + 9) / 2^9; of 20: 1 - 2 (1 + 20 + 190 + 1140 + 4845 + 15504) / 2^20,
 * which is the table's 0.9586 for the 6th value. */
static void test_interval_of_the_median(void **state)
{
    (void)state;
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = i + 1;
    struct pw_median_interval of = pw_median_interval(values, 5);
    assert_true(of.low == 1 && of.median == 3 && of.high == 5);
    assert_near(of.confidence, 0.9375, 1e-12);
    of = pw_median_interval(values, 9);
    assert_true(of.low == 2 && of.median == 5 && of.high == 8);
    assert_near(of.confidence, 1 - 20 / 512., 1e-12);
    of = pw_median_interval(values, 20);
    assert_true(of.low == 6 && of.median == 10.5 && of.high == 15);
    assert_near(of.confidence, 0.9586, 1e-4);
    of = pw_median_interval(values, 1);
    assert_true(of.low == 1 && of.high == 1 && of.confidence == 0);
    of = pw_median_interval(values, 2);
    assert_true(of.low == 1 && of.median == 1.5 && of.high == 2);
    assert_near(of.confidence, 0.5, 1e-12);
}

static void test_position_in_sorted_values(void **state)
{
    (void)state;
    const int64_t v[] = {10, 20, 20, 30};
    assert_int_equal(pw_place_i64(v, 4, INT64_MIN), 0);
    assert_int_equal(pw_place_i64(v, 4, 20), 1);
    assert_int_equal(pw_place_i64(v, 4, 21), 3);
    assert_int_equal(pw_place_i64(v, 4, 31), 4);
    assert_int_equal(pw_place_i64(v, 0, 5), 0);
}

static void test_median_without(void **state)
{
    (void)state;
    const int64_t v[] = {1, 5, 6, 100};
    assert_int_equal(pw_median_without_i64(v, 4, 1), 6);
    assert_int_equal(pw_median_without_i64(v, 4, 100), 5);
    assert_int_equal(pw_median_without_i64(v, 3, 1), 5); /* (5 + 6) / 2 */
    assert_int_equal(pw_median_without_i64(v, 3, 5), 3);
    assert_int_equal(pw_median_without_i64(v, 2, 5), 1);
}

/* Every value is left out in turn, from values in several orders, some of them equal. */
static void test_median_without_of_sorted_middle(void **state)
{
    (void)state;
    enum { MOST = 70 };
    for (size_t n = 2; n <= MOST; n++)
        for (int64_t factor = 1; factor < 8; factor++) {
            int64_t sorted[MOST], middle[MOST];
            for (size_t i = 0; i < n; i++)
                sorted[i] = middle[i] = (int64_t)i * 37 * factor % (int64_t)n / (factor % 3 + 1);
            pw_sort_i64(sorted, n);
            pw_sort_middle_i64(middle, n);
            const struct pw_middle kept = pw_middle_of(middle, n);
            for (size_t i = 0; i < n; i++) {
                const int64_t others = pw_median_without_i64(sorted, n, sorted[i]);
                assert_int_equal(pw_median_without_i64(middle, n, sorted[i]), others);
                assert_int_equal(pw_middle_without(&kept, sorted[i]), others);
            }
            pw_sort_i64(middle, n); /* no value is lost */
            assert_memory_equal(middle, sorted, n * sizeof(*sorted));
        }
}

static void test_middle_of_few(void **state)
{
    (void)state;
    int64_t one[] = {5}, two[] = {7, 3};
    struct pw_middle middle = pw_middle_of(one, 0);
    assert_int_equal(pw_middle_without(&middle, 5), -1);
    middle = pw_middle_of(one, 1);
    assert_int_equal(pw_middle_without(&middle, 5), -1); /* it has no others */
    middle = pw_middle_of(two, 2);
    assert_int_equal(pw_middle_without(&middle, 7), 3);
    assert_int_equal(pw_middle_without(&middle, 3), 7);
}

/* Values of tables. */
static void test_normal_quantile(void **state)
{
    (void)state;
    assert_near(pw_normal_quantile(0.75), 0.6744897502, 1e-6);
    assert_near(pw_normal_quantile(0.975), 1.9599639845, 1e-6);
    assert_near(pw_normal_quantile(0.001), -3.0902323062, 1e-6);
    assert_near(pw_normal_quantile(1e-15), -7.9413453262, 1e-6);
    assert_true(pw_normal_quantile(0.5) == 0);
}

static void test_quantile(void **state)
{
    (void)state;
    const int64_t v[] = {10, 20, 30, 40};
    const double r[] = {1.5, 2.5};
    assert_int_equal(pw_quantile_i64(v, 4, 0), 10);
    assert_int_equal(pw_quantile_i64(v, 4, 0.25), 10); /* a quarter do not exceed it */
    assert_int_equal(pw_quantile_i64(v, 4, 0.26), 20);
    assert_int_equal(pw_quantile_i64(v, 4, 0.5), 20);
    assert_int_equal(pw_quantile_i64(v, 4, 0.95), 40);
    assert_int_equal(pw_quantile_i64(v, 4, 1), 40);
    assert_int_equal(pw_quantile_i64(v, 4, 2), 40);
    assert_int_equal(pw_quantile_i64(v, 1, 0.5), 10);
    assert_true(pw_quantile_f64(r, 2, 0.5) == 1.5);
    assert_true(pw_quantile_f64(r, 2, 0.51) == 2.5);
    for (double q = 0; q <= 1; q += 0.125) {
        int64_t sorted[101], mixed[101];
        for (size_t i = 0; i < 101; i++) {
            sorted[i] = (int64_t)i / 3;
            mixed[i] = (int64_t)(i * 37 % 101) / 3;
        }
        const double ascending[] = {q, q, q + 0.001, 0.95, 1};
        int64_t found[5];
        pw_select_quantiles_i64(mixed, 101, ascending, q > 0.9 ? 3 : 5, found);
        for (size_t i = 0; i < (q > 0.9 ? 3 : 5); i++)
            assert_int_equal(found[i], pw_quantile_i64(sorted, 101, ascending[i]));
    }
}

static void test_binomial_tail(void **state)
{
    (void)state;
    assert_near(pw_binomial_tail(4, 2, 0.5), 11.0 / 16, 1e-12); /* (6 + 4 + 1) / 16 */
    assert_near(pw_binomial_tail(10, 10, 0.5), 1.0 / 1024, 1e-12);
    assert_near(pw_binomial_tail(3, 1, 0.1), 1 - 0.729, 1e-12);
    assert_near(pw_binomial_tail(20, 3, 1.0 / 6), 0.671343, 1e-5); /* three sixes in 20 dice */
    assert_near(pw_binomial_tail(10, 9, 0.1), 9.1e-9, 1e-9);       /* 10 x 0.1^9 x 0.9 + 0.1^10 */
    assert_true(pw_binomial_tail(10, 0, 0.1) == 1);
    assert_true(pw_binomial_tail(10, -1, 0.1) == 1);
    assert_true(pw_binomial_tail(10, 11, 0.9) == 0);
    assert_true(pw_binomial_tail(10, 1, 0) == 0);
    assert_true(pw_binomial_tail(10, 10, 1) == 1);
    /* The half below and the half above the middle of a symmetric distribution. */
    assert_near(pw_binomial_tail(100001, 50001, 0.5), 0.5, 1e-9);
    assert_near(pw_binomial_tail(1000000, 1, 1e-6), 1 - exp(-1), 1e-6);
    for (int64_t k = 1; k <= 30; k++) /* falls with k, rises with p */
        assert_true(pw_binomial_tail(30, k, 0.3) < pw_binomial_tail(30, k - 1, 0.3) + 1e-15 &&
                    pw_binomial_tail(30, k, 0.3) <= pw_binomial_tail(30, k, 0.31));
}

static void test_union(void **state)
{
    (void)state;
    struct pw_interval v[] = {{30, 40}, {0, 10}, {5, 12}, {12, 15}, {20, 20}, {50, 45}, {31, 33}};
    assert_int_equal(pw_intervals_union(v, 7), 2); /* [0, 15) and [30, 40) */
    assert_int_equal(v[0].start, 0);
    assert_int_equal(v[0].end, 15);
    assert_int_equal(v[1].start, 30);
    assert_int_equal(v[1].end, 40);
    assert_int_equal(pw_intervals_union(v, 0), 0);
    struct pw_interval empty[] = {{3, 3}, {9, 1}};
    assert_int_equal(pw_intervals_union(empty, 2), 0);
}

static void test_part_of_intervals_within_another(void **state)
{
    (void)state;
    const struct pw_interval v[] = {{0, 10}, {20, 30}, {40, 50}};
    static const struct {
        int64_t start, end, length;
    } cases[] = {{0, 50, 30}, {-100, 100, 30}, {5, 25, 10},  {10, 20, 0}, {22, 24, 2}, {30, 40, 0},
                 {50, 60, 0}, {49, 60, 1},     {25, 45, 10}, {25, 25, 0}, {30, 20, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pw_interval window = {cases[i].start, cases[i].end};
        assert_int_equal(pw_intervals_within(v, 3, window), cases[i].length);
    }
    assert_int_equal(pw_intervals_within(v, 0, (struct pw_interval){0, 100}), 0);
}

/* Against a map of single nanoseconds. */
static void test_intervals_by_counting(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        char covered[128] = {0};
        struct pw_interval v[12];
        size_t n = unit_random(&seed) % 12;
        for (size_t i = 0; i < n; i++) {
            v[i].start = (int64_t)(unit_random(&seed) % 100);
            v[i].end = v[i].start + (int64_t)(unit_random(&seed) % 25);
            for (int64_t t = v[i].start; t < v[i].end; t++)
                covered[t] = 1;
        }
        size_t left = pw_intervals_union(v, n);
        for (size_t i = 1; i < left; i++)
            assert_true(v[i - 1].end < v[i].start);
        int64_t start = (int64_t)(unit_random(&seed) % 128), length = 0;
        int64_t end = start + (int64_t)(unit_random(&seed) % (uint64_t)(128 - start));
        for (int64_t t = start; t < end; t++)
            length += covered[t];
        assert_int_equal(pw_intervals_within(v, left, (struct pw_interval){start, end}), length);
    }
}

static void test_bandwidth(void **state)
{
    (void)state;
    assert_true(pw_busbw_factor(PW_FACTOR_AR, 2) == 1); /* 2 x 1/2 */
    assert_true(pw_busbw_factor(PW_FACTOR_AR, 4) == 1.5);
    assert_true(pw_busbw_factor(PW_FACTOR_AG, 4) == 0.75);
    assert_true(pw_busbw_factor(PW_FACTOR_ONE, 4) == 1);
    assert_true(pw_busbw_factor(PW_FACTOR_NO, 4) == 0);
    assert_true(pw_busbw_factor(PW_FACTOR_AR, 1) == 0); /* nothing leaves the rank */
    assert_true(pw_busbw_factor(PW_FACTOR_AR, 0) == 0);
    assert_true(pw_busbw_factor(PW_FACTOR_AG, -3) == 0);
    assert_true(pw_algbw(1000, 2000) == 5e8); /* 1000 B in 2 us */
    assert_true(pw_algbw(0, 2000) == 0);
    assert_true(pw_algbw(1000, 0) == 0);
    assert_true(pw_algbw(-1, 5) == 0);
    assert_true(pw_algbw_resolved(1000, 2000, 0) == 5e8);
    assert_true(pw_algbw_resolved(1000, 2000, 2000) == 5e8);
    assert_true(pw_algbw_resolved(1000, 2000, 2001) == 0);
    assert_true(pw_algbw_resolved(1000, 2000, -1) == 5e8);
}

static struct pw_row_c_collective row_of(const void *rows, size_t i)
{
    return ((const struct pw_row_c_collective *)rows)[i];
}

/* Broadcasts of 1000 B in 10, 5, 4, 2 and 1 us: 0.1 to 1 GB/s. Those of 2 and 1 us are below their
 * clock error, so they are faster than the others, and no more is known of them. */
static void test_bandwidth_of_groups(void **state)
{
    static const int64_t transfers[] = {4000, 1000, 10000, 2000, 5000};
    struct pw_row_c_collective rows[5];
    double room[5];
    (void)state;
    for (int i = 0; i < 5; i++)
        rows[i] = (struct pw_row_c_collective){
            .op = PW_OP_Bcast,
            .nranks = 4,
            .bytes = 1000,
            .last_exit = 20000, /* 50 MB/s with the wait */
            .transfer_ns = transfers[i],
            .error_ns = transfers[i] < 3000 ? 3000 : 0,
            .algbw = transfers[i] < 3000 ? 0 : 1000 * 1e9 / (double)transfers[i],
        };
    struct pw_collective_group group = {row_of, rows, 5, room};
    struct pw_row_c_collective_stat stat = pw_collectives_sum_up(&group);
    assert_true(stat.busbw_p50 == 250e6); /* the third of five */
    assert_true(stat.busbw_p95 == 0);     /* the fifth, which is not known */
    assert_true(stat.busbw_max == 250e6);
    assert_true(stat.busbw_mean > 183.3e6 && stat.busbw_mean < 183.4e6); /* of 100, 200 and 250 */
    assert_true(stat.busbw_with_wait_p50 == 50e6);
    assert_int_equal(stat.transfer_p50_ns, 4000);
    rows[0].algbw = 0; /* three of five are not known: nothing is */
    stat = pw_collectives_sum_up(&group);
    assert_true(stat.busbw_p50 == 0 && stat.busbw_p95 == 0 && stat.busbw_max == 0);
    assert_true(stat.busbw_mean == 0 && stat.algbw_p50 == 0);
}

static void test_size_class(void **state)
{
    (void)state;
    assert_int_equal(pw_size_class(-1), 0);
    assert_int_equal(pw_size_class(0), 0);
    assert_int_equal(pw_size_class(1), 1);
    assert_int_equal(pw_size_class(2), 3);
    assert_int_equal(pw_size_class(3), 3);
    assert_int_equal(pw_size_class(4), 7);
    assert_int_equal(pw_size_class(1023), 1023);
    assert_int_equal(pw_size_class(1024), 2047);
    assert_true(pw_size_class(INT64_MAX) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_median_of_many),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_interval_of_the_median),
        cmocka_unit_test(test_position_in_sorted_values),
        cmocka_unit_test(test_median_without),
        cmocka_unit_test(test_median_without_of_sorted_middle),
        cmocka_unit_test(test_middle_of_few),
        cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_normal_quantile),
        cmocka_unit_test(test_binomial_tail),
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_part_of_intervals_within_another),
        cmocka_unit_test(test_intervals_by_counting),
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_bandwidth_of_groups),
        cmocka_unit_test(test_size_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
