/* The times in which the collections of a straggler count, by hand. */
#include "unit.h"

#include "aggregate/findings/runtimework.h"

/* Steps 3 to 8 of 10 ns each, from 100 on, without step 6. */
static struct pw_row_step steps[] = {
    {.step = 3, .start = 100, .end = 110}, {.step = 4, .start = 110, .end = 120},
    {.step = 5, .start = 120, .end = 130}, {.step = 7, .start = 140, .end = 150},
    {.step = 8, .start = 150, .end = 160},
};
static const struct pw_input ordered = {.steps = steps, .nsteps = 5};

/* The numbers begin again, as in a second epoch. */
static struct pw_row_step epochs[] = {
    {.step = 0, .start = 0, .end = 10},
    {.step = 1, .start = 10, .end = 20},
    {.step = 0, .start = 20, .end = 30},
    {.step = 1, .start = 30, .end = 40},
};
static const struct pw_input again = {.steps = epochs, .nsteps = 4};

static size_t find(const struct pw_input *input, struct pw_runtimework_when when,
                   struct pw_runtimework_span *spans)
{
    spans[0] = spans[1] = (struct pw_runtimework_span){-1, -1};
    return pw_runtimework_spans(&when, input, pw_runtimework_in_order(input), spans);
}

static void test_from_first_to_last(void **state)
{
    (void)state;
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 4, 7, 0}, spans), 1);
    assert_int_equal(spans[0].from, 110);
    assert_int_equal(spans[0].until, 150);
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 6, 7, 0}, spans), 1);
    assert_int_equal(spans[0].from, 140);
    assert_int_equal(spans[0].until, 150);
}

/* What is between the two steps of a one-off does not count. */
static void test_two_steps(void **state)
{
    (void)state;
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 3, 8, 1}, spans), 2);
    assert_int_equal(spans[0].from, 100);
    assert_int_equal(spans[0].until, 110);
    assert_int_equal(spans[1].from, 150);
    assert_int_equal(spans[1].until, 160);
}

/* Of a rank that lacks the steps, or one of the two, nothing is known. */
static void test_steps_that_are_missing(void **state)
{
    (void)state;
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    const struct pw_input none = {.steps = NULL};
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 6, 6, 0}, spans), 0);
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 9, 20, 0}, spans), 0);
    assert_int_equal(find(&ordered, (struct pw_runtimework_when){1, 3, 6, 1}, spans), 0);
    assert_int_equal(find(&none, (struct pw_runtimework_when){1, 3, 6, 0}, spans), 0);
}

static void test_numbers_that_begin_again(void **state)
{
    (void)state;
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    assert_int_equal(pw_runtimework_in_order(&ordered), 1);
    assert_int_equal(pw_runtimework_in_order(&again), 0);
    assert_int_equal(find(&again, (struct pw_runtimework_when){1, 1, 1, 0}, spans), 1);
    assert_int_equal(spans[0].from, 10);
    assert_int_equal(spans[0].until, 40);
    assert_int_equal(find(&again, (struct pw_runtimework_when){1, 2, 3, 0}, spans), 0);
    /* Steps 0 are from 0 to 30, steps 1 from 10 to 40: no time counts twice. */
    assert_int_equal(find(&again, (struct pw_runtimework_when){1, 0, 1, 1}, spans), 1);
    assert_int_equal(spans[0].from, 0);
    assert_int_equal(spans[0].until, 40);
}

/* A stretch is a time of the run, of which every rank has its part. */
static void test_stretch(void **state)
{
    (void)state;
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    assert_int_equal(find(&again, (struct pw_runtimework_when){0, 5, 7, 0}, spans), 1);
    assert_int_equal(spans[0].from, 5);
    assert_int_equal(spans[0].until, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_first_to_last),
        cmocka_unit_test(test_two_steps),
        cmocka_unit_test(test_steps_that_are_missing),
        cmocka_unit_test(test_numbers_that_begin_again),
        cmocka_unit_test(test_stretch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
