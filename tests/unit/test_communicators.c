/* Unit tests of the sums over the collectives of a communicator, with values worked by hand. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "aggregate/match/communicators.h"
#include "core/ops.h"

enum { SIZE = 4, COLLECTIVES = 5 };

static struct pw_instance collective(int32_t last, int64_t transfer_ns)
{
    return (struct pw_instance){.first_enter = 0,
                                .last_enter = 100,
                                .last_exit = 100 + transfer_ns,
                                .bytes = 8,
                                .root = -1,
                                .last_rank = last,
                                .nranks = SIZE,
                                .op = PW_OP_Allreduce};
}

/* Rank 2 is last in two collectives and costs 400, rank 1 in one and costs 100. One collective was
 * not recorded by all, of another only the time of the request is known. */
static void test_sums(void **state)
{
    (void)state;
    struct pw_instance items[1 + COLLECTIVES] = {
        collective(3, 1000), /* of another communicator */
        collective(2, 5),    collective(1, 7),   collective(2, 3),
        collective(0, 900),  collective(0, 900),
    };
    struct pw_instance_wait waits[1 + COLLECTIVES] = {{9999, 0}, {300, 0}, {100, 0},
                                                      {100, 0},  {999, 0}, {999, 0}};
    items[4].nranks = SIZE - 1;
    items[5].untimed = 1;
    const struct pw_comm_group comm = {
        .uid = 7, .first = 1, .base = 10, .collectives = 10 + COLLECTIVES, .size = SIZE};
    const struct pw_instances in = {.items = items, .waits = waits, .n = 1 + COLLECTIVES};
    struct pw_row_c_communicator row = {0};
    assert_int_equal(pw_communicator_sum_up(&in, &comm, &row), 0);
    assert_int_equal(row.collectives, 4);
    assert_int_equal(row.bytes, 32);
    assert_int_equal(row.wait_ns, 125);
    assert_int_equal(row.transfer_ns, 15);
    assert_int_equal(row.late_rank, 2);
    assert_int_equal(row.late_wait_ns, 100);
}

/* Where data come from a root, the others wait for it, whoever enters last. */
static void test_root(void **state)
{
    (void)state;
    struct pw_instance item = collective(2, 5);
    struct pw_instance_wait wait = {40, 0};
    const struct pw_comm_group comm = {.collectives = 1, .size = SIZE};
    const struct pw_instances in = {.items = &item, .waits = &wait, .n = 1};
    struct pw_row_c_communicator row = {0};
    item.op = PW_OP_Bcast;
    item.root = 1;
    assert_int_equal(pw_communicator_sum_up(&in, &comm, &row), 0);
    assert_int_equal(row.late_rank, 1);
    assert_int_equal(row.late_wait_ns, 10);
}

static void test_nothing_known(void **state)
{
    (void)state;
    struct pw_instance item = collective(2, 5);
    struct pw_instance_wait wait = {40, 0};
    const struct pw_comm_group comm = {.collectives = 1, .size = SIZE};
    const struct pw_instances in = {.items = &item, .waits = &wait, .n = 1};
    struct pw_row_c_communicator row = {0};
    item.untimed = 1;
    assert_int_equal(pw_communicator_sum_up(&in, &comm, &row), 0);
    assert_int_equal(row.collectives, 1);
    assert_int_equal(row.wait_ns, -1);
    assert_int_equal(row.transfer_ns, -1);
    assert_int_equal(row.late_rank, -1);
    assert_int_equal(row.late_wait_ns, -1);
}

static void test_list_of_ranks(void **state)
{
    (void)state;
    static const int32_t ranks[] = {0, 1, 2, 3, 8}, apart[] = {0, 2, 4, 6};
    char out[32];
    pw_communicator_list_ranks(ranks, 5, out, sizeof(out));
    assert_string_equal(out, "0-3,8");
    pw_communicator_list_ranks(ranks, 0, out, sizeof(out));
    assert_string_equal(out, "");
    pw_communicator_list_ranks(apart, 4, out, 9);
    assert_string_equal(out, "0,2,…");
    pw_communicator_list_ranks(apart, 4, out, 12);
    assert_string_equal(out, "0,2,4,6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_list_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
