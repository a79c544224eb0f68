/* Lines through clocks, against values worked by hand. */
#include "unit.h"

#include "analysis/clockline.h"

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
static void test_straighten(void **state)
{
    (void)state;
    enum { N = 600 };
    static struct pw_order orders[2 * N + 1], copy[2 * N + 1];
    int64_t square[18], shifts[6];
    for (int64_t i = 0; i < N; i++) {
        int64_t t = i * (S / 10), there = t - 5 * S + t / 20000;
        orders[2 * i] = (struct pw_order){0, 1, t, there + 10000};
        orders[2 * i + 1] = (struct pw_order){1, 0, there, t + 10000};
    }
    orders[2 * N] = (struct pw_order){2, 0, 5, 9}; /* one side only */
    struct pw_clockline lines[3] = {{.known = 1}};
    const struct pw_clocklines_scratch scratch = {copy, square, shifts};
    assert_int_equal(pw_clocklines_straighten(lines, 3, orders, 2 * N + 1, &scratch), 2 * N);
    assert_int_equal(lines[2].known, 0);
    for (int64_t i = 0; i < N; i += 599) {
        int64_t t = i * (S / 10), there = t - 5 * S + t / 20000;
        assert_in_range(pw_clockline_time(&lines[1], there) - t + 100000, 0, 200000);
        assert_in_range(orders[2 * i].second_ns - t + 100000, 0, 200000);
    }
}

/* Bounds that are 10 ms wide in one third and askew in the other: 1 ms in 4 s are no drift. */
static void test_steep(void **state)
{
    (void)state;
    struct pw_order orders[4] = {{0, 1, 0, 1000000},
                                 {1, 0, 0, 9000000},
                                 {0, 1, 6 * S, 6 * S + 9000000},
                                 {1, 0, 6 * S, 6 * S + 1000000}};
    struct pw_order copy[4];
    int64_t square[8], shifts[4];
    struct pw_clockline lines[2] = {{.known = 1}};
    const struct pw_clocklines_scratch scratch = {copy, square, shifts};
    assert_int_equal(pw_clocklines_straighten(lines, 2, orders, 4, &scratch), 4);
    assert_true(lines[1].slope >= -100.1e-6 && lines[1].slope <= 100.1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_straighten),
        cmocka_unit_test(test_steep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
