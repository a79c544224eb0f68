/* Two runs side by side, against values worked by hand. The clusters are those of the report tests:
 * 50 measured steps of 150 ms on 8 ranks, made to begin 0.5 s after the run and to end 0.2 s before
 * its end. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/compare.h"
#include "test_report_make.h"

enum { RANKS = 8, STEPS = 52 };

/* Begins the steps `before` after the run, and ends it `after` the last: 7.8 s between. */
static void frame(struct pw_cluster *c, int64_t before, int64_t after)
{
    const int64_t end = c->steps[c->nstep_rows - 1].end;
    c->windows = calloc(1, sizeof(*c->windows));
    c->nwindows = 1;
    *c->windows = (struct pw_row_c_window){
        .start = -before, .end = end + after, .cause = PW_OPENED_RUN, .nranks = RANKS};
    for (size_t r = 0; r < c->nrank_rows; r++)
        c->ranks[r].run_ns = before + end + after;
}

static struct pw_cluster *make_run(int64_t before, int64_t after)
{
    struct pw_cluster *c = make_cluster(RANKS, STEPS);
    frame(c, before, after);
    return c;
}

/* One step takes more, the rank all of it in backward; those behind it begin later. */
static void lengthen(struct pw_cluster *c, size_t step, size_t rank, int64_t more)
{
    for (size_t s = step; s < c->nstep_rows; s++) {
        c->steps[s].start += s > step ? more : 0;
        c->steps[s].end += more;
    }
    c->steps[step].duration_ns += more;
    c->steps[step].slowest_rank = (int32_t)rank;
    step_rows(c)[step * RANKS + rank].own_ns += more;
    phase_rows(c)[step * RANKS + rank].backward_ns += more;
    for (size_t r = 0; r < RANKS; r++) {
        c->ranks[r].run_ns += more;
        step_rows(c)[step * RANKS + r].total_ns += more;
        step_rows(c)[step * RANKS + r].wait_ns += r == rank ? 0 : more;
    }
    c->windows[0].end += more;
}

/* The comparison, its first sentence and those after it; both runs are destroyed. */
static struct pw_comparison *compare(struct pw_cluster *a, struct pw_cluster *b, char line[1024])
{
    struct pw_comparison *made;
    char details[512];
    assert_int_equal(pw_compare(a, b, 0.05, &made), 0);
    pw_compare_headline(made, line, 1024);
    pw_compare_details(made, details, sizeof(details));
    const size_t used = strlen(line);
    snprintf(line + used, 1024 - used, " %s", details);
    pw_cluster_destroy(a);
    pw_cluster_destroy(b);
    return made;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected) + 1e-12))
        fail_msg("%.12g is not %.12g", value, expected);
}

static char *json_text(const struct pw_comparison *made)
{
    assert_int_equal(pw_compare_json(unit_open_text(), made), 0);
    return unit_close_text();
}

/* 0.5 s + 2 warm-up steps + 50 steps + 0.2 s = 8.5 s; a gap of 1 s is between steps. */
static void test_parts_add_up(void **state)
{
    (void)state;
    struct pw_cluster *c = make_run(500 * MS, 200 * MS);
    struct pw_runparts parts;
    double walls[STEPS];
    size_t rows[STEPS];
    for (size_t s = 20; s < STEPS; s++) {
        c->steps[s].start += 1000 * MS;
        c->steps[s].end += 1000 * MS;
    }
    for (size_t r = 0; r < RANKS; r++)
        c->ranks[r].run_ns += 1000 * MS;
    c->windows[0].end += 1000 * MS;
    c->steps[30].start -= 10 * MS; /* a rank began while another was in the step before */
    pw_runparts_find(c, 1, walls, rows, &parts);
    const double found[] = {parts.before,  parts.unmeasured, parts.measured,
                            parts.between, parts.after,      parts.run};
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
        assert_near(found[i], (const double[]){0.5e9, 0.3e9, 7.5e9, 1e9, 0.2e9, 9.5e9}[i]);
    assert_int_equal(parts.nsteps, 50);
    assert_near(walls[28], 150e6);
    assert_int_equal(rows[0], 2);
    c->nwindows = 0; /* then nothing says when the run began */
    pw_runparts_find(c, 1, walls, rows, &parts);
    assert_near(parts.before, -1);
    assert_near(parts.outside, 0.7e9);
    c->clock_error_max_ns = -1;
    pw_runparts_find(c, 1, walls, rows, &parts);
    assert_near(parts.between, 0);
    assert_near(parts.outside, 1.7e9);
    pw_cluster_destroy(c);
}

/* 5.4 s more of 8.5 s, all before the first step; nothing else in the runs varies at all, so noise
 * is taken as a thousandth of 150 ms: 3 (0.15 / 5400)^2. */
static void test_late_start(void **state)
{
    (void)state;
    char line[1024];
    struct pw_comparison *made =
        compare(make_run(500 * MS, 200 * MS), make_run(5900 * MS, 200 * MS), line);
    assert_string_equal(line, "The second run is 5.40 s (63.5 %) slower, before the first step: "
                              "500 ms, then 5.90 s. The runs took 8.50 s, then 13.9 s (+63.5 %).");
    assert_int_equal(made->kind, PW_COMPARE_SLOWER);
    assert_true(pw_compare_is_slower(made));
    assert_near(made->ns, 5.4e9);
    assert_near(made->differences[0].p, 3 * (0.15 / 5400) * (0.15 / 5400));
    char *json = json_text(made);
    assert_has(json, "\"verdict\": \"slower\"");
    assert_has(json, "\"slower\": true");
    assert_has(json, "\"where\": \"before_steps\"");
    assert_has(json, "\"difference_ns\": 5400000000.0");
    free(json);
    pw_comparison_destroy(made);
}

static struct pw_row_c_part_trace *part_of(struct pw_cluster *c, enum pw_part part, size_t rank)
{
    return &c->part_trace[(size_t)(part - PW_PART_START) * RANKS + rank];
}

/* All steps are measured, and the parts of the run are known. */
static struct pw_cluster *make_with_parts(int64_t before, int64_t after)
{
    struct pw_cluster *c = make_run(before, after);
    for (size_t s = 0; s < STEPS; s++)
        c->steps[s].recorded = PW_RECORDED_ACTIVE;
    add_parts(c);
    return c;
}

/* The rank begins the first step later, in which the others wait for it. */
static void begin_late(struct pw_cluster *c, size_t rank, int64_t late)
{
    for (size_t s = 0; s < STEPS; s++) {
        c->steps[s].start += s ? late : 0;
        c->steps[s].end += late;
    }
    c->steps[0].duration_ns += late;
    c->windows[0].end += late;
    part_of(c, PW_PART_SETUP, rank)->total_ns += late;
    for (size_t r = 0; r < RANKS; r++) {
        c->ranks[r].run_ns += late;
        if (r == rank)
            continue;
        step_rows(c)[r].total_ns += late;
        step_rows(c)[r].wait_ns += late;
        part_of(c, PW_PART_STEPS, r)->total_ns += late;
        part_of(c, PW_PART_STEPS, r)->wait_ns += late;
    }
}

/* 1.5 s of 8.5 s: of the rank's setup, though its clock shows a long first step on all others. In a
 * file without parts that step is all that is known, and no rank's work. */
static void test_late_in_the_first_step(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *a = make_with_parts(500 * MS, 200 * MS);
    struct pw_cluster *b = make_with_parts(500 * MS, 200 * MS);
    begin_late(b, 3, 1500 * MS);
    struct pw_comparison *made = compare(a, b, line);
    assert_string_equal(
        line, "The second run is 1.50 s (17.6 %) slower, before the first step: 500 ms, then 2.00 "
              "s, most from MPI_Init to the first step, on rank 3 (node-a) by 1.50 s. The runs "
              "took 8.50 s, then 10.0 s (+17.6 %).");
    assert_near(made->parts[1].measured, 7.8e9);
    assert_near(made->parts[1].after, 0.2e9);
    char *json = json_text(made);
    assert_has(json, "\"part\": \"setup\"");
    assert_has(json, "\"rank\": 3");
    assert_has(json, "\"what\": \"from MPI_Init to the first step: rank 3 (node-a)\"");
    free(json);
    pw_comparison_destroy(made);
    a = make_with_parts(500 * MS, 200 * MS);
    b = make_with_parts(500 * MS, 200 * MS);
    begin_late(b, 3, 1500 * MS);
    free(a->part_trace);
    a->part_trace = NULL;
    made = compare(a, b, line);
    assert_has(line, "slower, in step 0 of the second run, of 1.65 s, where the median is 150 ms.");
    assert_int_equal(made->few_rank, -1);
    pw_comparison_destroy(made);
}

/* Parts of rank 5 after the last step; then of all ranks in MPI_Init, and backwards. */
static void test_parts_before_and_after(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_with_parts(500 * MS, 1700 * MS);
    for (size_t r = 0; r < RANKS; r++)
        part_of(b, r == 5 ? PW_PART_TAIL : PW_PART_FINALIZE, r)->total_ns += 1500 * MS;
    for (size_t r = 0; r < RANKS; r++)
        part_of(b, PW_PART_FINALIZE, r)->wait_ns = r == 5 ? 0 : 1500 * MS;
    struct pw_comparison *made = compare(make_with_parts(500 * MS, 200 * MS), b, line);
    assert_has(line, "1.50 s (17.6 %) slower, after the last step: 200 ms, then 1.70 s, most from "
                     "the last step to MPI_Finalize, on rank 5 (node-b) by 1.50 s. The runs");
    pw_comparison_destroy(made);
    for (int turn = 0; turn < 2; turn++) {
        struct pw_cluster *a = make_with_parts(500 * MS, 200 * MS);
        b = make_with_parts(2500 * MS, 200 * MS);
        for (size_t r = 0; r < RANKS; r++) {
            part_of(b, PW_PART_INIT, r)->total_ns += 2000 * MS;
            part_of(b, PW_PART_INIT, r)->wait_ns = (r == 2 ? 0 : 200) * MS;
        }
        made = turn ? compare(b, a, line) : compare(a, b, line);
        assert_has(line, turn ? "faster, before the first step: 2.50 s, then 500 ms, most in "
                                "MPI_Init, on all 8 ranks alike by up to 2.00 s. The runs"
                              : "slower, before the first step: 500 ms, then 2.50 s, most in "
                                "MPI_Init, on all 8 ranks alike by up to 2.00 s. The runs");
        assert_int_equal(made->outside[1].alike, 8);
        pw_comparison_destroy(made);
    }
}

/* The launch took longer, and rank 4's setup by less than half of that: no rank is named. */
static void test_parts_that_do_not_explain_it(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_with_parts(2000 * MS, 200 * MS);
    begin_late(b, 4, 700 * MS);
    struct pw_comparison *made = compare(make_with_parts(500 * MS, 200 * MS), b, line);
    assert_has(line, "slower, before the first step: 500 ms, then 2.70 s. The runs took 8.50 s, "
                     "then 10.7 s (+25.9 %).");
    pw_comparison_destroy(made);
}

/* A fifth more before the first step is less than a quarter of it: once per run, that says little.
 */
static void test_start_that_varies(void **state)
{
    (void)state;
    char line[1024];
    struct pw_comparison *made =
        compare(make_run(500 * MS, 200 * MS), make_run(600 * MS, 200 * MS), line);
    assert_int_equal(made->kind, PW_COMPARE_SAME);
    assert_false(pw_compare_is_slower(made));
    assert_has(line,
               "neither slower nor faster beyond noise: its steps took 150 ms, then 150 ms on "
               "average (+0.0 %, p 1.00, 50 and 50 steps). The runs took 8.50 s, then 8.60 s "
               "(+1.2 %).");
    pw_comparison_destroy(made);
}

/* 16 of 50 steps doubled on rank 3: 2.4 s of 8.5 s, 48 ms a step on average, where medians see
 * nothing. Backwards it is a gain of 2.4 s of 10.9 s. */
static void test_a_third_of_the_steps_doubled(void **state)
{
    (void)state;
    char line[1024];
    for (int turn = 0; turn < 2; turn++) {
        struct pw_cluster *a = make_run(500 * MS, 200 * MS), *b = make_run(500 * MS, 200 * MS);
        for (size_t s = 22; s < 38; s++)
            lengthen(b, s, 3, 150 * MS);
        struct pw_comparison *made = turn ? compare(b, a, line) : compare(a, b, line);
        assert_int_equal(made->kind, turn ? PW_COMPARE_FASTER : PW_COMPARE_SLOWER);
        assert_int_equal(pw_compare_is_slower(made), !turn);
        assert_near(made->ns, turn ? -2.4e9 : 2.4e9);
        assert_near(made->share, turn ? -2.4 / 10.9 : 2.4 / 8.5);
        assert_near(made->steps_share, turn ? 150.0 / 198 - 1 : 0.32);
        assert_has(line, turn ? "The second run is 2.40 s (22.0 %) faster, in its steps, most in "
                                "backward and on rank 3 (node-a) by 48.0 ms a step. The steps took "
                                "198 ms, then 150 ms on average (-24.2 %, p 0.000"
                              : "The second run is 2.40 s (28.2 %) slower, in its steps, most in "
                                "backward and on rank 3 (node-a) by 48.0 ms a step. The steps took "
                                "150 ms, then 198 ms on average (+32.0 %, p 0.000");
        assert_has(line, turn ? "50 and 50 steps); 16 of the first run's 50 are longer than the "
                                "slowest of the other (medians 150 ms, then 150 ms). The runs took "
                                "10.9 s, then 8.50 s (-22.0 %)."
                              : "50 and 50 steps); 16 of the second run's 50 are longer than the "
                                "slowest of the other (medians 150 ms, then 150 ms). The runs took "
                                "8.50 s, then 10.9 s (+28.2 %).");
        pw_comparison_destroy(made);
    }
}

/* One step of 2.15 s on rank 5, and 1 s more after the last: the larger leads, both are named. */
static void test_one_step_and_the_end(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_run(500 * MS, 1200 * MS);
    lengthen(b, 39, 5, 2000 * MS);
    struct pw_comparison *made = compare(make_run(500 * MS, 200 * MS), b, line);
    assert_string_equal(
        line, "The second run is 3.00 s (35.3 %) slower, 2.00 s of it in step 39 of the "
              "second run, of 2.15 s (most work on rank 5), where the median is 150 ms. "
              "1.00 s more after the last step: 200 ms, then 1.20 s. The runs took 8.50 s, "
              "then 11.5 s (+35.3 %).");
    assert_int_equal(made->differences[0].place, PW_COMPARE_IN_FEW_STEPS);
    assert_near(made->steps_share, 0);
    pw_comparison_destroy(made);
}

/* As many steps again, as long as before: not slower, though the run is. */
static void test_more_steps(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_cluster(RANKS, 102);
    frame(b, 500 * MS, 200 * MS);
    struct pw_comparison *made = compare(make_run(500 * MS, 200 * MS), b, line);
    assert_int_equal(made->kind, PW_COMPARE_SAME);
    assert_has(line,
               "50 and 100 steps). The runs took 8.50 s, then 16.0 s (+88.2 %) for 50 and 100 "
               "steps.");
    assert_has(made->unlike, "52 steps, then 102");
    pw_comparison_destroy(made);
}

static void assert_cannot_tell(struct pw_cluster *b, const char *why)
{
    char line[1024], begin[512];
    struct pw_comparison *made = compare(make_run(500 * MS, 200 * MS), b, line);
    assert_int_equal(made->kind, PW_COMPARE_UNKNOWN);
    assert_false(pw_compare_is_slower(made));
    snprintf(begin, sizeof(begin), "Cannot tell whether the second run is slower or faster: %s",
             why);
    assert_has(line, begin);
    for (size_t i = 0; i < made->nrows; i++)
        assert_false(pw_compare_is_significant(&made->rows[i]));
    char *json = json_text(made);
    assert_has(json, "\"verdict\": \"unknown\"");
    assert_has(json, why);
    free(json);
    pw_comparison_destroy(made);
}

static void test_what_cannot_be_compared(void **state)
{
    (void)state;
    struct pw_cluster *b = make_run(500 * MS, 200 * MS);
    b->steps_inferred = 2;
    assert_cannot_tell(b,
                       "the second run has no steps, only slices, whose length depends on the run");
    b = make_run(500 * MS, 200 * MS);
    b->steps_inferred = 1;
    assert_cannot_tell(b,
                       "the steps of one run are marked, those of the other inferred from calls");
    b = make_cluster(RANKS, 5);
    frame(b, 500 * MS, 200 * MS);
    assert_cannot_tell(b, "the second run has only 3 measured steps");
    b = make_cluster(RANKS, 0);
    assert_cannot_tell(b, "the second run has no measured steps");
    b = make_run(500 * MS, 200 * MS);
    for (size_t r = 1; r < RANKS; r++)
        b->ranks[r].present = 0;
    assert_cannot_tell(b, "7 of 8 ranks of the second run left no usable file");
    b = make_run(500 * MS, 200 * MS);
    b->snapshot = 1;
    assert_cannot_tell(b, "the second run was still running");
}

/* 30 % longer by 5 of 50 steps: all 5 are in one run by chance in 2 x 1 / 36 of the ways, and the
 * largest are no more than twice the third: that is no proof, and no green either. */
static void test_large_and_unsure(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_run(500 * MS, 200 * MS);
    for (size_t i = 0; i < 5; i++)
        lengthen(b, 5 + 9 * i, 3, (i + 2) * 130 * MS); /* 2.6 s */
    struct pw_comparison *made = compare(make_run(500 * MS, 200 * MS), b, line);
    assert_int_equal(made->kind, PW_COMPARE_UNKNOWN);
    assert_has(line,
               "Cannot tell whether the second run is slower or faster: what differs may be "
               "noise, most of it (2.60 s more) in its steps. The steps took 150 ms, then 202 ms");
    assert_true(made->steps.p_mean > 0.02 && made->steps.p_mean < 0.12);
    pw_comparison_destroy(made);
}

/* What a name has of Markdown, of XML and of control characters changes neither format. */
static void test_markdown_and_junit(void **state)
{
    (void)state;
    char line[1024];
    struct pw_comparison *made =
        compare(make_run(500 * MS, 200 * MS), make_run(5900 * MS, 200 * MS), line);
    for (size_t i = 0; i < made->nrows; i++)
        if (made->rows[i].group == PW_COMPARE_RANK)
            strcpy(made->rows[i].name, "rank|1 *<&\"\033[2J");
    assert_int_equal(pw_compare_markdown(unit_open_text(), made, 2), 0);
    char *text = unit_close_text();
    assert_ptr_equal(strstr(text, "**The second run is 5.40 s (63.5 %) slower"), text);
    assert_has(
        text,
        "**\n\nThe runs took 8.50 s, then 13.9 s (+63.5 %).\n\n<details>\n<summary>"
        "Tables</summary>\n\n#### The run\n\n| what | first run | second run | change | p | |\n"
        "|---|--:|--:|--:|--:|---|\n| the run | 8.50 s | 13.9 s | +63.5 % | ");
    assert_has(text, "\n| rank\\|1 \\*&lt;&amp;\"?\\[2J | ");
    assert_has(text, "\n6 more changed less.\n\np: how likely");
    assert_has(text, "\n\n</details>\n");
    free(text);
    assert_int_equal(pw_compare_junit(unit_open_text(), made, 0), 0);
    text = unit_close_text();
    assert_has(text, "tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\"");
    assert_has(text, "name=\"the run is not slower by more than 5 %\" time=\"13.900\"");
    assert_has(text, "<failure message=\"The second run is 5.40 s (63.5 %) slower, before");
    assert_has(text, "rank|1 *&lt;&amp;&quot;?[2J");
    free(text);
    made->threshold = 0.7;
    assert_int_equal(pw_compare_junit(unit_open_text(), made, 0), 0);
    text = unit_close_text();
    assert_has(text, "failures=\"0\" errors=\"0\" skipped=\"0\"");
    assert_has_not(text, "<failure");
    free(text);
    made->kind = PW_COMPARE_UNKNOWN;
    strcpy(made->why, "a test");
    assert_int_equal(pw_compare_junit(unit_open_text(), made, 0), 0);
    text = unit_close_text();
    assert_has(text, "skipped=\"1\"");
    assert_has(text, "<skipped message=\"Cannot tell whether the second run is slower or faster: ");
    free(text);
    pw_comparison_destroy(made);
}

/* The second run ends by an exception of rank 3 after its last step, and so 1 s earlier: that is no
 * gain of time. */
static void test_run_that_did_not_end_well(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *b = make_run(500 * MS, 200 * MS);
    b->endings = calloc(2, sizeof(*b->endings));
    assert_non_null(b->endings);
    b->nendings = 2;
    b->endings[0].ended = PW_ENDED_LATER;
    b->endings[1] = (struct pw_row_c_ending){
        .rank = 3, .ended = PW_ENDED_FIRST, .how = PW_HOW_EXCEPTION, .exit_code = 1};
    struct pw_comparison *made = compare(make_run(500 * MS, 1200 * MS), b, line);
    assert_string_equal(
        line, "The second run did not end well: rank 3 ended first, by an exception. The second "
              "run is neither slower nor faster beyond noise: its steps took 150 ms, then 150 ms "
              "on average (+0.0 %, p 1.00, 50 and 50 steps). The runs took 9.50 s, then 8.50 s "
              "(-10.5 %).");
    assert_int_equal(made->kind, PW_COMPARE_SAME);
    pw_comparison_destroy(made);
    b = make_run(500 * MS, 200 * MS);
    made = compare(make_run(500 * MS, 1200 * MS), b, line);
    assert_has(line, "The second run is 1.00 s (10.5 %) faster, after the last step: 1.20 s, then "
                     "200 ms.");
    pw_comparison_destroy(made);
}

/* Nearly twice the time, with p of 0.001, is not "as before". */
static void test_words_of_rows(void **state)
{
    (void)state;
    struct pw_compare_cells cells;
    struct pw_compare_row row = {.a = 100 * MS, .b = 190 * MS, .p = 0.00104};
    pw_compare_cells_write(&row, &cells);
    assert_string_equal(cells.text[3], "0.0010");
    assert_string_equal(cells.verdict, "not sure");
    row.p = 0.00099;
    pw_compare_cells_write(&row, &cells);
    assert_string_equal(cells.verdict, "slower");
    row.p = 0.05;
    pw_compare_cells_write(&row, &cells);
    assert_string_equal(cells.verdict, "as before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_late_in_the_first_step),
        cmocka_unit_test(test_parts_before_and_after),
        cmocka_unit_test(test_parts_that_do_not_explain_it),
        cmocka_unit_test(test_start_that_varies),
        cmocka_unit_test(test_a_third_of_the_steps_doubled),
        cmocka_unit_test(test_one_step_and_the_end),
        cmocka_unit_test(test_more_steps),
        cmocka_unit_test(test_what_cannot_be_compared),
        cmocka_unit_test(test_large_and_unsure),
        cmocka_unit_test(test_markdown_and_junit),
        cmocka_unit_test(test_run_that_did_not_end_well),
        cmocka_unit_test(test_words_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
