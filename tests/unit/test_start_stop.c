/* Changes to begin or end recording, as the collector hands them to its program: what can be taken
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

static void test_change_before_its_step_is_in_time(void **state)
{
    (void)state;
    const struct pw_change_wanted start = {7, 1, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 12);
    assert_int_equal(pw_change_prepare(&segment, &start, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(step, 12);
    assert_int_equal(atomic_load(&segment.control.committed), 0); /* no effect yet */
    atomic_store(&segment.control.step, 19);
    assert_int_equal(pw_change_commit(&segment, 7, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(step, 19);
    assert_int_equal(atomic_load(&segment.control.committed), 1);
    assert_int_equal(atomic_load(&segment.control.changes[0].step), 20);
    assert_true(pw_change_outcome(&segment, false));
    assert_int_equal(pw_change_withdraw(&segment, 7), PW_CHANGE_UNKNOWN); /* too late for that */
}

static void test_change_after_its_step_is_late(void **state)
{
    (void)state;
    const struct pw_change_wanted stop = {8, 0, PW_OPENED_CTL, 20};
    int64_t step;
    atomic_store(&segment.control.step, 20);
    assert_int_equal(pw_change_prepare(&segment, &stop, &step), PW_CHANGE_LATE);
    assert_int_equal(pw_change_withdraw(&segment, 8), PW_CHANGE_IN_TIME);
    assert_int_equal(pw_change_commit(&segment, 8, &step), PW_CHANGE_UNKNOWN);
    assert_int_equal(atomic_load(&segment.control.committed), 0);
    const struct pw_change_wanted later = {9, 0, PW_OPENED_CTL, 30};
    assert_int_equal(pw_change_prepare(&segment, &later, &step), PW_CHANGE_IN_TIME);
    atomic_store(&segment.control.step, 31);
    assert_int_equal(pw_change_commit(&segment, 9, &step), PW_CHANGE_LATE);
}

/* One follows another that is still to be applied, for a later step; what the program may be
 * reading is left alone. */
static void test_one_after_another(void **state)
{
    (void)state;
    const struct pw_change_wanted first = {1, 1, PW_OPENED_CTL, 5};
    int64_t step;
    assert_int_equal(pw_change_prepare(&segment, &first, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(pw_change_commit(&segment, 1, &step), PW_CHANGE_IN_TIME);
    const struct pw_change_wanted same = {2, 0, PW_OPENED_CTL, 5}, later = {3, 0, PW_OPENED_CTL, 6};
    assert_int_equal(pw_change_prepare(&segment, &same, &step), PW_CHANGE_LATE);
    assert_int_equal(pw_change_withdraw(&segment, 2), PW_CHANGE_UNKNOWN);
    assert_int_equal(pw_change_prepare(&segment, &later, &step), PW_CHANGE_IN_TIME);
    assert_true(pw_change_outcome(&segment, true)); /* it does not hold yet */
    assert_int_equal(pw_change_commit(&segment, 1, &step), PW_CHANGE_UNKNOWN); /* another's */
    assert_int_equal(pw_change_commit(&segment, 3, &step), PW_CHANGE_IN_TIME);
    assert_false(pw_change_outcome(&segment, true));
    assert_int_equal(atomic_load(&segment.control.committed), 2);
    assert_int_equal(atomic_load(&segment.control.changes[0].step), 5);
    assert_int_equal(atomic_load(&segment.control.changes[1].step), 6);
    atomic_store(&segment.control.applied, 2);
    assert_true(pw_change_outcome(&segment, true));
    const struct pw_change_wanted again = {4, 1, PW_OPENED_CTL, 3};
    assert_int_equal(pw_change_prepare(&segment, &again, &step), PW_CHANGE_IN_TIME);
}

/* There is an end to it: what was applied last, and what was not applied, is never overwritten. */
static void test_pending_changes_are_not_overwritten(void **state)
{
    (void)state;
    int64_t step;
    for (uint32_t i = 0; i < PW_CHANGES + 2; i++) {
        const struct pw_change_wanted change = {i + 1, i % 2, PW_OPENED_CTL, 10 + i};
        const bool fits = i < PW_CHANGES - 1;
        assert_int_equal(pw_change_prepare(&segment, &change, &step),
                         fits ? PW_CHANGE_IN_TIME : PW_CHANGE_BUSY);
        assert_int_equal(pw_change_commit(&segment, i + 1, &step),
                         fits ? PW_CHANGE_IN_TIME : PW_CHANGE_UNKNOWN);
    }
    for (uint32_t i = 0; i < PW_CHANGES - 1; i++)
        assert_int_equal(atomic_load(&segment.control.changes[i].step), 10 + i);
    atomic_store(&segment.control.applied, 1);
    const struct pw_change_wanted change = {99, 1, PW_OPENED_CTL, 99};
    assert_int_equal(pw_change_prepare(&segment, &change, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(pw_change_commit(&segment, 99, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(atomic_load(&segment.control.changes[0].step), 10);
}

/* Without marks it is never late. */
static void test_change_without_marks_is_never_late(void **state)
{
    (void)state;
    const struct pw_change_wanted now = {3, 1, PW_OPENED_SIGNAL, -1};
    int64_t step;
    assert_int_equal(pw_change_prepare(&segment, &now, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(pw_change_commit(&segment, 3, &step), PW_CHANGE_IN_TIME);
    assert_int_equal(step, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_change_before_its_step_is_in_time, clear),
        cmocka_unit_test_setup(test_change_after_its_step_is_late, clear),
        cmocka_unit_test_setup(test_one_after_another, clear),
        cmocka_unit_test_setup(test_pending_changes_are_not_overwritten, clear),
        cmocka_unit_test_setup(test_change_without_marks_is_never_late, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
