/* Lines through clocks, against values worked by hand. */
#include "unit.h"

#include "analysis/align.h"

#define S INT64_C(1000000000)

static void test_line(void **state)
{
    (void)state;
    const struct pw_row_clock knots[] = {{10 * S, 500, 1}, {11 * S, 9, 1}, {20 * S, 100500, 1}};
    struct pw_clockline line;
    pw_clockline_measured(&line, NULL, 0, 0);
    assert_int_equal(line.known, 0);
    pw_clockline_measured(&line, NULL, 0, 1);
    assert_int_equal(line.known, 1);
    assert_int_equal(pw_clockline_time(&line, 77), 77);
    pw_clockline_measured(&line, knots, 3, 0); /* 10 us/s: only the ends count */
    assert_int_equal(pw_clockline_time(&line, 10 * S), 10 * S + 500);
    assert_int_equal(pw_clockline_time(&line, 15 * S), 15 * S + 50500);
    assert_int_equal(pw_clockline_time(&line, 0), -100000 + 500);
    assert_int_equal(pw_clockline_local(&line, 15 * S + 50500), 15 * S);
    const struct pw_row_clock near[] = {{10 * S, 500, 900}, {10 * S + 1000, 700, 900}};
    pw_clockline_measured(&line, near, 2, 0); /* 200 ns in 1 us are no drift */
    assert_int_equal(pw_clockline_time(&line, 20 * S), 20 * S + 500);
}

/* Clock 1 is 5 s late and runs 50 us/s fast; clock 2 is alone. Orders every 100 ms for 60 s, 10 us
 * apart each way: the line is found within that. */
static void test_line_between_two_clocks_is_found(void **state)
{
    (void)state;
    enum { N = 600 };
    static struct pw_order orders[2 * N + 1], copy[2 * N + 1];
    int32_t hops[3];
    int64_t shifts[6];
    for (int64_t i = 0; i < N; i++) {
        int64_t t = i * (S / 10), there = t - 5 * S + t / 20000;
        orders[2 * i] = (struct pw_order){0, 1, t, there + 10000};
        orders[2 * i + 1] = (struct pw_order){1, 0, there, t + 10000};
    }
    orders[2 * N] = (struct pw_order){2, 0, 5, 9}; /* one side only */
    struct pw_clockline lines[3] = {{.known = 1}};
    const struct pw_clocklines_scratch scratch = {copy, hops, shifts};
    assert_int_equal(pw_clocklines_straighten(lines, 3, orders, 2 * N + 1, &scratch), 2 * N);
    assert_int_equal(lines[2].known, 0);
    for (int64_t i = 0; i < N; i += 599) {
        int64_t t = i * (S / 10), there = t - 5 * S + t / 20000;
        assert_in_range(pw_clockline_time(&lines[1], there) - t + 100000, 0, 200000);
        assert_in_range(orders[2 * i].second_ns - t + 100000, 0, 200000);
    }
}

/* Bounds that are 10 ms wide in one third and askew in the other: 1 ms in 4 s are no drift. */
static void test_skewed_bounds_are_no_drift(void **state)
{
    (void)state;
    struct pw_order orders[4] = {{0, 1, 0, 1000000},
                                 {1, 0, 0, 9000000},
                                 {0, 1, 6 * S, 6 * S + 9000000},
                                 {1, 0, 6 * S, 6 * S + 1000000}};
    struct pw_order copy[4];
    int32_t hops[2];
    int64_t shifts[4];
    struct pw_clockline lines[2] = {{.known = 1}};
    const struct pw_clocklines_scratch scratch = {copy, hops, shifts};
    assert_int_equal(pw_clocklines_straighten(lines, 2, orders, 4, &scratch), 4);
    assert_true(lines[1].slope >= -100.1e-6 && lines[1].slope <= 100.1e-6);
}

static int64_t key_of(const struct pw_order *o, int part)
{
    const int32_t lower = o->first < o->second ? o->first : o->second;
    const int64_t parts[] = {lower, o->first + o->second - lower, o->first > o->second, o->first_ns,
                             o->second_ns};
    return parts[part];
}

/* By pair, direction and time, whatever the numbers of the clocks: of one byte, or of more. */
static void test_sorted_by_pair_and_time(void **state)
{
    (void)state;
    enum { N = 5000, PARTS = 5 };
    static struct pw_order orders[N], scratch[N];
    uint32_t random = 1;
    int64_t sum = 0;
    for (size_t i = 0; i < N; i++) {
        int32_t clocks[2];
        for (int k = 0; k < 2; k++) {
            random = random * 1103515245 + 12345;
            clocks[k] = (int32_t)(random >> 16) % 5 * (i % 2 ? 70000 : 1) + k * 3;
        }
        orders[i] = (struct pw_order){clocks[0], clocks[1], (int64_t)(random >> 8) % 7, (int64_t)i};
        sum += (int64_t)i;
    }
    pw_orders_sort(orders, N, scratch);
    for (size_t i = 0; i < N; i++) {
        sum -= orders[i].second_ns;
        int part = 0;
        while (i && part < PARTS && key_of(&orders[i - 1], part) == key_of(&orders[i], part))
            part++;
        assert_true(!i || key_of(&orders[i - 1], part) < key_of(&orders[i], part));
    }
    assert_int_equal(sum, 0);
}

/* Three pairs, one of which only ever goes one way, and what those near 10 s say of them. */
static void test_bounds_of_pairs_near_a_time(void **state)
{
    (void)state;
    struct pw_order orders[] = {{2, 0, 10 * S, 10 * S + 40}, {0, 1, 11 * S, 11 * S + 7},
                                {1, 0, 10 * S, 10 * S + 9},  {0, 1, 10 * S, 10 * S + 5},
                                {1, 2, 90 * S, 90 * S + 1},  {0, 1, 50 * S, 50 * S + 2}};
    struct pw_clock_pair pairs[6];
    struct pw_order scratch[6];
    pw_orders_sort(orders, 6, scratch);
    assert_int_equal(pw_clock_pairs(orders, 6, NULL), 3);
    assert_int_equal(pw_clock_pairs(orders, 6, pairs), 3);
    const struct pw_clock_pair first = {0, 1, 0, 3, 4}, second = {0, 2, 4, 4, 5};
    assert_memory_equal(&pairs[0], &first, sizeof(first));
    assert_memory_equal(&pairs[1], &second, sizeof(second));

    const struct pw_clockline lines[3] = {{.known = 1}, {.known = 1}, {.known = 1}};
    struct pw_align_bound lower[6], upper[6];
    struct pw_pairbounds bounds = {lines, orders, pairs, 3, lower, upper, 0};
    struct pw_align_edge edges[6];
    assert_int_equal(pw_pairbounds_at(&bounds, 10 * S, edges), 4);
    assert_int_equal(bounds.contradictions, 0);
    assert_int_equal(edges[0].from, 0);
    assert_int_equal(edges[0].to, 1);
    assert_int_equal(edges[0].most_ns, 9); /* (1's correction) - (0's) is in -5 .. 9 */
    assert_int_equal(edges[1].from, 1);
    assert_int_equal(edges[1].to, 0);
    assert_int_equal(edges[1].most_ns, 5);
    assert_int_equal(edges[2].to, 2);
    assert_int_equal(edges[2].most_ns, 40);
    assert_true(edges[3].most_ns >= PW_ALIGN_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_line_between_two_clocks_is_found),
        cmocka_unit_test(test_skewed_bounds_are_no_drift),
        cmocka_unit_test(test_sorted_by_pair_and_time),
        cmocka_unit_test(test_bounds_of_pairs_near_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
