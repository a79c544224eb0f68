/* Work shared out evenly in graphs small enough to be worked by hand. */
#include "unit.h"

#include <string.h>

#include "analysis/replay.h"

enum { A, B, MOST = 32, RANKS = 2 };

struct world {
    struct pw_replay_graph graph;
    struct pw_replay_node nodes[MOST], changed[MOST];
    int64_t works[MOST], scratch[8192];
    size_t nsteps;
};

static void add(struct world *w, int32_t rank, int32_t step, int32_t phase, int64_t work)
{
    w->nodes[w->graph.nnodes++] =
        (struct pw_replay_node){.work_ns = work, .rank = rank, .step = step, .phase = phase};
}

static void begin(struct world *w, size_t nsteps)
{
    memset(w, 0, sizeof(*w));
    w->graph.nranks = RANKS;
    w->graph.nsteps = nsteps;
    w->graph.nodes = w->nodes;
}

/* A rank's pieces of work in step 0, in their order. */
struct piece {
    int32_t phase;
    int64_t work;
};
#define ADD_RANK(w, rank, ...)                             \
    add_rank(w, rank, (const struct piece[]){__VA_ARGS__}, \
             sizeof((const struct piece[]){__VA_ARGS__}) / sizeof(struct piece))

static void add_rank(struct world *w, int32_t rank, const struct piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(w, rank, 0, pieces[i].phase, pieces[i].work);
}

static void sum_up(struct world *w)
{
    pw_replay_sum_works(&w->graph, w->works);
    memcpy(w->changed, w->nodes, sizeof(w->nodes));
    assert_true(pw_share_scratch(&w->graph, RANKS) <= sizeof(w->scratch) / sizeof(*w->scratch));
}

static void assert_works(const struct world *w, const int64_t *wanted)
{
    for (size_t i = 0; i < w->graph.nnodes; i++)
        assert_in_range(w->changed[i].work_ns, wanted[i] - 1, wanted[i]);
}

/* 30 of rank 0's 60 in phase A are more, and rank 1 has 20 less. */
static void test_work_of_each_cell_is_shared(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 1);
    ADD_RANK(&w, 0, {A, 40}, {B, 100}, {A, 20});
    ADD_RANK(&w, 1, {A, 20});
    add(&w, 1, -1, A, 70); /* outside steps */
    sum_up(&w);
    pw_share_cells(&w.graph, w.works, (const float[]){30, -20}, 1 << A, w.changed);
    assert_works(&w, (const int64_t[]){20, 100, 10, 40, 70});
}

/* Between two roles. */
static void share_roles(struct world *w, const int32_t *role_of, const uint8_t *is_slow)
{
    const struct pw_share_ranks ranks = {role_of, 2, is_slow};
    sum_up(w);
    pw_share_roles(&w->graph, w->works, &ranks, w->changed, w->scratch);
}

/* The second of two pieces of a phase depends on the amount: 300 and 100. */
static void test_amounts(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 1);
    ADD_RANK(&w, 0, {A, 100}, {A, 300}, {B, 50});
    ADD_RANK(&w, 1, {A, 100}, {A, 100}, {B, 50});
    sum_up(&w);
    pw_share_amounts(&w.graph, w.works, (const float[]){100, -100}, w.changed, w.scratch);
    assert_works(&w, (const int64_t[]){100, 200, 50, 100, 200, 50});
}

/* Two roles of a rank each; phase A is 100 and 100 of one, 100 and 300 of the other, whose last has
 * twice as much in one of three steps. The mean is 300, and that of a piece 150. What is outside
 * pieces stays. */
static void test_roles_with_pieces(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 3);
    for (int s = 0; s < 3; s++) {
        add(&w, 0, s, A, 100);
        add(&w, 0, s, A, 3);
        add(&w, 0, s, A, 100);
    }
    for (int s = 0; s < 3; s++) {
        add(&w, 1, s, A, 100);
        add(&w, 1, s, A, s == 1 ? 600 : 300);
    }
    share_roles(&w, (const int32_t[]){0, 1}, NULL);
    assert_works(
        &w, (const int64_t[]){150, 3, 150, 150, 3, 150, 150, 3, 150, 150, 150, 150, 300, 150, 150});
}

/* Ranks 0 and 1 of one role, of which 1 is slow: 100 and not 400 is usual for both. */
static void test_slow_rank_does_not_change_the_usual_work(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 1);
    w.graph.nranks = 3;
    ADD_RANK(&w, 0, {A, 100});
    ADD_RANK(&w, 1, {A, 400});
    ADD_RANK(&w, 2, {A, 400});
    share_roles(&w, (const int32_t[]){0, 0, 1}, (const uint8_t[]){0, 1, 0});
    assert_works(&w, (const int64_t[]){200, 800, 200});
}

/* Phase by phase, where the numbers of pieces differ: 100 and 300 are 200. */
static void test_roles_with_phases(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 1);
    ADD_RANK(&w, 0, {A, 100}, {B, 50});
    ADD_RANK(&w, 1, {A, 150}, {A, 150}, {B, 50});
    share_roles(&w, (const int32_t[]){0, 1}, NULL);
    assert_works(&w, (const int64_t[]){200, 50, 100, 100, 50});
}

/* The second role has no phase B: all of its 400 and of the other's 200 are 300. */
static void test_roles_with_other_phases(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, 1);
    ADD_RANK(&w, 0, {A, 100}, {B, 100});
    ADD_RANK(&w, 1, {A, 400});
    share_roles(&w, (const int32_t[]){0, 1}, NULL);
    assert_works(&w, (const int64_t[]){150, 150, 300});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_of_each_cell_is_shared),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_roles_with_pieces),
        cmocka_unit_test(test_slow_rank_does_not_change_the_usual_work),
        cmocka_unit_test(test_roles_with_phases),
        cmocka_unit_test(test_roles_with_other_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
