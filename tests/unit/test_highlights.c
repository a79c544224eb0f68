/* The highlights beside the headline, for clusters whose values are chosen by hand. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "analysis/parts.h"
#include "core/ops.h"
#include "report/content/firstscreen.h"
#include "report/report.h"
#include "test_report_make.h"

static size_t find(const struct pw_cluster *c, struct pw_highlight found[PW_HIGHLIGHTS])
{
    struct pw_figures *f;
    assert_int_equal(pw_figures_create(c, &f), 0);
    size_t n = pw_highlights_find(f, found);
    pw_figures_destroy(f);
    return n;
}

static void add_wait(struct pw_cluster *c, int32_t last, int64_t wait_ms, int64_t late_ms)
{
    c->collectives =
        realloc(c->collectives, (c->ncollectives + 1) * sizeof(*c->collectives)); /* few */
    assert_non_null(c->collectives);
    c->collectives[c->ncollectives++] = (struct pw_row_c_collective){
        .op = PW_OP_Allreduce,
        .source = PW_SOURCE_NCCL,
        .last_rank = last,
        .wait_ns = wait_ms * MS,
        .critical_ns = late_ms * MS,
        .error_ns = MS,
        .complete = 1,
    };
}

/* One measured step of 150 ms on 4 ranks: 600 ms of rank time. */
static struct pw_cluster *one_step(size_t nranks)
{
    struct pw_cluster *c = make_cluster(nranks, 3);
    for (size_t i = 0; i < nranks * 3; i++)
        step_rows(c)[i].data_wait_ns = 14 * MS; /* below 10 % */
    return c;
}

/* Ranks waited 45 + 15 of 600 ms: 10 %, 75 % of it for rank 3. */
static void test_late_rank(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = one_step(4);
    (void)state;
    assert_int_equal(find(c, found), 0);
    add_wait(c, 3, 45, 20);
    add_wait(c, 1, 15, 5);
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "late_rank");
    assert_int_equal(found[0].rank, 3);
    assert_int_equal(found[0].ns, 60 * MS);
    assert_true(found[0].share > 0.0999 && found[0].share < 0.1001);
    assert_true(found[0].of_rank > 0.7499 && found[0].of_rank < 0.7501);
    assert_string_equal(found[0].text,
                        "In collectives ranks waited 10 % of the time for each other, "
                        "75 % of it for rank 3.");
    add_wait(c, 3, 40, 1); /* no later than the clocks may be wrong: 85 of 100, 45 beyond */
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].text,
                        "In collectives ranks waited 17 % of the time for each other, "
                        "85 % of it for rank 3 (45 % where it was later than the clock error).");
    char *text = text_of(c, "memory", 12), *json = json_of(c);
    assert_has(text, "say whether a rank held the job back.\nIn collectives ranks waited 17 % of");
    assert_has(json, "\"highlights\": [");
    assert_has(json, "\"kind\": \"late_rank\"");
    assert_has(json, "\"verdict\": \"unknown\"");
    free(text);
    free(json);
    char line[PW_REPORT_LINE];
    assert_int_equal(pw_report_one_line(c, line, sizeof(line)), 0);
    assert_string_equal(line,
                        "Only 1 step was measured: too few to say whether a rank held the job "
                        "back. In collectives ranks waited 17 % of the time for each other, "
                        "85 % of it for rank 3 (45 % where it was later than the clock error).");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has_not(line, "In collectives");
    c->collectives[0].critical_ns = MS; /* not one is sure */
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
}

static void test_no_late_rank(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = one_step(4);
    (void)state;
    add_wait(c, 3, 30, 20);
    add_wait(c, 1, 31, 20);
    add_wait(c, 2, 19, 20);
    assert_int_equal(find(c, found), 0); /* 39 % for the first */
    pw_cluster_destroy(c);
    c = one_step(4);
    add_wait(c, 3, 29, 20);
    assert_int_equal(find(c, found), 0); /* below 5 % of 600 ms */
    c->collectives[0].wait_ns = 31 * MS;
    assert_int_equal(find(c, found), 1);
    c->ranks[2].clock_error_ns = -1;
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
    c = one_step(2); /* one of two is always last: 70 % is no more than chance may give */
    add_wait(c, 1, 70, 20);
    add_wait(c, 0, 30, 20);
    assert_int_equal(find(c, found), 0);
    c->collectives[0].wait_ns = 91 * MS;
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].rank, 1);
    pw_cluster_destroy(c);
    c = make_cluster(4, 52); /* steps enough for a verdict: it has weighed the same waits */
    add_wait(c, 3, 4000, 20);
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
}

/* A run of 300 ms, two thirds of it steps, of 4 ranks. */
static void test_ranks_without_a_cpu(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = one_step(4);
    static const int64_t ready_ms[4] = {0, 60, 80, 100}, wait_ms[4] = {0, 30, 40, 30};
    (void)state;
    c->part_trace = calloc(4 * PW_PART_END, sizeof(*c->part_trace));
    assert_non_null(c->part_trace);
    struct pw_row_c_part_trace *steps = &c->part_trace[4 * (PW_PART_STEPS - PW_PART_START)];
    for (size_t r = 0; r < 4; r++) {
        c->part_trace[r].total_ns = 100 * MS; /* nothing in the start */
        c->part_trace[r].wait_ns = 90 * MS;
        steps[r].total_ns = 200 * MS;
        steps[r].ready_ns = ready_ms[r] * MS;
        steps[r].wait_ns = wait_ms[r] * MS;
    }
    assert_int_equal(find(c, found), 1); /* 0, 15, 20 and 35 % */
    assert_string_equal(found[0].kind, "no_cpu");
    assert_string_equal(
        found[0].text,
        "Ranks were ready to run but without a CPU for at least 18 % of the steps, not counting "
        "waits for each other (rank 3: 35 %): their hosts have more to run than "
        "cores.");
    assert_true(found[0].share > 0.1749 && found[0].share < 0.1751);
    for (size_t r = 0; r < 4;
         r++) { /* one cgroup: each was throttled for a quarter of it, at least */
        steps[r].throttled_ns = 93 * MS;
        memset(c->ranks[r].hostname, 0, sizeof(c->ranks[r].hostname));
    }
    assert_int_equal(find(c, found), 1);
    assert_non_null(strstr(found[0].text, "more to run than cores"));
    for (size_t r = 0; r < 4; r++) /* for a third of the 70 ms that it lacked a CPU */
        steps[r].throttled_ns = 94 * MS;
    assert_int_equal(find(c, found), 1);
    assert_non_null(strstr(found[0].text, ": the CPU quota of their cgroups was used up."));
    steps[3].throttled_ns = 23 * MS; /* a cgroup of its own */
    assert_int_equal(find(c, found), 1);
    assert_non_null(strstr(found[0].text, "more to run than cores"));
    steps[3].throttled_ns = 24 * MS;
    assert_int_equal(find(c, found), 1);
    assert_non_null(strstr(found[0].text, "quota"));
    assert_int_equal(found[0].rank, 3);
    assert_int_equal(found[0].cost_ns, 35 * MS); /* mean of 0, 30, 40 and 70 ms */
    assert_int_equal(found[0].is_of_steps, 1);
    struct pw_row_c_straggler late = straggler(2);
    late.gain_ns = 36 * MS; /* a rank that is named and costs more */
    add_straggler(c, late);
    assert_int_equal(find(c, found), 0);
    c->stragglers[0].gain_ns = 34 * MS;
    assert_int_equal(find(c, found), 1);
    c->nstragglers = 0;
    steps[3].wait_ns = 55 * MS; /* 22.5 %, the mean is 14.4 */
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].rank, -1);
    steps[1].wait_ns++; /* 2 of 4 */
    assert_int_equal(find(c, found), 0);
    steps[0].ready_ns = c->part_trace[0].ready_ns = -1; /* 2 of the 3 that are known */
    for (size_t part = 1; part < PW_PART_END; part++)
        c->part_trace[4 * part].ready_ns = -1;
    assert_int_equal(find(c, found), 1);
    pw_cluster_destroy(c);
}

/* Ranks that load their program on few processors are no overloaded hosts. It is reported by itself
 * where it takes long: 15 % of the run, and 30 s. */
static void test_ranks_without_a_cpu_before_the_steps(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = one_step(4);
    (void)state;
    c->part_trace = calloc(4 * PW_PART_END, sizeof(*c->part_trace));
    assert_non_null(c->part_trace);
    struct pw_row_c_part_trace *setup = &c->part_trace[4 * (PW_PART_SETUP - PW_PART_START)];
    struct pw_row_c_part_trace *steps = &c->part_trace[4 * (PW_PART_STEPS - PW_PART_START)];
    for (size_t r = 0; r < 4; r++) {
        setup[r] = (struct pw_row_c_part_trace){.total_ns = 60000 * MS, .ready_ns = 30000 * MS};
        steps[r] = (struct pw_row_c_part_trace){.total_ns = 90000 * MS, .ready_ns = 900 * MS};
    }
    assert_int_equal(find(c, found), 1);
    assert_string_equal(
        found[0].text, "Outside of the steps, ranks were ready to run but without a CPU for at "
                       "least 20 % of the run, not counting waits for each other: their hosts have "
                       "more to run than cores.");
    assert_int_equal(found[0].cost_ns, 30000 * MS);
    assert_int_equal(found[0].is_of_steps, 0);
    setup[3].ready_ns--; /* the mean is below 30 s */
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
}

/* All ranks are in MPI_Finalize for 400 ms and longer, of a run of 8 s; then a rank is named for
 * it. */
static void test_all_ranks_in_one_call(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = make_cluster(4, 52);
    (void)state;
    c->part_trace = calloc(4 * PW_PART_END, sizeof(*c->part_trace));
    assert_non_null(c->part_trace);
    struct pw_row_c_part_trace *finalize = &c->part_trace[4 * (PW_PART_FINALIZE - PW_PART_START)];
    struct pw_row_c_part_trace *init = &c->part_trace[4 * (PW_PART_INIT - PW_PART_START)];
    for (int r = 0; r < 4; r++) {
        c->ranks[r].run_ns = 8000 * MS;
        finalize[r].total_ns = (400 + r) * MS;
        init[r].total_ns = 999 * MS;
    }
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "mpi_finalize");
    assert_string_equal(
        found[0].text,
        "All ranks were in MPI_Finalize for 400 ms or longer (5.0 % of the run), where "
        "they wait for each other; which rank was late is not known.");
    assert_true(found[0].cost_ns == 400 * MS && found[0].ns == 1600 * MS);
    finalize[2].total_ns = 399 * MS; /* less than 5 % */
    assert_int_equal(find(c, found), 0);
    for (int r = 0; r < 4; r++)
        init[r].total_ns = 1000 * MS;
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "mpi_init");
    c->nstragglers = 1;
    c->stragglers = calloc(1, sizeof(*c->stragglers));
    assert_non_null(c->stragglers);
    c->stragglers[0].part = PW_PART_INIT;
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
}

static void test_gpus_run_dry(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = make_cluster(2, 52);
    (void)state;
    c->gpu_ranks = calloc(2, sizeof(*c->gpu_ranks));
    c->ngpu_ranks = 2;
    for (int32_t r = 0; r < 2; r++)
        c->gpu_ranks[r] = (struct pw_row_c_gpu_rank){
            .rank = r, .span_ns = 1000 * MS, .idle_host_ns = (r ? 400 : 100) * MS};
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "host_late");
    assert_string_equal(found[0].text,
                        "GPUs were idle for 25 % of the time, because their CPU processes "
                        "launched the next kernel late (rank 1: 40 %).");
    assert_int_equal(found[0].ns, 500 * MS);
    add_wait(c, 1, 200, 20); /* of NCCL: the GPU is busy waiting */
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].ns, 500 * MS);
    c->collectives[0].source = PW_SOURCE_MPI; /* the host waited for others meanwhile */
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].text, "GPUs were idle for at least 15 % of the time, because "
                                       "their CPU processes launched the next kernel late.");
    assert_int_equal(found[0].rank, -1);
    c->collectives[0].wait_ns = 301 * MS;
    assert_int_equal(find(c, found), 0);
    c->collectives[0].wait_ns = 0;
    /* or was in transfers: 2 x 50 ms of 2 x 500 ms that nothing hides */
    c->collective_stats = calloc(1, sizeof(*c->collective_stats));
    assert_non_null(c->collective_stats);
    c->ncollective_stats = 1;
    c->collective_stats[0] = (struct pw_row_c_collective_stat){
        .source = PW_SOURCE_GLOO, .nranks = 2, .count = 50, .transfer_mean_ns = MS};
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].ns, 400 * MS);
    assert_int_equal(found[0].cost_ns, 200 * MS);   /* of each GPU */
    c->collective_stats[0].source = PW_SOURCE_NCCL; /* on the GPU, which is not idle then */
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].ns, 500 * MS);
    pw_cluster_destroy(c);
}

/* 60 of 150 ms, 3 s of the job, more on rank 2; beside GPUs that ran dry for 2 s. */
static void test_data_wait(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = make_cluster(4, 52);
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++)
        step_rows(c)[i].data_wait_ns = (i % 4 == 2 ? 90 : 50) * MS;
    c->gpu_ranks = calloc(4, sizeof(*c->gpu_ranks));
    assert_non_null(c->gpu_ranks);
    c->ngpu_ranks = 4;
    for (int32_t r = 0; r < 4; r++)
        c->gpu_ranks[r] =
            (struct pw_row_c_gpu_rank){.rank = r, .span_ns = 15000 * MS, .idle_host_ns = 2000 * MS};
    assert_int_equal(find(c, found), 2);
    assert_string_equal(found[0].kind, "data_wait");
    assert_string_equal(found[0].text,
                        "Waiting for data takes 40 % of a step (60.0 ms of 150 ms on average; "
                        "rank 2: 60 %).");
    assert_int_equal(found[0].ns, 50 * (90 + 3 * 50) * MS); /* warm-up is left out */
    assert_string_equal(found[1].kind, "host_late");
    struct pw_row_c_straggler late = straggler(2);
    late.phase = PW_PHASE_DATA;
    add_straggler(c, late); /* then the headline says it */
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "host_late");
    pw_cluster_destroy(c);
}

/* 2 s of one rank in one step: 24.0 of 190 ms in the mean, 12.6 %; without it 14 of 180 ms. */
static void test_data_wait_of_a_straggler(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = make_cluster(4, 52);
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++)
        step_rows(c)[i].data_wait_ns = 14 * MS;
    for (size_t r = 0; r < 4; r++)
        step_rows(c)[10 * 4 + r].total_ns = 2150 * MS;
    step_rows(c)[10 * 4 + 2].data_wait_ns = 2014 * MS;
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].text,
                        "Waiting for data takes 13 % of a step (24.0 ms of 190 ms on average; "
                        "rank 2: 28 %).");
    struct pw_row_c_straggler stopped = straggler(2);
    stopped.first_step = stopped.last_step = 10;
    c->stragglers = calloc(1, sizeof(*c->stragglers));
    assert_non_null(c->stragglers);
    c->stragglers[c->nstragglers++] = stopped;
    assert_int_equal(find(c, found), 0);
    pw_cluster_destroy(c);
}

/* 60 - 20 of 150 ms are transfers: with the verdict "none" the headline begins with them. */
static void test_the_headline_begins_with_a_loss_of_all_ranks(void **state)
{
    struct pw_highlight found[PW_HIGHLIGHTS];
    struct pw_cluster *c = make_cluster(4, 52);
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++) {
        step_rows(c)[i].comm_exposed_ns = 57 * MS;
        step_rows(c)[i].wait_ns = 20 * MS;
    }
    assert_int_equal(find(c, found), 0); /* 24.7 % */
    for (size_t i = 0; i < 4 * (size_t)52; i++)
        step_rows(c)[i].comm_exposed_ns = 60 * MS;
    add_wait(c, 3, 1, 20);
    assert_int_equal(find(c, found), 1);
    assert_string_equal(found[0].kind, "transfers");
    assert_int_equal(found[0].ns, 50 * 4 * 40 * MS); /* warm-up is left out */
    assert_int_equal(found[0].is_headline, 1);
    char line[PW_REPORT_LINE], *text = text_of(c, "steps", 12), *json = json_of(c);
    static const char wanted[] =
        "Transfers that do not overlap with computation take 27 % of a step (40.0 ms of 150 ms on "
        "average, without waiting for other ranks). No rank alone held the job back.";
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, wanted);
    assert_int_equal(pw_report_one_line(c, line, sizeof(line)), 0);
    assert_null(strstr(strstr(line, "Transfers") + 1, "Transfers")); /* told once */
    assert_null(strstr(strstr(text, "Transfers that") + 1, "Transfers that"));
    assert_has(json, "\"in_headline\": true");
    assert_has(json, "\"verdict\": \"none\"");
    free(text);
    free(json);
    struct pw_row_c_straggler late = straggler(2);
    late.phase = PW_PHASE_FORWARD;
    add_straggler(c, late); /* a rank is named: the transfers stand below */
    assert_int_equal(find(c, found), 1);
    assert_int_equal(found[0].is_headline, 0);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "Rank 2");
    assert_has_not(line, "Transfers");
    pw_cluster_destroy(c);
}

static size_t find_losses(const struct pw_cluster *c, struct pw_loss found[PW_LOSSES])
{
    struct pw_figures *f;
    assert_int_equal(pw_figures_create(c, &f), 0);
    size_t n = pw_losses_find(f, found);
    pw_figures_destroy(f);
    return n;
}

static void test_a_headline_with_many_losses_leaves_no_room(void **state)
{
    struct pw_loss losses[PW_LOSSES] = {{.is_headline = PW_LOSS_FIRST}};
    const struct pw_loss *beside[PW_LOSSES_SHOWN];
    (void)state;
    assert_int_equal(pw_losses_beside(losses, 8, beside), 2);
    assert_ptr_equal(beside[1], &losses[2]);
    losses[1].is_headline = losses[3].is_headline = PW_LOSS_ADDED;
    assert_int_equal(pw_losses_beside(losses, 8, beside), 0);
    losses[4].is_headline = PW_LOSS_ADDED;
    assert_int_equal(pw_losses_beside(losses, 8, beside), 0);
}

/* 50 measured steps of 150 ms on 4 ranks. Rank 2 costs 600 ms (8 %), rank 1 only 60 ms (below 1 %),
 * rank 3 150 ms (2 %); transfers take 40 ms of each step: 2 s. */
static void test_kinds_of_losses_compete_by_gain(void **state)
{
    struct pw_loss found[PW_LOSSES];
    const struct pw_loss *beside[PW_LOSSES_SHOWN];
    struct pw_cluster *c = make_cluster(4, 52);
    struct pw_row_c_straggler late[3] = {straggler(2), straggler(3), straggler(1)};
    static const int64_t gains[3] = {600, 150, 60};
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++) {
        step_rows(c)[i].comm_exposed_ns = 60 * MS;
        step_rows(c)[i].wait_ns = 20 * MS;
    }
    add_wait(c, 3, 1, 20);
    c->stragglers = calloc(3, sizeof(*c->stragglers));
    assert_non_null(c->stragglers);
    for (size_t i = 0; i < 3; i++) {
        late[i].gain_ns = gains[i] * MS;
        c->stragglers[c->nstragglers++] = late[i];
    }
    size_t n = find_losses(c, found);
    assert_int_equal(n, 3);
    assert_string_equal(found[0].kind, "transfers");
    assert_int_equal(found[0].gain_ns, 2000 * MS);
    assert_int_equal(found[0].lost_ns, 8000 * MS);         /* of 4 ranks */
    assert_int_equal(found[0].is_headline, PW_LOSS_ADDED); /* 2 s, the rank 600 ms */
    assert_string_equal(found[1].kind, "rank");
    assert_int_equal(found[1].rank, 2);
    assert_int_equal(found[1].gain_ns, 600 * MS);
    assert_true(found[1].share > 0.0799 && found[1].share < 0.0801);
    assert_int_equal(found[1].is_headline, 1);
    assert_int_equal(found[2].rank, 3);
    assert_has(found[2].text, "which cost the job 150 ms.");
    assert_int_equal(pw_losses_beside(found, n, beside), 1);
    assert_ptr_equal(beside[0], &found[2]);
    char *text = text_of(c, "memory", 12), *json = json_of(c);
    assert_has(text, "\nRank 3 ");
    assert_has_not(text, "Rank 1 ");
    assert_has(json, "\"losses\": [");
    assert_has(json, "\"share_of\": \"steps\"");
    free(text);
    free(json);
    c->stragglers[1].gain_ns = -1; /* not known: then what it lost is used */
    c->stragglers[1].lost_ns = 1900 * MS;
    assert_int_equal(find_losses(c, found), 3);
    assert_int_equal(found[1].rank, 3);
    assert_int_equal(found[1].gain_ns, -1);
    pw_cluster_destroy(c);
}

static void assert_first_advice(const struct pw_cluster *c, const char *rule)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_figures *f;
    assert_int_equal(pw_figures_create(c, &f), 0);
    const struct pw_advice_input input = pw_figures_advice(f);
    pw_advice_collect(&input, advice);
    assert_string_equal(advice[0].rule, rule);
    pw_figures_destroy(f);
}

/* The headline, the first loss and the first advice are of the loss that begins so. */
static void assert_leads(const struct pw_cluster *c, const char *begin, const char *kind,
                         const char *rule)
{
    struct pw_loss found[PW_LOSSES];
    char line[PW_REPORT_LINE], *json = json_of(c), *text = text_of(c, "memory", 12);
    const size_t n = find_losses(c, found);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, begin);
    assert_ptr_equal(strstr(line, begin), line);
    assert_string_equal(found[0].kind, kind);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found[i].is_headline, i == 0);
    assert_first_advice(c, rule);
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
    assert_has(json, begin);
    free(text);
    free(json);
}

/* Transfers take 40 ms of each of 50 steps: 2 s. */
static void test_shared_losses_compete_with_the_verdict(void **state)
{
    struct pw_cluster *c = make_cluster(4, 52);
    static const char transfers[] = "Transfers that do not overlap with computation take ";
    char line[PW_REPORT_LINE];
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++) {
        step_rows(c)[i].comm_exposed_ns = 60 * MS;
        step_rows(c)[i].wait_ns = 20 * MS;
    }
    add_wait(c, 3, 1, 20);
    c->ntrends = 1;
    c->trends = calloc(1, sizeof(*c->trends));
    assert_non_null(c->trends);
    c->trends[0] = (struct pw_row_c_trend){.kind = PW_SLOWING_PAUSES,
                                           .first_step = 3,
                                           .last_step = 10,
                                           .steps = 4,
                                           .excess_ns = 30 * MS,
                                           .cost_ns = 1999 * MS,
                                           .share = 0.1,
                                           .confidence = 0.99};
    assert_leads(c, transfers, "transfers", "transfer_exposed");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, ". No rank alone held the job back.");
    char *json = json_of(c); /* what the verdict is does not depend on it */
    assert_has(json, "\"verdict\": \"all_slower\"");
    free(json);
    c->trends[0].cost_ns = 2001 * MS;
    assert_leads(c, "All ranks paused 4 times", "all_slower", "all_slower");
    c->trends[0].cost_ns = 1999 * MS;
    add_straggler(c, straggler(2)); /* it costs less than the pauses, so it is not named */
    c->stragglers[0].gain_ns = 900 * MS;
    assert_leads(c, transfers, "transfers", "transfer_exposed");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, ". 1 rank held the job back, too, which cost less.");
    c->ntrends = 0; /* a named rank comes first, though transfers cost more */
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_int_equal(strncmp(line, "Rank 2 ", 7), 0);
    assert_first_advice(c, "blocked_off_cpu");
    pw_cluster_destroy(c);
}

/* 20 of 150 ms are waits; `gain_ms` of 7.5 s are saved when the work is balanced. */
static struct pw_cluster *make_waiting(double balance, int64_t gain_ms)
{
    struct pw_cluster *c = make_cluster(4, 52);
    for (size_t i = 0; i < 4 * (size_t)52; i++)
        step_rows(c)[i].wait_ns = 20 * MS;
    c->nefficiency = c->nwhatif = 1;
    c->efficiency = calloc(1, sizeof(*c->efficiency));
    c->whatif = calloc(1, sizeof(*c->whatif));
    assert_non_null(c->efficiency);
    assert_non_null(c->whatif);
    *c->efficiency = (struct pw_row_c_efficiency){0.8, balance, -1, -1, -1, -1, -1};
    c->whatif[0].gain_ns = gain_ms * MS;
    c->whatif[0].elapsed_ns = 7500 * MS;
    strcpy(c->whatif[0].scope, "job");
    return c;
}

/* Ranks wait, and no rank is named: the headline does not call this healthy. */
static void test_waits_for_which_no_rank_is_named(void **state)
{
    static const char waits[] = "Ranks wait for each other for 13 % of a step (20.0 ms of 150 ms ";
    struct pw_highlight found[PW_HIGHLIGHTS];
    char line[PW_REPORT_LINE];
    (void)state;
    struct pw_cluster *c = make_waiting(0.9, 749); /* balanced work gains less than 10 % */
    assert_leads(c, waits, "waits", "wait_roams");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line,
               "), mostly not because of unequal work: equal work in each step would make the "
               "whole job shorter by only 749 ms. No rank alone held the job back.");
    c->whatif[0].gain_ns = 0;
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line,
               "), not because of unequal work: equal work in each step would not make the job "
               "shorter. No rank alone held the job back.");
    c->whatif[0].gain_ns = -100 * MS; /* equal work does not make a job longer */
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "); whether because of unequal work is not known. No rank alone held");
    c->whatif[0].gain_ns = 750 * MS;
    assert_leads(c, waits, "waits", "wait_roams");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "): the delay moves from rank to rank, and with equal work in each step the "
                     "whole job would take 750 ms less. No rank alone held the job back.");
    c->ntrends = 1; /* all ranks were slower, too, which costs less */
    c->trends = calloc(1, sizeof(*c->trends));
    assert_non_null(c->trends);
    c->trends[0] = (struct pw_row_c_trend){.kind = PW_SLOWING_PAUSES,
                                           .first_step = 3,
                                           .last_step = 10,
                                           .steps = 4,
                                           .excess_ns = 30 * MS,
                                           .cost_ns = 120 * MS,
                                           .share = 0.016,
                                           .confidence = 0.99};
    assert_leads(c, waits, "waits", "wait_roams");
    c->efficiency->load_balance = 0.89;
    assert_leads(c, waits, "waits", "load_imbalance");
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line,
               "): their work is uneven, and with equal work in each step the whole job would ");
    add_straggler(c, straggler(2)); /* the waits are for it */
    for (size_t i = 0, n = find(c, found); i < n; i++)
        assert_string_not_equal(found[i].kind, "waits");
    pw_cluster_destroy(c);
}

/* 4 ranks, of 7.6 s: three of them wait 2 s before the first step for the other one, which is not
 * named: 1.5 s on average. In the steps each waits 0.1 s. */
static void test_waits_outside_the_steps_are_told(void **state)
{
    struct pw_total totals[PW_TOTALS];
    struct pw_figures *f;
    char line[PW_REPORT_LINE];
    struct pw_cluster *c = make_cluster(4, 52);
    (void)state;
    for (size_t i = 0; i < 4 * (size_t)52; i++) {
        step_rows(c)[i].comm_exposed_ns = 2 * MS;
        step_rows(c)[i].wait_ns = 2 * MS;
    }
    add_wait(c, 3, 1, 20);
    free(c->part_trace);
    c->part_trace = calloc(4 * (size_t)PW_PARTS, sizeof(*c->part_trace));
    assert_non_null(c->part_trace);
    for (size_t r = 0; r < 4; r++) {
        struct pw_row_c_part_trace *setup = &c->part_trace[4 * (PW_PART_SETUP - PW_PART_START) + r];
        struct pw_row_c_part_trace *steps = &c->part_trace[4 * (PW_PART_STEPS - PW_PART_START) + r];
        *setup = (struct pw_row_c_part_trace){.total_ns = 2100 * MS};
        setup->wait_ns = r == 1 ? 0 : 2000 * MS;
        *steps = (struct pw_row_c_part_trace){.total_ns = 5500 * MS, .wait_ns = 100 * MS};
    }
    assert_int_equal(pw_figures_create(c, &f), 0);
    pw_totals_find(f, totals);
    pw_figures_destroy(f);
    assert_int_equal(totals[PW_TOTAL_SETUP].ns, 1500 * MS);
    assert_true(totals[PW_TOTAL_SETUP].is_added);
    assert_int_equal(totals[PW_TOTAL_STEPS].ns, 100 * MS);
    assert_false(totals[PW_TOTAL_STEPS].is_added); /* 1.3 % of the run */
    assert_true(totals[PW_TOTAL_STEPS].is_headline);
    assert_int_equal(totals[PW_TOTAL_TRANSFERS].ns, 0);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "No rank alone held the job back: 50 steps of 150 ms, of which ranks waited "
                     "1.3 % for each other");
    assert_has(line, " On average a rank waited for others for 1.50 s before the first step (20 % "
                     "of the run).");
    pw_cluster_destroy(c);
}

/* Without evidence for a verdict, no rank is a loss. */
static void test_no_rank_is_a_loss_when_the_verdict_is_unknown(void **state)
{
    struct pw_loss found[PW_LOSSES];
    const struct pw_loss *beside[PW_LOSSES_SHOWN];
    struct pw_cluster *c = one_step(4);
    (void)state;
    add_wait(c, 3, 45, 20);
    size_t n = find_losses(c, found);
    assert_int_equal(n, 1);
    assert_string_equal(found[0].kind, "late_rank");
    assert_int_equal(found[0].gain_ns, 45 * MS / 4);
    assert_int_equal(pw_losses_beside(found, n, beside), 1);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_rank),
        cmocka_unit_test(test_no_late_rank),
        cmocka_unit_test(test_ranks_without_a_cpu),
        cmocka_unit_test(test_ranks_without_a_cpu_before_the_steps),
        cmocka_unit_test(test_all_ranks_in_one_call),
        cmocka_unit_test(test_gpus_run_dry),
        cmocka_unit_test(test_data_wait),
        cmocka_unit_test(test_data_wait_of_a_straggler),
        cmocka_unit_test(test_the_headline_begins_with_a_loss_of_all_ranks),
        cmocka_unit_test(test_a_headline_with_many_losses_leaves_no_room),
        cmocka_unit_test(test_kinds_of_losses_compete_by_gain),
        cmocka_unit_test(test_shared_losses_compete_with_the_verdict),
        cmocka_unit_test(test_waits_for_which_no_rank_is_named),
        cmocka_unit_test(test_waits_outside_the_steps_are_told),
        cmocka_unit_test(test_no_rank_is_a_loss_when_the_verdict_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
