/* Which sends would wait for a late receive, by hand. */
#include <stdlib.h>

#include "unit.h"

#include "aggregate/findings/graph.h"
#include "aggregate/match/instances.h"
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

/* An operation of 4 ranks; rank r enters at enter[r] and leaves at leave[r]. */
static void make_ops(struct pw_graph_op ops[4], uint16_t op, const int64_t enter[4],
                     const int64_t leave[4])
{
    const bool from_root = op == PW_OP_Bcast;
    for (int32_t r = 0; r < 4; r++)
        ops[r] = (struct pw_graph_op){.local_enter = enter[r],
                                      .enter = enter[r],
                                      .stands = enter[r],
                                      .leave = leave[r],
                                      .rank = r,
                                      .peer = -1,
                                      .adds = !from_root || !r,
                                      .waits = from_root == (r > 0),
                                      .op = op};
}

static void make_gates(struct pw_gates *gates, struct pw_graph_op ops[4])
{
    struct pw_instance instance = {
        .root_enter = ops[0].enter, .last_enter = 50, .nranks = 4, .op = ops[0].op};
    const struct pw_instances in = {.items = &instance, .n = 1};
    struct pw_graph_parts parts = {.ops = {.v = (char *)ops, .n = 4, .size = sizeof(ops[0])}};
    assert_int_equal(pw_gates_make(gates, &parts, &in), 0);
}

static void drop_gates(struct pw_gates *gates)
{
    free(gates->needs);
    pw_gates_fini(gates);
}

/* Rank 3 enters a broadcast at 50. The root, rank 0, and rank 2, which passes the data on, stay
 * until then; rank 1 has left at 12. */
static void test_ranks_that_are_blocked_wait_for_the_last_one(void **state)
{
    (void)state;
    const int64_t enter[4] = {10, 11, 11, 50}, leave[4] = {51, 12, 52, 53};
    struct pw_graph_op ops[4];
    struct pw_gates gates;
    make_ops(ops, PW_OP_Bcast, enter, leave);
    make_gates(&gates, ops);
    assert_int_equal(gates.n, 2);
    assert_int_equal(gates.gate_of[0], 0); /* the root's gate */
    assert_int_equal(gates.opened[0], 10);
    assert_int_equal(gates.needs[0], 1);
    assert_int_equal(gates.opened[1], 50); /* that of all ranks */
    assert_int_equal(gates.needs[1], 4);
    for (int r = 0; r < 4; r++)
        assert_int_equal(gates.full_of[r], 1);
    assert_int_equal(gates.waits_at[0], 1);
    assert_int_equal(gates.waits_at[1], 0);
    assert_int_equal(gates.waits_at[2], 1);
    assert_int_equal(gates.waits_at[3], 0);
    drop_gates(&gates);
}

/* All ranks but the last have left when it enters: they wait for the root alone, and it for none.
 */
static void test_ranks_that_have_left_wait_for_the_root(void **state)
{
    (void)state;
    const int64_t enter[4] = {10, 11, 11, 50}, leave[4] = {12, 12, 49, 53};
    struct pw_graph_op ops[4];
    struct pw_gates gates;
    make_ops(ops, PW_OP_Bcast, enter, leave);
    make_gates(&gates, ops);
    assert_int_equal(gates.n, 1);
    assert_int_equal(gates.needs[0], 1);
    assert_int_equal(gates.full_of[0], -1);
    assert_int_equal(gates.waits_at[0], -1);
    for (int r = 1; r < 4; r++)
        assert_int_equal(gates.waits_at[r], 0);
    drop_gates(&gates);
}

/* The root enters last: that is the usual wait of the others, for it alone. */
static void test_ranks_wait_for_a_late_root_alone(void **state)
{
    (void)state;
    const int64_t enter[4] = {50, 11, 12, 13}, leave[4] = {51, 52, 52, 53};
    struct pw_graph_op ops[4];
    struct pw_gates gates;
    make_ops(ops, PW_OP_Bcast, enter, leave);
    make_gates(&gates, ops);
    assert_int_equal(gates.n, 1);
    assert_int_equal(gates.needs[0], 1);
    assert_int_equal(gates.opened[0], 50);
    assert_int_equal(gates.waits_at[0], -1);
    for (int r = 1; r < 4; r++)
        assert_int_equal(gates.waits_at[r], 0);
    drop_gates(&gates);
    make_ops(ops, PW_OP_Reduce, enter, leave);
    make_gates(&gates, ops);
    for (int r = 1; r < 4; r++) /* a leaf has sent, and may leave */
        assert_int_equal(gates.waits_at[r], -1);
    drop_gates(&gates);
}

/* A reduction: all ranks add to its gate as it is. Rank 2 stays until the last one has come, rank 1
 * does not. */
static void test_ranks_that_are_blocked_in_a_reduction(void **state)
{
    (void)state;
    const int64_t enter[4] = {10, 11, 11, 50}, leave[4] = {51, 12, 52, 53};
    struct pw_graph_op ops[4];
    struct pw_gates gates;
    make_ops(ops, PW_OP_Reduce, enter, leave);
    make_gates(&gates, ops);
    assert_int_equal(gates.n, 1);
    assert_int_equal(gates.needs[0], 4);
    assert_int_equal(gates.opened[0], 50);
    assert_int_equal(gates.waits_at[0], 0);
    assert_int_equal(gates.waits_at[1], -1);
    assert_int_equal(gates.waits_at[2], 0);
    assert_int_equal(gates.waits_at[3], -1);
    drop_gates(&gates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synchronous_sends_are_found_by_size),
        cmocka_unit_test(test_nine_of_ten_sends_must_wait),
        cmocka_unit_test(test_synchronous_sends_wait),
        cmocka_unit_test(test_ranks_that_are_blocked_wait_for_the_last_one),
        cmocka_unit_test(test_ranks_that_have_left_wait_for_the_root),
        cmocka_unit_test(test_ranks_wait_for_a_late_root_alone),
        cmocka_unit_test(test_ranks_that_are_blocked_in_a_reduction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
