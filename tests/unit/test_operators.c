/* Operators in reports: lists, slow ranks, text, CSV and folded stacks, with names that are hostile
 * and numbers that lie. */
#include "test_report_make.h"

#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/slowranks.h"
#include "report/content/operatorlist.h"
#include "report/report.h"

enum { RANKS = 4 };

static struct pw_row_c_operator op(const char *name, const char *type, int kind, int64_t self_ns,
                                   int64_t calls)
{
    struct pw_row_c_operator row = {.kind = (uint8_t)kind,
                                    .calls = calls,
                                    .total_ns = 2 * self_ns,
                                    .self_ns = self_ns,
                                    .min_ns = 1,
                                    .mean_ns = 2 * self_ns / calls,
                                    .max_ns = self_ns,
                                    .p50_ns = 2,
                                    .p95_ns = 3,
                                    .alloc_bytes = -4096,
                                    .self_alloc_bytes = -2048,
                                    .peak_alloc_bytes = 8192,
                                    .share = 0.25,
                                    .ranks = RANKS,
                                    .max_rank = 3,
                                    .imbalance = 1.5};
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.type, sizeof(row.type), "%s", type);
    return row;
}

static void add_operators(struct pw_cluster *c)
{
    c->noperators = 3;
    c->operators = calloc(3, sizeof(*c->operators));
    c->operators[0] = op("conv2d", "matrix", PW_KIND_OPERATOR, 60 * MS, 40);
    c->operators[1] = op("main (a.py:3)", "function", PW_KIND_FUNCTION, 50 * MS, 4);
    c->operators[2] = op("\033[31mre;lu=\"<b>\xff", "pointwise", PW_KIND_OPERATOR, 20 * MS, 80);
    c->noperator_types = 1;
    c->operator_types = calloc(1, sizeof(*c->operator_types));
    strcpy(c->operator_types[0].type, "matrix");
    c->noperator_shapes = 1;
    c->operator_shapes = calloc(1, sizeof(*c->operator_shapes));
    c->operator_shapes[0] = (struct pw_row_c_operator_shape){
        .shapes = "[2, 3]", .calls = 10, .self_ns = 45 * MS, .total_ns = 50 * MS};
    c->noperator_stacks = 3;
    c->operator_stacks = calloc(3, sizeof(*c->operator_stacks));
    c->operator_stacks[0] = (struct pw_row_c_operator_stack){.parent = -1, .operator_row = 1};
    c->operator_stacks[1] =
        (struct pw_row_c_operator_stack){.operator_row = 0, .exclusive_ns = 7 * MS, .calls = 1};
    c->operator_stacks[2] = (struct pw_row_c_operator_stack){
        .parent = 1, .operator_row = 2, .exclusive_ns = 1999, .calls = 1};
    c->noperator_ranks = 2 * RANKS;
    c->operator_ranks = calloc(2 * RANKS, sizeof(*c->operator_ranks));
    for (int32_t i = 0; i < 2 * RANKS; i++)
        c->operator_ranks[i] = (struct pw_row_c_operator_rank){
            .operator_row = i < RANKS ? -1 : 0,
            .rank = i % RANKS,
            .calls = 10,
            .total_ns = 10 * MS,
            .self_ns = i % RANKS == 3 ? 30 * MS : 10 * MS,
            .self_wait_ns = i % RANKS == 0 ? 1 * MS : 0,
        };
}

static void test_slow_rank(void **state)
{
    (void)state;
    int64_t scratch[6];
    struct pw_oprank found;
    const int64_t even[] = {100, 101, 99, 100, 102}, one[] = {100, 101, 99, 190, 102};
    const int64_t wide[] = {100, 160, 70, 190, 40}, two[] = {100, 200}, rare[] = {0, 0, 0, 500, 0};
    assert_int_equal(pw_oprank_find(even, 5, 0, scratch, &found), 0);
    assert_int_equal(pw_oprank_find(wide, 5, 0, scratch, &found), 0);
    assert_int_equal(pw_oprank_find(rare, 5, 0, scratch, &found), 0);
    assert_int_equal(pw_oprank_find(one, 1, 0, scratch, &found), 0);
    assert_int_equal(pw_oprank_find(one, 5, 100, scratch, &found), 0); /* not worth it */
    assert_int_equal(pw_oprank_find(one, 5, 10, scratch, &found), 1);
    assert_int_equal(found.rank, 3);
    assert_int_equal(found.others_ns, 100);
    assert_true(found.ratio == 1.9);
    const int64_t near[] = {100, 120, 99, 141, 102}; /* not twice as far as the others are apart */
    assert_int_equal(pw_oprank_find(near, 5, 10, scratch, &found), 0);
    assert_int_equal(pw_oprank_find(two, 2, 0, scratch, &found), 1);
    assert_int_equal(found.rank, 1);
}

static size_t listed(const struct pw_cluster *c, const char *group, const char *search,
                     const char *sort, char *first, size_t size)
{
    struct pw_oplist list;
    assert_int_equal(pw_operators_list(c, group, search, sort, &list), 0);
    if (list.n)
        pw_operators_label(c, group, &list.rows[0], first, size);
    size_t n = list.n;
    free(list.rows);
    return n;
}

static void test_lists(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(RANKS, 12);
    char first[400];
    add_operators(c);
    assert_int_equal(listed(c, NULL, NULL, NULL, first, sizeof(first)), 2); /* no frames */
    assert_string_equal(first, "conv2d");
    assert_int_equal(listed(c, "name", "", "calls", first, sizeof(first)), 2);
    assert_string_equal(first, "?[31mre;lu=\"<b>?");
    assert_int_equal(listed(c, "name", "CONV", "total", first, sizeof(first)), 1);
    assert_string_equal(first, "conv2d");
    assert_int_equal(listed(c, "name", "pointW", "p95", first, sizeof(first)), 1); /* by type */
    assert_int_equal(listed(c, "name", "main", "p95", first, sizeof(first)), 0);
    assert_int_equal(listed(c, "stack", NULL, "self_total", first, sizeof(first)), 2);
    assert_string_equal(first, "main (a.py:3) > conv2d");
    assert_int_equal(listed(c, "rank", NULL, "self_total", first, sizeof(first)), RANKS);
    assert_string_equal(first, "rank 3");
    assert_int_equal(listed(c, "type", NULL, "self_total", first, sizeof(first)), 1);
    assert_int_equal(listed(c, "shapes", "[2, 3]", NULL, first, sizeof(first)), 1);
    /* One with shapes, the rest of it, and one that has none. */
    struct pw_oplist list;
    assert_int_equal(pw_operators_list(c, "shapes", NULL, "calls", &list), 0);
    assert_int_equal(list.n, 3);
    assert_int_equal(list.rows[1].calls, 30);
    assert_int_equal(list.rows[1].self_ns, 15 * MS);
    assert_int_equal(list.rows[1].p95_ns, -1);
    free(list.rows);
    pw_cluster_destroy(c);
}

static char *report_of(int (*report)(FILE *, const struct pw_cluster *,
                                     const struct pw_report_options *),
                       const struct pw_cluster *c, const char *group)
{
    struct pw_report_options options = {.sections = "operators", .group_by = group};
    assert_int_equal(report(unit_open_text(), c, &options), 0);
    return unit_close_text();
}

static void test_text(void **state)
{
    (void)state;
    static const char *const groups[] = {NULL, "name", "shapes", "stack", "type", "rank"};
    struct pw_cluster *c = make_cluster(RANKS, 12);
    add_operators(c);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        char *text = report_of(pw_report_text, c, groups[i]);
        assert_fits(text, 100);
        assert_has(text, "Self time total: 80.0 ms on 4 ranks, 0 ns of it waiting");
        assert_has(text, "120 calls of 2 operators");
        assert_has(text, "Rank 3 spends 3.0 x the other ranks' median in conv2d: 30.0 ms of own");
        free(text);
    }
    char *text = report_of(pw_report_text, c, NULL);
    assert_has(text, "-2.0 KiB"); /* freed more than allocated */
    assert_has(text, "1.50 (3)");
    assert_has(text, "150 %"); /* total, of all self time */
    assert_has_not(text, "Only phases were recorded");
    free(text);
    for (size_t i = 0; i < c->noperators; i++)
        c->operators[i].kind = PW_KIND_PHASE;
    text = report_of(pw_report_text, c, NULL);
    assert_has(text, "Only phases were recorded. PyTorch's operators are recorded, too, by");
    free(text);
    pw_cluster_destroy(c);
    c = make_cluster(2, 12);
    text = report_of(pw_report_text, c, NULL);
    assert_has(text, "None were recorded");
    free(text);
    pw_cluster_destroy(c);
}

static void test_csv_and_folded(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(RANKS, 12);
    add_operators(c);
    char *folded = report_of(pw_report_folded, c, NULL);
    assert_string_equal(folded, "main (a.py:3);conv2d 7000\n"
                                "main (a.py:3);conv2d;?[31mre:lu=\"<b>? 1\n");
    free(folded);
    strcpy(c->operators[0].name, "=cmd(\"x\")");
    char *csv = report_of(pw_report_csv, c, NULL);
    assert_has(csv, "# operators\nname,type,shapes,calls,");
    assert_has(csv, "\n\"'=cmd(\"\"x\"\")\",\"matrix\",\"\",40,120000000,60000000,0,1,");
    assert_has(csv, ",-4096,-2048,8192,0.25,1.5\n");
    assert_has_not(csv, "# job");
    free(csv);
    pw_cluster_destroy(c);
}

static void scramble(void *rows, size_t bytes, uint64_t *seed, int all)
{
    for (size_t b = 0; b < bytes; b++) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (*seed >> 62 == 0 || all)
            ((unsigned char *)rows)[b] = (unsigned char)(*seed >> 40);
    }
}

/* Whatever a damaged file holds, but for rows that core/h5/clusterload.c has checked. */
static void test_random_values(void **state)
{
    (void)state;
    static const char *const groups[] = {"name", "shapes", "stack", "type", "rank"};
    uint64_t seed = 11;
    for (int round = 0; round < 100; round++) {
        struct pw_cluster *c = make_cluster(RANKS, 5);
        add_operators(c);
        scramble(c->operators, 3 * sizeof(*c->operators), &seed, round % 2);
        scramble(c->operator_types, sizeof(*c->operator_types), &seed, round % 2);
        scramble(c->operator_shapes, sizeof(*c->operator_shapes), &seed, round % 2);
        scramble(c->operator_stacks, 3 * sizeof(*c->operator_stacks), &seed, round % 2);
        scramble(c->operator_ranks, 2 * RANKS * sizeof(*c->operator_ranks), &seed, round % 2);
        c->operator_shapes[0].operator_row = (int32_t)(seed >> 40) % 3;
        for (int i = 0; i < 3; i++) {
            c->operator_stacks[i].parent = i - 1;
            c->operator_stacks[i].operator_row = i;
        }
        for (int i = 0; i < 2 * RANKS; i++)
            c->operator_ranks[i].operator_row = i / RANKS - 1 + round % 3;
        for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
            char *text = report_of(pw_report_text, c, groups[i]);
            assert_fits(text, 100);
            free(text);
            free(report_of(pw_report_csv, c, groups[i]));
        }
        free(report_of(pw_report_folded, c, NULL));
        char *json = json_of(c);
        json_t *root = json_loads(json, 0, NULL);
        assert_non_null(root);
        json_decref(root);
        free(json);
        pw_cluster_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_rank),     cmocka_unit_test(test_lists),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_csv_and_folded),
        cmocka_unit_test(test_random_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
