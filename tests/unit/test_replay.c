/* Replays of graphs small enough to be worked by hand. */
#include "unit.h"

#include <string.h>

#include "analysis/replay.h"

enum { A, B, OTHER = PW_PHASES - 1 };

/* Two ranks, two steps, an Allreduce (gates 0 and 1) at the end of each that costs 10. Rank 0 works
 * 100 and 100, rank 1 works 160 and 80:
 *   step 0: entered at 100 and 160, left at 170
 *   step 1: entered at 270 and 250, left at 280 */
static const struct pw_replay_node allreduces[] = {
    {.work_ns = 100, .rank = 0, .step = 0, .adds = 0, .phase = A},
    {.cost_ns = 10, .rank = 0, .step = 0, .adds = -1, .waits = 1, .phase = OTHER},
    {.work_ns = 100, .rank = 0, .step = 1, .adds = 1, .phase = A},
    {.cost_ns = 10, .rank = 0, .step = 1, .adds = -1, .waits = 3, .phase = OTHER},
    {.work_ns = 160, .rank = 1, .step = 0, .adds = 0, .phase = A},
    {.cost_ns = 10, .rank = 1, .step = 0, .adds = -1, .waits = 1, .phase = OTHER},
    {.work_ns = 80, .rank = 1, .step = 1, .adds = 1, .phase = A},
    {.cost_ns = 10, .rank = 1, .step = 1, .adds = -1, .waits = 3, .phase = OTHER},
};
enum { NODES = sizeof(allreduces) / sizeof(allreduces[0]) };

struct bench {
    struct pw_replay_graph graph;
    int32_t waits[4], needs[4], order[16];
    int64_t starts[4], scratch[128], works[64], path[64], delays[64];
    float scale[64];
};

static void make(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    memcpy(b->waits, (int32_t[]){0, PW_REPLAY_END, 1, PW_REPLAY_END}, sizeof(b->waits));
    b->needs[0] = b->needs[1] = 2;
    b->graph = (struct pw_replay_graph){
        .nodes = allreduces,
        .nnodes = NODES,
        .waits = b->waits,
        .needs = b->needs,
        .ngates = 2,
        .nranks = 2,
        .nsteps = 2,
        .start_ns = b->starts,
    };
    for (int i = 0; i < 64; i++)
        b->scale[i] = 1;
    assert_int_equal(pw_replay_order(&b->graph, b->order, b->scratch), 0);
    pw_replay_sum_works(&b->graph, b->works);
    pw_replay_path(&b->graph, b->order, b->path, b->delays, b->scratch);
}

static int64_t run(struct bench *b, int network)
{
    return pw_replay_run(&b->graph, b->order, b->scale, network, b->scratch);
}

static void test_gives_the_measured_times_back(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    assert_int_equal(pw_replay_run(&b.graph, b.order, NULL, 1, b.scratch), 280);
    assert_int_equal(b.scratch[0], 280);
    assert_int_equal(b.scratch[1], 280);
    /* Without transfers: 160, then max(260, 240). */
    assert_int_equal(run(&b, 0), 260);
}

static void test_starts_count(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    b.starts[0] = 70; /* rank 0 enters at 170, both leave at 180, 290 */
    assert_int_equal(run(&b, 1), 290);
}

/* Rank 1's work, in steps first .. last. */
static void restore(struct bench *b, size_t first, size_t last, int phase)
{
    const uint8_t second[2] = {0, 1};
    const struct pw_replay_measured measured = {b->works, b->delays};
    const struct pw_replay_part part = {second, first, last, phase};
    pw_replay_restore(&b->graph, &measured, &part, b->scale, b->scratch);
}

static void test_restored_rank(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    /* For each of two ranks the other is the median: rank 1 works 100 and 100; 110, 220. */
    restore(&b, 0, 1, -1);
    assert_int_equal(run(&b, 1), 220);
    /* In step 0 only: 110, then max(210, 190) + 10. */
    make(&b);
    restore(&b, 0, 0, -1);
    assert_int_equal(run(&b, 1), 220);
    /* In step 1 only: 170, then max(270, 270) + 10: nothing gained. */
    make(&b);
    restore(&b, 1, 1, -1);
    assert_int_equal(run(&b, 1), 280);
    /* In a phase in which it did nothing. */
    make(&b);
    restore(&b, 0, 1, B);
    assert_int_equal(run(&b, 1), 280);
}

/* A rank that is not recorded is not what the others could be like. */
static void test_restored_without_others(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    for (size_t s = 0; s < b.graph.nsteps; s++)
        for (size_t p = 0; p < PW_PHASES; p++)
            b.works[s * b.graph.nranks * PW_PHASES + p] = 0;
    restore(&b, 0, 1, -1);
    assert_int_equal(run(&b, 1), 280);
}

static void use(struct bench *b, const struct pw_replay_node *nodes, size_t n)
{
    make(b);
    b->needs[0] = b->needs[1] = 0;
    for (size_t i = 0; i < n; i++)
        if (nodes[i].adds >= 0)
            b->needs[nodes[i].adds]++;
    b->graph.nodes = nodes;
    b->graph.nnodes = n;
    b->graph.nsteps = 1;
    assert_int_equal(pw_replay_order(&b->graph, b->order, b->scratch), 0);
    pw_replay_sum_works(&b->graph, b->works);
    pw_replay_path(&b->graph, b->order, b->path, b->delays, b->scratch);
    restore(b, 0, 0, -1);
}

/* A step with two Allreduces. Rank 0 works 10 before each, rank 1 30 and 10, or 30 and 40. Rank 0
 * waits 20 at the first, and 0 or 30 at the second: that is what rank 1 works too much, and where.
 */
static void test_restored_where_others_wait(void **state)
{
    (void)state;
    for (int64_t more = 0; more <= 30; more += 30) {
        const struct pw_replay_node nodes[] = {
            {.work_ns = 10, .rank = 0, .adds = 0},        {.rank = 0, .adds = -1, .waits = 1},
            {.work_ns = 10, .rank = 0, .adds = 1},        {.rank = 0, .adds = -1, .waits = 3},
            {.work_ns = 30, .rank = 1, .adds = 0},        {.rank = 1, .adds = -1, .waits = 1},
            {.work_ns = 10 + more, .rank = 1, .adds = 1}, {.rank = 1, .adds = -1, .waits = 3},
        };
        struct bench b;
        use(&b, nodes, 8);
        assert_int_equal(b.delays[4], 20);
        assert_int_equal(b.delays[6], more);
        assert_int_equal(pw_replay_run(&b.graph, b.order, NULL, 1, b.scratch), 40 + more);
        assert_int_equal(run(&b, 1), 20);
    }
}

/* Rank 1 works 30, sends, which rank 0 waits for from 10 on, and works 30 until it is sent
 * something in turn. From 40 too many the 20 before the send go first, then 5 of the 10 that are
 * left there and 15 of the 30 behind it. */
static void test_the_rest_is_taken_everywhere(void **state)
{
    (void)state;
    const struct pw_replay_node nodes[] = {
        {.work_ns = 10, .rank = 0, .adds = -1}, {.rank = 0, .adds = -1, .waits = 1},
        {.work_ns = 10, .rank = 0, .adds = 1},  {.work_ns = 30, .rank = 1, .adds = 0},
        {.work_ns = 30, .rank = 1, .adds = -1}, {.rank = 1, .adds = -1, .waits = 3},
    };
    struct bench b;
    use(&b, nodes, 6);
    assert_int_equal(b.delays[3], 20);
    assert_int_equal(b.delays[4], 0);
    assert_float_equal(b.scale[3] * 30, 5, 0.001);
    assert_float_equal(b.scale[4] * 30, 15, 0.001);
    assert_int_equal(run(&b, 1), 20);
}

static void test_balanced(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    /* 130 and 90 on both: 140, 240. */
    pw_replay_balance(&b.graph, b.works, -1, b.scale, b.scratch);
    assert_int_equal(run(&b, 1), 240);
}

static void test_critical_path(void **state)
{
    (void)state;
    struct bench b;
    make(&b);
    /* Rank 1's 160, the transfer, rank 0's 100, the transfer. Both end at once: the path is walked
     * from rank 0, whose waits the transfers are. */
    assert_int_equal(pw_replay_path(&b.graph, b.order, b.path, b.delays, b.scratch), 280);
    assert_int_equal(b.path[0 * (PW_PHASES + 1) + A], 100);
    assert_int_equal(b.path[1 * (PW_PHASES + 1) + A], 160);
    assert_int_equal(b.path[0 * (PW_PHASES + 1) + PW_PHASES], 20);
    assert_int_equal(b.path[1 * (PW_PHASES + 1) + PW_PHASES], 0);
}

/* A message from rank 0, sent at 50 or, with `late`, at 90; rank 1 stands from 30 and has it 5
 * later, then works 40. */
static void test_message(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        const struct pw_replay_node nodes[] = {
            {.work_ns = late ? 90 : 50, .rank = 0, .step = 0, .adds = 0},
            {.work_ns = 30, .rank = 1, .step = 0, .adds = -1},
            {.cost_ns = 5, .rank = 1, .step = 0, .adds = -1, .waits = 1},
            {.work_ns = 40, .rank = 1, .step = 0, .adds = -1},
        };
        struct bench b;
        make(&b);
        b.graph.nodes = nodes;
        b.graph.nnodes = 4;
        b.graph.ngates = b.graph.nsteps = 1;
        b.needs[0] = 1;
        assert_int_equal(pw_replay_order(&b.graph, b.order, b.scratch), 0);
        assert_int_equal(run(&b, 1), late ? 135 : 95);
    }
}

/* Each waits for what the other adds only after: the replay ends all the same, and says so. */
static void test_impossible_waits_are_given_up(void **state)
{
    (void)state;
    const struct pw_replay_node nodes[] = {
        {.cost_ns = 1, .rank = 0, .adds = -1, .waits = 1},
        {.work_ns = 5, .rank = 0, .adds = 1},
        {.cost_ns = 1, .rank = 1, .adds = -1, .waits = 3},
        {.work_ns = 5, .rank = 1, .adds = 0},
    };
    struct bench b;
    make(&b);
    b.needs[0] = b.needs[1] = 1;
    b.graph.nodes = nodes;
    b.graph.nnodes = 4;
    assert_int_equal(pw_replay_order(&b.graph, b.order, b.scratch), 1);
    /* Rank 0 goes at 1, adds at 6; rank 1 has it, goes at 7, ends at 12. */
    assert_int_equal(run(&b, 1), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_the_measured_times_back),
        cmocka_unit_test(test_starts_count),
        cmocka_unit_test(test_restored_rank),
        cmocka_unit_test(test_restored_without_others),
        cmocka_unit_test(test_restored_where_others_wait),
        cmocka_unit_test(test_the_rest_is_taken_everywhere),
        cmocka_unit_test(test_balanced),
        cmocka_unit_test(test_critical_path),
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_impossible_waits_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
