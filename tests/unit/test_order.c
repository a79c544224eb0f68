/* Orders to begin or end recording, as the collector hands them to its program: what can be taken
 * back, and who is late. The program is played by stores into the segment. */
#include "unit.h"

#include <string.h>

#include "rank/live/order.h"

static struct pw_segment_shared segment;

static int clear(void **state)
{
    (void)state;
    memset(&segment, 0, sizeof(segment));
    atomic_store(&segment.control.step, -1);
    return 0;
}

static void test_in_time(void **state)
{
    (void)state;
    const struct pw_order_wanted start = {7, 1, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 12);
    assert_int_equal(pw_order_prepare(&segment, &start, &step), PW_ORDER_IN_TIME);
    assert_int_equal(step, 12);
    assert_int_equal(atomic_load(&segment.control.order.committed), 0); /* no effect yet */
    atomic_store(&segment.control.step, 19);
    assert_int_equal(pw_order_commit(&segment, 7, &step), PW_ORDER_IN_TIME);
    assert_int_equal(step, 19);
    assert_int_equal(atomic_load(&segment.control.order.committed), 7);
    assert_int_equal(atomic_load(&segment.control.order.step), 20);
    assert_int_equal(pw_order_withdraw(&segment, 7), PW_ORDER_UNKNOWN); /* too late for that */
}

static void test_late(void **state)
{
    (void)state;
    const struct pw_order_wanted stop = {8, 0, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 20);
    assert_int_equal(pw_order_prepare(&segment, &stop, &step), PW_ORDER_LATE);
    assert_int_equal(pw_order_withdraw(&segment, 8), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 8, &step), PW_ORDER_UNKNOWN);
    assert_int_equal(atomic_load(&segment.control.order.committed), 0);
    const struct pw_order_wanted later = {9, 0, PW_OPENED_CTL, 30};
    assert_int_equal(pw_order_prepare(&segment, &later, &step), PW_ORDER_IN_TIME);
    atomic_store(&segment.control.step, 31);
    assert_int_equal(pw_order_commit(&segment, 9, &step), PW_ORDER_LATE);
}

/* What the program may be reading is left alone. */
static void test_busy(void **state)
{
    (void)state;
    const struct pw_order_wanted first = {1, 1, PW_OPENED_CTL, 5},
                                 second = {2, 0, PW_OPENED_CTL, 9};
    int64_t step;
    assert_int_equal(pw_order_prepare(&segment, &first, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 1, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_prepare(&segment, &second, &step), PW_ORDER_BUSY);
    assert_int_equal(atomic_load(&segment.control.order.step), 5);
    atomic_store(&segment.control.obeyed, 1);
    assert_int_equal(pw_order_prepare(&segment, &second, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 1, &step), PW_ORDER_UNKNOWN); /* another's */
}

/* Without marks it is never late. */
static void test_at_once(void **state)
{
    (void)state;
    const struct pw_order_wanted now = {3, 1, PW_OPENED_SIGNAL, -1};
    int64_t step;
    assert_int_equal(pw_order_prepare(&segment, &now, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 3, &step), PW_ORDER_IN_TIME);
    assert_int_equal(step, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_in_time, clear),
        cmocka_unit_test_setup(test_late, clear),
        cmocka_unit_test_setup(test_busy, clear),
        cmocka_unit_test_setup(test_at_once, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
