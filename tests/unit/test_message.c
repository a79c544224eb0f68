/* Who waited for whom in one message, by hand. */
#include "unit.h"

#include "analysis/message.h"

#define NEVER INT64_MAX

/* Receive entered at 10, its rank stood in it until 50; the send came at 40. */
static void test_late_sender(void **state)
{
    (void)state;
    const struct pw_message_end receive = {10, 50, 10}, send = {40, 41, 40};
    assert_int_equal(pw_message_waited(&receive, &send), 30);
    assert_int_equal(pw_message_waited(&send, &receive), 0);
    /* Cancelled at 30: it had not waited for longer. */
    const struct pw_message_end given_up = {10, 30, 10};
    assert_int_equal(pw_message_waited(&given_up, &send), 20);
}

/* A synchronous send at 10, received by a call from 60 on. */
static void test_late_receiver(void **state)
{
    (void)state;
    const struct pw_message_end send = {10, 65, 10}, receive = {60, 66, 60};
    assert_int_equal(pw_message_waited(&send, &receive), 50);
    assert_int_equal(pw_message_waited(&receive, &send), 0);
}

/* Both begun at 0 and 1. The receiver waits from 100 on, the sender computes until 160 and only
 * then waits; the message is through at 170, so it needed both. */
static void test_waits_for_return(void **state)
{
    (void)state;
    const struct pw_message_end receive = {0, 170, 100}, send = {1, 171, 160};
    assert_int_equal(pw_message_came(&send, &receive), 160);
    assert_int_equal(pw_message_waited(&receive, &send), 60);
    assert_int_equal(pw_message_came(&receive, &send), 100);
    assert_int_equal(pw_message_waited(&send, &receive), 0);
}

/* The same, but the message was sent at once: the receiver left before the sender came back. */
static void test_message_sent_at_once_needs_no_partner(void **state)
{
    (void)state;
    const struct pw_message_end receive = {0, 102, 100}, send = {1, 161, 160};
    assert_int_equal(pw_message_came(&send, &receive), 1);
    assert_int_equal(pw_message_waited(&receive, &send), 0);
}

/* A send that was complete when it returned was never stood still for. */
static void test_buffered(void **state)
{
    (void)state;
    const struct pw_message_end receive = {0, 102, 100}, send = {1, 2, NEVER};
    assert_int_equal(pw_message_came(&send, &receive), 1);
    assert_int_equal(pw_message_waited(&send, &receive), 0);
    assert_int_equal(pw_message_waited(&receive, &send), 0);
}

/* The receiver, whose receive had been open, came back at 80; the sender stood from 20 to 90. */
static void test_waits_for_return_of_receiver(void **state)
{
    (void)state;
    const struct pw_message_end send = {10, 90, 20}, receive = {5, 85, 80};
    assert_int_equal(pw_message_waited(&send, &receive), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_sender),
        cmocka_unit_test(test_late_receiver),
        cmocka_unit_test(test_waits_for_return),
        cmocka_unit_test(test_message_sent_at_once_needs_no_partner),
        cmocka_unit_test(test_buffered),
        cmocka_unit_test(test_waits_for_return_of_receiver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
