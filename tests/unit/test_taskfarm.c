/* Slow workers of task farms, with values worked by hand. */
#include "unit.h"

#include <stdlib.h>

#include "analysis/taskfarm.h"

enum { RANKS = 5, MASTER = 1, BINS = 20 };
#define MS ((int64_t)1000000)

struct farm {
    struct pw_row_c_p2p pairs[2 * RANKS + 1];
    int64_t own_ns[RANKS];
    struct pw_row_c_bin_trace bins[BINS * RANKS];
    int32_t received[BINS * RANKS];
    struct pw_farm_input in;
    struct pw_farm_slow slow[RANKS];
};

/* Each worker does 50 tasks of 15 ms, rank 3 only 20 of 37.5 ms. */
static struct farm *make(void)
{
    struct farm *farm = calloc(1, sizeof(*farm));
    farm->in = (struct pw_farm_input){.pairs = farm->pairs,
                                      .own_ns = farm->own_ns,
                                      .nranks = RANKS,
                                      .bins = farm->bins,
                                      .received = farm->received};
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
    void *scratch = malloc(pw_farm_scratch(&farm->in));
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
    void *scratch = malloc(pw_farm_scratch(&farm->in));
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

/* 20 bins of 100 ms, in which each worker is busy for 96 ms and gets 8 tasks of 12 ms; rank 3 gets
 * `slow` in the bins from `first` to `last`. */
static struct farm *make_bins(size_t first, size_t last, int64_t slow)
{
    struct farm *farm = make();
    farm->in.nbins = BINS;
    farm->in.bin_ns = 100 * MS;
    farm->pairs[4].messages = farm->pairs[5].messages = 0; /* of rank 3 */
    for (size_t b = 0; b < BINS; b++)
        for (size_t r = 0; r < RANKS; r++) {
            const int64_t tasks = r == 3 && b >= first && b <= last ? slow : 8;
            farm->bins[b * RANKS + r] = (struct pw_row_c_bin_trace){.inside_ns = 4 * MS};
            farm->received[b * RANKS + r] = (int32_t)tasks;
            farm->own_ns[r] = 96 * BINS * MS;
            if (r != MASTER && b == 0)
                farm->pairs[r > MASTER ? 2 * (r - 1) : 0].messages =
                    farm->pairs[r > MASTER ? 2 * (r - 1) + 1 : 1].messages = 0;
            if (r != MASTER) {
                farm->pairs[r > MASTER ? 2 * (r - 1) : 0].messages += tasks;
                farm->pairs[r > MASTER ? 2 * (r - 1) + 1 : 1].messages += tasks;
            }
        }
    return farm;
}

/* Half as fast in 6 of 20 bins: 1.18 times the others' time for a task over the run, 2 times in
 * these. */
static void test_slow_in_a_part(void **state)
{
    (void)state;
    struct farm *farm = make_bins(10, 15, 4);
    assert_int_equal(find(farm), 1);
    const struct pw_farm_slow *slow = &farm->slow[0];
    assert_int_equal(slow->rank, 3);
    assert_true(slow->is_part);
    assert_int_equal(slow->first, 10);
    assert_int_equal(slow->last, 15);
    assert_int_equal(slow->tasks, 24);
    assert_int_equal(slow->others_tasks, 48);
    assert_int_equal(slow->mine_ns, 24 * MS);
    assert_int_equal(slow->others_ns, 12 * MS);
    /* 576 ms; 3 / 12 + 1 / 24 = 7 / 24 a ms, as fast as the others 8 / 24: an eighth of it. */
    assert_true(llabs(slow->lost_ns - 72 * MS) < 10);
    free(farm);

    farm = make_bins(0, 19, 4); /* always slow: all of the run is told */
    assert_int_equal(find(farm), 1);
    assert_false(farm->slow[0].is_part);
    free(farm);
}

static void test_parts_that_are_chance(void **state)
{
    (void)state;
    struct farm *farm = make_bins(10, 11, 4); /* too short: 16 tasks, 0.6 % of the run lost */
    assert_int_equal(find(farm), 0);
    free(farm);

    farm = make_bins(10, 15, 7); /* 1.14 times */
    assert_int_equal(find(farm), 0);
    free(farm);

    /* It had less to do: tasks that were shared out before. */
    farm = make_bins(10, 15, 4);
    for (size_t b = 10; b <= 15; b++)
        farm->bins[b * RANKS + 3].wait_ns = 48 * MS;
    assert_int_equal(find(farm), 0);
    free(farm);

    /* All workers are slower there. */
    farm = make_bins(10, 15, 4);
    for (size_t b = 10; b <= 15; b++)
        for (size_t r = 0; r < RANKS; r++)
            farm->received[b * RANKS + r] = 4;
    assert_int_equal(find(farm), 0);
    free(farm);
}

static void test_busy_workers_are_balanced(void **state)
{
    (void)state;
    struct farm *farm = make();
    void *scratch = malloc(pw_farm_scratch(&farm->in));
    assert_true(pw_farm_is_balanced(&farm->in, scratch, 800 * MS));
    assert_false(pw_farm_is_balanced(&farm->in, scratch, 1600 * MS));
    farm->own_ns[3] = 500 * MS; /* tasks that were shared out before */
    assert_false(pw_farm_is_balanced(&farm->in, scratch, 800 * MS));
    farm->own_ns[3] = 750 * MS;
    farm->pairs[farm->in.npairs++] = (struct pw_row_c_p2p){.src = 3, .dst = 4, .messages = 1};
    assert_false(pw_farm_is_balanced(&farm->in, scratch, 800 * MS)); /* no farm */
    free(scratch);
    free(farm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_worker),
        cmocka_unit_test(test_few_tasks_tell_less),
        cmocka_unit_test(test_what_is_no_farm),
        cmocka_unit_test(test_slow_in_a_part),
        cmocka_unit_test(test_parts_that_are_chance),
        cmocka_unit_test(test_busy_workers_are_balanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
