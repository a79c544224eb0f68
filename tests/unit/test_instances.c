/* The join of what the merge's processes know of a collective: the order must not matter. MPI is
 * never started. */
#include "unit.h"

#include <string.h>

#include "aggregate/match/instances.h"

/* What one rank knows: as the merge makes it from an event. */
static struct pw_instance one(int32_t rank, int64_t enter, int64_t leave)
{
    return (struct pw_instance){
        .op = 16,
        .nranks = 1,
        .last_rank = rank,
        .first_enter = enter,
        .first_exit = leave,
        .last_enter = enter,
        .last_exit = leave,
        .penultimate_enter = INT64_MIN,
        .root_enter = INT64_MAX,
        .root = -1,
        .bytes = 8,
        .error_ns = 10,
        .step = 3,
    };
}

static struct pw_instance join(struct pw_instance a, struct pw_instance b)
{
    struct pw_instance joined = a;
    pw_instance_join(&joined, &b);
    return joined;
}

static void assert_same(const struct pw_instance *a, const struct pw_instance *b)
{
    assert_int_equal(a->first_enter, b->first_enter);
    assert_int_equal(a->last_enter, b->last_enter);
    assert_int_equal(a->penultimate_enter, b->penultimate_enter);
    assert_int_equal(a->first_exit, b->first_exit);
    assert_int_equal(a->last_exit, b->last_exit);
    assert_int_equal(a->root_enter, b->root_enter);
    assert_int_equal(a->root, b->root);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->error_ns, b->error_ns);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->last_rank, b->last_rank);
    assert_int_equal(a->nranks, b->nranks);
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->mixed, b->mixed);
}

static void test_join(void **state)
{
    (void)state;
    struct pw_instance a = one(0, 100, 500);
    a.bytes = 64;
    a.root_enter = 100;
    a = join(a, one(1, 300, 490));
    a = join(a, one(2, 200, 510));
    assert_int_equal(a.first_enter, 100);
    assert_int_equal(a.penultimate_enter, 200); /* last but one */
    assert_int_equal(a.last_enter, 300);
    assert_int_equal(a.last_rank, 1);
    assert_int_equal(a.first_exit, 490);
    assert_int_equal(a.last_exit, 510);
    assert_int_equal(a.root_enter, 100);
    assert_int_equal(a.bytes, 64);
    assert_int_equal(a.nranks, 3);
    assert_int_equal(a.mixed, 0);
}

static void test_penultimate_enter(void **state)
{
    (void)state;
    /* 10 20 | 30 40: the second is 30, known to one side; 10 40 | 20 30: it is the other's last. */
    struct pw_instance a =
        join(join(one(0, 10, 99), one(1, 20, 99)), join(one(2, 30, 99), one(3, 40, 99)));
    assert_int_equal(a.penultimate_enter, 30);
    assert_int_equal(a.last_rank, 3);
    a = join(join(one(0, 10, 99), one(1, 40, 99)), join(one(2, 20, 99), one(3, 30, 99)));
    assert_int_equal(a.penultimate_enter, 30);
    a = join(one(0, 40, 99), one(1, 40, 99)); /* together */
    assert_int_equal(a.penultimate_enter, 40);
    assert_int_equal(a.last_rank, 0); /* the lowest of them */
    assert_int_equal(join(one(1, 40, 99), one(0, 40, 99)).last_rank, 0);
}

static void test_empty_and_unknown(void **state)
{
    (void)state;
    const struct pw_instance none = {0}, a = one(4, 70, 90);
    struct pw_instance left = join(none, a), right = join(a, none);
    assert_same(&left, &a);
    assert_same(&right, &a);
    struct pw_instance unaligned = one(5, 60, 95);
    unaligned.error_ns = -1;
    assert_int_equal(join(a, unaligned).error_ns, -1);
    assert_int_equal(join(unaligned, a).error_ns, -1);
    struct pw_instance other = one(6, 60, 95);
    other.op = 9;
    assert_int_equal(join(a, other).mixed, 1);
    assert_int_equal(join(join(a, other), a).mixed, 1);
}

static struct pw_instance random_instance(uint64_t *seed)
{
    /* Few values, so that ties are common. */
#define SMALL(n) ((int64_t)(unit_random(seed) % (n)))
    struct pw_instance i = one((int32_t)SMALL(8), SMALL(10), 20 + SMALL(10));
    i.nranks = (int32_t)SMALL(4);
    i.last_enter += SMALL(5);
    i.penultimate_enter = SMALL(2) ? INT64_MIN : i.last_enter - SMALL(3);
    i.last_exit += SMALL(5);
    i.root_enter = SMALL(2) ? INT64_MAX : SMALL(10);
    i.root = (int32_t)SMALL(3) - 1;
    i.bytes = SMALL(4) - 1;
    i.error_ns = SMALL(4) - 1;
    i.step = SMALL(4) - 1;
    i.op = (uint16_t)(SMALL(5) ? 16 : SMALL(3));
    i.source = (uint8_t)(SMALL(5) == 0);
    i.mixed = SMALL(9) == 0;
    return i;
#undef SMALL
}

/* Rank 0 waits 30 ns for rank 1, and then both wait until a third member comes, which has not
 * recorded it: rank 1 is blamed for the 30 ns alone. */
static void test_no_blame_for_who_is_not_recorded(void **state)
{
    (void)state;
    for (int32_t size = 2; size <= 3; size++) {
        struct pw_instance item = join(one(0, 100, 600), one(1, 130, 600));
        struct pw_instance_wait wait = {970, 500};
        struct pw_comm_group comm = {.uid = 7, .collectives = 1, .size = size};
        const struct pw_instances in = {
            .comms = &comm, .ncomms = 1, .items = &item, .waits = &wait, .n = 1};
        const struct pw_blame blame = pw_collective_sum_blame(&in, 1, INT64_MIN, INT64_MAX);
        assert_int_equal(blame.all_ns, 970);
        assert_int_equal(blame.blame_ns, size == 2 ? 970 : 30);
        assert_int_equal(blame.longest_ns, size == 2 ? 500 : 30);
        assert_int_equal(blame.critical_ns, 30);
    }
}

static void test_order_does_not_matter(void **state)
{
    (void)state;
    uint64_t seed = 2024;
    for (int round = 0; round < 100000; round++) {
        struct pw_instance a = random_instance(&seed), b = random_instance(&seed);
        struct pw_instance c = random_instance(&seed);
        struct pw_instance ab = join(a, b), ba = join(b, a);
        if (a.nranks || b.nranks) /* two empty ones are empty, whatever else they hold */
            assert_same(&ab, &ba);
        if (!a.nranks && !b.nranks && !c.nranks)
            continue;
        struct pw_instance left = join(ab, c), right = join(a, join(b, c));
        assert_same(&left, &right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_penultimate_enter),
        cmocka_unit_test(test_empty_and_unknown),
        cmocka_unit_test(test_no_blame_for_who_is_not_recorded),
        cmocka_unit_test(test_order_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
