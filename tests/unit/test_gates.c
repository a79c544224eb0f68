/* Which sends would wait for a late receive, by hand. */
#include "unit.h"

#include "aggregate/findings/gates.h"
#include "core/ops.h"

/* Stood from its start to its end, of 1 MiB or 1 KiB. */
static struct pw_graph_op send_of(int64_t size, int64_t enter, int64_t leave)
{
    return (struct pw_graph_op){
        .op = PW_OP_Send, .size = size, .enter = enter, .stands = enter, .leave = leave};
}

static void see(struct pw_sendmode *mode, int64_t size, int64_t enter, int64_t leave,
                int64_t received)
{
    const struct pw_graph_op send = send_of(size, enter, leave);
    const struct pw_graph_op receive = {.op = PW_OP_Recv, .enter = received, .receives = 1};
    pw_sendmode_see(mode, &send, &receive);
}

/* Three sends of 1 MiB waited until their receives came, those of 1 KiB had left before. Sends that
 * came after their receives tell nothing. */
static void test_synchronous_sends_are_found_by_size(void **state)
{
    (void)state;
    struct pw_sendmode mode = {{0}, {0}};
    const struct pw_graph_op large = send_of(1 << 20, 0, 5), small = send_of(1 << 10, 0, 5);
    const struct pw_graph_op other = send_of(1 << 21, 0, 5);
    see(&mode, 1 << 20, 0, 50, 40);
    see(&mode, 1 << 20, 100, 150, 140);
    assert_false(pw_sendmode_waits(&mode, &large)); /* two are too few */
    see(&mode, 1 << 20, 200, 250, 240);
    for (int64_t i = 0; i < 5; i++) {
        see(&mode, 1 << 10, i, i + 1, 40);
        see(&mode, 1 << 21, 100, 101, 40);
    }
    assert_true(pw_sendmode_waits(&mode, &large));
    assert_false(pw_sendmode_waits(&mode, &small));
    assert_false(pw_sendmode_waits(&mode, &other));
}

/* 9 of 10 are enough, 8 of 9 are not. */
static void test_nine_of_ten_sends_must_wait(void **state)
{
    (void)state;
    struct pw_sendmode mode = {{0}, {0}};
    const struct pw_graph_op send = send_of(4096, 0, 5);
    see(&mode, 4096, 0, 1, 40);
    for (int i = 0; i < 8; i++)
        see(&mode, 4096, 0, 50, 40);
    assert_false(pw_sendmode_waits(&mode, &send));
    see(&mode, 4096, 0, 50, 40);
    assert_true(pw_sendmode_waits(&mode, &send));
}

static void test_synchronous_sends_wait(void **state)
{
    (void)state;
    const struct pw_sendmode mode = {{0}, {0}};
    struct pw_graph_op send = send_of(1, 0, 5);
    send.op = PW_OP_Ssend;
    assert_true(pw_sendmode_waits(&mode, &send));
    send.op = PW_OP_Issend;
    assert_true(pw_sendmode_waits(&mode, &send));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synchronous_sends_are_found_by_size),
        cmocka_unit_test(test_nine_of_ten_sends_must_wait),
        cmocka_unit_test(test_synchronous_sends_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
