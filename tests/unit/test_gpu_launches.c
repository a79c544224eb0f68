/* The launching range of a kernel is found, in whatever order the call, the kernel and the range
 * are recorded. */
#include "unit.h"

#include "collectors/gpu/gpu_launches.h"

enum { TID = 77, LANE = 3, OUTER = 10, INNER = 11, NEXT = 12 };

static int create(void **state)
{
    *state = pw_gpu_launches_create();
    pw_gpu_launches_thread(*state, TID, LANE);
    return *state ? 0 : -1;
}

static int destroy(void **state)
{
    pw_gpu_launches_destroy(*state);
    return 0;
}

static uint32_t name_of(struct pw_gpu_launches *l, uint32_t correlation)
{
    struct pw_gpu_launch launch;
    return pw_gpu_launches_find(l, correlation, &launch) ? launch.name : 0;
}

static void range_before_call(void **state)
{
    struct pw_gpu_launches *l = *state;
    pw_gpu_launches_range(l, LANE, 110, 120, INNER);
    pw_gpu_launches_range(l, LANE, 125, 130, NEXT);
    pw_gpu_launches_range(l, LANE, 100, 200, OUTER);
    pw_gpu_launches_call(l, 1, TID, 115);
    pw_gpu_launches_call(l, 2, TID, 122);
    pw_gpu_launches_call(l, 3, TID, 125);
    assert_int_equal(name_of(l, 1), INNER);
    assert_int_equal(name_of(l, 2), OUTER);
    assert_int_equal(name_of(l, 3), NEXT);
}

static void call_before_range(void **state)
{
    struct pw_gpu_launches *l = *state;
    struct pw_gpu_launch launch;
    pw_gpu_launches_call(l, 1, TID, 115);
    assert_false(pw_gpu_launches_find(l, 1, &launch));
    assert_int_equal(launch.time, 115);
    assert_int_equal(launch.lane, LANE);
    pw_gpu_launches_range(l, LANE + 1, 110, 120, NEXT); /* another thread's */
    assert_false(pw_gpu_launches_find(l, 1, &launch));
    pw_gpu_launches_range(l, LANE, 110, 120, INNER);
    pw_gpu_launches_range(l, LANE, 100, 200, OUTER);
    assert_int_equal(name_of(l, 1), INNER);
}

static void outer_call_counts(void **state)
{
    struct pw_gpu_launches *l = *state;
    struct pw_gpu_launch launch;
    pw_gpu_launches_call(l, 5, TID, 300);
    pw_gpu_launches_call(l, 5, TID, 290);
    pw_gpu_launches_call(l, 5, TID, 310);
    pw_gpu_launches_find(l, 5, &launch);
    assert_int_equal(launch.time, 290);
}

static void unknown_thread(void **state)
{
    struct pw_gpu_launches *l = *state;
    struct pw_gpu_launch launch;
    pw_gpu_launches_call(l, 6, TID + 1, 300);
    assert_false(pw_gpu_launches_find(l, 6, &launch)); /* it may become known */
    assert_int_equal(launch.time, 300);
    assert_int_equal(launch.lane, -1);
    assert_int_equal(launch.name, 0);
    pw_gpu_launches_thread(l, TID + 1, LANE + 1);
    assert_false(pw_gpu_launches_find(l, 6, &launch));
    assert_int_equal(launch.lane, LANE + 1);
    pw_gpu_launches_range(l, LANE + 1, 295, 310, INNER);
    assert_int_equal(name_of(l, 6), INNER);
    assert_false(pw_gpu_launches_find(l, 7, &launch));
    assert_int_equal(launch.time, -1);
}

/* A range of the thread comes before a phase, also when it ends later. */
static void phase_of_another_thread(void **state)
{
    struct pw_gpu_launches *l = *state;
    struct pw_gpu_launch launch;
    pw_gpu_launches_call(l, 1, TID, 115);
    pw_gpu_launches_call(l, 2, TID + 1, 116); /* records nothing */
    pw_gpu_launches_call(l, 3, TID + 1, 216);
    pw_gpu_launches_phase(l, 100, 200, OUTER);
    assert_false(pw_gpu_launches_find(l, 1, &launch)); /* a range may come */
    assert_int_equal(launch.name, OUTER);
    assert_false(pw_gpu_launches_find(l, 2, &launch));
    assert_int_equal(launch.name, OUTER);
    assert_int_equal(launch.lane, -1);
    pw_gpu_launches_find(l, 3, &launch); /* after the phase */
    assert_int_equal(launch.name, 0);
    pw_gpu_launches_range(l, LANE, 110, 220, INNER);
    assert_int_equal(name_of(l, 1), INNER);
}

/* Numbers that share a place, and more ranges than are kept. */
static void forgets_the_oldest(void **state)
{
    enum { APART = 1 << 18, MANY = 100000 };
    struct pw_gpu_launches *l = *state;
    for (int i = 0; i < MANY; i++)
        pw_gpu_launches_range(l, LANE, 10 * i, 10 * i + 5, (uint32_t)i + 1);
    pw_gpu_launches_call(l, 1, TID, 3);
    assert_int_equal(name_of(l, 1), 0);
    pw_gpu_launches_call(l, 1 + APART, TID, 10 * (MANY - 1) + 3);
    assert_int_equal(name_of(l, 1), 0);
    assert_int_equal(name_of(l, 1 + APART), MANY);
}

#define ON_TABLE(test) cmocka_unit_test_setup_teardown(test, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TABLE(range_before_call),       ON_TABLE(call_before_range),
        ON_TABLE(outer_call_counts),       ON_TABLE(unknown_thread),
        ON_TABLE(phase_of_another_thread), ON_TABLE(forgets_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
