/* Stragglers where it is known what of own work is outside communication: matrices made by hand. */
#include "test_straggler_make.h"

#include <stdlib.h>
#include <string.h>

/* Says that all own work so far is outside communication. */
static void know_useful(struct job *j)
{
    size_t bytes = j->in.nsteps * j->in.nranks * sizeof(*j->useful);
    j->useful = malloc(bytes);
    memcpy(j->useful, j->own, bytes);
    j->in.useful_ns = j->useful;
}

/* Rank 1 gets the sum 1 ms late in every step, which is no work; in steps 20 .. 39 it works 2 ms
 * longer. Own work alone would be longer in all of them. */
static void test_late_transfers_do_not_change_the_window(void **state)
{
    (void)state;
    struct job *j = create(60, 4, 2e5, 5);
    slow(j, 1, 20, 39, 2 * MS, 4);
    know_useful(j);
    slow(j, 1, 0, 59, 3 * MS / 2, 3);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 1);
    assert_in_range(j->found[0].first, 19, 20);
    assert_in_range(j->found[0].last, 39, 40);
    assert_int_equal(j->found[0].phase, PW_PHASE_OPTIMIZER);
    assert_in_range(j->found[0].excess_ns, 17 * MS / 10, 23 * MS / 10);
    destroy(j);
}

/* One that is late inside communication only: whose doing that is nothing here says. */
static int is_found_inside(struct job *j)
{
    return find(j) == 1 && j->found[0].is_inside;
}

/* What rank 1 works longer, the others' communication lasts longer: no rank waits for it. */
static void test_hidden_work_is_no_straggler(void **state)
{
    (void)state;
    struct job *j = create(60, 4, 2e5, 6);
    know_useful(j);
    for (size_t s = 0; s < 60; s++)
        j->useful[s * 4 + 1] += 5 * MS;
    assert_int_equal(find(j), 0);
    destroy(j);
    /* Longer transfers alone are no rank's doing. */
    j = create(60, 4, 2e5, 7);
    know_useful(j);
    slow(j, 1, 0, 59, 5 * MS, 3);
    assert_true(is_found_inside(j));
    j->in.useful_ns = NULL; /* where it is not known they are, if they last */
    assert_int_equal(find(j), 1);
    destroy(j);
}

/* Rank 1 has 10 ms less to do than the others, and its transfers end as much later. What comes to
 * it in steps 20 .. 39 makes it no longer than they are, but late. */
static struct job *create_light(uint64_t seed, int64_t work_ns, int64_t transfer_ns)
{
    struct job *j = create(60, 4, 2e5, seed);
    slow(j, 1, 0, 59, -10 * MS, 2);
    slow(j, 1, 20, 39, work_ns, 2);
    know_useful(j);
    slow(j, 1, 0, 59, 10 * MS, 3);
    slow(j, 1, 20, 39, transfer_ns, 3);
    return j;
}

static void test_what_a_light_rank_has_more_counts(void **state)
{
    (void)state;
    struct job *j = create_light(8, 6 * MS, 0);
    assert_int_equal(find(j), 1);
    assert_int_equal(j->found[0].rank, 1);
    assert_int_equal(j->found[0].first, 20);
    assert_int_equal(j->found[0].last, 39);
    assert_int_equal(j->found[0].phase, PW_PHASE_BACKWARD);
    assert_in_range(j->found[0].excess_ns, 57 * MS / 10, 63 * MS / 10);
    destroy(j);
    j = create_light(8, 0, 6 * MS);
    assert_true(is_found_inside(j));
    destroy(j);
    /* Half of it must be work. */
    j = create_light(8, 4 * MS, 2 * MS);
    assert_int_equal(find(j), 1);
    assert_false(j->found[0].is_inside);
    destroy(j);
    j = create_light(8, 2 * MS, 4 * MS);
    assert_true(is_found_inside(j));
    destroy(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_transfers_do_not_change_the_window),
        cmocka_unit_test(test_hidden_work_is_no_straggler),
        cmocka_unit_test(test_what_a_light_rank_has_more_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
