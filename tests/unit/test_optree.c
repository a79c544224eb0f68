/* Operators as the merge sums them up: quantiles, waiting, and the joining of several processes'.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/input/spans.h"
#include "aggregate/operators/operators.h"
#include "aggregate/operators/opreduce.h"
#include "analysis/statistics.h"
#include "core/tables.h"

static void test_quantiles(void **state)
{
    (void)state;
    enum { N = 20000 };
    int64_t *values = malloc(N * sizeof(*values));
    uint64_t seed = 3;
    for (int span = 1; span <= 61; span += 6) {
        struct pw_sketch sketch = {0}, half = {0};
        for (size_t i = 0; i < N; i++) {
            values[i] = (int64_t)(unit_random(&seed) >> (64 - span));
            assert_int_equal(pw_sketch_add(i % 2 ? &sketch : &half, values[i], 1), 0);
        }
        assert_int_equal(pw_sketch_join(&sketch, half.v, half.n), 0);
        pw_sort_i64(values, N);
        for (double q = 0.05; q < 1; q += 0.15) {
            int64_t wanted = pw_quantile_i64(values, N, q);
            double error = (double)(pw_sketch_quantile(&sketch, q) - wanted);
            assert_true(error <= 0.016 * (double)wanted && error >= -0.016 * (double)wanted);
        }
        pw_sketch_fini(&sketch);
        pw_sketch_fini(&half);
    }
    struct pw_sketch none = {0};
    assert_int_equal(pw_sketch_quantile(&none, 0.5), -1);
    free(values);
}

static void test_waits_inside_an_interval(void **state)
{
    (void)state;
    struct pw_interval v[300];
    uint64_t seed = 9;
    int64_t at = 0;
    for (size_t i = 0; i < 300; i++) {
        at += 1 + (int64_t)(unit_random(&seed) % 50);
        v[i].start = at;
        at += 1 + (int64_t)(unit_random(&seed) % 50);
        v[i].end = at;
    }
    for (size_t n = 0; n <= 300; n += 100) {
        struct pw_spans spans = {.v = v, .n = n};
        struct pw_waited waited;
        assert_int_equal(pw_waited_init(&waited, &spans), 0);
        for (int round = 0; round < 3000; round++) {
            int64_t start = (int64_t)(unit_random(&seed) % 17000) - 100;
            int64_t end = start + (int64_t)(unit_random(&seed) % (round % 2 ? 60 : 9000));
            int64_t wanted = pw_intervals_within(v, n, (struct pw_interval){start, end});
            assert_int_equal(pw_waited_within(&waited, start, end), wanted);
        }
        pw_waited_fini(&waited);
    }
}

/* One call of an operator below `parent`. */
static int32_t call(struct pw_optree *tree, int32_t parent, const char *name, uint32_t kind,
                    int64_t ns, int64_t inner_ns)
{
    uint32_t text = (uint32_t)pw_optree_text(tree, name, PW_OPTREE_NAME);
    uint32_t type = (uint32_t)pw_optree_text(tree, "type", PW_OPTREE_TYPE);
    int32_t path = pw_optree_path(tree, parent, pw_optree_op(tree, text, type, kind));
    struct pw_opsum more = {
        .calls = 1, .total_ns = ns, .inner_ns = inner_ns, .min_ns = ns, .max_ns = ns};
    assert_int_equal(pw_sketch_add(&more.times, ns, 1), 0);
    assert_int_equal(pw_opsum_join(&tree->paths[path].sum, &more), 0);
    pw_sketch_fini(&more.times);
    return path;
}

static void fill(struct pw_optree *tree, int32_t rank)
{
    static const char *const names[2][2] = {{"conv", "relu"}, {"relu", "conv"}};
    int32_t frame = call(tree, -1, "main", PW_KIND_FUNCTION, 1000, 0);
    for (int i = 0; i < 2; i++) /* so that the same name has another number elsewhere */
        call(tree, frame, names[rank % 2][i], PW_KIND_OPERATOR,
             names[rank % 2][i][0] == 'c' ? 400 + 100 * rank : 30, 0);
    assert_int_equal(pw_optree_end_rank(tree, rank), 0);
}

static void test_join(void **state)
{
    (void)state;
    struct pw_optree one = {0}, a = {0}, b = {0};
    for (int32_t rank = 0; rank < 4; rank++) {
        fill(&one, rank);
        fill(rank < 2 ? &a : &b, rank);
    }
    assert_int_equal(pw_opreduce_join(&b, &a), 0); /* the later ranks' first */
    struct pw_operators rows = {0}, joined = {0};
    int32_t *order = NULL, *order_joined = NULL;
    assert_int_equal(pw_oprows_make(&rows, &one, &order), 0);
    assert_int_equal(pw_oprows_make(&joined, &b, &order_joined), 0);
    assert_int_equal(rows.nops, 3);
    assert_int_equal(joined.nops, rows.nops);
    assert_memory_equal(rows.ops, joined.ops, rows.nops * sizeof(*rows.ops));
    assert_int_equal(joined.nstacks, rows.nstacks);
    assert_memory_equal(rows.stacks, joined.stacks, rows.nstacks * sizeof(*rows.stacks));
    assert_string_equal(rows.ops[0].name, "conv");
    assert_int_equal(rows.ops[0].total_ns, 4 * 400 + 100 * (1 + 2 + 3));
    assert_int_equal(rows.ops[0].max_rank, 3);
    assert_int_equal(rows.ops[0].max_rank_own_ns, 700);
    assert_true(rows.ops[0].imbalance == 700.0 / 550);
    assert_string_equal(rows.ops[1].name, "main"); /* 4000 - 2200 - 120 = 1680 less than conv */
    assert_int_equal(rows.ops[1].self_ns, 1680);
    assert_true(rows.ops[1].share == -1);
    free(order);
    free(order_joined);
    pw_operators_fini(&rows);
    pw_operators_fini(&joined);
    pw_optree_fini(&one);
    pw_optree_fini(&a);
    pw_optree_fini(&b);
}

/* More names than a file has rows for: the sums stay whole. */
static void test_many_names(void **state)
{
    (void)state;
    struct pw_optree tree = {0};
    struct pw_operators rows = {0};
    int32_t *order = NULL;
    enum { NAMES = PW_OPERATORS_MOST + 5000 };
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "op%d", i);
        call(&tree, -1, name, PW_KIND_OPERATOR, 1000 + i, 0);
    }
    assert_int_equal(pw_optree_end_rank(&tree, 0), 0);
    assert_int_equal(tree.ncells, PW_OPTREE_CELLS + 1);
    assert_int_equal(pw_oprows_make(&rows, &tree, &order), 0);
    assert_int_equal(rows.nops, PW_OPERATORS_MOST + 1);
    assert_string_equal(rows.ops[0].name, "op104999");
    assert_string_equal(rows.ops[rows.nops - 1].name, "(5000 others)");
    int64_t calls = 0, self_ns = 0;
    for (size_t i = 0; i < rows.nops; i++) {
        calls += rows.ops[i].calls;
        self_ns += rows.ops[i].self_ns;
    }
    assert_int_equal(calls, NAMES);
    assert_int_equal(self_ns, 1000 * (int64_t)NAMES + (int64_t)NAMES * (NAMES - 1) / 2);
    assert_int_equal(rows.nstacks, PW_OPERATORS_MOST);
    free(order);
    pw_operators_fini(&rows);
    pw_optree_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_waits_inside_an_interval),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
