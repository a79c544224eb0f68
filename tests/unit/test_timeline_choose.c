/* Which steps and ranks the HTML report shows as timelines, for clusters with values chosen by
 * hand. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "report/html/html_timeline.h"
#include "test_report_make.h"

static struct pw_figures *figures_of(struct pw_cluster *c)
{
    struct pw_figures *f;
    for (size_t s = 0; s < c->nstep_rows; s++) {
        c->steps[s].start = (int64_t)s * 200 * MS;
        c->steps[s].end = c->steps[s].start + 150 * MS;
        c->steps[s].duration_ns = (int64_t)(100 + s) * MS;
    }
    assert_int_equal(pw_figures_create(c, &f), 0);
    return f;
}

static void test_longest_typical_and_worst_steps(void **state)
{
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    struct pw_cluster *c = make_cluster(4, 12);
    struct pw_row_c_straggler late = straggler(2);
    (void)state;
    late.first_step = 3;
    late.last_step = 8;
    c->stragglers = calloc(1, sizeof(*c->stragglers));
    assert_non_null(c->stragglers);
    c->stragglers[c->nstragglers++] = late;
    step_rows(c)[5 * 4 + 2].own_ns = 900 * MS;
    step_rows(c)[9 * 4 + 2].own_ns = 990 * MS; /* after its steps */
    struct pw_figures *f = figures_of(c);
    assert_int_equal(pw_timeline_choose(f, steps), 3);
    assert_string_equal(steps[0].why, "straggler"); /* which the verdict names */
    assert_int_equal(steps[0].row, 5);
    assert_string_equal(steps[1].why, "longest");
    assert_int_equal(steps[1].row, 11);
    assert_string_equal(steps[2].why, "typical");
    assert_int_equal(steps[2].row, 6); /* of the 10 that are no warm-up, 2 to 11 */
    pw_figures_destroy(f);
    c->nstragglers = 0;
    for (size_t s = 0; s < c->nstep_rows; s++)
        c->steps[s].recorded = PW_RECORDED_WARMUP;
    f = figures_of(c);
    assert_int_equal(pw_timeline_choose(f, steps), 0);
    pw_figures_destroy(f);
    pw_cluster_destroy(c);
}

/* Of a job that did not end well, the step of its end comes first, also when it is no measured
 * step; then that of a slow network or of a time in which all ranks were slower. */
static void test_steps_of_the_verdict_come_first(void **state)
{
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    struct pw_cluster *c = make_cluster(4, 12);
    struct pw_row_c_ending ends[4] = {{.rank = 0, .ended = PW_ENDED_LATER, .step = 10},
                                      {.rank = 1, .ended = PW_ENDED_FIRST, .step = 11},
                                      {.rank = 2, .ended = PW_ENDED_FIRST, .step = 9, .held = 2},
                                      {.rank = 3, .ended = PW_ENDED_FIRST, .step = 11}};
    struct pw_row_c_trend slower = {.first_step = 3, .last_step = 6, .cost_ns = 900 * MS};
    (void)state;
    c->endings = ends;
    c->nendings = 4;
    struct pw_figures *f = figures_of(c);
    c->steps[9].recorded = PW_RECORDED_WARMUP;
    assert_int_equal(pw_timeline_choose(f, steps), 3);
    assert_string_equal(steps[0].why, "ending");
    assert_int_equal(steps[0].row, 9); /* of the rank that two others waited for */
    assert_int_equal(steps[0].rank, 2);
    ends[2].held = 0;
    pw_timeline_choose(f, steps);
    assert_int_equal(steps[0].row, 11); /* of the first of those that ended first */
    assert_int_equal(steps[0].rank, 1);
    c->steps[11].start = -1; /* its times are not known */
    pw_timeline_choose(f, steps);
    assert_string_equal(steps[0].why, "longest");
    pw_figures_destroy(f);
    c->nendings = 0;
    c->trends = &slower;
    c->ntrends = 1;
    f = figures_of(c);
    pw_timeline_choose(f, steps);
    assert_string_equal(steps[0].why, "all_slower");
    assert_int_equal(steps[0].row, 6);
    assert_string_equal(steps[1].why, "longest");
    pw_figures_destroy(f);
    c->ntrends = 0;
    c->trends = NULL;
    c->endings = NULL;
    pw_cluster_destroy(c);
}

static void test_ranks_of_large_jobs_are_spread(void **state)
{
    char list[PW_REPORT_WINDOW_RANKS * 12];
    struct pw_cluster *c = make_cluster(4, 12);
    (void)state;
    struct pw_figures *f = figures_of(c);
    pw_timeline_ranks(f, -1, list, sizeof(list));
    assert_string_equal(list, "0,1,2,3");
    pw_figures_destroy(f);
    pw_cluster_destroy(c);
    c = make_cluster(1000, 3);
    add_straggler(c, straggler(701));
    f = figures_of(c);
    pw_timeline_ranks(f, -1, list, sizeof(list));
    size_t n = 1;
    for (const char *at = list; (at = strchr(at, ',')); at++)
        n++;
    assert_true(n > PW_REPORT_WINDOW_RANKS - 4 && n <= PW_REPORT_WINDOW_RANKS);
    assert_non_null(strstr(list, ",701,"));
    assert_null(strstr(list, ",702,"));
    pw_timeline_ranks(f, 702, list, sizeof(list));
    assert_non_null(strstr(list, ",701,"));
    assert_non_null(strstr(list, ",702,"));
    pw_figures_destroy(f);
    pw_cluster_destroy(c);
}

/* A pw_report_timeline that writes the window in place of events. */
static int write_window(void *context, FILE *out, struct pw_report_window *window)
{
    window->base_ns = window->from - 5;
    window->unread = 3;
    fprintf(out, "%s %lld", window->ranks, (long long)(window->until - window->from));
    return *(const int *)context;
}

/* Returns the error, or 0 when the answer begins with `wanted`. */
static int ask(const struct pw_figures *f, int err, struct pw_report_question question,
               const char *wanted)
{
    char *text = NULL;
    size_t size;
    const struct pw_report_options options = {.timeline = write_window, .timeline_context = &err};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    int found = pw_report_html_step(out, f, &options, &question);
    fclose(out);
    if (wanted)
        assert_memory_equal(text, wanted, strlen(wanted));
    free(text);
    return found;
}

static void test_asked_steps(void **state)
{
    struct pw_cluster *c = make_cluster(4, 12);
    (void)state;
    struct pw_figures *f = figures_of(c);
    c->steps[9].start = -1;
    step_rows(c)[4 * 4 + 1].own_ns = 900 * MS;
    step_rows(c)[9 * 4 + 1].own_ns = 990 * MS; /* its time is not known */
    c->steps[4].slowest_rank = 3;
    const int64_t fifth = c->steps[4].step, warmup = c->steps[0].step;
    char text[160];
    snprintf(text, sizeof(text),
             "{\"step\":%lld,\"why\":\"asked\",\"rank\":3,\"cluster_ns\":800000000,\"start_ns\":5,"
             "\"end_ns\":150000005,\"share\":1.0000,\"unread\":3,\"packed\":\"",
             (long long)fifth);
    assert_int_equal(ask(f, 0, (struct pw_report_question){fifth, fifth, -1}, text), 0);
    snprintf(text, sizeof(text), "{\"step\":%lld,\"why\":\"asked\",\"rank\":1,", (long long)fifth);
    const int64_t last = c->steps[11].step;
    assert_int_equal(ask(f, 0, (struct pw_report_question){warmup, last, 1}, text), 0);
    assert_int_equal(ask(f, 0, (struct pw_report_question){warmup, warmup, 0}, "{\"step\":"), 0);
    const int64_t ninth = c->steps[9].step;
    assert_int_equal(ask(f, 0, (struct pw_report_question){ninth, ninth, 1}, NULL), -ESRCH);
    assert_int_equal(ask(f, 0, (struct pw_report_question){last + 1, last + 9, 1}, NULL), -ESRCH);
    assert_int_equal(ask(f, 0, (struct pw_report_question){last, fifth, 1}, NULL), -ESRCH);
    assert_int_equal(ask(f, 0, (struct pw_report_question){fifth, fifth, 4}, NULL), -ESRCH);
    assert_int_equal(ask(f, -ENOENT, (struct pw_report_question){fifth, fifth, 1}, NULL), -ENOENT);
    pw_figures_destroy(f);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_typical_and_worst_steps),
        cmocka_unit_test(test_steps_of_the_verdict_come_first),
        cmocka_unit_test(test_ranks_of_large_jobs_are_spread),
        cmocka_unit_test(test_asked_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
