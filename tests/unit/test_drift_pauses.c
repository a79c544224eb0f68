/* Tests of pauses of all ranks, on own work whose truth is known: 10 ms a step, and what a test
 * adds. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/drift.h"

enum { RANKS = 4, STEPS = 100, MS = 1000000 };

static int64_t own[STEPS * RANKS], gaps[STEPS];
static uint8_t is_pause[STEPS];

static void make(void)
{
    for (size_t i = 0; i < STEPS * RANKS; i++)
        own[i] = 10 * MS + (int64_t)(i * 7919 % 101) * MS / 1000; /* up to 0.1 ms more */
    memset(gaps, 0, sizeof(gaps));
}

static void add_to_all(size_t step, int64_t ns)
{
    for (size_t r = 0; r < RANKS; r++)
        own[step * RANKS + r] += ns;
}

static int find(struct pw_pauses *out, int is_inferred)
{
    const struct pw_pauses_input in = {STEPS,      RANKS, own, gaps, 10 * MS, 2000 * (int64_t)MS,
                                       is_inferred};
    void *scratch = malloc(pw_pauses_scratch(STEPS, RANKS));
    const int found = pw_pauses_find(&in, scratch, is_pause, out);
    free(scratch);
    return found;
}

/* 3 pauses of 100 ms in steps 24, 49 and 74: 300 ms of a run of 2 s. */
static void test_regular_pauses(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    for (size_t s = 24; s < 90; s += 25)
        add_to_all(s, 100 * MS);
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.every, 25);
    assert_int_equal(p.first, 24);
    assert_int_equal(p.last, 74);
    assert_true(llabs(p.excess_ns - 100 * MS) < MS / 5);
    assert_int_equal(p.cost_ns, p.count * p.excess_ns);
    assert_true(is_pause[24] && is_pause[49] && is_pause[74] && !is_pause[25]);
    assert_true(p.confidence > 0.99);
}

/* Between two steps no rank's work has it. Half of the first: irregular, and of different length.
 */
static void test_between_steps(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    gaps[10] = 60 * MS;
    gaps[17] = 40 * MS;
    gaps[80] = 50 * MS;
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.every, 0);
    assert_true(llabs(p.cost_ns - 150 * MS) < MS);
}

static void test_one_pause(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    add_to_all(33, 200 * MS);
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.every, 0);
    assert_int_equal(p.first, 33);
}

/* Beside one pause of 400 ms, four of 8 ms (32 of 432 ms) are none; six of 8 ms (48 of 448 ms) are.
 */
static void test_short_pauses_beside_a_long_one(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    add_to_all(60, 400 * MS);
    for (size_t s = 10; s < 50; s += 10)
        add_to_all(s, 8 * MS);
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.first, 60);
    assert_int_equal(p.last, 60);
    assert_true(llabs(p.cost_ns - 400 * MS) < MS);
    add_to_all(70, 8 * MS);
    add_to_all(80, 8 * MS);
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(p.count, 7);
    assert_int_equal(p.first, 10);
}

/* What only some ranks have, what follows upon each other, the first step, every fifth step, less
 * than a hundredth of the run, and the work of an outer loop. */
static void test_patterns_that_are_no_pauses(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    for (size_t r = 1; r < 3; r++)
        own[40 * RANKS + r] += 500 * MS;
    assert_int_equal(find(&p, 0), 0);
    make();
    for (size_t s = 40; s < 50; s++)
        add_to_all(s, 50 * MS);
    assert_int_equal(find(&p, 0), 0);
    make();
    add_to_all(0, 500 * MS);
    assert_int_equal(find(&p, 0), 0);
    make();
    for (size_t s = 4; s < STEPS; s += 5)
        add_to_all(s, 50 * MS);
    assert_int_equal(find(&p, 0), 0);
    make();
    add_to_all(33, 19 * MS);
    assert_int_equal(find(&p, 0), 0);
    add_to_all(33, 2 * MS); /* the same, just above */
    assert_int_equal(find(&p, 0), 1);
    assert_int_equal(find(&p, 1), 0);
}

/* As long as a third of the largest, which they follow: which is a pause is not clear. */
static void test_pauses_that_cannot_be_separated(void **state)
{
    (void)state;
    struct pw_pauses p;
    make();
    for (size_t s = 20; s < 90; s += 20)
        add_to_all(s, 6 * MS);
    for (size_t s = 30; s < 90; s += 20)
        add_to_all(s, 4 * MS);
    assert_int_equal(find(&p, 0), 0);
}

/* Rank 0 writes a checkpoint of 260 ms, and the others wait for it: bins of 0.1 s tell 230 ms of
 * it. The rest is no pause of all ranks. */
static void test_gaps_that_one_rank_causes(void **state)
{
    (void)state;
    assert_int_equal(pw_pauses_gap(260 * MS, 230 * MS), 0);
    assert_int_equal(pw_pauses_gap(260 * MS, 130 * MS), 0);
    assert_int_equal(pw_pauses_gap(260 * MS, 129 * MS), 131 * MS);
    assert_int_equal(pw_pauses_gap(260 * MS, 0), 260 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regular_pauses),
        cmocka_unit_test(test_between_steps),
        cmocka_unit_test(test_one_pause),
        cmocka_unit_test(test_short_pauses_beside_a_long_one),
        cmocka_unit_test(test_patterns_that_are_no_pauses),
        cmocka_unit_test(test_pauses_that_cannot_be_separated),
        cmocka_unit_test(test_gaps_that_one_rank_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
