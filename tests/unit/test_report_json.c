/* The JSON report, and what damaged or hostile files do to both reports. */
#include "unit.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "test_report_make.h"

static void test_hostile_names(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(2, 12);
    add_straggler(c, straggler(1));
    strcpy(c->command, "./a\033[2J\nb\xc2\x9b"
                       "31m \xe2\x80\xae \xff\xfe \xc3\xa9");
    strcpy(c->ranks[0].hostname, "ho\033]0;x\astA");
    strcpy(c->stragglers[0].hostname, "\033[31mred\xff");
    strcpy(c->stragglers[0].evidence, "\r\x7f%s%n");
    char *text = text_of(c, "", 12);
    assert_fits(text, 100);
    assert_has(text, "./a?[2J?b?31m ? ?? \xc3\xa9");
    assert_has(text, "Rank 1 on ?[31mred? held");
    assert_has(text, "??%s%n");
    free(text);
    json_error_t error;
    char *json = json_of(c);
    json_t *root = json_loads(json, 0, &error);
    assert_non_null(root);
    const char *command =
        json_string_value(json_object_get(json_object_get(root, "job"), "command"));
    assert_string_equal(command, "./a\033[2J\nb\xc2\x9b"
                                 "31m \xe2\x80\xae ?? \xc3\xa9");
    json_decref(root);
    free(json);
    pw_cluster_destroy(c);
}

static void test_json_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "job",        "completeness", "clock",         "steps",       "step_trace",   "collectives",
        "stragglers", "hosts",        "links",         "trends",      "network",      "whatif",
        "efficiency", "operators",    "data_pipeline", "utilisation", "memory",       "advice",
        "gpu",        "kernels",      "imbalances",    "roles",       "parts",        "flops",
        "epochs",     "hccl",         "msprof",        "aicore",      "pipeline_cpu", "summary",
        "hang",       "communicators"};
    struct pw_cluster *c = make_cluster(8, 52);
    add_tables(c);
    for (int round = 0; round < 2; round++) {
        char *json = json_of(c);
        assert_has_not(json, "NaN");
        assert_has_not(json, "nan");
        assert_has_not(json, "nfinity");
        assert_has_not(json, "inf,");
        json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        assert_int_equal(json_object_size(root), 32);
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            assert_non_null(json_object_get(root, keys[i]));
        json_t *stragglers = json_object_get(root, "stragglers");
        assert_int_equal(json_array_size(stragglers), round);
        if (round) {
            json_t *row = json_array_get(stragglers, 0);
            assert_int_equal(json_integer_value(json_object_get(row, "rank")), 3);
            assert_string_equal(json_string_value(json_object_get(row, "cause")),
                                "blocked_off_cpu");
            assert_string_equal(json_string_value(json_object_get(row, "kind")), "persistent");
        }
        json_t *first = json_array_get(json_object_get(root, "collectives"), 0);
        assert_true(json_is_string(json_object_get(first, "op")));
        assert_true(json_is_null(
            json_object_get(json_object_get(root, "efficiency"), "communication_efficiency")));
        json_decref(root);
        free(json);
        add_straggler(c, straggler(3));
        c->stragglers[0].confidence = NAN;
    }
    pw_cluster_destroy(c);
}

/* Links come slowest first, those without a median last; bandwidths have their unit in the key. */
static void test_hccl(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(2, 3);
    char *json = json_of(c);
    json_t *root = json_loads(json, 0, NULL);
    assert_true(json_is_null(json_object_get(root, "hccl")));
    json_decref(root);
    free(json);
    c->nhccl_ranks = 1;
    c->hccl_ranks = calloc(1, sizeof(*c->hccl_ranks));
    c->hccl_ranks[0] = (struct pw_row_c_hccl_rank){
        .rank = 1, .comm_uid = 0xab, .operations = 3, .elapsed_ns = 100, .idle_ns = 20};
    c->nhccl_links = 3;
    c->hccl_links = calloc(3, sizeof(*c->hccl_links));
    c->hccl_links[0] = (struct pw_row_c_hccl_link){
        .src = 0, .dst = 0, .bytes = 5, .bandwidth = 4e9, .usual_bandwidth = -1};
    c->hccl_links[1] =
        (struct pw_row_c_hccl_link){.src = 0, .dst = 1, .bandwidth = 2e9, .usual_bandwidth = 3e9};
    c->hccl_links[2] =
        (struct pw_row_c_hccl_link){.src = 1, .dst = 0, .bandwidth = 1e9, .usual_bandwidth = 2e9};
    json = json_of(c);
    root = json_loads(json, 0, NULL);
    json_t *hccl = json_object_get(root, "hccl"), *links = json_object_get(hccl, "links");
    json_t *rank = json_array_get(json_object_get(hccl, "ranks"), 0);
    assert_int_equal(json_integer_value(json_object_get(rank, "idle_ns")), 20);
    assert_string_equal(json_string_value(json_object_get(rank, "comm_uid")), "0xab");
    assert_int_equal(json_integer_value(json_object_get(hccl, "links_total")), 3);
    static const double slowness[] = {2, 1.5};
    for (size_t i = 0; i < 2; i++) {
        json_t *link = json_array_get(links, i);
        assert_int_equal(json_integer_value(json_object_get(link, "src")), i == 0);
        assert_true(json_real_value(json_object_get(link, "slowness")) == slowness[i]);
        assert_true(json_real_value(json_object_get(link, "bandwidth_bytes_per_s")) ==
                    (i == 0 ? 1e9 : 2e9));
    }
    json_t *last = json_array_get(links, 2);
    assert_true(json_is_null(json_object_get(last, "slowness")));
    assert_true(json_is_null(json_object_get(last, "usual_bandwidth_bytes_per_s")));
    json_decref(root);
    free(json);
    pw_cluster_destroy(c);
}

/* Whatever a damaged file holds, the reports stay within their width and are valid JSON. */
static void test_random_values(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct pw_cluster *c = make_cluster(3, 5);
        add_tables(c);
        add_straggler(c, straggler(1));
        struct {
            void *rows;
            size_t bytes;
        } tables[] = {
            {c->ranks, 3 * sizeof(*c->ranks)},
            {c->steps, 5 * sizeof(*c->steps)},
            {c->step_trace.rows, 15 * sizeof(struct pw_row_c_step_trace)},
            {c->phase_trace.rows, 15 * sizeof(struct pw_row_c_phase_trace)},
            {c->collective_stats, c->ncollective_stats * sizeof(*c->collective_stats)},
            {c->p2p, c->np2p * sizeof(*c->p2p)},
            {c->stragglers, sizeof(*c->stragglers)},
            {c->efficiency, sizeof(*c->efficiency)},
            {&c->nranks, 8 * sizeof(c->nranks)},
        };
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
            for (size_t b = 0; b < tables[i].bytes; b++) {
                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                if (seed >> 62 == 0 || round % 2)
                    ((unsigned char *)tables[i].rows)[b] = (unsigned char)(seed >> 40);
            }
        }
        char *text = text_of(c, "", 12), *json = json_of(c);
        assert_fits(text, 100);
        free(text);
        const struct pw_report_options options = {.width = 80};
        assert_int_equal(pw_report_summary(unit_open_text(), c, &options), 0);
        text = unit_close_text();
        assert_fits(text, 80);
        json_t *root = json_loads(json, 0, NULL);
        assert_non_null(root);
        json_decref(root);
        free(text);
        free(json);
        pw_cluster_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_json_keys),
        cmocka_unit_test(test_hccl),
        cmocka_unit_test(test_random_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
