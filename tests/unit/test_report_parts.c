/* The parts of the run in the reports. Four ranks ran for 10 s; rank 2 came 1.5 s late to its first
 * step, and the others waited for it there. */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "test_report_make.h"

enum { RANKS = 4 };

static struct pw_row_c_part_trace *at(struct pw_cluster *c, enum pw_part part, size_t rank)
{
    return &c->part_trace[(size_t)(part - PW_PART_START) * RANKS + rank];
}

static struct pw_cluster *make(void)
{
    struct pw_cluster *c = make_cluster(RANKS, 52);
    add_parts(c);
    for (size_t r = 0; r < RANKS; r++) {
        *at(c, PW_PART_STEPS, r) =
            (struct pw_row_c_part_trace){.total_ns = 9300 * MS, .wait_ns = 2000 * MS};
        at(c, PW_PART_INIT, r)->wait_ns = 10 * MS;
    }
    at(c, PW_PART_SETUP, 2)->total_ns = 1650 * MS;
    *at(c, PW_PART_STEPS, 2) =
        (struct pw_row_c_part_trace){.total_ns = 7800 * MS, .wait_ns = 400 * MS};
    return c;
}

static char *csv_of(const struct pw_cluster *c)
{
    struct pw_report_options options = {.sections = "parts"};
    assert_int_equal(pw_report_csv(unit_open_text(), c, &options), 0);
    return unit_close_text();
}

/* Means: setup (3 x 150 + 1650) / 4 = 525 ms, steps (3 x 9300 + 7800) / 4 = 8925 ms. */
static void test_text(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    char *text = text_of(c, "parts", 12);
    static const char *const lines[] = {
        "start     before MPI_Init                      300 ms    3.0 %     0 ns   300 ms     0\n",
        "init      in MPI_Init                         50.0 ms    0.5 %  10.0 ms  40.0 ms     0\n",
        "setup     from MPI_Init to the first step      525 ms    5.2 %     0 ns   1.65 s     2\n",
        "steps     from the first to the last step      8.93 s     89 %   1.60 s   7.40 s     2\n",
        "tail      from the last step to MPI_Finalize   100 ms    1.0 %     0 ns   100 ms     0\n",
        "finalize  in MPI_Finalize                     20.0 ms    0.2 %     0 ns  20.0 ms     0\n",
        "end       after MPI_Finalize                  80.0 ms    0.8 %     0 ns  80.0 ms     0\n",
        "the run                                        10.0 s    100 %   1.61 s\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_has(text, lines[i]);
    assert_fits(text, 100);
    free(text);
    pw_cluster_destroy(c);
}

/* Rank 1 was killed. So it is not known when it entered MPI_Finalize, nor how long the last part of
 * the run was. */
static void test_part_that_is_unknown_on_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    at(c, PW_PART_TAIL, 1)->total_ns = 200 * MS;
    for (size_t part = PW_PART_FINALIZE; part <= PW_PART_END; part++)
        memset(at(c, (enum pw_part)part, 1), 0xff, sizeof(*c->part_trace));
    char *text = text_of(c, "parts", 12);
    assert_has(text, "tail      after the last step               200 ms    2.0 %");
    assert_has(text, "finalize  in MPI_Finalize                      n/a      n/a      n/a");
    assert_has(text, "the run                                     10.0 s    100 %");
    free(text);
    json_t *root = json_loads(text = json_of(c), 0, NULL);
    json_t *parts = json_object_get(root, "parts"), *rows = json_object_get(parts, "rows");
    assert_int_equal(json_integer_value(json_object_get(parts, "ranks")), 4);
    assert_int_equal(json_integer_value(json_object_get(parts, "run_ns")), 10000 * MS);
    json_t *setup = json_array_get(rows, 2), *end = json_array_get(rows, 6);
    assert_string_equal(json_string_value(json_object_get(setup, "part")), "setup");
    assert_int_equal(json_integer_value(json_object_get(setup, "mean_ns")), 525 * MS);
    assert_int_equal(json_integer_value(json_object_get(setup, "longest_own_ns")), 1650 * MS);
    assert_int_equal(json_integer_value(json_object_get(setup, "longest_rank")), 2);
    assert_true(json_is_null(json_object_get(end, "mean_ns")));
    assert_true(json_is_null(json_object_get(end, "longest_rank")));
    json_decref(root);
    free(text);
    text = csv_of(c);
    assert_has(text, "# parts\nrank,part,total_ns,outside_ns,wait_ns,");
    assert_has(text, "\n2,setup,1650000000,0,0,");
    assert_has(text, "\n1,end,,,,");
    free(text);
    pw_cluster_destroy(c);
}

/* Of a job without MPI the rows of MPI are left out; without steps, too, nothing is known but the
 * run. */
static void test_without_mpi(void **state)
{
    (void)state;
    static const int of_mpi[] = {PW_PART_START, PW_PART_INIT, PW_PART_FINALIZE, PW_PART_END};
    struct pw_cluster *c = make();
    for (size_t i = 0; i < 4; i++)
        for (size_t r = 0; r < RANKS; r++)
            memset(at(c, (enum pw_part)of_mpi[i], r), 0xff, sizeof(*c->part_trace));
    char *text = text_of(c, "", 12);
    assert_has(text, "\n  setup    before the first step ");
    assert_has(text, "\n  tail     after the last step ");
    assert_has_not(text, "MPI_Init");
    assert_has_not(text, "MPI_Finalize");
    assert_has_not(text, "n/a: its end");
    free(text);
    for (size_t r = 0; r < RANKS; r++) {
        memset(at(c, PW_PART_SETUP, r), 0xff, sizeof(*c->part_trace));
        memset(at(c, PW_PART_TAIL, r), 0xff, sizeof(*c->part_trace));
    }
    text = text_of(c, "", 12);
    assert_has_not(text, "Parts of the run");
    free(text);
    text = text_of(c, "parts", 12);
    assert_has(text, "in the rest of the run");
    free(text);
    pw_cluster_destroy(c);
}

static void test_older_files(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(RANKS, 52);
    char *text = text_of(c, "", 12), *json = json_of(c), *asked = text_of(c, "parts", 12);
    assert_has_not(text, "Parts of the run");
    assert_has(asked, "Parts of the run");
    assert_has(asked, "Not known");
    assert_has(json, "\"parts\": null");
    free(text);
    free(json);
    free(asked);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_part_that_is_unknown_on_one_rank),
        cmocka_unit_test(test_without_mpi),
        cmocka_unit_test(test_older_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
