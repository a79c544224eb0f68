/* Slow workers of task farms, with values worked by hand. */
#include "unit.h"

#include <stdlib.h>

#include "analysis/taskfarm.h"

enum { RANKS = 5, MASTER = 1 };
#define MS ((int64_t)1000000)

struct farm {
    struct pw_row_c_p2p pairs[2 * RANKS + 1];
    int64_t own_ns[RANKS];
    struct pw_farm_input in;
    struct pw_farm_slow slow[RANKS];
};

/* Each worker does 50 tasks of 15 ms, rank 3 only 20 of 37.5 ms. */
static struct farm *make(void)
{
    struct farm *farm = calloc(1, sizeof(*farm));
    farm->in = (struct pw_farm_input){farm->pairs, 0, farm->own_ns, RANKS};
    for (int32_t r = 0; r < RANKS; r++) {
        const int64_t tasks = r == 3 ? 20 : 50;
        farm->own_ns[r] = r == MASTER ? 0 : 750 * MS;
        if (r == MASTER)
            continue;
        farm->pairs[farm->in.npairs++] =
            (struct pw_row_c_p2p){.src = MASTER, .dst = r, .messages = tasks};
        farm->pairs[farm->in.npairs++] =
            (struct pw_row_c_p2p){.src = r, .dst = MASTER, .messages = tasks};
    }
    return farm;
}

static size_t find(struct farm *farm)
{
    void *scratch = malloc(pw_farm_scratch(RANKS));
    const size_t n = pw_farm_find(&farm->in, scratch, farm->slow, RANKS);
    free(scratch);
    return n;
}

static void test_slow_worker(void **state)
{
    (void)state;
    struct farm *farm = make();
    assert_int_equal(find(farm), 1);
    assert_int_equal(farm->slow[0].rank, 3);
    assert_int_equal(farm->slow[0].master, MASTER);
    assert_int_equal(farm->slow[0].tasks, 20);
    assert_int_equal(farm->slow[0].others_tasks, 50);
    assert_int_equal(farm->slow[0].mine_ns, 37500000);
    assert_int_equal(farm->slow[0].others_ns, 15 * MS);
    /* 3 / 15 ms + 1 / 37.5 ms = 17 / 75 ms; as fast as the others 20 / 75 ms: 3 / 20 of 750 ms. */
    assert_true(llabs(farm->slow[0].lost_ns - 112500000) < 10);
    void *scratch = malloc(pw_farm_scratch(RANKS));
    assert_int_equal(pw_farm_task_ns(&farm->in, scratch, 3), 37500000);
    assert_int_equal(pw_farm_task_ns(&farm->in, scratch, 4), 15 * MS);
    assert_int_equal(pw_farm_task_ns(&farm->in, scratch, MASTER), -1);
    farm->pairs[farm->in.npairs++] = (struct pw_row_c_p2p){.src = 3, .dst = 4, .messages = 1};
    assert_int_equal(pw_farm_task_ns(&farm->in, scratch, 4), -1); /* no farm */
    free(scratch);
    free(farm);
}

/* With 9 tasks, 4 standard errors are 1.33 of the mean. */
static void test_few_tasks_tell_less(void **state)
{
    (void)state;
    struct farm *farm = make();
    farm->pairs[4].messages = farm->pairs[5].messages = 9; /* of rank 3 */
    farm->own_ns[3] = 9 * 35 * MS;
    for (int r = 0; r < RANKS; r++)
        if (r != MASTER && r != 3)
            farm->own_ns[r] = 300 * MS, farm->pairs[r > MASTER ? 2 * (r - 1) : 0].messages = 20;
    assert_int_equal(find(farm), 1); /* 35 ms for a task, 2.333 times 15 ms */
    farm->own_ns[3] = 9 * 34900000;
    assert_int_equal(find(farm), 0);
    free(farm);
}

static void test_what_is_no_farm(void **state)
{
    (void)state;
    struct farm *farm = make();
    farm->own_ns[3] = 500 * MS; /* not busy all the time: 20 tasks of 25 ms, shared out before */
    assert_int_equal(find(farm), 0);
    farm->own_ns[3] = -1;
    assert_int_equal(find(farm), 0);
    free(farm);

    farm = make(); /* two workers talk to each other */
    farm->pairs[farm->in.npairs++] = (struct pw_row_c_p2p){.src = 2, .dst = 4, .messages = 1};
    assert_int_equal(find(farm), 0);
    free(farm);

    farm = make(); /* a rank without messages */
    farm->pairs[0].messages = farm->pairs[1].messages = 0;
    assert_int_equal(find(farm), 0);
    free(farm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_worker),
        cmocka_unit_test(test_few_tasks_tell_less),
        cmocka_unit_test(test_what_is_no_farm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
