/* Which steps a schedule records, worked by hand, and what --schedule takes. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/schedule.h"

enum { C = PW_WINDOW_CLOSED, W = PW_WINDOW_WARMUP, A = PW_WINDOW_ACTIVE };

static void expect(const struct pw_schedule *s, int64_t first, const int *states, int n)
{
    for (int i = 0; i < n; i++)
        if (pw_schedule_at(s, first + i).state != (enum pw_window_state)states[i])
            fail_msg("step %lld is %d, not %d", (long long)first + i,
                     pw_schedule_at(s, first + i).state, states[i]);
}

/* The example of torch.profiler.schedule's documentation, and what its source does with it: after
 * skip_first steps, cycles of wait, warmup, active. */
static void test_cycles(void **state)
{
    (void)state;
    const struct pw_schedule s = {
        .skip_first = 2, .wait = 1, .warmup = 1, .active = 3, .repeat = 2};
    const int states[] = {C, C, C, W, A, A, A, C, W, A, A, A, C, C, C, C, C, C};
    expect(&s, 0, states, 18);
    assert_int_equal(pw_schedule_at(&s, 6).cycle, 0);
    assert_int_equal(pw_schedule_at(&s, 8).cycle, 1);
    assert_int_equal(pw_schedule_at(&s, 12).cycle, -1);
}

static void test_cycles_without_end(void **state)
{
    (void)state;
    const struct pw_schedule s = {.wait = 9, .active = 1};
    const int states[] = {C, C, C, A, C, C};
    expect(&s, 999999999996, states, 6); /* 999999999999 % 10 == 9 */
    const struct pw_schedule always = {.active = 5};
    const int all[] = {A, A, A, A, A, A, A, A, A, A, A, A};
    expect(&always, 0, all, 12);
    assert_int_equal(pw_schedule_at(&always, 4).cycle, 0);
    assert_int_equal(pw_schedule_at(&always, 5).cycle, 1);
}

/* The answer depends on the number alone, whatever was asked before; no step is not recorded. */
static void test_result_depends_on_the_step_number_only(void **state)
{
    (void)state;
    const struct pw_schedule s = {.wait = 1, .warmup = 1, .active = 1};
    for (int round = 0; round < 2; round++) {
        assert_int_equal(pw_schedule_at(&s, 5).state, A);
        assert_int_equal(pw_schedule_at(&s, 4).state, W);
        assert_int_equal(pw_schedule_at(&s, 5).state, A);
        assert_int_equal(pw_schedule_at(&s, 0).state, C);
        assert_int_equal(pw_schedule_at(&s, -1).state, C);
        assert_int_equal(pw_schedule_at(&s, INT64_MIN).state, C);
        /* 9223372036854775807 % 3 == 1 */
        assert_int_equal(pw_schedule_at(&s, INT64_MAX).state, W);
    }
    const struct pw_schedule none = {0};
    assert_false(pw_schedule_is_set(&none));
    assert_int_equal(pw_schedule_at(&none, 3).state, C);
}

static void test_schedule_is_parsed(void **state)
{
    (void)state;
    char problem[256] = "";
    struct pw_schedule s;
    assert_int_equal(pw_schedule_parse("repeat=5,active=4,warmup=3,wait=2,skip_first=1", &s,
                                       problem, sizeof(problem)),
                     0);
    assert_int_equal(s.skip_first, 1);
    assert_int_equal(s.wait, 2);
    assert_int_equal(s.warmup, 3);
    assert_int_equal(s.active, 4);
    assert_int_equal(s.repeat, 5);
    assert_int_equal(pw_schedule_parse("active=1", &s, problem, sizeof(problem)), 0);
    assert_int_equal(s.skip_first + s.wait + s.warmup + s.repeat, 0);
    assert_int_equal(pw_schedule_parse("", &s, problem, sizeof(problem)), 0);
    assert_false(pw_schedule_is_set(&s));
    assert_string_equal(problem, "");
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"active=0", "at least 1"},
        {"wait=3,warmup=1", "at least 1"},
        {"active=-1", "no whole number"},
        {"active=1,wait=-0", "no whole number"},
        {"active=", "no whole number"},
        {"active=1.5", "no whole number"},
        {"active=1 ", "no whole number"},
        {"active=99999999999999999999999999", "no whole number"},
        {"active=1000000000001", "no whole number"},
        {"active=18446744073709551617", "no whole number"}, /* 1 modulo 2^64 */
        {"active", "no key=value"},
        {"active=1,", "no key=value"},
        {",active=1", "no key=value"},
        {"active=1,,wait=1", "no key=value"},
        {"active=1,active=2", "twice"},
        {"activ=1", "unknown key"},
        {"=1", "unknown key"},
        {"Active=1", "unknown key"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char problem[256] = "";
        struct pw_schedule s = {.active = 77};
        assert_int_equal(pw_schedule_parse(cases[i].text, &s, problem, sizeof(problem)), -EINVAL);
        assert_non_null(strstr(problem, cases[i].says));
        assert_null(strchr(problem, '\n'));
        assert_int_equal(s.active, 77);
    }
    char problem[256], longest[5000];
    struct pw_schedule s;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(pw_schedule_parse(longest, &s, problem, sizeof(problem)), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_cycles_without_end),
        cmocka_unit_test(test_result_depends_on_the_step_number_only),
        cmocka_unit_test(test_schedule_is_parsed),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
