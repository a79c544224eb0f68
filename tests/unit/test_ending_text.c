/* The sentence about the end of a job, from rows made by hand. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/figures/figures.h"
#include "core/ops.h"
#include "report/content/firstscreen.h"
#include "report/report.h"
#include "test_report_make.h"

enum { RANKS = 4, WORLD = 0x57 };
#define S ((int64_t)1000000000)

/* Rank 2 has crashed at 10 s in step 7; the launcher ended the others 1 s later, in a barrier. */
static struct pw_cluster *make(void)
{
    struct pw_cluster *c = make_cluster(RANKS, 8);
    c->endings = calloc(RANKS, sizeof(*c->endings));
    c->open_calls = calloc(RANKS, sizeof(*c->open_calls));
    c->nendings = RANKS;
    for (int r = 0; r < RANKS; r++) {
        c->endings[r] = (struct pw_row_c_ending){.rank = r,
                                                 .ended = PW_ENDED_LATER,
                                                 .how = PW_HOW_SIGNAL,
                                                 .began = 11 * S,
                                                 .time = 11 * S,
                                                 .exit_code = -1,
                                                 .exit_signal = SIGTERM,
                                                 .mpi = PW_MPI_USE_OPEN,
                                                 .step = 7,
                                                 .in_step = 1,
                                                 .waited = r != 2};
        if (r == 2)
            continue;
        struct pw_row_c_open_call *call = &c->open_calls[c->nopen_calls++];
        *call = (struct pw_row_c_open_call){.rank = r,
                                            .op = PW_OP_Barrier,
                                            .comm_uid = WORLD,
                                            .comm_name = "MPI_COMM_WORLD",
                                            .seq = 30,
                                            .peer = -1};
    }
    c->endings[2].ended = PW_ENDED_FIRST;
    c->endings[2].exit_signal = SIGSEGV;
    c->endings[2].began = c->endings[2].time = 10 * S;
    return c;
}

/* The cluster is freed. */
static void check(struct pw_cluster *c, const char *wanted)
{
    char text[PW_HEADLINE_BYTES] = "";
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    struct pw_figures *f;
    assert_int_equal(pw_figures_create(c, &f), 0);
    pw_ending_write(f, &s);
    assert_string_equal(text, wanted);
    pw_figures_destroy(f);
    pw_cluster_destroy(c);
}

static void test_crash(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[2].hostname[0] = '\0';
    check(c, "Rank 2 was killed by signal 11 (Segmentation fault) in step 7, in no MPI call; ranks "
             "0-1,3 waited for it in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended "
             "them 1.00 s later (signal 15).");
}

/* Steps count from 0. */
static void test_crash_in_the_first_step(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->endings[2].step = 0;
    c->ranks[2].hostname[0] = '\0';
    check(c, "Rank 2 was killed by signal 11 (Segmentation fault) in step 0, in no MPI call; ranks "
             "0-1,3 waited for it in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended "
             "them 1.00 s later (signal 15).");
}

/* Ranks 1 and 3 are killed for lack of memory, rank 1 first. From the first to the last sample rank
 * 1 grows by 100 MB, and rank 3 by 2500 MB, 2.3 GiB: rank 3 took the memory. Without samples the
 * first is named. */
static void test_rank_that_took_the_memory(void **state)
{
    (void)state;
    static const int64_t rss[RANKS][2] = {{1, 90}, {500, 600}, {1, 90}, {100, 2600}};
    for (int has_samples = 0; has_samples < 2; has_samples++) {
        struct pw_cluster *c = make();
        c->endings[2].ended = PW_ENDED_LATER;
        c->endings[2].exit_signal = SIGTERM;
        c->endings[2].began = c->endings[2].time = 11 * S;
        for (int r = 1; r < RANKS; r += 2) {
            c->endings[r].how = PW_HOW_MEMORY;
            c->endings[r].exit_signal = SIGKILL;
            c->endings[r].waited = 0;
        }
        c->endings[1].ended = PW_ENDED_FIRST;
        c->endings[1].began = c->endings[1].time = 10 * S;
        c->nopen_calls = 0;
        c->endings[0].waited = c->endings[2].waited = 0;
        c->utilisation_series = calloc(2 * RANKS, sizeof(*c->utilisation_series));
        for (size_t i = 0; i < 2 * RANKS && has_samples; i++)
            c->utilisation_series[c->nutilisation_series++] = (struct pw_row_c_utilisation_series){
                .rank = (int32_t)(i / 2), .rss_bytes = rss[i / 2][i % 2] * 1000000};
        for (int r = 0; r < RANKS; r++)
            c->ranks[r].hostname[0] = '\0';
        check(c,
              has_samples
                  ? "Rank 3, whose memory grew most (2.3 GiB; first to end: rank 1), was killed by "
                    "the "
                    "kernel (signal 9), because its cgroup ran out of memory in step 7, in no MPI "
                    "call; 1.00 s later, the launcher ended ranks 0,2 (signal 15); 1.00 s later, "
                    "rank 3 was killed by the kernel (signal 9), because its cgroup ran out of "
                    "memory."
                  : "Rank 1 was killed by the kernel (signal 9), because its cgroup ran out of "
                    "memory "
                    "in step 7, in no MPI call; 1.00 s later, the launcher ended ranks 0,2 (signal "
                    "15); 1.00 s later, rank 3 was killed by the kernel (signal 9), because its "
                    "cgroup ran out of memory.");
    }
}

static void test_headline_goes_on_with_the_time_before(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    char line[PW_REPORT_LINE];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "(signal 15). Before that, ");
    c->endings[2].ended = PW_ENDED_WELL; /* then nothing is said of the end */
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has_not(line, "Before that");
    c->endings[2].ended = PW_ENDED_FIRST;
    c->snapshot = 1; /* the job goes on */
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has_not(line, "Before that");
    pw_cluster_destroy(c);
}

static void test_exception(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[2].hostname[0] = '\0';
    c->endings[2].how = PW_HOW_EXCEPTION;
    c->endings[2].exit_signal = 0;
    c->endings[2].exit_code = 1;
    c->exceptions = calloc(1, sizeof(*c->exceptions));
    c->nexceptions = 1;
    c->exceptions[0] = (struct pw_row_c_exception){
        .rank = 2, .is_main = 1, .type = "ValueError", .file = "/home/me/train.py", .line = 41};
    check(c, "Rank 2 ended by the exception ValueError at train.py:41 in step 7 (exit status 1); "
             "ranks 0-1,3 waited for it in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher "
             "ended them 1.00 s later (signal 15).");
}

/* Three ranks at once: two of them in one line, which disagrees with that of the third. */
static void test_exceptions_at_different_lines(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->exceptions = calloc(RANKS, sizeof(*c->exceptions));
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].waited = 0;
        if (r == 0)
            continue;
        c->endings[r].how = PW_HOW_EXCEPTION;
        c->endings[r].ended = PW_ENDED_FIRST;
        c->endings[r].began = 10 * S;
        c->endings[r].exit_signal = 0;
        c->endings[r].exit_code = 1;
        c->exceptions[c->nexceptions++] = (struct pw_row_c_exception){.rank = r,
                                                                      .is_main = 1,
                                                                      .type = "RuntimeError",
                                                                      .file = "/home/me/train.py",
                                                                      .line = r == 2 ? 11 : 13};
    }
    check(c,
          "Ranks 1-3 ended first within 0 ns: ranks 1,3 ended by the exception RuntimeError at "
          "train.py:13, rank 2 ended by the exception RuntimeError at train.py:11; 1.00 s later, "
          "the launcher ended rank 0 (signal 15).");
}

/* No rank is known that can be the reason: one that hangs, say. */
static void test_exception_about_another_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[2].hostname[0] = '\0';
    c->nopen_calls = 0;
    for (int r = 0; r < RANKS; r++)
        c->endings[r].waited = 0;
    c->endings[2].how = PW_HOW_EXCEPTION;
    c->endings[2].exit_signal = 0;
    c->endings[2].exit_code = 1;
    c->exceptions = calloc(1, sizeof(*c->exceptions));
    c->nexceptions = 1;
    c->exceptions[0] = (struct pw_row_c_exception){.rank = 2,
                                                   .is_main = 1,
                                                   .type = "RuntimeError",
                                                   .message = "Timed out waiting 6000ms for recv"};
    check(c,
          "Rank 2 ended by the exception RuntimeError in step 7 (exit status 1), because another "
          "rank did not answer or had gone; 1.00 s later, the launcher ended ranks 0-1,3 (signal "
          "15).");
}

static void test_thread_that_ended_before(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[2].hostname[0] = '\0';
    c->endings[2].how = PW_HOW_EXIT;
    c->endings[2].exit_signal = 0;
    c->endings[2].exit_code = 1;
    c->exceptions = calloc(2, sizeof(*c->exceptions));
    c->nexceptions = 2;
    c->exceptions[0] = (struct pw_row_c_exception){
        .rank = 2, .time = 9 * S, .type = "ValueError", .file = "/home/me/load.py", .line = 7};
    c->exceptions[1] = (struct pw_row_c_exception){
        .rank = 3, .time = 10 * S + 1, .type = "OSError"}; /* after it */
    check(c,
          "Rank 2 exited with status 1 without MPI_Finalize in step 7; before, a thread of rank 2 "
          "had ended by the exception ValueError at load.py:7; ranks 0-1,3 waited for it in "
          "MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended them 1.00 s later (signal "
          "15).");
}

static void test_several_and_one_that_is_not_known(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->nopen_calls = 0;
    for (int r = 0; r < RANKS; r++)
        c->endings[r].waited = 0;
    c->endings[3] = c->endings[2];
    c->endings[3].rank = 3;
    c->endings[3].began += 1000000;
    c->endings[0].ended = PW_ENDED_WELL;
    c->endings[1].ended = PW_ENDED_UNKNOWN;
    check(c, "Ranks 2-3 were killed by signal 11 (Segmentation fault) in step 7 within 1.0 ms; "
             "rank 0 ended well; how rank 1 ended is not known.");
}

/* As Hydra does it after an MPI error of any rank. */
static void test_kill_of_all_in_calls(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[0].hostname[0] = '\0';
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].exit_signal = SIGKILL;
        c->endings[r].began = 10 * S + (r > 0) * S / 100;
        c->endings[r].ended = r ? PW_ENDED_LATER : PW_ENDED_FIRST;
        c->endings[r].waited = 0;
    }
    c->open_calls[2].op = PW_OP_Allreduce;
    check(c, "All ranks were killed by signal 9 (Killed) within 10.0 ms, rank 0 first, 10.0 ms "
             "before the "
             "next, perhaps by the launcher after an MPI error of one of them; ranks 0-1 were in "
             "MPI_Barrier #30 on MPI_COMM_WORLD, rank 3 in MPI_Allreduce #30 on MPI_COMM_WORLD.");
}

/* Of all that were killed, the others waited for rank 2. */
static void test_whom_the_others_waited_for(void **state)
{
    (void)state;
    for (int is_in_call = 0; is_in_call < 2; is_in_call++) {
        struct pw_cluster *c = make();
        for (int r = 0; r < RANKS; r++) {
            c->endings[r].exit_signal = is_in_call ? SIGKILL : SIGTERM;
            c->endings[r].ended = PW_ENDED_FIRST;
            c->endings[r].began = 10 * S;
        }
        c->endings[2].held = 3;
        if (is_in_call) {
            c->open_calls[c->nopen_calls++] = c->open_calls[2]; /* of rank 3 */
            c->open_calls[2].rank = 2;
            c->open_calls[2].op = PW_OP_Send;
            c->open_calls[2].seq = -1;
        }
        check(c, is_in_call
                     ? "All ranks were killed by signal 9 (Killed) within 0 ns, perhaps by the "
                       "launcher after an MPI error of one of them; rank 2, for which ranks "
                       "0-1,3 waited, was in MPI_Send on MPI_COMM_WORLD; ranks 0-1,3 were in "
                       "MPI_Barrier #30 on MPI_COMM_WORLD."
                     : "All ranks were killed by signal 15 (Terminated) in step 7 within 0 ns: "
                       "the signal came from outside the job; rank 2, for which ranks 0-1,3 "
                       "waited, was in no MPI call; ranks 0-1,3 were in MPI_Barrier #30 on "
                       "MPI_COMM_WORLD.");
    }
}

/* Advice that names a rank as the first would contradict the sentence. */
static void test_advice_when_all_were_killed(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    const struct pw_advice_input in = {.cluster = c};
    struct pw_advice advice = {0};
    assert_int_equal(pw_judge_ended(&in, &advice), 1);
    assert_non_null(strstr(advice.text, "Rank 2 ended first. Find why it crashed"));
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].exit_signal = SIGKILL;
        c->endings[r].ended = PW_ENDED_FIRST;
        c->endings[r].began = 10 * S;
    }
    c->endings[2].held = 3;
    advice = (struct pw_advice){0};
    assert_int_equal(pw_judge_ended(&in, &advice), 1);
    assert_int_equal(advice.nranks, RANKS);
    assert_null(strstr(advice.text, "ended first"));
    assert_non_null(strstr(advice.text, "If MPI wrote an error message"));
    assert_non_null(strstr(advice.text, "See what rank 2 did, for which others waited."));
    pw_cluster_destroy(c);
}

static void test_sys_exit(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->ranks[2].hostname[0] = '\0';
    c->endings[2].how = PW_HOW_EXCEPTION;
    c->endings[2].exit_signal = 0;
    c->endings[2].exit_code = 3;
    c->exceptions = calloc(1, sizeof(*c->exceptions));
    c->nexceptions = 1;
    c->exceptions[0] = (struct pw_row_c_exception){.rank = 2,
                                                   .is_main = 1,
                                                   .type = "SystemExit",
                                                   .file = "/home/me/train.py",
                                                   .line = 41,
                                                   .message = "3"};
    check(c, "Rank 2 ended by sys.exit(3) at train.py:41 in step 7 (exit status 3); ranks 0-1,3 "
             "waited for it in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended them "
             "1.00 s later (signal 15).");
}

/* Under Open MPI the rank exits inside the call, under Hydra it is killed there. */
static void test_mpi_error(void **state)
{
    (void)state;
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct pw_cluster *c = make();
        c->ranks[2].hostname[0] = '\0';
        c->endings[2].how = PW_HOW_MPI_ERROR;
        c->endings[2].mpi_error = PW_MPI_ERROR_TRUNCATE;
        c->endings[2].exit_signal = is_killed ? SIGKILL : 0;
        c->endings[2].exit_code = is_killed ? -1 : 15;
        c->open_calls[3] = (struct pw_row_c_open_call){.rank = 2,
                                                       .op = PW_OP_Recv,
                                                       .comm_uid = WORLD,
                                                       .comm_name = "MPI_COMM_WORLD",
                                                       .seq = -1,
                                                       .peer = 1,
                                                       .tag = 5};
        c->nopen_calls = RANKS;
        check(c,
              is_killed
                  ? "Rank 2 ended by the MPI error MPI_ERR_TRUNCATE in step 7, in MPI_Recv from "
                    "rank 1 (tag 5) on MPI_COMM_WORLD (and later by signal 9); ranks 0-1,3 waited "
                    "for it in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended them 1.00 "
                    "s later (signal 15)."
                  : "Rank 2 ended by the MPI error MPI_ERR_TRUNCATE in step 7, in MPI_Recv from "
                    "rank 1 (tag 5) on MPI_COMM_WORLD (exit status 15); ranks 0-1,3 waited for it "
                    "in MPI_Barrier #30 on MPI_COMM_WORLD, and the launcher ended them 1.00 s "
                    "later (signal 15).");
    }
}

static void test_what_ranks_did_that_a_signal_ended(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].ended = PW_ENDED_FIRST;
        c->endings[r].waited = 0;
        c->endings[r].exit_signal = SIGTERM;
        c->endings[r].began = 10 * S + r * S / 100;
    }
    c->open_calls[2].op = PW_OP_Finalize; /* of rank 3 */
    c->open_calls[2].comm_uid = 0;
    c->open_calls[2].comm_name[0] = '\0';
    c->open_calls[2].seq = -1;
    check(c, "All ranks were killed by signal 15 (Terminated) in step 7 within 30.0 ms: the signal "
             "came from outside the job; ranks 0-1 were in MPI_Barrier #30 on MPI_COMM_WORLD, rank "
             "3 in MPI_Finalize.");
}

static void test_all_ranks_return_the_same_status(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->nopen_calls = 0;
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].how = PW_HOW_EXIT;
        c->endings[r].exit_signal = 0;
        c->endings[r].exit_code = 7;
        c->endings[r].mpi = PW_MPI_USE_FINALIZED;
    }
    check(c, "All ranks exited with status 7 after MPI_Finalize.");
}

/* Of a program that could not start, reports say only how it ended: not what to record of it. */
static void test_end_at_the_start(void **state)
{
    (void)state;
    struct pw_cluster *c = make();
    c->nstep_rows = c->nsteps = 0;
    c->nopen_calls = 0;
    for (int r = 0; r < RANKS; r++) {
        c->endings[r].step = -1;
        c->endings[r].in_step = 0;
        c->ranks[r].events = 0;
    }
    char *text = text_of(c, "", 12), *asked = text_of(c, "stragglers", 12), *json = json_of(c);
    assert_has(text, "\nJob\n");
    assert_has(text, "\nWhat to do\n  - Rank 2 ended first.");
    assert_has_not(text, "[no_steps]");
    assert_has_not(text, "Stragglers");
    assert_has_not(text, "how to get it");
    assert_has(asked, "\nStragglers\n");
    assert_has(json, "\"further\": 0");
    free(text);
    free(asked);
    c->ranks[1].events = 1; /* it did something */
    text = text_of(c, "", 12);
    assert_has(text, "[no_steps]");
    assert_has(text, "\nStragglers\n");
    free(text);
    c->ranks[1].events = 0;
    c->ranks[3].run_ns = 11 * S; /* nor did it end at its start */
    text = text_of(c, "", 12);
    assert_has(text, "[no_steps]");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_crash_in_the_first_step),
        cmocka_unit_test(test_rank_that_took_the_memory),
        cmocka_unit_test(test_headline_goes_on_with_the_time_before),
        cmocka_unit_test(test_exception),
        cmocka_unit_test(test_exceptions_at_different_lines),
        cmocka_unit_test(test_exception_about_another_rank),
        cmocka_unit_test(test_thread_that_ended_before),
        cmocka_unit_test(test_several_and_one_that_is_not_known),
        cmocka_unit_test(test_kill_of_all_in_calls),
        cmocka_unit_test(test_whom_the_others_waited_for),
        cmocka_unit_test(test_advice_when_all_were_killed),
        cmocka_unit_test(test_sys_exit),
        cmocka_unit_test(test_mpi_error),
        cmocka_unit_test(test_what_ranks_did_that_a_signal_ended),
        cmocka_unit_test(test_end_at_the_start),
        cmocka_unit_test(test_all_ranks_return_the_same_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
