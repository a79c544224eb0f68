/* The summary of a run: what stands on the screen when it has ended. */
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/runsummary.h"
#include "report/report.h"
#include "test_report_make.h"

enum { SCREEN = 22 };

static char *summary_of(const struct pw_cluster *c, const struct pw_report_options *options)
{
    assert_int_equal(pw_report_summary(unit_open_text(), c, options), 0);
    return unit_close_text();
}

static char *summary_at(const struct pw_cluster *c, int width)
{
    const struct pw_report_options options = {.width = width};
    return summary_of(c, &options);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void add_note(struct pw_cluster *c, int32_t rank, const char *what, int64_t count)
{
    c->completeness = realloc(c->completeness, (c->ncompleteness + 1) * sizeof(*c->completeness));
    struct pw_row_c_completeness *row = &c->completeness[c->ncompleteness++];
    *row = (struct pw_row_c_completeness){.rank = rank, .count = count};
    snprintf(row->what, sizeof(row->what), "%s", what);
}

/* A job in which rank 3 takes 10 ms longer in backward and never waits. */
static struct pw_cluster *make_slow(void)
{
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    for (size_t s = 2; s < 52; s++)
        phase_rows(c)[s * 8 + 3].backward_ns = 90 * MS;
    return c;
}

/* The mean of backward is (7 x 80 + 90) / 8 = 81.25 ms, of waiting (7 x 10 + 0) / 8 = 8.75 ms; what
 * is left of 150 ms is 2 ms, in no phase. In a bar of 56 columns, which stand for 150 ms, the parts
 * of the mean end at 5, 45, 126.25, 131.25, 139.25, 141.25 and 150 ms, which are columns 2, 17, 47,
 * 49, 52, 53 and 56; those of rank 3 at 5, 45, 135, 140, 148 and 150 ms: columns 2, 17, 50, 52, 55
 * and 56. */
static void test_slow_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_slow();
    char *text = summary_at(c, 80);
    assert_fits(text, 80);
    assert_string_equal(
        text, "Rank 3 on node-b held back 41 of 50 steps by 18.0 ms each (12 % of a step) in\n"
              "  backward (blocked off the CPU), which cost the job 731 ms.\n"
              "\n"
              "Where a step goes: mean of 8 ranks | rank 3, which held the job back\n"
              "  mean       [ddfffffffffffffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbaaooo-...] 150 ms\n"
              "  rank 3     [ddfffffffffffffffbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbaaooo-] 150 ms\n"
              "  d data 5.0 ms | 5.0 ms;  f forward 40.0 ms | 40.0 ms\n"
              "  b backward 81.2 ms | 90.0 ms;  a allreduce 5.0 ms | 5.0 ms\n"
              "  o optimizer 8.0 ms | 8.0 ms;  - other 2.0 ms | 2.0 ms\n"
              "  . waiting 8.8 ms | 0 ns;  hidden communication 10.0 ms | 10.0 ms\n"
              "\n"
              "Do first: Rank 3 (in backward) sleeps or waits outside communication: off the\n"
              "  CPU, but not for another rank. Look there for sleeps, locks, file or network\n"
              "  I/O, and synchronisation with a GPU. Would save up to 731 ms (9.7 %).\n"
              "Rests on: 8 ranks on 2 hosts, 50 steps (2 warm-up steps left out), clock error\n"
              "  up to 12.0 us, 40000 events, none dropped; ? collectives not known; ? load of\n"
              "  the hosts not known.\n");
    free(text);
    pw_cluster_destroy(c);
}

/* No rank stands beside the mean, and where nothing is to be done, nothing is said of it. Without
 * phases, 150 ms are 130 outside communication, 10 in it and 10 of waiting: columns 48.5, 52.3 and
 * 56. */
/* Without the phase allreduce, its 5 ms are in no phase, with the 2 ms that were. */
static void test_phase_that_no_step_has(void **state)
{
    (void)state;
    struct pw_cluster *c = make_slow();
    for (size_t i = 0; i < 8 * 52; i++)
        phase_rows(c)[i].allreduce_ns = -1;
    char *text = summary_at(c, 80);
    assert_has(text, "b backward 81.2 ms | 90.0 ms");
    assert_has(text, "- other 7.0 ms | 7.0 ms");
    assert_has_not(text, "allreduce");
    free(text);
    pw_cluster_destroy(c);
}

static void test_even_ranks(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    for (size_t i = 0; i < 8 * 52; i++)
        phase_rows(c)[i] = (struct pw_row_c_phase_trace){0};
    char *text = summary_at(c, 80);
    assert_has(text, "No rank alone held the job back: 50 steps of 150 ms");
    assert_has(text,
               "\nWhere a step goes: mean of 8 ranks\n"
               "  mean       [#################################################===....] 150 ms\n"
               "  # outside communication 130 ms;  = communication 10.0 ms;  . waiting 10.0 ms\n"
               "  hidden communication 10.0 ms\n"
               "\nDo first: Nothing: no rank, phase or operation stands out.\n"
               "Rests on: 8 ranks");
    free(text);
    pw_cluster_destroy(c);
}

/* The waits of ranks whose communication was not recorded are not known: they would be in another
 * part, and look like work. */
static void test_unknown_waits(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_note(c, -1, "no_communication", 8);
    char *text = summary_at(c, 80);
    assert_has(text, "Cannot tell whether a rank held the job back");
    assert_has_not(text, "Where");
    assert_has(text, "✗ no communication seen");
    free(text);
    c->ncompleteness = 0;
    text = summary_at(c, 80);
    assert_has(text, "Where");
    free(text);
    add_note(c, 2, "unrecorded_bypassed", 1);
    text = summary_at(c, 80);
    assert_has(text, "MPI calls of 1 of 8 ranks were");
    assert_has_not(text, "Where");
    free(text);
    pw_cluster_destroy(c);
}

/* Parts that contradict each other are not drawn: own work of 160 ms in a step of 150 ms. */
static void test_contradiction(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    for (size_t i = 0; i < 8 * 52; i++) {
        phase_rows(c)[i].backward_ns = 100 * MS;
        step_rows(c)[i].comm_exposed_ns = MS; /* less than the wait */
    }
    char *text = summary_at(c, 80);
    assert_has_not(text, "Where");
    assert_has(text,
               "\n\nDo first: Nothing: no rank, phase or operation stands out.\nRests on: 8 ranks");
    assert_has_not(text, "\n\n\n");
    free(text);
    pw_cluster_destroy(c);
}

static void test_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1, 12);
    char *text = summary_at(c, 80);
    assert_has(text, "Where a step goes\n  step       [ddfff");
    assert_has(text, "] 150 ms\n  d data 5.0 ms;  f forward 40.0 ms;");
    assert_has(text,
               "\nRests on: 1 rank, 10 steps (2 warm-up steps left out), 5000 events, none\n");
    assert_has_not(text, "clock");
    free(text);
    c->nstep_rows = c->nsteps = 0;
    add_parts(c); /* all of it outside communication: no bar */
    text = summary_at(c, 80);
    assert_has_not(text, "Where");
    assert_has(text, "Do first: Mark the steps");
    assert_has(text, "Rests on: 1 rank, 5000 events, none dropped; ✗ no steps known.");
    free(text);
    pw_cluster_destroy(c);
}

/* A run of 700 ms on each of 4 ranks: 300 before MPI and 80 after it, 50 in calls, and 80 of
 * waiting except on rank 2. Outside communication are 190 ms, or 270 on rank 2, 210 on average. In
 * 56 columns the mean's parts end at 210, 260, 640 and 700 ms: columns 17, 21, 51 and 56; those of
 * rank 2 at 270, 320 and 700 ms: columns 22, 26 and 56. */
static void test_no_steps(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(4, 0);
    add_parts(c);
    for (size_t r = 0; r < 4; r++) {
        c->part_trace[r].outside_ns = 300 * MS;
        c->part_trace[2 * 4 + r].inside_ns = 50 * MS;
        c->part_trace[4 * 4 + r].wait_ns = r == 2 ? 0 : 80 * MS;
        c->part_trace[6 * 4 + r].outside_ns = 80 * MS;
    }
    char *text = summary_at(c, 80);
    assert_has(text,
               "\nWhere the run goes: mean of 4 ranks | rank 2, which waits least\n"
               "  mean       [#################====------------------------------.....] 700 ms\n"
               "  rank 2     [######################====------------------------------] 700 ms\n"
               "  # outside communication 210 ms | 270 ms;  = communication 50.0 ms | 50.0 ms\n"
               "  - before and after MPI 380 ms | 380 ms;  . waiting 60.0 ms | 0 ns\n");
    free(text);
    c->part_trace[5].wait_ns = -1; /* rank 1's is not known: the mean is of three */
    text = summary_at(c, 80);
    assert_has(text, "mean of 3 ranks | rank 2");
    free(text);
    pw_cluster_destroy(c);
}

/* Of GPUs whose phases overlap: 90 ms of kernels, 40 idle, and 20 of communication that nothing
 * hides. */
static void test_gpus(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(2, 52);
    c->ngpu_ranks = 2;
    c->gpu_ranks = calloc(2, sizeof(*c->gpu_ranks));
    for (size_t i = 0; i < 2 * 52; i++) {
        phase_rows(c)[i].optimizer_ns = 50 * MS;
        step_rows(c)[i].compute_ns = 90 * MS;
        step_rows(c)[i].idle_ns = 40 * MS;
    }
    char *text = summary_at(c, 100);
    assert_has(
        text, "  # computing 90.0 ms;  = communication and waiting 20.0 ms;  . GPU idle 40.0 ms\n");
    free(text);
    pw_cluster_destroy(c);
}

/* However much there is to say, it fits on the screen, and the end of the job comes first. */
static void test_fits(void **state)
{
    (void)state;
    static const int widths[] = {60, 80, 100};
    struct pw_cluster *c = make_slow();
    const struct pw_report_place place = {"out", "/data/out/report.html", NULL};
    for (size_t i = 0; i < 3; i++)
        add_straggler(c, straggler((int32_t)i));
    add_note(c, 0, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_spawned", 3);
    remove_rank(c, 6);
    c->ranks[4].dropped_events = 7;
    c->nendings = 8;
    c->endings = calloc(8, sizeof(*c->endings));
    for (int32_t r = 0; r < 8; r++)
        c->endings[r] = (struct pw_row_c_ending){.rank = r,
                                                 .ended = PW_ENDED_LATER,
                                                 .how = PW_HOW_SIGNAL,
                                                 .exit_signal = 15,
                                                 .step = 51};
    c->endings[2].ended = PW_ENDED_FIRST;
    c->endings[2].exit_signal = 11;
    for (size_t i = 0; i < 3; i++) {
        const struct pw_report_options options = {.width = widths[i], .place = &place};
        char *text = summary_of(c, &options);
        assert_fits(text, (size_t)widths[i]);
        assert_true(count_lines(text) <= SCREEN);
        assert_int_equal(strncmp(text, "Rank 2 ", 7), 0);
        assert_has(text, "was killed by signal 11 (Segmentation");
        assert_has(text, "Incomplete: 7 of 8 ranks are present");
        assert_has_not(text, "ranks missing"); /* nor is it said twice */
        assert_has_not(text, " ?\n");          /* a sign stands on the line of its words */
        assert_has_not(text, " ✗\n");
        assert_has_not(text, " !\n");
        assert_has(text, "Do first: Rank 2 ended first.");
        assert_has(text, "Rests on: 7 of 8 ranks on 2 hosts, ");
        assert_has(text, "The rest:  file:///data/out/report.html\n"
                         "           profwrap report --full out ");
        free(text);
    }
    pw_cluster_destroy(c);
}

static void test_place(void **state)
{
    (void)state;
    struct pw_cluster *c = make_slow();
    struct pw_report_place place = {"it's mine", "/tmp/it's mine/50%/report.html", NULL};
    struct pw_report_options options = {.place = &place};
    char *text = summary_of(c, &options);
    assert_has(text, "The rest:  file:///tmp/it%27s%20mine/50%25/report.html\n"
                     "           profwrap report --full 'it'\\''s mine'    # all tables\n"
                     "           profwrap report --serve 'it'\\''s mine'   # with the timeline of "
                     "every step\n");
    free(text);
    place = (struct pw_report_place){"-x\033[2J", NULL, NULL};
    text = summary_of(c, &options);
    assert_has(text,
               "The rest:  profwrap report --format html -o ./'-x?[2J'/report.html ./'-x?[2J'\n");
    free(text);
    place = (struct pw_report_place){"out", "/tmp/out/report.html", "node-a"};
    options.is_coloured = 1;
    text = summary_of(c, &options);
    assert_has(text, "\033]8;;file://node-a/tmp/out/report.html\033\\file:///tmp/out/report.html"
                     "\033]8;;\033\\\n");
    assert_has(text, "\033[1mRank 3 on node-b held back");
    assert_has(text, "[\033[36mdd\033[34mfff");
    assert_has(text, "-\033[2m....\033[0m] 150 ms\n");
    assert_has(text, "\n\033[1mDo first\033[0m: Rank 3");
    free(text);
    pw_cluster_destroy(c);
}

/* report.json has the same, as fields. */
static void test_json(void **state)
{
    (void)state;
    struct pw_cluster *c = make_slow();
    char *json = json_of(c);
    json_t *root = json_loads(json, 0, NULL), *all = json_object_get(root, "summary");
    json_t *first = json_object_get(all, "do_first"), *rests = json_object_get(all, "rests_on");
    const char *of;
    json_int_t mean, rank, rank_mean, hidden, backward, rank_backward, waiting;
    int held_back;
    assert_int_equal(
        json_unpack(json_object_get(all, "time"),
                    "{s:s, s:I, s:I, s:b, s:I, s:I, s:[{}, {}, {s:I, s:I}, {}, {}, {}, {s:I}]}",
                    "of", &of, "mean_ns", &mean, "rank", &rank, "held_back", &held_back, "rank_ns",
                    &rank_mean, "hidden_communication_ns", &hidden, "parts", "mean_ns", &backward,
                    "rank_ns", &rank_backward, "mean_ns", &waiting),
        0);
    assert_string_equal(of, "step");
    assert_true(mean == 150 * MS && rank == 3 && rank_mean == 150 * MS && hidden == 10 * MS);
    assert_true(held_back && backward == 81250000 && rank_backward == 90 * MS);
    assert_int_equal(waiting, 8750000);
    assert_string_equal(json_string_value(json_object_get(first, "rule")), "blocked_off_cpu");
    assert_int_equal(json_integer_value(json_object_get(first, "saves_ns")), 731 * MS);
    assert_int_equal(json_integer_value(json_object_get(rests, "steps")), 50);
    assert_int_equal(json_integer_value(json_object_get(rests, "steps_left_out")), 2);
    assert_int_equal(json_array_size(json_object_get(rests, "cautions")), 2);
    assert_true(json_is_false(json_object_get(all, "ended_badly")));
    assert_true(json_is_null(json_object_get(all, "incomplete")));
    json_decref(root);
    free(json);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_rank),     cmocka_unit_test(test_phase_that_no_step_has),
        cmocka_unit_test(test_even_ranks),    cmocka_unit_test(test_unknown_waits),
        cmocka_unit_test(test_contradiction), cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_no_steps),      cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_fits),          cmocka_unit_test(test_place),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
