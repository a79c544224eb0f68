/* The first sentence: how many ranks it counts, and who waits for a missing one. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
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

/* Adds an Allreduce of `bytes` to each step, which not all of its 8 members have recorded: the last
 * of those that have enters it 50 ms before its end. */
static void add_shared_waits(struct pw_cluster *c, int64_t bytes)
{
    c->ncollectives = c->nstep_rows;
    c->collectives = calloc(c->ncollectives + 1, sizeof(*c->collectives));
    assert_non_null(c->collectives);
    for (size_t s = 0; s < c->nstep_rows; s++)
        c->collectives[s] = (struct pw_row_c_collective){.op = PW_OP_Allreduce,
                                                         .nranks = 8,
                                                         .bytes = bytes,
                                                         .step = c->steps[s].step,
                                                         .first_enter = c->steps[s].start,
                                                         .last_enter = c->steps[s].end - 50 * MS,
                                                         .first_exit = c->steps[s].end,
                                                         .last_exit = c->steps[s].end,
                                                         .last_rank = 1};
}

static void add_completeness(struct pw_cluster *c, int32_t rank, const char *what, int64_t count)
{
    c->completeness = realloc(c->completeness, (c->ncompleteness + 1) * sizeof(*c->completeness));
    assert_non_null(c->completeness);
    struct pw_row_c_completeness *row = &c->completeness[c->ncompleteness++];
    *row = (struct pw_row_c_completeness){.rank = rank, .count = count};
    strcpy(row->what, what);
}

static void assert_line_begins(const struct pw_cluster *c, const char *text)
{
    char line[PW_REPORT_LINE];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    line[strlen(text) < sizeof(line) ? strlen(text) : 0] = '\0';
    assert_string_equal(line, text);
}

/* The communicator of the collectives: its size, and which of its ranks recorded it. */
static void set_communicator(struct pw_cluster *c, const char *ranks, int32_t size)
{
    if (!c->communicators)
        c->communicators = calloc(1, sizeof(*c->communicators));
    assert_non_null(c->communicators);
    c->ncommunicators = 1;
    c->communicators[0].nranks = size;
    snprintf(c->communicators[0].ranks, sizeof(c->communicators[0].ranks), "%s", ranks);
}

/* Who waits for a rank that was not recorded is not to blame. */
static void test_partners_that_are_not_recorded(void **state)
{
    struct pw_cluster *c = make_cluster(8, 52);
    (void)state;
    add_shared_waits(c, 8);
    struct pw_row_c_straggler late = straggler(1);
    late.excess_ns = MS;
    late.gain_ns = 50 * MS;
    add_straggler(c, late);
    assert_line_begins(c, "Rank 1 on node-b held back ");

    /* All members recorded it: that one of them lost a record says nothing of other processes. */
    add_completeness(c, 0, "unrecorded_spawned", 2);
    set_communicator(c, "0-7", 8);
    assert_line_begins(c, "Rank 1 on node-b held back ");
    set_communicator(c, "0-3,5-7,…", 10);
    assert_line_begins(c, "Rank 1 on node-b held back ");
    set_communicator(c, "0-7", 10);
    c->ranks[3].dropped_events = 1;
    assert_line_begins(c, "Rank 1 on node-b held back ");
    c->ranks[3].dropped_events = 0;
    assert_line_begins(c,
                       "2 processes that MPI_Comm_spawn started, which are not recorded, make the "
                       "ranks wait 50.0 ms of each 150 ms step.");
    char *json = json_of(c);
    assert_has(json, "\"reason\": \"spawned_not_recorded\"");
    assert_has(json, "start them with the job (mpirun");
    free(json);

    remove_rank(c, 2);
    set_communicator(c, "0-1,3-7", 8);
    assert_line_begins(c,
                       "Rank 2, which is not recorded, makes the others wait 50.0 ms of each 150 "
                       "ms step.");
    add_completeness(c, 4, "unrecorded_bypassed", 1);
    add_completeness(c, 4, "no_communication", 1);
    assert_line_begins(c,
                       "Ranks 2, 4, which are not recorded, make the others wait 50.0 ms of each "
                       "150 ms step. MPI calls of 1 of 8 ranks were not recorded, because the ");

    /* A rank that costs more comes first. */
    char line[PW_REPORT_LINE];
    c->stragglers[0].gain_ns = 3000 * MS;
    assert_line_begins(c, "Rank 1 on node-b held back ");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line,
               " In addition, ranks 2, 4, which are not recorded, make the others wait 50.0 ms ");
    pw_cluster_destroy(c);
}

/* 50 ms may be a transfer of 100 MB, and then nobody is known to be late. */
static void test_transfers_to_partners(void **state)
{
    struct pw_cluster *c = make_cluster(8, 52);
    (void)state;
    add_shared_waits(c, 100000000);
    remove_rank(c, 2);
    set_communicator(c, "0-1,3-7", 8);
    assert_line_begins(c, "Cannot tell whether a rank held the job back: 1 of 8 ranks left no ");
    for (size_t s = 0; s < c->nstep_rows; s++)
        c->collectives[s].last_enter = c->steps[s].end - 100 * MS;
    assert_line_begins(c,
                       "Rank 2, which is not recorded, makes the others wait 100 ms of each 150 ms "
                       "step, or transfers to it take that long.");
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
        cmocka_unit_test(test_partners_that_are_not_recorded),
        cmocka_unit_test(test_transfers_to_partners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
