/* The first sentence: how many ranks it counts, and who waits for a missing one. */
#include "unit.h"

#include <stdlib.h>

#include "report/report.h"
#include "test_report_make.h"

/* A rank that held the job back in two ways is one rank. */
static void test_rows_of_one_rank(void **state)
{
    char line[PW_REPORT_LINE];
    struct pw_cluster *c = make_cluster(8, 52);
    (void)state;
    add_straggler(c, straggler(3));
    add_straggler(c, straggler(3));
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "Rank 3 ");
    assert_has_not(line, "more rank");
    add_straggler(c, straggler(5));
    add_straggler(c, straggler(5));
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "; and 1 more rank.");
    pw_cluster_destroy(c);
}

/* 75 of 150 ms of each step in communication, and never less than that beside other work. */
static void test_who_waits_for_a_missing_rank(void **state)
{
    char line[PW_REPORT_LINE];
    struct pw_cluster *c = make_cluster(8, 52);
    (void)state;
    remove_rank(c, 2);
    struct pw_row_c_step_trace *rows = step_rows(c);
    for (int enough = 0; enough <= 1; enough++) {
        for (size_t i = 0; i < c->nstep_rows * c->nrank_rows; i++)
            rows[i].comm_exposed_ns = rows[i].total_ns < 0 ? -1 : rows[i].total_ns / 2 - !enough;
        for (size_t i = 0; i < c->nstep_rows * c->nrank_rows; i++)
            rows[i].comm_ns = rows[i].total_ns;
        assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
        assert_has(line, "1 of 8 ranks left no usable file, and the slowest may be that one");
        if (enough)
            assert_has(line,
                       "of a step (50 %) the recorded ranks are in communication: they wait for "
                       "rank 2, or their transfers take that long.");
        else
            assert_has_not(line, "they wait for");
    }
    pw_cluster_destroy(c);
}

/* It is not known whether a rank was late in a call that all ranks are in for long. */
static void test_all_ranks_in_one_call(void **state)
{
    static const enum pw_part parts[] = {PW_PART_INIT, PW_PART_FINALIZE};
    char line[PW_REPORT_LINE];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pw_cluster *c = make_cluster(4, 52);
        c->npart_trace = (size_t)4 * PW_PART_END;
        c->part_trace = calloc(c->npart_trace, sizeof(*c->part_trace));
        assert_non_null(c->part_trace);
        for (size_t r = 0; r < 4; r++) {
            c->ranks[r].run_ns = 8000 * MS;
            c->part_trace[(parts[i] - PW_PART_START) * 4 + r].total_ns = 2000 * MS;
        }
        assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
        assert_has(line, i ? "All ranks were in MPI_Finalize for 2.00 s or longer (25 % of the run)"
                           : "All ranks were in MPI_Init for 2.00 s or longer (25 % of the run)");
        assert_has(line, i ? " is not known. Elsewhere no rank held the job back."
                           : " do not tell which. Elsewhere no rank held the job back.");
        pw_cluster_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_one_rank),
        cmocka_unit_test(test_all_ranks_in_one_call),
        cmocka_unit_test(test_who_waits_for_a_missing_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
