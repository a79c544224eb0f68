/* Which rank of a job ended first, and who waited for it, in jobs made by hand. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/hang.h"
#include "core/ops.h"

enum { RANKS = 4, WORLD = 0x57 };
#define S ((int64_t)1000000000)
#define MS ((int64_t)1000000)

static const struct pw_ending_facts nothing = {.exception_ns = -1, .abort_ns = -1};

struct job {
    struct pw_row_c_ending rows[RANKS];
};

/* All ranks return 0 after MPI_Finalize, at 10 s. */
static int setup(void **state)
{
    struct job *job = calloc(1, sizeof(*job));
    for (int r = 0; r < RANKS; r++)
        job->rows[r] = (struct pw_row_c_ending){
            .rank = r, .time = 10 * S, .mpi = PW_MPI_USE_FINALIZED, .oom_kills = -1};
    *state = job;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static struct pw_row_c_ending *ends(struct job *job, int rank, int64_t time, int code, int signal)
{
    struct pw_row_c_ending *row = &job->rows[rank];
    row->time = time;
    row->exit_code = code;
    row->exit_signal = signal;
    row->mpi = PW_MPI_USE_OPEN;
    return row;
}

/* Describes and orders the rows; facts of one rank may be given. */
static int64_t order(struct job *job, int rank, const struct pw_ending_facts *facts,
                     int64_t error_ns)
{
    for (int r = 0; r < RANKS; r++)
        pw_ending_describe(&job->rows[r], r == rank ? facts : &nothing);
    return pw_ending_order(job->rows, RANKS, error_ns, NULL);
}

static void check(const struct job *job, const char *wanted)
{
    for (int r = 0; r < RANKS; r++)
        assert_int_equal("?wfl"[job->rows[r].ended], wanted[r]);
}

static void test_good_end(void **state)
{
    struct job *job = *state;
    assert_int_equal(order(job, -1, NULL, 0), -1);
    check(job, "wwww");
    assert_int_equal(job->rows[0].how, PW_HOW_EXIT);
}

static void test_crash_before_the_launcher_kills(void **state)
{
    struct job *job = *state;
    for (int r = 1; r < RANKS; r++)
        ends(job, r, 11 * S, -1, SIGTERM);
    ends(job, 0, 10 * S, -1, SIGSEGV);
    assert_int_equal(order(job, -1, NULL, 0), 10 * S);
    check(job, "flll");
    assert_int_equal(job->rows[0].how, PW_HOW_SIGNAL);
    assert_true(pw_ending_is_by_launcher(&job->rows[1]));
    assert_false(pw_ending_is_by_launcher(&job->rows[0]));
}

/* The collector of the crashed rank saw the end last, within what a busy machine may delay it. */
static void test_launcher_kills_within_milliseconds(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S, -1, SIGTERM);
    ends(job, 2, 10 * S + MS, 3, 0);
    assert_int_equal(order(job, -1, NULL, 0), 10 * S + MS);
    check(job, "llfl");
}

static void test_two_crashes_at_once(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 12 * S, -1, SIGTERM);
    ends(job, 1, 10 * S, -1, SIGSEGV);
    ends(job, 3, 10 * S + MS, -1, SIGABRT);
    order(job, -1, NULL, 0);
    check(job, "lflf");
    ends(job, 3, 10 * S + 10 * MS, -1, SIGABRT);
    order(job, -1, NULL, 0);
    check(job, "lfll");
    order(job, -1, NULL, 20 * MS); /* clocks that differ by less do not tell */
    check(job, "lflf");
}

static void test_clocks_that_are_not_aligned(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S, -1, SIGKILL);
    ends(job, 3, 500 * S, -1, SIGFPE);
    order(job, -1, NULL, -1);
    check(job, "lllf");
}

static void test_all_killed_from_outside(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S + r * 100, -1, SIGTERM);
    assert_int_equal(order(job, -1, NULL, 0), 10 * S);
    check(job, "ffff");
    for (int r = 1; r < RANKS; r++) /* large processes, which take longer to end */
        ends(job, r, 10 * S + r * 30 * MS, -1, SIGTERM);
    assert_int_equal(order(job, -1, NULL, 0), 10 * S);
    check(job, "ffff");
    for (int r = 0; r < RANKS; r++) /* Hydra reacts so soon to the end of one */
        ends(job, r, 10 * S + r * 30 * MS, -1, SIGKILL);
    order(job, -1, NULL, 0);
    check(job, "flll");
}

static void test_one_killed_by_hand(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S + 250 * MS, -1, SIGTERM);
    ends(job, 1, 10 * S, -1, SIGTERM);
    order(job, -1, NULL, 0);
    check(job, "lfll");
}

/* A rank raises an exception, and waits for the others at its exit; meanwhile another one fails. */
static void test_exception_counts_from_its_time(void **state)
{
    struct job *job = *state;
    const struct pw_ending_facts raised = {.exception_ns = 5 * S, .abort_ns = -1};
    ends(job, 2, 9 * S, 1, 0);
    ends(job, 0, 8 * S, 1, 0);
    assert_int_equal(order(job, 2, &raised, 0), 5 * S);
    check(job, "lwfw");
    assert_int_equal(job->rows[2].how, PW_HOW_EXCEPTION);
}

/* Rank 0 raises an exception at 10 s, since it lost another rank, and ends at 10.2 s. */
static int64_t order_answer(struct job *job, int64_t error_ns)
{
    static const uint8_t answers[RANKS] = {1};
    const struct pw_ending_facts raised = {.exception_ns = 10 * S, .abort_ns = -1};
    ends(job, 0, 10 * S + 200 * MS, -1, SIGTERM);
    for (int r = 0; r < RANKS; r++)
        pw_ending_describe(&job->rows[r], r == 0 ? &raised : &nothing);
    return pw_ending_order(job->rows, RANKS, error_ns, answers);
}

/* Its connection is closed before the end of the killed rank is seen. */
static void test_answer_to_a_kill_comes_after_it(void **state)
{
    struct job *job = *state;
    ends(job, 1, 10 * S + 230 * MS, -1, SIGTERM);
    ends(job, 2, 10 * S + 210 * MS, -1, SIGTERM);
    ends(job, 3, 10 * S + 3 * MS, -1, SIGKILL);
    assert_int_equal(order_answer(job, 0), 10 * S + 3 * MS);
    check(job, "lllf");
    order_answer(job, -1); /* without clocks, the signal may be the launcher's */
    check(job, "flll");
}

/* A program that exits closes its connections long before its end. */
static void test_answer_to_an_exit_comes_after_it(void **state)
{
    struct job *job = *state;
    for (int r = 1; r < RANKS; r++)
        ends(job, r, 10 * S + 400 * MS, -1, SIGTERM);
    ends(job, 2, 10 * S + 300 * MS, 1, 0);
    order_answer(job, 0);
    check(job, "llfl");
    order_answer(job, -1);
    check(job, "llfl");
    ends(job, 2, 10 * S + 300 * MS, 128 + SIGTERM, 0); /* its handler of the launcher's signal */
    order_answer(job, 0);
    check(job, "flll");
}

static void test_answer_to_nothing_that_was_seen(void **state)
{
    struct job *job = *state;
    for (int r = 1; r < RANKS; r++)
        ends(job, r, 10 * S + 400 * MS, -1, SIGTERM);
    assert_int_equal(order_answer(job, 0), 10 * S); /* rank 1, say, did not answer in time */
    check(job, "flll");
    ends(job, 3, -1, -1, 0)->seen_until = 9 * S; /* its host is gone */
    assert_int_equal(order_answer(job, 0), 9 * S);
    check(job, "lllf");
}

static void test_which_exceptions_are_answers(void **state)
{
    (void)state;
    assert_true(pw_ending_is_answer("RuntimeError", "[pair.cc:561] Connection closed by peer"));
    assert_true(pw_ending_is_answer("RuntimeError", "Timed out waiting 6000ms for recv operation"));
    assert_true(pw_ending_is_answer("BrokenPipeError", ""));
    assert_false(pw_ending_is_answer("RuntimeError", "shapes do not match"));
}

static void test_abort_counts_from_its_call(void **state)
{
    struct job *job = *state;
    const struct pw_ending_facts aborted = {.exception_ns = -1, .abort_ns = 6 * S};
    const struct pw_ending_facts by_handler = {.exception_ns = 5 * S, .abort_ns = 6 * S};
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 9 * S, -1, SIGTERM);
    ends(job, 3, 10 * S, 7, 0);
    assert_int_equal(order(job, 3, &aborted, 0), 6 * S);
    check(job, "lllf");
    assert_int_equal(job->rows[3].how, PW_HOW_ABORT);
    assert_int_equal(order(job, 3, &by_handler, 0), 5 * S);
    assert_int_equal(job->rows[3].how, PW_HOW_EXCEPTION);
}

/* Hydra kills all ranks before the one that has the error can exit. A rank whose error is that
 * another one is gone comes after that one. */
static void test_mpi_error_counts_from_its_report(void **state)
{
    struct job *job = *state;
    const struct pw_ending_facts facts = {
        .exception_ns = -1, .abort_ns = -1, .error_ns = 10 * S - 2 * MS};
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S + r * MS, -1, SIGKILL);
    ends(job, 2, 10 * S + 5 * MS, -1, SIGKILL)->mpi_error = PW_MPI_ERROR_TRUNCATE;
    assert_int_equal(order(job, 2, &facts, 0), 10 * S - 2 * MS);
    check(job, "llfl");
    assert_int_equal(job->rows[2].how, PW_HOW_MPI_ERROR);
    assert_false(pw_ending_is_error_answer(&job->rows[2]));
    assert_false(pw_ending_is_together(job->rows, RANKS));
    job->rows[2].mpi_error = PW_MPI_ERROR_PROC_FAILED;
    assert_true(pw_ending_is_error_answer(&job->rows[2]));
}

static void test_out_of_memory(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S + MS, -1, SIGKILL);
    ends(job, 1, 10 * S, -1, SIGKILL)->oom_kills = 1;
    order(job, -1, NULL, 0);
    check(job, "lfll");
    assert_int_equal(job->rows[1].how, PW_HOW_MEMORY);
    ends(job, 0, 10 * S, 0, 0)->oom_kills = 1; /* of another process of its cgroup */
    job->rows[0].mpi = PW_MPI_USE_FINALIZED;
    order(job, -1, NULL, 0);
    assert_int_equal(job->rows[0].how, PW_HOW_EXIT);
}

static void test_status_0_without_finalize(void **state)
{
    struct job *job = *state;
    ends(job, 1, 9 * S, 0, 0);
    order(job, -1, NULL, 0);
    check(job, "wfww");
    job->rows[1].mpi = PW_MPI_USE_UNKNOWN; /* it may not have been recorded */
    assert_int_equal(order(job, -1, NULL, 0), -1);
    check(job, "wwww");
}

static void test_end_that_was_not_seen(void **state)
{
    struct job *job = *state;
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 10 * S, -1, SIGTERM);
    ends(job, 0, -1, -1, 0)->seen_until = 11 * S;
    order(job, -1, NULL, 0);
    check(job, "?fff");
    assert_int_equal(job->rows[0].how, PW_HOW_UNKNOWN);
    job->rows[0].seen_until = 9 * S; /* before the launcher ended the others */
    assert_int_equal(order(job, -1, NULL, 0), 9 * S);
    check(job, "flll");
    ends(job, 2, 10 * S, -1, SIGSEGV); /* another rank failed by itself */
    order(job, -1, NULL, 0);
    check(job, "?lfl");
    for (int r = 0; r < RANKS; r++)
        ends(job, r, -1, -1, 0);
    assert_int_equal(order(job, -1, NULL, 0), -1);
    check(job, "????");
}

/* Ranks 1 and 2 are in a collective that rank 0 has not entered; rank 3 waits for rank 2. */
static void test_waits(void **state)
{
    struct job *job = *state;
    struct pw_live ranks[RANKS] = {0};
    struct pw_live_thread threads[RANKS] = {0};
    struct pw_live_comm comms[RANKS];
    int32_t *scratch = malloc(sizeof(*scratch) * pw_hang_scratch(RANKS, RANKS));
    uint8_t marks[RANKS];
    for (int r = 0; r < RANKS; r++) {
        ends(job, r, 11 * S, -1, SIGTERM);
        comms[r] = (struct pw_live_comm){.uid = WORLD, .size = RANKS, .reached = 7};
        threads[r] = (struct pw_live_thread){
            .op = PW_OP_Allreduce, .comm_uid = WORLD, .seq = 7, .since_ns = S, .peer = -1};
        ranks[r] = (struct pw_live){.rank = r,
                                    .world_size = RANKS,
                                    .threads = &threads[r],
                                    .nthreads = r > 0,
                                    .comms = &comms[r],
                                    .ncomms = 1};
    }
    threads[3] = (struct pw_live_thread){
        .op = PW_OP_Recv, .comm_uid = WORLD, .seq = -1, .since_ns = S, .peer = 2};
    ends(job, 0, 10 * S, -1, SIGSEGV);
    order(job, -1, NULL, 0);
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(job->rows[r].waited, r > 0);
    threads[3].peer = -1; /* from any rank */
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    assert_int_equal(job->rows[3].waited, 0);
    assert_int_equal(job->rows[0].held, 0);

    /* A signal from outside ends all: they have waited for 1 s. */
    threads[3].peer = 0;
    ends(job, 0, 11 * S, -1, SIGTERM);
    order(job, -1, NULL, 0);
    assert_true(pw_ending_is_together(job->rows, RANKS));
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(job->rows[r].waited, r > 0);
        assert_int_equal(job->rows[r].held, r ? 0 : 3);
        job->rows[r].held = 0;
    }
    /* A wait this short tells nothing of why the job was ended. */
    for (int r = 0; r < RANKS; r++)
        threads[r].since_ns = MS;
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(job->rows[r].waited + job->rows[r].held, 0);
    /* A launcher kills all after an error of rank 0 in a call, whose partner is not known. */
    for (int r = 0; r < RANKS; r++)
        ends(job, r, 11 * S + r * 90 * MS / 3, -1, SIGKILL);
    order(job, -1, NULL, 0);
    assert_true(pw_ending_is_together(job->rows, RANKS));
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    assert_int_equal(job->rows[0].held, 0); /* it was in no call */
    ranks[0].nthreads = 1;
    threads[0] = (struct pw_live_thread){
        .op = PW_OP_Send, .comm_uid = WORLD, .seq = -1, .since_ns = MS, .peer = -1};
    comms[0].reached = 6;
    pw_ending_find_waits(job->rows, ranks, RANKS, scratch, marks);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(job->rows[r].held, r ? 0 : 3);
    ends(job, 3, 11 * S + 101 * MS, -1, SIGKILL);
    order(job, -1, NULL, 0);
    assert_false(pw_ending_is_together(job->rows, RANKS));
    free(scratch);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_good_end),
        TEST(test_crash_before_the_launcher_kills),
        TEST(test_launcher_kills_within_milliseconds),
        TEST(test_two_crashes_at_once),
        TEST(test_clocks_that_are_not_aligned),
        TEST(test_all_killed_from_outside),
        TEST(test_one_killed_by_hand),
        TEST(test_exception_counts_from_its_time),
        TEST(test_answer_to_a_kill_comes_after_it),
        TEST(test_answer_to_an_exit_comes_after_it),
        TEST(test_answer_to_nothing_that_was_seen),
        TEST(test_which_exceptions_are_answers),
        TEST(test_abort_counts_from_its_call),
        TEST(test_mpi_error_counts_from_its_report),
        TEST(test_out_of_memory),
        TEST(test_status_0_without_finalize),
        TEST(test_end_that_was_not_seen),
        TEST(test_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
