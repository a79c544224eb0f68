/* Advice about the data pipeline, and about stragglers that it explains. */
#include "test_advice_world.h"
#include "unit.h"

/* A straggler whose queues explain it gets only the queues' advice, with its gain. */
static void test_queues_explain_a_straggler(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    world_add_queues(&w, 0.31, 0);
    world_add_straggler(&w, PW_CAUSE_DATA_STARVATION, PW_PHASE_DATA);
    w.c->stragglers[0].rank = 2;
    size_t n = world_collect(&w, advice);
    const struct pw_advice *found = world_find(advice, n, "data_processing_slow");
    assert_non_null(found);
    assert_null(world_find(advice, n, "data_starvation"));
    assert_int_equal(found->saves_ns, 731 * MS);
    assert_int_equal(found->nranks, 1);
    assert_int_equal(found->ranks[0], 2);

    /* A gap of less than 1 % of the step costs nothing, whatever the queues are. */
    w.trace[2].interval_ns = 3 * MS / 2;
    n = world_collect(&w, advice);
    assert_null(world_find(advice, n, "data_processing_slow"));
    assert_non_null(world_find(advice, n, "data_starvation"));
    pw_cluster_destroy(w.c);
}

/* When all ranks starve, the job could save what the least of them waits in every step. */
static void test_all_ranks_starve(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    world_add_queues(&w, 0.5, 0);
    for (size_t i = 0; i < w.c->nqueues; i++)
        if (!w.c->queues[i].place)
            w.c->queues[i].empty_share = 0.5;
    w.trace[1].interval_ns = 4 * MS;
    size_t n = world_collect(&w, advice);
    const struct pw_advice *found = world_find(advice, n, "data_processing_slow");
    assert_non_null(found);
    assert_int_equal(found->nranks, RANKS);
    assert_int_equal(found->saves_ns, 50 * 4 * MS);
    pw_cluster_destroy(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queues_explain_a_straggler),
        cmocka_unit_test(test_all_ranks_starve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
