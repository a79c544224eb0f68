/* Pauses of a thread between two samples: in which state it was. Times are in ms. */
#include "aggregate/steps/bins.h"
#include "unit.h"

enum { MS = 1000000 };

static struct pw_row_process sample(int64_t ms, char state)
{
    return (struct pw_row_process){.time = ms * MS, .state = (uint8_t)state};
}

static int is_long(int64_t span_ms, int64_t pause_ms, const char *states, int64_t shortest_ms)
{
    const struct pw_row_process from = sample(0, states[0]), to = sample(span_ms, states[1]);
    const struct pw_pause_seen seen = {.shortest = shortest_ms * MS};
    return pw_pause_is_long(&from, &to, pause_ms * MS, &seen);
}

static void test_long_pauses(void **state)
{
    (void)state;
    assert_int_equal(is_long(400, 400, "RR", 100), 1);
    assert_int_equal(is_long(400, 200, "RR", 100), 1);
    assert_int_equal(is_long(400, 199, "RR", 100), 0); /* ran or was ready for longer */
    assert_int_equal(is_long(399, 399, "RR", 100), 0); /* not 4 times the shortest */
    assert_int_equal(is_long(299, 299, "RR", 10), 0);
    assert_int_equal(is_long(400, 400, "SR", 100), 0);
    assert_int_equal(is_long(400, 400, "RS", 100), 0);
}

static size_t member(const char *states, int is_standing, int64_t off_ms)
{
    const struct pw_row_process from = sample(5000, states[0]), to = sample(5100, states[1]);
    struct pw_pause_seen seen = {.state = 'D', .at = off_ms * MS};
    return pw_pause_member(&from, &to, is_standing, &seen);
}

#define MEMBER(name) offsetof(struct pw_row_c_bin_trace, name)

static void test_shorter_pauses(void **state)
{
    (void)state;
    assert_int_equal(member("SR", 0, 0), MEMBER(asleep_ns));
    assert_int_equal(member("RD", 0, 0), MEMBER(disk_ns));
    assert_int_equal(member("TS", 0, 0), MEMBER(stopped_ns));
    assert_int_equal(member("RR", 1, 0), MEMBER(ready_ns));
    assert_int_equal(member("RR", 0, 3100), MEMBER(disk_ns));
    assert_int_equal(member("RR", 0, 3099), MEMBER(asleep_ns));
}

/* The thread and its collector had no CPU for 400 ms, and 290 ms later the thread ran again. */
static void test_ready_for_all_of_a_long_pause(void **state)
{
    (void)state;
    struct pw_pause_held held = {100 * MS, 500 * MS, 400 * MS, 290 * MS};
    assert_int_equal(pw_pause_end(&held, 712 * (int64_t)MS), 400 * MS);
    assert_int_equal(held.ns, 0);
    assert_int_equal(held.stood_ns, 0);
}

static void test_frozen(void **state)
{
    (void)state;
    struct pw_pause_held held = {100 * MS, 500 * MS, 400 * MS, 0};
    assert_int_equal(pw_pause_end(&held, -20 * MS), 0); /* it also slept after it */
    held = (struct pw_pause_held){100 * MS, 500 * MS, 400 * MS, 90 * MS};
    assert_int_equal(pw_pause_end(&held, 90 * MS), 0);
    held = (struct pw_pause_held){100 * MS, 500 * MS, 400 * MS, 0};
    assert_int_equal(pw_pause_end(&held, 60 * MS), 60 * MS); /* ready for the rest of it */
    assert_int_equal(pw_pause_end(&held, 60 * MS), 0);       /* none is held any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_pauses),
        cmocka_unit_test(test_shorter_pauses),
        cmocka_unit_test(test_ready_for_all_of_a_long_pause),
        cmocka_unit_test(test_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
