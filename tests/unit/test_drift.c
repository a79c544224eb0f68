/* Tests of the time in which all ranks were slower, on step traces whose truth is known. Own work
 * is 100 ms a step and 80 ms of it in forward, but for noise of 1 % and what a test adds. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/drift.h"
#include "analysis/straggler.h"

enum { RANKS = 8, STEPS = 100, MS = 1000000 };

static int64_t own[STEPS * RANKS], phases[STEPS * RANKS * PW_PHASES];

static void make(uint64_t seed)
{
    for (size_t i = 0; i < STEPS * RANKS; i++) {
        const int64_t noise = (int64_t)(unit_normal(&seed) * MS);
        own[i] = 100 * MS + noise;
        for (size_t p = 0; p < PW_PHASES; p++)
            phases[i * PW_PHASES + p] = p == PW_PHASE_FORWARD - 1 ? 80 * MS + noise : 4 * MS;
    }
}

static void add(size_t step, size_t rank, int64_t ns)
{
    own[step * RANKS + rank] += ns;
    phases[(step * RANKS + rank) * PW_PHASES + PW_PHASE_FORWARD - 1] += ns;
}

static void add_to_all(size_t first, size_t last, int64_t ns)
{
    for (size_t s = first; s <= last; s++)
        for (size_t r = 0; r < RANKS; r++)
            add(s, r, ns);
}

static int find(struct pw_drift *out)
{
    const struct pw_drift_input in = {STEPS, RANKS, own, phases, (int64_t)12000 * MS};
    void *scratch = malloc(pw_drift_scratch(STEPS, RANKS));
    int found = pw_drift_find(&in, scratch, out);
    free(scratch);
    return found;
}

static void assert_nothing(void)
{
    struct pw_drift d;
    assert_int_equal(find(&d), 0);
}

static struct pw_drift assert_found(int kind, int64_t first, int64_t last)
{
    struct pw_drift d;
    assert_int_equal(find(&d), 1);
    assert_int_equal(d.kind, kind);
    assert_int_equal(d.first, first);
    assert_int_equal(d.last, last);
    return d;
}

/* 24 ms more in each of 20 steps: 480 ms, 4 % of 12 s. The lower quartile of 8 ranks lies 0.7 ms
 * below their mean in all steps alike, so the difference stays; medians of 20 and 80 steps of it
 * are good to about 0.2 ms. */
static void test_a_stretch(void **state)
{
    (void)state;
    make(1);
    add_to_all(40, 59, 24 * MS);
    const struct pw_drift d = assert_found(PW_SLOWING_STRETCH, 40, 59);
    assert_int_equal(d.steps, 20);
    assert_true(labs(d.excess_ns - 24 * MS) < MS);
    assert_int_equal(d.cost_ns, 20 * d.excess_ns);
    assert_int_equal(d.phase, PW_PHASE_FORWARD);
    assert_true(d.confidence > 0.99);
}

/* From step 30 to the end, more than half of the run. */
static void test_stretch_until_the_end_of_the_run(void **state)
{
    (void)state;
    make(2);
    add_to_all(30, 99, 10 * MS);
    const struct pw_drift d = assert_found(PW_SLOWING_STRETCH, 30, 99);
    assert_true(labs(d.excess_ns - 10 * MS) < MS);
}

/* 0.2 ms more in each step than in the one before: 19.8 ms in the last, 0.99 s in all. */
static void test_steady_growth(void **state)
{
    (void)state;
    make(3);
    for (size_t s = 0; s < STEPS; s++)
        add_to_all(s, s, (int64_t)s * MS / 5);
    const struct pw_drift d = assert_found(PW_SLOWING_STEADY, 0, 99);
    assert_true(labs(d.excess_ns - 198 * MS / 10) < 2 * MS);
    assert_int_equal(d.cost_ns, d.excess_ns * 100 / 2);
    assert_int_equal(d.phase, PW_PHASE_FORWARD);
    make(3);
    for (size_t s = 0; s < STEPS; s++)
        add_to_all(s, s, (int64_t)(STEPS - s) * MS / 5);
    assert_nothing(); /* what gets faster loses nothing */
}

/* Level until step 50, then 0.5 ms more in each step: 24.5 ms in the last, 612 ms in all. */
static void test_growth_that_begins_later(void **state)
{
    (void)state;
    make(14);
    for (size_t s = 50; s < STEPS; s++)
        add_to_all(s, s, (int64_t)(s - 50) * MS / 2);
    const struct pw_drift d = assert_found(PW_SLOWING_STEADY, 0, 99);
    assert_true(labs(d.excess_ns - 245 * MS / 10) < 4 * MS);
    assert_true(labs(d.cost_ns - 612 * MS) < 120 * MS);
    assert_int_equal(d.phase, PW_PHASE_FORWARD);
}

static void test_warming_up(void **state)
{
    (void)state;
    struct pw_drift d;
    make(4);
    add_to_all(0, 7, 40 * MS);
    assert_int_equal(find(&d), 1);
    assert_int_equal(d.kind, PW_SLOWING_WARM_UP);
    assert_int_equal(d.last, 7);
}

/* One rank, or all of one of two hosts: theirs alone. */
static void test_not_all_ranks(void **state)
{
    (void)state;
    for (size_t ranks = 1; ranks <= RANKS / 2; ranks *= 2) {
        make(5);
        for (size_t s = 40; s < 60; s++)
            for (size_t r = 0; r < ranks; r++)
                add(s, r, 50 * MS);
        assert_nothing();
    }
}

/* What a program does again and again: each tenth step twice as long; twenty slow after twenty
 * fast; one that is long for all. */
static void test_periodic_work_is_no_stretch(void **state)
{
    (void)state;
    make(6);
    for (size_t s = 9; s < STEPS; s += 10)
        add_to_all(s, s, 100 * MS);
    assert_nothing();
    make(6);
    for (size_t s = 20; s < STEPS; s += 40)
        add_to_all(s, s + 19, 30 * MS);
    assert_nothing();
    make(6);
    add_to_all(50, 51, 900 * MS);
    assert_nothing();
}

/* 12 of 100 steps, in which every fourth has 40 ms more by design: what comes every fourth step is
 * taken out, and then they are clear. */
static void test_beside_a_period(void **state)
{
    (void)state;
    make(10);
    for (size_t s = 0; s < STEPS; s += 4)
        add_to_all(s, s, 40 * MS);
    assert_nothing();
    add_to_all(44, 55, 20 * MS);
    const struct pw_drift d = assert_found(PW_SLOWING_STRETCH, 44, 55);
    assert_in_range(d.excess_ns, 19 * MS, 21 * MS);
}

/* 12 ms from the first step to the last, in noise of 10 ms a rank: the lower quartile of 8 ranks
 * differs by 4 ms from step to step, so it is 3 sigma of a step, but 12 / 4 x sqrt(100 / 12) = 8.7
 * standard errors of a slope. */
static void test_below_what_steps_differ(void **state)
{
    (void)state;
    struct pw_drift d;
    uint64_t seed = 11;
    make(11);
    for (size_t i = 0; i < STEPS * RANKS; i++)
        add(i / RANKS, i % RANKS, (int64_t)(unit_normal(&seed) * 10 * MS));
    assert_nothing();
    for (size_t s = 0; s < STEPS; s++)
        add_to_all(s, s, (int64_t)s * 12 * MS / (STEPS - 1));
    assert_int_equal(find(&d), 1);
    assert_int_equal(d.kind, PW_SLOWING_STEADY);
    assert_in_range(d.excess_ns, 8 * MS, 16 * MS);
}

/* Below 1 % of the run: 0.5 ms in 20 steps is 10 ms of 12 s. */
static void test_stretch_below_one_percent_of_the_run_is_ignored(void **state)
{
    (void)state;
    make(7);
    add_to_all(40, 59, MS / 2);
    assert_nothing();
}

/* Noise alone, as large as it may be, and noise that all ranks share and that lasts: x' = 0.9 x +
 * e, in the mean 2.3 times as large as one e. */
static void test_noise_alone_gives_no_result(void **state)
{
    (void)state;
    struct pw_drift d;
    uint64_t seed = 8;
    int alarms = 0, lasting = 0;
    for (int run = 0; run < 100; run++) {
        double level = 0;
        make(100 + (uint64_t)run);
        for (size_t i = 0; i < STEPS * RANKS; i++)
            add(i / RANKS, i % RANKS, (int64_t)(unit_normal(&seed) * 20 * MS));
        alarms += find(&d);
        make(100 + (uint64_t)run);
        for (size_t s = 0; s < STEPS; s++) {
            level = 0.9 * level + unit_normal(&seed);
            add_to_all(s, s, (int64_t)(level * 5 * MS));
        }
        lasting += find(&d);
    }
    assert_int_equal(alarms, 0);
    assert_int_equal(lasting, 0);
}

static void test_few_steps_or_ranks_give_no_result(void **state)
{
    (void)state;
    struct pw_drift d;
    make(9);
    memset(own, 0xff, sizeof(own));
    assert_nothing();
    const struct pw_drift_input none = {0, 0, own, phases, 1};
    char scratch[64];
    assert_true(pw_drift_scratch(0, 0) <= sizeof(scratch));
    assert_int_equal(pw_drift_find(&none, scratch, &d), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stretch),
        cmocka_unit_test(test_stretch_until_the_end_of_the_run),
        cmocka_unit_test(test_steady_growth),
        cmocka_unit_test(test_growth_that_begins_later),
        cmocka_unit_test(test_warming_up),
        cmocka_unit_test(test_not_all_ranks),
        cmocka_unit_test(test_periodic_work_is_no_stretch),
        cmocka_unit_test(test_beside_a_period),
        cmocka_unit_test(test_below_what_steps_differ),
        cmocka_unit_test(test_stretch_below_one_percent_of_the_run_is_ignored),
        cmocka_unit_test(test_noise_alone_gives_no_result),
        cmocka_unit_test(test_few_steps_or_ranks_give_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
