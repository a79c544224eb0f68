/* The text report, over clusters whose values are chosen by hand. */
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "report/report.h"
#include "test_report_make.h"

static void assert_headline(const struct pw_cluster *c, const char *expected)
{
    char text[512];
    assert_int_equal(pw_report_headline(c, text, sizeof(text)), 0);
    assert_string_equal(text, expected);
}

static void test_headline_persistent(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    assert_headline(
        c, "Rank 3 on node-b held back 41 of 50 steps by 18.0 ms each (12 % of a step) in backward "
           "(blocked off the CPU), which cost the job 731 ms.");
    add_straggler(c, straggler(5));
    add_straggler(c, straggler(6));
    c->stragglers[0].cause = PW_CAUSE_UNKNOWN;
    c->stragglers[0].gain_ns = -1;
    assert_headline(
        c,
        "Rank 3 on node-b held back 41 of 50 steps by 18.0 ms each (12 % of a step) in backward; "
        "and 2 more ranks.");
    pw_cluster_destroy(c);
}

static void test_headline_window(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    struct pw_row_c_straggler row = straggler(3);
    row.kind = PW_STRAGGLER_INTERMITTENT;
    row.first_step = 20, row.last_step = 40, row.steps_hit = 21;
    row.cause = PW_CAUSE_UNKNOWN;
    row.gain_ns = 0;
    add_straggler(c, row);
    assert_headline(c, "Rank 3 on node-b held back 21 of steps 20-40 by 18.0 ms each (12 % of "
                       "a step) in backward.");
    const int64_t periods[] = {2, 3, 5, 12, 21};
    const char *const said[] = {"2nd", "3rd", "5th", "12th", "21st"};
    for (size_t i = 0; i < 5; i++) {
        char text[160];
        c->stragglers[0].period = periods[i];
        snprintf(text, sizeof(text),
                 "Rank 3 on node-b held back 21 of steps 20-40, every %s step, by 18.0 ms each "
                 "(12 %% of a step) in backward.",
                 said[i]);
        assert_headline(c, text);
    }
    c->stragglers[0].period = 0;
    c->stragglers[0].kind = PW_STRAGGLER_ONE_OFF;
    c->stragglers[0].first_step = c->stragglers[0].last_step = 17;
    c->stragglers[0].steps_hit = 1;
    c->stragglers[0].phase = PW_PHASE_NONE;
    c->stragglers[0].slowdown = -1;
    assert_headline(c,
                    "Rank 3 on node-b held back step 17 by 18.0 ms. On average a rank waited for "
                    "others for 438 ms in the steps (5.8 % of the run), and transfers that no "
                    "computation hides cost 562 ms (7.4 %).");
    pw_cluster_destroy(c);
}

static void test_headline_below_the_clock_error(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    c->clock_error_max_ns = 30 * MS;
    c->stragglers[0].gain_ns = 0;
    assert_headline(
        c, "Rank 3 on node-b held back 41 of 50 steps by 18.0 ms each (12 % of a step) in backward "
           "(blocked off the CPU); but the clock error is up to 30.0 ms, so this may be "
           "an error of the clocks.");
    char *text = text_of(c, "stragglers,steps", 12);
    assert_has(text, "~18.0 ms");
    free(text);
    pw_cluster_destroy(c);
}

static void test_headline_without_stragglers(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    /* 50 x 10 ms of 7.6 s are transfers, as much are waits: 13 % in all */
    assert_headline(c, "No rank alone held the job back: 50 steps of 150 ms, of which ranks "
                       "waited 6.7 % for each other; differences below the clock error of 12.0 us "
                       "cannot be seen. In all, transfers that no computation hides cost 500 ms "
                       "(6.6 % of the run).");
    c->clock_error_max_ns = -1;
    for (size_t r = 0; r < 8; r++)
        c->ranks[r].clock_error_ns = -1;
    for (size_t i = 0; i < 8 * 52; i++)
        step_rows(c)[i].wait_ns = -1;
    assert_headline(c, "Cannot tell whether a rank held the job back: the clocks of 2 hosts are "
                       "not aligned; 50 steps of 150 ms.");
    pw_cluster_destroy(c);
}

static void test_headline_without_times_of_nccl(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    c->completeness = calloc(1, sizeof(*c->completeness));
    c->ncompleteness = 1;
    c->completeness[0] = (struct pw_row_c_completeness){.what = "nccl_untimed", .count = 20};
    assert_headline(c,
                    "Cannot tell whether a rank held the job back: only the enqueueing of 20 NCCL "
                    "operations was recorded, so waits and bandwidth are unknown, too; record GPU "
                    "kernels (activity cuda) or use --level 2; 50 steps of 150 ms.");
    pw_cluster_destroy(c);
}

static void test_headline_without_enough_steps(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 4);
    assert_headline(c,
                    "Only 2 steps were measured: too few to say whether a rank held the job back.");
    pw_cluster_destroy(c);
    c = make_cluster(8, 0);
    assert_headline(c, "No steps are known, so ranks cannot be compared: 8 ranks on 2 "
                       "hosts ran for 7.60 s.");
    char *text = text_of(c, "", 12);
    assert_has(text, "profwrap_step(n)");
    assert_has(text, "MPI_Pcontrol(10)");
    assert_has(text, "Not known: without steps");
    assert_fits(text, 100);
    free(text);
    pw_cluster_destroy(c);
}

static void test_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1, 52);
    assert_headline(c,
                    "There is only one rank, so no rank can hold another back: 50 steps of 150 ms, "
                    "in a run of 7.60 s.");
    char *text = text_of(c, "", 12);
    assert_has(text, "None: there is only one rank.");
    assert_has_not(text, "*");
    assert_fits(text, 100);
    free(text);
    pw_cluster_destroy(c);
}

static void test_no_ranks(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(0, 0);
    assert_headline(c, "No rank left a usable file, so there is nothing to report.");
    free(text_of(c, "", 12));
    free(json_of(c));
    pw_cluster_destroy(c);
}

static void test_unknown_is_not_zero(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(2, 10);
    for (size_t i = 0; i < 20; i++)
        step_rows(c)[i].interval_ns = step_rows(c)[i].fp_bp_ns = -1;
    step_rows(c)[19].interval_ns = 3 * MS;
    char *text = text_of(c, "steps", 12);
    assert_has(text, "0  150 ms       n/a    n/a  15.0 ms");
    assert_has(text, "1  150 ms    3.0 ms    n/a");
    assert_has(text, "mean  150 ms    3.0 ms    n/a");
    assert_has(text, "8 measured steps per rank (2 warm-up steps left out)");
    free(text);
    char *json = json_of(c);
    json_t *root = json_loads(json, 0, NULL);
    json_t *per_rank = json_object_get(json_object_get(root, "step_trace"), "per_rank");
    assert_true(json_is_null(json_object_get(json_array_get(per_rank, 0), "interval_ns")));
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(per_rank, 1), "interval_ns")), 3 * MS);
    json_decref(root);
    free(json);
    pw_cluster_destroy(c);
}

static void test_sections_in_order(void **state)
{
    (void)state;
    static const char *const titles[] = {"\nJob\n",        "\nWhat these figures rest on\n",
                                         "\nSteps:",       "\nPhases:",
                                         "\nCollective",   "\nPoint-to-point",
                                         "\nStragglers\n", "\nEfficiency\n",
                                         "\nWhat to do\n"};
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    add_tables(c);
    char *text = text_of(c, "", 12);
    const char *at = text;
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        const char *found = strstr(at, titles[i]);
        if (!found)
            fail_msg("no '%s' after byte %td", titles[i], at - text);
        at = found;
    }
    assert_has(text, "98.0 ms*");
    assert_has(text, ">1.2 GB/s");
    assert_has(text, "> nonblocking:");
    assert_has(text, "~8.0 us");
    assert_has(text, "768.0 KiB");
    assert_has(text, "84 %");
    assert_has(text, "Rank 3 (in backward) sleeps or waits outside communication");
    free(text);
    text = text_of(c, "stragglers, advice", 12);
    assert_has_not(text, "\nJob\n");
    assert_has(text, "\nStragglers\n");
    assert_has(text, "\nWhat to do\n");
    free(text);
    pw_cluster_destroy(c);
}

static void test_sections_check(void **state)
{
    (void)state;
    char problem[PW_REPORT_PROBLEM];
    assert_int_equal(pw_report_sections_check("", problem, sizeof(problem)), 0);
    assert_int_equal(pw_report_sections_check("job,steps", problem, sizeof(problem)), 0);
    assert_int_equal(pw_report_sections_check("job,step", problem, sizeof(problem)), -22);
    assert_string_equal(
        problem,
        "there is no section 'step'; sections are job, hang, epochs, completeness, clocks, "
        "parts, steps, phases, operators, flops, gpu, kernels, collectives, communicators, hccl, "
        "msprof, aicore, p2p, stragglers, whatif, efficiency, data_pipeline, utilisation, memory, "
        "advice");
    assert_int_equal(pw_report_sections_check("job,", problem, sizeof(problem)), -22);
}

static void add_clocks(struct pw_cluster *c)
{
    c->nclocks = 4;
    c->clocks = calloc(4, sizeof(*c->clocks));
    c->clocks[0] = (struct pw_row_c_clock){.rank = 0, .hostname = "node-a", .source = "reference"};
    c->clocks[1] = c->clocks[0];
    c->clocks[2] = (struct pw_row_c_clock){.rank = 2,
                                           .hostname = "node-b",
                                           .domain = 1,
                                           .source = "both",
                                           .offset_ns = -5000123,
                                           .drift_ppm = 12.5,
                                           .drift_error_ppm = 0.25,
                                           .error_ns = 1600,
                                           .active_knots = 7,
                                           .bounds = 900,
                                           .violations = 2};
    c->clocks[3] = (struct pw_row_c_clock){
        .rank = 3, .hostname = "node-c", .domain = 2, .source = "none", .error_ns = -1};
}

static void test_clocks(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(4, 52);
    char *text = text_of(c, "clocks", 12);
    assert_has(text, "does not say");
    free(text);
    add_clocks(c);
    text = text_of(c, "clocks", 12);
    assert_has(text, "node-a");
    assert_has(text, "-5.0 ms");
    assert_has(text, "+12.50 ± 0.25 ppm");
    assert_has(text, "1.6 us");
    assert_has(text, "2 / 0");
    assert_has(text, "n/a");
    free(text);
    text = text_of(c, "clocks", 1);
    assert_has(text, "2 more are not shown");
    free(text);
    c->nclocks = 2;
    text = text_of(c, "clocks", 12);
    assert_has(text, "All ranks are on one clock.");
    free(text);
    pw_cluster_destroy(c);
}

/* One rank whose clock is not aligned is enough. */
static void test_one_unaligned(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    c->clock_error_max_ns = -1;
    c->ranks[5].clock_error_ns = -1;
    char *text = text_of(c, "completeness,stragglers", 12);
    assert_has(text, "Cannot tell whether a rank held the job back: the clocks of");
    assert_has(text, "error not known");
    assert_has(text, "Not known: the ranks' clocks");
    free(text);
    pw_cluster_destroy(c);
}

static void test_losses_are_on_top(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    c->ranks[2].dropped_events = 400;
    c->ranks[5].present = 0;
    c->ranks[6].complete = 2;
    c->ranks[6].exit_signal = 9;
    c->steps_inferred = 1;
    c->ncompleteness = 1;
    c->completeness = calloc(1, sizeof(*c->completeness));
    c->completeness[0] = (struct pw_row_c_completeness){
        .rank = 2, .what = "ring_full", .count = 400, .detail = "thread 1, 3 gaps of 12 ms"};
    char *text = text_of(c, "", 12);
    const char *second =
        strstr(text, "Incomplete: 7 of 8 ranks are present, without rank 5; 1 rank file was not ");
    assert_non_null(second);
    assert_has(text, "rank 2      ring_full (400): thread 1, 3 gaps of 12 ms");
    assert_has(text, "inferred from repeated calls");
    assert_has(text, "1 ended with an error");
    assert_has(text, "2!");
    assert_has(text, "--ring-size");
    assert_fits(text, 100);
    free(text);
    pw_cluster_destroy(c);
}

static void use_long_names(struct pw_cluster *c)
{
    for (size_t r = 0; r < c->nrank_rows; r++) {
        memset(c->ranks[r].hostname, 'h', sizeof(pw_type_S64)); /* without a NUL */
        c->ranks[r].hostname[60] = (char)('0' + r % 10);
    }
    memset(c->command, 'x', sizeof(c->command));
    for (size_t i = 0; i < c->nstragglers; i++) {
        memset(c->stragglers[i].hostname, 'h', sizeof(pw_type_S64));
        memset(c->stragglers[i].evidence, 'e', sizeof(pw_type_S256));
    }
}

static void test_width(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 8, 1000};
    for (size_t i = 0; i < 3; i++) {
        struct pw_cluster *c = make_cluster(sizes[i], 12);
        add_tables(c);
        add_straggler(c, straggler(0));
        c->stragglers[0].first_step = c->stragglers[0].last_step = INT64_MAX;
        c->stragglers[0].blame_ns = INT64_MAX;
        c->stragglers[0].slowdown = 1e300;
        for (size_t cell = 0; cell < sizes[i] * 12; cell++) /* many hours: the widest text */
            memset(&step_rows(c)[cell], 0x3f, sizeof(step_rows(c)[cell]));
        use_long_names(c);
        for (int width = 60; width <= 100; width += 40) {
            char *text = NULL;
            size_t size;
            FILE *out = open_memstream(&text, &size);
            struct pw_report_options options = {.width = width, .top = i == 2 ? 0 : 12};
            assert_int_equal(pw_report_text(out, c, &options), 0);
            fclose(out);
            assert_fits(text, (size_t)width);
            free(text);
        }
        pw_cluster_destroy(c);
    }
}

static void test_many_ranks(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1000, 12);
    add_straggler(c, straggler(777));
    char *text = text_of(c, "steps", 12);
    assert_has(text, "The 12 ranks with most own time; 988 more are not shown");
    const char *first = strstr(text, "\n   777  ");
    assert_non_null(first);
    assert_true(first < strstr(text, "\n     0  "));
    assert_has_not(text, "\n   999  ");
    free(text);
    text = text_of(c, "steps", 0);
    assert_has(text, "\n   999  ");
    free(text);
    json_t *root = json_loads(text = json_of(c), 0, NULL);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(root, "step_trace"), "per_rank")), 1000);
    json_decref(root);
    free(text);
    pw_cluster_destroy(c);
}

/* What only a hostile file says: names without an end, times and ranks at the limits. */
static void test_open_calls_that_lie(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(3, 4);
    c->open_calls = calloc(2, sizeof(*c->open_calls));
    c->nopen_calls = 2;
    for (int i = 0; i < 2; i++) {
        struct pw_row_c_open_call *call = &c->open_calls[i];
        *call = (struct pw_row_c_open_call){.rank = i ? INT32_MIN : INT32_MAX,
                                            .start = INT64_MIN,
                                            .seen_until = INT64_MAX,
                                            .op = PW_OP_Barrier,
                                            .comm_uid = 1,
                                            .peer = -1};
        memset(call->comm_name, 'x', sizeof(call->comm_name));
        c->ranks[i].rank = call->rank;
    }
    char *text = text_of(c, "completeness", 12), *json = json_of(c);
    char name[sizeof(c->open_calls->comm_name) + 2] = " ";
    memset(name + 1, 'x', sizeof(c->open_calls->comm_name));
    assert_has(text, name);
    assert_fits(text, 100);
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

/* No section without data is printed unless asked for; the list at the end says how to get it. */
static void test_sections_without_data(void **state)
{
    (void)state;
    static const char *const titles[] = {"\nClocks",    "\nOperators", "\nCollective",
                                         "\nPoint-to",  "\nWhat if",   "\nEfficiency",
                                         "\nData pipe", "\nWhat each", "\nMemory"};
    struct pw_cluster *c = make_cluster(8, 52);
    char *text = text_of(c, "", 12);
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        assert_has_not(text, titles[i]);
    const char *list = strstr(text, "\nNot known, and how to get it\n  - ");
    assert_non_null(list);
    assert_has(list, "  - operators: None were recorded. Name parts of a step with "
                     "profwrap_range_push() and");
    assert_has(list,
               "  - utilisation: Processes were not sampled. Record with --sample-hz above 0.");
    assert_has_not(list, "p2p"); /* that there were no messages is known */
    assert_has_not(list, "clocks");
    assert_has_not(list, "data_pipeline"); /* ranks wait for data for 0.7 % of a step */
    free(text);
    for (size_t i = 0; i < 8 * 52; i++)
        step_rows(c)[i].data_wait_ns = 8 * MS; /* 5.3 % */
    text = text_of(c, "", 12);
    assert_has(text, "  - data_pipeline: No queue was sampled. ");
    free(text);
    text = text_of(c, "p2p,data_pipeline,memory,clocks", 12);
    assert_has(text, "\nPoint-to-point messages\n  None were recorded.\n");
    assert_has(text, "\n  No queue was sampled. profwrap_queue() records");
    assert_has(text, "\n  Memory was not sampled. Record with --sample-hz above 0.\n");
    assert_has_not(text, "how to get it");
    free(text);
    pw_cluster_destroy(c);
}

static void test_python_programs_are_told_python_calls(void **state)
{
    (void)state;
    static const char *const commands[] = {"/opt/venv/bin/python -u -m train", "./train.py --x",
                                           "python3.11 x"};
    for (size_t i = 0; i < 3; i++) {
        struct pw_cluster *c = make_cluster(8, 0);
        strcpy(c->command, commands[i]);
        char *text = text_of(c, "", 12), *json = json_of(c);
        assert_has(text, "call profwrap.step(n) at the start");
        assert_has(text, "steps: No steps are known. Call profwrap.step(n) at the start");
        assert_has(text, "operators: None were recorded. Name parts of a step with profwrap.op().");
        assert_has_not(text, "profwrap_");
        assert_has_not(text, "profwrap.h");
        assert_has(json, "call profwrap.step(n) at the start of each iteration");
        free(text);
        free(json);
        pw_cluster_destroy(c);
    }
    struct pw_cluster *c = make_cluster(8, 0);
    strcpy(c->command, "./python/train pyramid.pyx"); /* no interpreter */
    char *text = text_of(c, "", 12);
    assert_has(text, "profwrap_step(n) of profwrap.h, or");
    free(text);
    pw_cluster_destroy(c);
}

/* On a narrow page whole columns are left out, so that each number that is shown can be read. */
static void test_narrow_pages(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    for (size_t i = 0; i < (size_t)8 * 52; i++)
        step_rows(c)[i].data_wait_ns = -1;
    for (int width = 60; width <= 100; width += 40) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        struct pw_report_options options = {.width = width, .sections = "steps,stragglers"};
        assert_int_equal(pw_report_text(out, c, &options), 0);
        fclose(out);
        assert_fits(text, (size_t)width);
        assert_has(text, "731 ms"); /* the gain, the last column */
        assert_has_not(text, "m..");
        if (width == 60) {
            assert_has(text, "\n  Too wide for this page: ");
            assert_has_not(text, "n/a "); /* data wait: not known, so not shown */
        } else {
            assert_has_not(text, "Too wide");
            assert_has(text, "n/a ");
        }
        free(text);
    }
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headline_persistent),
        cmocka_unit_test(test_headline_window),
        cmocka_unit_test(test_headline_below_the_clock_error),
        cmocka_unit_test(test_headline_without_stragglers),
        cmocka_unit_test(test_headline_without_times_of_nccl),
        cmocka_unit_test(test_headline_without_enough_steps),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_no_ranks),
        cmocka_unit_test(test_unknown_is_not_zero),
        cmocka_unit_test(test_sections_in_order),
        cmocka_unit_test(test_sections_check),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_one_unaligned),
        cmocka_unit_test(test_losses_are_on_top),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_open_calls_that_lie),
        cmocka_unit_test(test_narrow_pages),
        cmocka_unit_test(test_sections_without_data),
        cmocka_unit_test(test_python_programs_are_told_python_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
