/* Orders to begin or end recording, as the collector hands them to its program: what can be taken
 * back, and who is late. The program is played by stores into the segment. */
#include "unit.h"

#include <string.h>

#include "rank/live/start_stop.h"

static struct pw_segment_shared segment;

static int clear(void **state)
{
    (void)state;
    memset(&segment, 0, sizeof(segment));
    atomic_store(&segment.control.step, -1);
    return 0;
}

static void test_order_before_its_step_is_in_time(void **state)
{
    (void)state;
    const struct pw_order_wanted start = {7, 1, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 12);
    assert_int_equal(pw_order_prepare(&segment, &start, &step), PW_ORDER_IN_TIME);
    assert_int_equal(step, 12);
    assert_int_equal(atomic_load(&segment.control.committed), 0); /* no effect yet */
    atomic_store(&segment.control.step, 19);
    assert_int_equal(pw_order_commit(&segment, 7, &step), PW_ORDER_IN_TIME);
    assert_int_equal(step, 19);
    assert_int_equal(atomic_load(&segment.control.committed), 1);
    assert_int_equal(atomic_load(&segment.control.orders[0].step), 20);
    assert_true(pw_order_outcome(&segment, false));
    assert_int_equal(pw_order_withdraw(&segment, 7), PW_ORDER_UNKNOWN); /* too late for that */
}

static void test_order_after_its_step_is_late(void **state)
{
    (void)state;
    const struct pw_order_wanted stop = {8, 0, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 20);
    assert_int_equal(pw_order_prepare(&segment, &stop, &step), PW_ORDER_LATE);
    assert_int_equal(pw_order_withdraw(&segment, 8), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 8, &step), PW_ORDER_UNKNOWN);
    assert_int_equal(atomic_load(&segment.control.committed), 0);
    const struct pw_order_wanted later = {9, 0, PW_OPENED_CTL, 30};
    assert_int_equal(pw_order_prepare(&segment, &later, &step), PW_ORDER_IN_TIME);
    atomic_store(&segment.control.step, 31);
    assert_int_equal(pw_order_commit(&segment, 9, &step), PW_ORDER_LATE);
}

/* One follows another that is still to be obeyed, for a later step; what the program may be reading
 * is left alone. */
static void test_one_after_another(void **state)
{
    (void)state;
    const struct pw_order_wanted first = {1, 1, PW_OPENED_CTL, 5};
    int64_t step;
    assert_int_equal(pw_order_prepare(&segment, &first, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 1, &step), PW_ORDER_IN_TIME);
    const struct pw_order_wanted same = {2, 0, PW_OPENED_CTL, 5}, later = {3, 0, PW_OPENED_CTL, 6};
    assert_int_equal(pw_order_prepare(&segment, &same, &step), PW_ORDER_LATE);
    assert_int_equal(pw_order_withdraw(&segment, 2), PW_ORDER_UNKNOWN);
    assert_int_equal(pw_order_prepare(&segment, &later, &step), PW_ORDER_IN_TIME);
    assert_true(pw_order_outcome(&segment, true)); /* it does not hold yet */
    assert_int_equal(pw_order_commit(&segment, 1, &step), PW_ORDER_UNKNOWN); /* another's */
    assert_int_equal(pw_order_commit(&segment, 3, &step), PW_ORDER_IN_TIME);
    assert_false(pw_order_outcome(&segment, true));
    assert_int_equal(atomic_load(&segment.control.committed), 2);
    assert_int_equal(atomic_load(&segment.control.orders[0].step), 5);
    assert_int_equal(atomic_load(&segment.control.orders[1].step), 6);
    atomic_store(&segment.control.obeyed, 2);
    assert_true(pw_order_outcome(&segment, true));
    const struct pw_order_wanted again = {4, 1, PW_OPENED_CTL, 3};
    assert_int_equal(pw_order_prepare(&segment, &again, &step), PW_ORDER_IN_TIME);
}

/* There is an end to it: what was obeyed last, and what was not obeyed, is never overwritten. */
static void test_pending_orders_are_not_overwritten(void **state)
{
    (void)state;
    int64_t step;
    for (uint32_t i = 0; i < PW_ORDERS + 2; i++) {
        const struct pw_order_wanted order = {i + 1, i % 2, PW_OPENED_CTL, 10 + i};
        const bool fits = i < PW_ORDERS - 1;
        assert_int_equal(pw_order_prepare(&segment, &order, &step),
                         fits ? PW_ORDER_IN_TIME : PW_ORDER_BUSY);
        assert_int_equal(pw_order_commit(&segment, i + 1, &step),
                         fits ? PW_ORDER_IN_TIME : PW_ORDER_UNKNOWN);
    }
    for (uint32_t i = 0; i < PW_ORDERS - 1; i++)
        assert_int_equal(atomic_load(&segment.control.orders[i].step), 10 + i);
    atomic_store(&segment.control.obeyed, 1);
    const struct pw_order_wanted order = {99, 1, PW_OPENED_CTL, 99};
    assert_int_equal(pw_order_prepare(&segment, &order, &step), PW_ORDER_IN_TIME);
    assert_int_equal(pw_order_commit(&segment, 99, &step), PW_ORDER_IN_TIME);
    assert_int_equal(atomic_load(&segment.control.orders[0].step), 10);
}

/* Without marks it is never late. */
static void test_order_without_marks_is_never_late(void **state)
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
        cmocka_unit_test_setup(test_order_before_its_step_is_in_time, clear),
        cmocka_unit_test_setup(test_order_after_its_step_is_late, clear),
        cmocka_unit_test_setup(test_one_after_another, clear),
        cmocka_unit_test_setup(test_pending_orders_are_not_overwritten, clear),
        cmocka_unit_test_setup(test_order_without_marks_is_never_late, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
