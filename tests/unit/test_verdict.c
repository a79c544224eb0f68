/* Which evidence a verdict needs, and that a run of which it is missing is never called healthy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/figures.h"
#include "analysis/report/report.h"
#include "test_report_make.h"

static void add_note(struct pw_cluster *c, int32_t rank, const char *what, int64_t count)
{
    c->completeness = realloc(c->completeness, (c->ncompleteness + 1) * sizeof(*c->completeness));
    struct pw_row_c_completeness *row = &c->completeness[c->ncompleteness++];
    *row = (struct pw_row_c_completeness){.rank = rank, .count = count};
    snprintf(row->what, sizeof(row->what), "%s", what);
}

static void assert_begins(const char *text, const char *begin)
{
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
}

static void assert_verdict(const struct pw_cluster *c, enum pw_verdict_kind kind,
                           enum pw_wanting wanting)
{
    struct pw_figures *figures;
    assert_int_equal(pw_figures_create(c, &figures), 0);
    const struct pw_verdict verdict = pw_figures_advice(figures).verdict;
    assert_int_equal(verdict.kind, kind);
    assert_int_equal(verdict.wanting, wanting);
    pw_figures_destroy(figures);
}

static void test_order_of_evidence(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    assert_verdict(c, PW_VERDICT_NONE, PW_WANTING_NOTHING);
    c->clock_error_max_ns = -1;
    c->ranks[1].clock_error_ns = -1;
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_CLOCKS);
    add_straggler(c, straggler(3));
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    add_note(c, -1, "no_communication", 8);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    add_note(c, 2, "unrecorded_spawned", 5);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    add_note(c, 2, "unrecorded_bypassed", 1);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_RECORDED_MPI);
    pw_cluster_destroy(c);
}

static void test_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1, 12);
    assert_verdict(c, PW_VERDICT_SINGLE_RANK, PW_WANTING_NOTHING);
    pw_cluster_destroy(c);
}

/* Not even a straggler is named where some rank's calls are missing. */
static void test_unrecorded_mpi_is_said_first(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    add_note(c, 0, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_spawned", 3);
    add_note(c, 5, "unrecorded_environment", 1);
    add_note(c, 5, "unrecorded_environment", 1);
    char *text = text_of(c, "", 12), *json = json_of(c), line[1024];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_begins(line, "Cannot tell whether a rank held the job back: MPI calls of 3 of 8 ranks "
                        "were not recorded, because the program took them past");
    assert_has(line, "on 2 of them, and for other reasons");
    assert_begins(text, "Cannot tell whether a rank held the job back: MPI calls of 3 of 8 ranks");
    assert_has(text, "not recorded on 1 rank, because the program was started without");
    assert_has(text, "3 processes started by MPI_Comm_spawn were not recorded");
    assert_has(json, "\"verdict\": \"unknown\"");
    assert_has(json, "\"reason\": \"mpi_not_recorded\"");
    assert_has(json, "\"ranks_mpi_not_recorded\": 3");
    assert_has(json, "\"spawned_not_recorded\": 3");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

static void test_silence_is_no_health(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_note(c, -1, "no_communication", 8);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_begins(text, "Cannot tell whether a rank held the job back: no communication");
    assert_has_not(text, "No rank held");
    assert_has(json, "\"reason\": \"no_communication\"");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

static void remove_rank(struct pw_cluster *c, size_t rank)
{
    c->ranks[rank].present = 0;
    c->ranks[rank].clock_error_ns = -1;
    c->ranks[rank].hostname[0] = '\0';
    for (size_t s = 0; s < c->nstep_rows; s++)
        memset(&c->step_trace[s * c->nrank_rows + rank], 0xff, sizeof(*c->step_trace));
}

/* The straggler's own file may be the one that is missing. */
static void test_missing_ranks_are_no_health(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    for (size_t i = 0; i < 8 * 52; i++)
        c->step_trace[i].wait_ns = 30 * MS;
    remove_rank(c, 3);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_ALL_RANKS);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_begins(text, "Cannot tell whether a rank held the job back: 1 of 8 ranks left no usable "
                        "file, and");
    assert_has(text, "not known: rank 3;");
    assert_has(text, "Not known: 1 of 8 ranks left no usable file");
    assert_has_not(text, "No rank held");
    assert_has_not(text, "wait_roams");
    assert_has(json, "\"verdict\": \"unknown\"");
    assert_has(json, "\"reason\": \"ranks_missing\"");
    free(text);
    free(json);
    for (size_t r = 1; r < 8; r++)
        remove_rank(c, r);
    text = text_of(c, "", 12);
    assert_begins(text, "Cannot tell whether a rank held the job back: 7 of 8 ranks left no usable "
                        "file, and");
    assert_has_not(text, "wait_roams");
    free(text);
    remove_rank(c, 0);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_RANKS);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_evidence),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_unrecorded_mpi_is_said_first),
        cmocka_unit_test(test_silence_is_no_health),
        cmocka_unit_test(test_missing_ranks_are_no_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
