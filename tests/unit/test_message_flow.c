/* Finds, in examples made by hand, which sends waited until their receiver came back into MPI. */
#include "unit.h"

#include "analysis/message.h"

/* The receiver is inside MPI from 0 to 10, from 40 to 50, and from 90 on to 100. */
static const struct pw_interval inside[] = {{0, 10}, {40, 50}, {90, 100}};

static struct pw_flow of(int64_t start, int64_t end)
{
    return pw_flow_of(inside, 3, (struct pw_interval){start, end});
}

static int waited(int64_t start, int64_t end)
{
    const struct pw_flow flow = of(start, end);
    return pw_flow_waited(&flow, (struct pw_interval){start, end});
}

static void test_until_it_came_back(void **state)
{
    (void)state;
    const struct pw_flow flow = of(15, 42);
    assert_int_equal(flow.waited_ns, 25);
    assert_int_equal(flow.came_ns, 40);
    assert_int_equal(flow.left_ns, 0);
    assert_true(waited(15, 42));
}

/* It came back at 40, but the send went on until 47: 10 of 17 are no two thirds. */
static void test_what_it_does_inside_is_no_waiting(void **state)
{
    (void)state;
    assert_int_equal(of(30, 47).waited_ns, 10);
    assert_false(waited(30, 47));
    assert_true(waited(30, 45));
    assert_int_equal(of(41, 49).waited_ns, 0);
    assert_false(waited(41, 49));
}

/* Over before it came back: its coming back is not what the send waited for. */
static void test_over_before_it_came_back(void **state)
{
    (void)state;
    const struct pw_flow flow = of(15, 35);
    assert_int_equal(flow.waited_ns, 0);
    assert_int_equal(flow.left_ns, 20);
    assert_false(waited(15, 35));
    assert_int_equal(of(60, 90).left_ns, 30); /* just when it came */
}

/* It came back for a moment, which did not help, and worked on until 90. */
static void test_receiver_that_came_back_in_vain(void **state)
{
    (void)state;
    const struct pw_flow flow = of(20, 92);
    assert_int_equal(flow.waited_ns, 20 + 40);
    assert_int_equal(flow.came_ns, 90);
    assert_int_equal(flow.left_ns, 0);
    assert_true(waited(20, 92));
    assert_int_equal(of(20, 80).left_ns, 30);
    assert_int_equal(of(20, 80).waited_ns, 20);
}

/* What is before the first call and after the last is not known to be outside MPI. */
static void test_unknown_is_not_away(void **state)
{
    (void)state;
    assert_int_equal(of(-50, 5).waited_ns, 0);
    assert_int_equal(of(-50, 45).waited_ns, 30);
    assert_int_equal(of(95, 150).left_ns, 0);
    assert_int_equal(of(200, 250).left_ns, 0);
    assert_int_equal(pw_flow_of(inside, 0, (struct pw_interval){1, 5}).left_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_until_it_came_back),
        cmocka_unit_test(test_what_it_does_inside_is_no_waiting),
        cmocka_unit_test(test_over_before_it_came_back),
        cmocka_unit_test(test_receiver_that_came_back_in_vain),
        cmocka_unit_test(test_unknown_is_not_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
