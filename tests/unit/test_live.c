/* What is printed of running ranks: metrics and the view of their pace. Names may be hostile,
 * widths are kept, what is not known is left out. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "report/live/liveview.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

static struct pw_live_thread thread = {.op = PW_OP_Allreduce, .since_ns = 2500000000, .peer = -1};
static struct pw_live ranks[3];
static const int32_t silent[] = {3};
static const struct pw_live_view view = {.ranks = ranks, .n = 3, .silent = silent, .nsilent = 1};
static const struct pw_livepace_look wide = {
    .title = "o\033ut", .columns = 100, .lines = SIZE_MAX, .ranks = 12};

static void make(void)
{
    for (int i = 0; i < 3; i++)
        ranks[i] = (struct pw_live){
            .rank = i,
            .world_size = 4,
            .hostname = "node",
            .pid = 7,
            .step = 40 + i,
            .events = 9,
            .recording = 1,
            .recording_after = 0,
            .steps = 40,
            .steps_ns = 1000000007,
            .mpi_ns = 5,
            .step_last_ns = 30000000,
            .step_mean_ns = 20000000,
            .step_mpi_ns = 10000000,
            .threads = &thread,
            .nthreads = 1,
        };
    ranks[1].step_mpi_ns = 1000000; /* the others wait for it */
    /* As of a collector that took over: what it does not know. */
    ranks[2].step = ranks[2].steps = ranks[2].steps_ns = ranks[2].mpi_ns = -1;
    ranks[2].step_last_ns = ranks[2].step_mean_ns = ranks[2].step_mpi_ns = -1;
    ranks[2].nthreads = 0;
}

static char *metrics(void)
{
    assert_int_equal(pw_openmetrics_print(&view, NULL, unit_open_text()), 0);
    return unit_close_text();
}

static char *pace(const struct pw_livepace_look *look, const struct pw_live_view *of)
{
    assert_int_equal(pw_livepace_print(of, look, unit_open_text()), 0);
    return unit_close_text();
}

static void test_metrics(void **state)
{
    (void)state;
    make();
    char *text = metrics();
    assert_non_null(strstr(text, "\n# TYPE profwrap_steps_seconds counter\n# UNIT "
                                 "profwrap_steps_seconds seconds\n"
                                 "profwrap_steps_seconds_total{rank=\"0\"} 1.000000007\n"));
    assert_non_null(strstr(text, "\nprofwrap_call_seconds{rank=\"0\"} 2.500000000\n"));
    assert_non_null(strstr(text, "\nprofwrap_ranks{answered=\"no\"} 1\n"));
    assert_null(strstr(text, "profwrap_steps_total{rank=\"2\"}"));
    assert_null(strstr(text, "-"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    free(text);
}

/* Nothing between the ranks was recorded: 0 s in it would look like a healthy job. */
static void test_silent_ranks_have_no_time_in_communication(void **state)
{
    (void)state;
    make();
    char *text = metrics();
    assert_non_null(strstr(text, "\nprofwrap_communication_recorded{rank=\"0\"} 1\n"));
    assert_null(strstr(text, "profwrap_communication_recorded{rank=\"2\"}"));
    assert_non_null(strstr(text, "profwrap_mpi_seconds_total{rank=\"0\"}"));
    free(text);
    for (int i = 0; i < 3; i++)
        ranks[i].mpi_ns = ranks[i].step_mpi_ns = 0;
    text = metrics();
    assert_non_null(strstr(text, "\nprofwrap_communication_recorded{rank=\"0\"} 0\n"));
    assert_null(strstr(text, "profwrap_mpi_seconds_total{"));
    assert_null(strstr(text, "profwrap_step_mpi_seconds{"));
    free(text);
}

/* Whose operation it is decides its name. */
static void test_calls_are_named_by_their_source(void **state)
{
    (void)state;
    struct pw_call_words words = {
        .op = PW_OP_Allreduce, .comm_name = "world", .comm_uid = 7, .seq = 17, .peer = -1};
    char text[PW_CALL_TEXT];
    assert_string_equal(pw_call_write(&words, text, sizeof(text)), "MPI_Allreduce #17 on world");
    words.source = PW_SOURCE_NCCL;
    assert_string_equal(pw_call_write(&words, text, sizeof(text)), "ncclAllReduce #17 on world");
    words.source = PW_SOURCE_MCCL;
    assert_string_equal(pw_call_write(&words, text, sizeof(text)), "mccl allreduce #17 on world");
    words.source = PW_SOURCE_HCCL;
    assert_string_equal(pw_call_write(&words, text, sizeof(text)), "hcclAllReduce #17 on world");
    words.source = PW_SOURCE_GLOO;
    words.awaited = words.op;
    words.op = PW_OP_Wait;
    assert_string_equal(pw_call_write(&words, text, sizeof(text)),
                        "gloo wait (for gloo allreduce #17 on world)");
}

/* Rank 0 waits for rank 1, and that one for a rank of which nothing is known: it may be to blame.
 */
static void test_silent_rank_that_the_root_waits_for(void **state)
{
    struct pw_live_thread threads[] = {thread, thread};
    struct pw_hang hang;
    struct pw_live_view waits = view;
    char text[PW_LIVE_HEADLINE];
    int32_t scratch[2048];
    (void)state;
    make();
    for (int r = 0; r < 2; r++) {
        threads[r].op = PW_OP_Recv;
        threads[r].peer = r ? silent[0] : 1;
        threads[r].tag = 7;
        ranks[r].threads = &threads[r];
    }
    assert_in_range(pw_hang_scratch(3, 2), 0, 2048);
    pw_hang_find(ranks, 3, 1, scratch, &hang);
    waits.hang = &hang;
    pw_live_headline(&waits, text, sizeof(text));
    assert_string_equal(
        text, "Rank 0 waits in MPI_Recv from rank 1 (tag 7) for rank 1, which has been in "
              "MPI_Recv from rank 3 (tag 7) for 2.50 s; rank 3 did not answer");
}

static void test_hostile_names(void **state)
{
    (void)state;
    make();
    snprintf(ranks[0].hostname, sizeof(ranks[0].hostname), "%s", "a\"} 1\n# EOF\n\\x\033[2J\xff");
    char *text = metrics();
    assert_non_null(strstr(text, ",host=\"a\\\"} 1?# EOF?\\\\x?[2J?\",pid"));
    assert_ptr_equal(strstr(text, "\n# EOF\n"), text + strlen(text) - 7);
    assert_null(strchr(text, '\033'));
    free(text);
    text = pace(&wide, &view);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "o?ut: 4 ranks, 1 do not answer, steps 40 to 41"));
    free(text);
}

static void test_pace(void **state)
{
    (void)state;
    make();
    char *text = pace(&wide, &view);
    assert_non_null(strstr(text, "\nstep time   20.0 ms mean of the last 32, 30.0 ms the last\n"));
    assert_non_null(strstr(text, "28 % of it inside MPI: 5 % on rank 1 to 50 % on rank 0\n"));
    assert_non_null(strstr(
        text, "rank 1 works 19.0 ms a step outside communication, 9.0 ms more than the median\n"));
    assert_true(strstr(text, "\n     0 ") > strstr(text, "\n     1 "));
    assert_non_null(strstr(text, ", for 2 s\n"));
    free(text);
    ranks[1].step_mpi_ns = ranks[0].step_mpi_ns;
    text = pace(&wide, &view);
    assert_non_null(strstr(text, "\nworst rank  no rank works longer"));
    free(text);
    ranks[0].step_mpi_ns = ranks[1].step_mpi_ns = 0; /* nothing was recorded: nobody is cleared */
    text = pace(&wide, &view);
    assert_non_null(strstr(text, "\nwait share  not known: no communication was recorded"));
    assert_non_null(strstr(text, "\nworst rank  cannot tell: "));
    assert_null(strstr(text, "no rank works longer"));
    free(text);
}

/* No line is too wide, and there are no more than fit; colours take no room. */
static void test_small_screen(void **state)
{
    (void)state;
    make();
    for (size_t columns = 20; columns < 130; columns += 7) {
        const struct pw_livepace_look look = {
            .title = "out", .columns = columns, .lines = 5, .ranks = 12, .is_coloured = 1};
        char *text = pace(&look, &view), *rest = text;
        int lines = 0;
        assert_non_null(strstr(text, "\033[31m"));
        for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n"), lines++) {
            size_t escapes = strstr(line, "\033[31m") ? 9 : strstr(line, "\033[1m") ? 8 : 0;
            assert_true(pw_names_columns(line) - escapes <= columns);
        }
        assert_int_equal(lines, 5);
        free(text);
    }
}

static void test_view_without_ranks(void **state)
{
    static const struct pw_live_view empty;
    struct pw_live_view one = view;
    (void)state;
    make();
    free(pace(&wide, &empty));
    one.ranks = &ranks[2];
    one.n = 1;
    one.nsilent = 0;
    char *text = pace(&wide, &one);
    assert_non_null(strstr(text, "o?ut: 1 rank\nstep time   no step has ended yet"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_silent_ranks_have_no_time_in_communication),
        cmocka_unit_test(test_calls_are_named_by_their_source),
        cmocka_unit_test(test_silent_rank_that_the_root_waits_for),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_small_screen),
        cmocka_unit_test(test_view_without_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
