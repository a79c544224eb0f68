/* The rules of the data pipeline on queues with known fill levels. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "analysis/pipeline.h"
#include "analysis/statistics.h"

static struct pw_row_c_queue queue(int32_t place, const char *side, double usage,
                                   double empty_share, int64_t steps_empty)
{
    struct pw_row_c_queue q = {
        .rank = -1, .place = place, .samples = 100, .steps = 100, .usage = usage};
    snprintf(q.side, sizeof(q.side), "%s", side);
    q.empty_share = empty_share;
    q.steps_empty = steps_empty;
    return q;
}

static enum pw_pipeline_verdict verdict_of(const struct pw_row_c_queue *rows, size_t n)
{
    struct pw_pipeline p;
    pw_pipeline_judge(rows, n, &p);
    return p.verdict;
}

static void test_verdicts(void **state)
{
    (void)state;
    struct pw_row_c_queue rows[] = {queue(0, "host", 0.5, 0.30, 0), queue(1, "device", 1, 0, 0)};
    assert_int_equal(verdict_of(rows, 0), PW_PIPELINE_UNKNOWN);
    assert_int_equal(verdict_of(rows, 2), PW_PIPELINE_FINE); /* 30 % is not above it */
    rows[0].empty_share = 0.31;
    assert_int_equal(verdict_of(rows, 2), PW_PIPELINE_PROCESSING);
    rows[1].steps_empty = 1; /* the host queue is asked first */
    assert_int_equal(verdict_of(rows, 2), PW_PIPELINE_PROCESSING);
    rows[0].empty_share = 0;
    assert_int_equal(verdict_of(rows, 2), PW_PIPELINE_TRANSFER);
    assert_int_equal(verdict_of(rows, 1), PW_PIPELINE_FINE);
    rows[0].samples = rows[1].samples = 0;
    assert_int_equal(verdict_of(rows, 2), PW_PIPELINE_UNKNOWN);
}

/* Empty in some steps: they decide, not the run. */
static void test_verdict_of_some_steps(void **state)
{
    (void)state;
    struct pw_row_c_queue rows[] = {queue(0, "host", 0.95, 0, 0), queue(1, "host", 0.90, 0.05, 5),
                                    queue(2, "device", 0.90, 0.05, 5)};
    struct pw_pipeline p;
    for (int i = 0; i < 3; i++) {
        rows[i].starved_steps = 5;
        rows[i].starved_empty = i ? 5 : 0;
        rows[i].starved_usage = i ? 0 : 0.95;
    }
    pw_pipeline_judge(rows, 3, &p);
    assert_int_equal(p.verdict, PW_PIPELINE_PROCESSING);
    assert_ptr_equal(pw_pipeline_culprit(&p)->right, &rows[1]);
    rows[1].starved_empty = 1;
    rows[1].starved_usage = 0.9;
    pw_pipeline_judge(rows, 3, &p);
    assert_int_equal(p.verdict, PW_PIPELINE_TRANSFER);
    assert_ptr_equal(pw_pipeline_culprit(&p)->right, &rows[2]);
}

/* A loader alone: empty in 12 of the steps 40-59 of 1000, or in the first step of each epoch. */
static void test_window_of_a_loader(void **state)
{
    (void)state;
    struct pw_row_c_queue row = queue(0, "host", 0.9, 0.012, 12);
    row.rank = 2;
    row.steps = 1000;
    row.starved_steps = row.starved_empty = 12;
    row.first_empty_step = 40;
    row.last_empty_step = 59;
    assert_int_equal(verdict_of(&row, 1), PW_PIPELINE_PROCESSING);
    row.first_empty_step = 0;
    row.last_empty_step = 990;
    assert_int_equal(verdict_of(&row, 1), PW_PIPELINE_FINE);
    row.first_empty_step = 40;
    row.last_empty_step = 48;
    row.steps_empty = 9;
    assert_int_equal(verdict_of(&row, 1), PW_PIPELINE_FINE);
    row.steps_empty = 12;
    row.rank = -1; /* steps of all ranks */
    assert_int_equal(verdict_of(&row, 1), PW_PIPELINE_FINE);
}

/* The suspects as a bit set, of three queues and an operator behind them. */
static unsigned suspects(double a, double b, double c)
{
    struct pw_row_c_queue rows[] = {queue(0, "host", a, 0, 0), queue(1, "host", b, 0, 0),
                                    queue(2, "device", c, 0, 0)};
    struct pw_pipeline p;
    unsigned set = 0;
    snprintf(rows[2].emptied_by, sizeof(rows[2].emptied_by), "step");
    pw_pipeline_judge(rows, 3, &p);
    assert_int_equal(p.noperators, 4);
    for (size_t i = 0; i < p.noperators; i++)
        set |= (unsigned)p.operators[i].suspect << i;
    return set;
}

static void test_suspects(void **state)
{
    (void)state;
    assert_int_equal(suspects(0.7, 0.7, 0.7), 0);
    assert_int_equal(suspects(0.59, 0.55, 0.55), 1); /* the leftmost: right of it below 0.6 */
    assert_int_equal(suspects(0.60, 0.60, 0.60), 0);
    assert_int_equal(suspects(0.80, 0.69, 0.69), 2); /* a drop of more than 0.1 from 0.8 */
    assert_int_equal(suspects(0.80, 0.71, 0.71), 0); /* a drop of less */
    assert_int_equal(suspects(0.79, 0.65, 0.65), 0); /* neither full on the left nor low right */
    assert_int_equal(suspects(0.75, 0.60, 0.60), 2); /* low on the right */
    assert_int_equal(suspects(0.95, 0.90, 0.10), 4); /* the second */
    assert_int_equal(suspects(0.75, 0.75, 0.80), 8); /* the rightmost: left of it at 0.8 */
    assert_int_equal(suspects(-1, -1, -1), 0);       /* no limits known */
    assert_int_equal(suspects(0.95, -1, 0.1), 0);    /* nothing is said across what is unknown */
}

static void test_slowest_part_is_named(void **state)
{
    (void)state;
    struct pw_row_c_queue rows[] = {queue(0, "host", 0.95, 0, 0), queue(1, "host", 0.2, 0.5, 50),
                                    queue(2, "device", 0.1, 0.6, 60)};
    struct pw_pipeline p;
    pw_pipeline_judge(rows, 3, &p);
    assert_int_equal(p.verdict, PW_PIPELINE_PROCESSING);
    assert_ptr_equal(pw_pipeline_culprit(&p)->right, &rows[1]);
    rows[0].usage = rows[1].usage = 0.7; /* no suspect: what fills the queue */
    rows[2].usage = 0.65;
    pw_pipeline_judge(rows, 3, &p);
    assert_ptr_equal(pw_pipeline_culprit(&p)->right, &rows[1]);
    rows[1].empty_share = 0;
    pw_pipeline_judge(rows, 3, &p);
    assert_ptr_equal(pw_pipeline_culprit(&p)->right, &rows[2]);
    rows[2].steps_empty = 0;
    pw_pipeline_judge(rows, 3, &p);
    assert_null(pw_pipeline_culprit(&p));
}

static void test_rows_of_a_rank(void **state)
{
    (void)state;
    struct pw_row_c_queue rows[5] = {{.rank = -1}, {.rank = 0}, {.rank = 0}, {.rank = 3}};
    size_t n;
    rows[4].rank = 3;
    assert_ptr_equal(pw_pipeline_of_rank(rows, 5, -1, &n), rows);
    assert_int_equal(n, 1);
    assert_ptr_equal(pw_pipeline_of_rank(rows, 5, 0, &n), rows + 1);
    assert_int_equal(n, 2);
    pw_pipeline_of_rank(rows, 5, 2, &n);
    assert_int_equal(n, 0);
    pw_pipeline_of_rank(rows, 5, 3, &n);
    assert_int_equal(n, 2);
}

static void test_waits_that_are_reported(void **state)
{
    (void)state;
    assert_true(pw_pipeline_hurts(500001, 50000000));
    assert_false(pw_pipeline_hurts(500000, 1000000));
    assert_false(pw_pipeline_hurts(1000000, 100000000));
    assert_true(pw_pipeline_hurts(1000001, 100000000));
    assert_false(pw_pipeline_hurts(-1, -1));
}

static void test_kinds_of_operators(void **state)
{
    (void)state;
    assert_int_equal(pw_pipeline_kind_of("GeneratorDataset"), PW_PIPELINE_GENERATOR);
    assert_int_equal(pw_pipeline_kind_of("Map(Decode)"), PW_PIPELINE_MAP);
    assert_int_equal(pw_pipeline_kind_of("source tfrecord"), PW_PIPELINE_SOURCE);
    assert_int_equal(pw_pipeline_kind_of("Batch"), PW_PIPELINE_BATCH);
    assert_int_equal(pw_pipeline_kind_of("transfer"), PW_PIPELINE_COPY);
    assert_int_equal(pw_pipeline_kind_of(""), PW_PIPELINE_OTHER);
    char full[64]; /* a file's names need not end */
    memset(full, 'x', sizeof(full));
    memcpy(full + 61, "map", 3);
    assert_int_equal(pw_pipeline_kind_of(full), PW_PIPELINE_MAP);
    assert_non_null(strstr(pw_pipeline_remedy(PW_PIPELINE_GENERATOR), "indexed"));
    assert_non_null(strstr(pw_pipeline_remedy(PW_PIPELINE_BATCH), "Prefetch"));
}

static void test_trend(void **state)
{
    (void)state;
    struct pw_trend line = {0}, flat = {0}, step = {0};
    for (int i = 0; i < 100; i++) {
        pw_trend_add(&line, i, 1e9 + 3.0 * i);
        pw_trend_add(&flat, i, 7);
        pw_trend_add(&step, i, i < 10 ? 0 : 1);
    }
    assert_true(pw_trend_slope(&line) > 2.999 && pw_trend_slope(&line) < 3.001);
    assert_true(pw_trend_fit(&line) > 0.999);
    assert_true(pw_trend_slope(&flat) == 0 && pw_trend_fit(&flat) == 0);
    assert_true(pw_trend_fit(&step) < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_verdict_of_some_steps),
        cmocka_unit_test(test_window_of_a_loader),
        cmocka_unit_test(test_suspects),
        cmocka_unit_test(test_slowest_part_is_named),
        cmocka_unit_test(test_rows_of_a_rank),
        cmocka_unit_test(test_waits_that_are_reported),
        cmocka_unit_test(test_kinds_of_operators),
        cmocka_unit_test(test_trend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
