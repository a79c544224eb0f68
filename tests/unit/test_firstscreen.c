/* Which evidence a verdict needs, and that a run of which it is missing is never called healthy. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "report/compare/compare.h"
#include "report/content/firstscreen.h"
#include "report/report.h"
#include "test_report_make.h"

static void add_note(struct pw_cluster *c, int32_t rank, const char *what, int64_t count)
{
    c->completeness = realloc(c->completeness, (c->ncompleteness + 1) * sizeof(*c->completeness));
    struct pw_row_c_completeness *row = &c->completeness[c->ncompleteness++];
    *row = (struct pw_row_c_completeness){.rank = rank, .count = count};
    snprintf(row->what, sizeof(row->what), "%s", what);
}

static void assert_begins(const char *text, const char *begin)
{
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
}

static void assert_verdict(const struct pw_cluster *c, enum pw_verdict_kind kind,
                           enum pw_wanting wanting)
{
    struct pw_figures *figures;
    assert_int_equal(pw_figures_create(c, &figures), 0);
    const struct pw_verdict verdict = pw_figures_advice(figures).verdict;
    assert_int_equal(verdict.kind, kind);
    assert_int_equal(verdict.wanting, wanting);
    pw_figures_destroy(figures);
}

static void test_order_of_evidence(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    assert_verdict(c, PW_VERDICT_NONE, PW_WANTING_NOTHING);
    c->clock_error_max_ns = -1;
    c->ranks[1].clock_error_ns = -1;
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_CLOCKS);
    add_straggler(c, straggler(3));
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    add_note(c, -1, "no_communication", 8);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    add_note(c, 2, "unrecorded_spawned", 5);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    add_note(c, 2, "unrecorded_bypassed", 1);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_RECORDED_MPI);
    c->nstragglers = 0;
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_RECORDED_MPI);
    pw_cluster_destroy(c);
}

static void test_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(1, 12);
    assert_verdict(c, PW_VERDICT_SINGLE_RANK, PW_WANTING_NOTHING);
    pw_cluster_destroy(c);
}

/* A straggler whose own calls are missing is none: what it waited reads as its own work. */
static void test_unrecorded_mpi_is_said_first(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(5));
    add_note(c, 0, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_spawned", 3);
    add_note(c, 5, "unrecorded_environment", 1);
    add_note(c, 5, "unrecorded_environment", 1);
    char *text = text_of(c, "", 12), *json = json_of(c), line[1024];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_begins(line, "Cannot tell whether a rank held the job back: MPI calls of 3 of 8 ranks "
                        "were not recorded, because the program took them past");
    assert_has(line, "on 2 of them, and for other reasons");
    assert_begins(text, "Cannot tell whether a rank held the job back: MPI calls of 3 of 8 ranks");
    assert_has(text, "not recorded on 1 rank, because the program was started without");
    assert_has(text, "3 processes started by MPI_Comm_spawn were not recorded");
    assert_has(text, "Not known: MPI calls of 3 of 8 ranks were not recorded");
    assert_has_not(text, "[blocked_off_cpu]");
    assert_has(json, "\"verdict\": \"unknown\"");
    assert_has(json, "\"reason\": \"mpi_not_recorded\"");
    assert_has(json, "\"ranks_mpi_not_recorded\": 3");
    assert_has(json, "\"spawned_not_recorded\": 3");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

/* What is not known of other ranks changes nothing about it, and is said right behind. */
static void test_a_straggler_leads(void **state)
{
    (void)state;
    static const char leads[] =
        "Rank 3 on node-b held back 41 of 50 steps by 18.0 ms each (12 % of a step) in "
        "backward (blocked off the CPU), which cost the job 731 ms. ";
    char line[1024];
    struct pw_cluster *c = make_cluster(8, 52);
    add_straggler(c, straggler(3));
    remove_rank(c, 6);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_begins(line, leads);
    assert_has(line,
               "Other ranks may also have held the job back: 1 of 8 ranks left no usable file.");
    add_note(c, 0, "unrecorded_bypassed", 1);
    add_note(c, 1, "unrecorded_bypassed", 1);
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_begins(line, leads);
    assert_has(line,
               "Other ranks may also have held the job back: MPI calls of 2 of 8 ranks were not "
               "recorded, and 1 left no usable file.");
    assert_has(json, "\"verdict\": \"held_back\"");
    assert_has(json, "Other ranks may also have held the job back: MPI calls of 2 of 8 ranks");
    assert_has(text, "[blocked_off_cpu]");
    assert_has(text, "[mpi_not_recorded]");
    assert_has_not(text, "Not known: MPI calls");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

/* 75 ms are a hundredth of 50 steps of 150 ms. */
static struct pw_row_c_imbalance *add_imbalance(struct pw_cluster *c, const char *verdict,
                                                int32_t nranks, int64_t gain_ns)
{
    c->imbalances = realloc(c->imbalances, (c->nimbalances + 1) * sizeof(*c->imbalances));
    struct pw_row_c_imbalance *row = &c->imbalances[c->nimbalances++];
    *row = (struct pw_row_c_imbalance){.kind = "role",
                                       .name = "stage 3 of 4",
                                       .how = "messages",
                                       .nranks = nranks,
                                       .first_rank = 4,
                                       .ranks = "4-5",
                                       .work_ns = 56 * MS,
                                       .others_ns = 40 * MS,
                                       .ratio = 1.4,
                                       .amount_ratio = -1,
                                       .gain_ns = gain_ns};
    snprintf(row->verdict, sizeof(row->verdict), "%s", verdict);
    return row;
}

static void assert_headline(const struct pw_cluster *c, const char *wanted)
{
    char line[1024];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_string_equal(line, wanted);
}

/* The larger of the losses leads. */
static void test_imbalance(void **state)
{
    (void)state;
    static const char even[] =
        "Uneven work: role \"stage 3 of 4\" (ranks 4-5) has 1.40 times the work of the "
        "others in a step (56.0 ms, others 40.0 ms): an imbalance between "
        "roles, not a slow rank; sharing it out evenly would save 600 ms "
        "(8.0 %).";
    struct pw_cluster *c = make_cluster(8, 52);
    struct pw_row_c_imbalance *row = add_imbalance(c, "imbalance", 2, 74 * MS);
    assert_verdict(c, PW_VERDICT_NONE, PW_WANTING_NOTHING);
    row->gain_ns = 600 * MS;
    assert_verdict(c, PW_VERDICT_IMBALANCE, PW_WANTING_NOTHING);
    assert_headline(c, even);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_has(text, "gain 600 ms");
    assert_has(text, "[unequal_work]");
    assert_has(text, "layers from the heavy stages");
    assert_has_not(text, "expert");
    assert_has_not(text, "[load_imbalance]");
    assert_has_not(text, "No rank held the job back");
    assert_has(json, "\"verdict\": \"imbalance\"");
    assert_has(json, "\"name\": \"stage 3 of 4\"");
    free(text);
    free(json);
    row->work_ns = 154400000;
    row->others_ns = 126600000;
    row->ratio = 1.2196;
    snprintf(row->name, sizeof(row->name), "experts");
    text = text_of(c, "", 12);
    assert_has(text, "1.21 times the work");
    assert_has(text, "experts' capacity");
    assert_has_not(text, "layers");
    free(text);
    add_straggler(c, straggler(3)); /* of 731 ms */
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    row->gain_ns = 732 * MS;
    assert_verdict(c, PW_VERDICT_IMBALANCE, PW_WANTING_NOTHING);
    char line[1024];
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "would save 732 ms (9.8 %). In addition, rank 3 is slow by 18.0 ms.");
    text = text_of(c, "", 12);
    assert_has(text, "[blocked_off_cpu]");
    free(text);
    pw_cluster_destroy(c);
}

static void test_uneven_amounts(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    struct pw_row_c_imbalance *row = add_imbalance(c, "imbalance", 1, 750 * MS);
    *row->name = '\0';
    snprintf(row->kind, sizeof(row->kind), "amount");
    snprintf(row->how, sizeof(row->how), "given");
    snprintf(row->ranks, sizeof(row->ranks), "4");
    row->amount_ratio = 1.5;
    assert_headline(
        c,
        "Uneven work: rank 4 has 1.50 times the amount of work of the others, and takes 1.40 times "
        "as long: an imbalance, not a slow rank; sharing it out evenly would save "
        "750 ms (10 %).");
    snprintf(row->how, sizeof(row->how), "messages");
    assert_headline(
        c, "Uneven work: rank 4 has messages 1.50 times as large as the others', and works 1.40 "
           "times as long, as with more of the data: an imbalance, not a slow rank; "
           "sharing it out evenly would save 750 ms (10 %).");
    row->nranks = 0;
    row->first_rank = -1;
    assert_headline(
        c, "Uneven work: the amounts differ from step to step, the largest of a step is "
           "1.50 times the mean: an imbalance, not a slow rank; sharing it out evenly would "
           "save 750 ms (10 %).");
    pw_cluster_destroy(c);
}

/* 16 ms more in each of 50 steps. */
static void test_a_role_of_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    add_imbalance(c, "cannot_tell", 1, -1);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_PEERS);
    assert_headline(c, "Cannot tell whether rank 4 is slow or has more to do by design: it is the "
                       "only one of its role (stage 3 of 4), and has 1.40 times the work of the "
                       "others in a step (56.0 ms, others 40.0 ms) throughout the run.");
    add_straggler(c, straggler(3));
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    pw_cluster_destroy(c);
    c = make_cluster(8, 52);
    add_imbalance(c, "cannot_tell", 2, 700 * MS); /* all on one host */
    assert_verdict(c, PW_VERDICT_NONE, PW_WANTING_NOTHING);
    pw_cluster_destroy(c);
}

/* No section says that there is no such rank, and the advice about what is wanting comes first. */
static void assert_unknown(struct pw_cluster *c, const char *reason, const char *section)
{
    char text[64], *stragglers = text_of(c, "stragglers", 12), *json = json_of(c);
    struct pw_figures *figures;
    struct pw_advice advice[PW_ADVICE_MAX];
    assert_has(stragglers, section);
    assert_has_not(stragglers, "None in");
    snprintf(text, sizeof(text), "\"reason\": \"%s\"", reason);
    assert_has(json, text);
    assert_int_equal(pw_figures_create(c, &figures), 0);
    struct pw_advice_input input = pw_figures_advice(figures);
    pw_advice_collect(&input, advice);
    assert_string_equal(advice[0].rule, reason);
    pw_figures_destroy(figures);
    free(stragglers);
    free(json);
    pw_cluster_destroy(c);
}

static struct pw_cluster *make_noted(size_t nsteps, const char *what)
{
    struct pw_cluster *c = make_cluster(8, nsteps);
    for (size_t i = 0; i < 8 * nsteps; i++)
        step_rows(c)[i].comm_exposed_ns = 60 * MS; /* there is something that would save time */
    if (what)
        add_note(c, 1, what, 20);
    return c;
}

static void test_sections_agree(void **state)
{
    (void)state;
    struct pw_cluster *c = make_noted(52, NULL);
    add_imbalance(c, "cannot_tell", 1, -1);
    assert_unknown(c, "no_peers", "Cannot tell: rank 4 is the only one of its role.");
    c = make_noted(52, NULL);
    c->clock_error_max_ns = c->ranks[7].clock_error_ns = -1;
    assert_unknown(c, "clocks_not_aligned", "Not known: the ranks' clocks");
    c = make_noted(52, "requests_polled");
    for (size_t i = 0; i < c->nstep_rows * c->nrank_rows; i++)
        step_rows(c)[i].comm_ns = 135 * MS; /* 60 ms of it are exposed */
    assert_unknown(c, "requests_polled", "Not known: ranks poll for their requests");
    assert_unknown(make_noted(4, NULL), "few_steps", "Not known: only 2 steps were measured");
    assert_unknown(make_noted(3, NULL), "few_steps", "Not known: only 1 step was measured");
    assert_unknown(make_noted(0, NULL), "no_steps", "Not known: without steps");
    assert_unknown(make_noted(52, "nccl_untimed"), "nccl_untimed",
                   "Not known: only the enqueueing of 20");
    assert_unknown(make_noted(52, "nccl_unplaced"), "nccl_unplaced",
                   "Not known: the operations of 20 NCCL kernels");
    assert_unknown(make_noted(52, "no_communication"), "no_communication", "Not known: no commun");
    assert_unknown(make_noted(52, "unrecorded_static"), "mpi_not_recorded", "Not known: MPI calls");
    c = make_noted(52, NULL);
    remove_rank(c, 2);
    assert_unknown(c, "ranks_missing", "Not known: 1 of 8 ranks left no usable file");
}

static void test_silence_is_no_health(void **state)
{
    (void)state;
    struct pw_row_c_efficiency efficiency = {.parallel_efficiency = 0.99,
                                             .communication_efficiency = 1};
    struct pw_cluster *c = make_cluster(8, 52);
    struct pw_figures *figures;
    c->efficiency = &efficiency;
    c->nefficiency = 1;
    assert_int_equal(pw_figures_create(c, &figures), 0);
    assert_true(figures->wait_share >= 0 && figures->trace_mean.comm_ns >= 0);
    assert_non_null(pw_figures_efficiency(figures));
    pw_figures_destroy(figures);
    add_note(c, -1, "no_communication", 8);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_begins(text, "Cannot tell whether a rank held the job back: no communication");
    assert_has_not(text, "No rank held");
    assert_has_not(text, "parallel efficiency:");
    assert_has(json, "\"reason\": \"no_communication\"");
    assert_has(json, "\"efficiency\": null");
    assert_int_equal(pw_figures_create(c, &figures), 0);
    for (size_t r = 0; r < figures->nranks; r++) {
        assert_true(figures->trace[r].wait_ns == -1 && figures->trace[r].comm_ns == -1);
        assert_true(figures->trace[r].own_ns >= 0); /* steps alone show a longer one */
    }
    assert_true(figures->wait_share < 0 && figures->trace_mean.comm_exposed_ns == -1);
    pw_figures_destroy(figures);
    c->efficiency = NULL;
    c->nefficiency = 0;
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

/* One rank whose communication passed by unseen: it may be the one that is slow. */
static void test_silence_of_one_rank(void **state)
{
    (void)state;
    struct pw_row_c_efficiency efficiency = {.parallel_efficiency = 0.99};
    struct pw_cluster *c = make_cluster(8, 52);
    struct pw_figures *figures;
    char line[1024];
    add_note(c, 2, "no_communication", 1);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    char *text = text_of(c, "", 12);
    assert_begins(text, "Cannot tell whether a rank held the job back: no communication of 1 of 8");
    free(text);
    c->efficiency = &efficiency;
    c->nefficiency = 1;
    assert_int_equal(pw_figures_create(c, &figures), 0);
    assert_null(pw_figures_efficiency(figures));
    assert_true(figures->trace[2].wait_ns == -1 && figures->trace[1].wait_ns >= 0);
    pw_figures_destroy(figures);
    c->efficiency = NULL;
    c->nefficiency = 0;
    add_straggler(c, straggler(3));
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "Other ranks may also have held the job back: "
                     "communication of 1 of 8 ranks was not recorded.");
    c->stragglers[0].rank = 2; /* its waits look like its own work */
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    pw_cluster_destroy(c);
}

/* The straggler's own file may be the one that is missing. */
static void test_missing_ranks_are_no_health(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(8, 52);
    for (size_t i = 0; i < 8 * 52; i++)
        step_rows(c)[i].wait_ns = 30 * MS;
    remove_rank(c, 3);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_ALL_RANKS);
    char *text = text_of(c, "", 12), *json = json_of(c);
    assert_begins(text, "Cannot tell whether a rank held the job back: 1 of 8 ranks left no usable "
                        "file, and");
    assert_has(text, "8 ranks (7 recorded) on 2 known hosts for");
    assert_has(text, "not known: rank 3;");
    assert_has(text, "Not known: 1 of 8 ranks left no usable file");
    assert_has_not(text, "No rank held");
    assert_has_not(text, "wait_roams");
    assert_has(json, "\"verdict\": \"unknown\"");
    assert_has(json, "\"reason\": \"ranks_missing\"");
    free(text);
    free(json);
    for (size_t r = 1; r < 8; r++)
        remove_rank(c, r);
    text = text_of(c, "", 12);
    assert_begins(text, "Cannot tell whether a rank held the job back: 7 of 8 ranks left no usable "
                        "file, and");
    assert_has_not(text, "wait_roams");
    free(text);
    remove_rank(c, 0);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_RANKS);
    pw_cluster_destroy(c);
}

/* 24 ms in each of 20 steps are 480 ms, 6.3 % of 7.6 s. */
static void test_all_ranks_slower(void **state)
{
    (void)state;
    char line[1024];
    struct pw_cluster *c = make_cluster(8, 52);
    c->ntrends = 1;
    c->trends = calloc(1, sizeof(*c->trends));
    c->trends[0] = (struct pw_row_c_trend){.kind = PW_SLOWING_STRETCH,
                                           .first_step = 22,
                                           .last_step = 41,
                                           .steps = 20,
                                           .excess_ns = 24 * MS,
                                           .cost_ns = 480 * MS,
                                           .share = 480.0 / 7600,
                                           .phase = PW_PHASE_FORWARD,
                                           .confidence = 0.99};
    assert_verdict(c, PW_VERDICT_ALL_SLOWER, PW_WANTING_NOTHING);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_string_equal(line,
                        "All ranks were slower in steps 22-41: by 24.0 ms in each of 20 steps, "
                        "480 ms in all (6.3 % of the run), most in forward; no rank alone held "
                        "the job back.");
    char *json = json_of(c), *text = text_of(c, "", 12);
    assert_has(json, "\"verdict\": \"all_slower\"");
    assert_has(json, "\"cost_ns\": 480000000");
    assert_has(text, "[all_slower]");
    assert_has_not(text, "No rank held the job back");
    free(json);
    free(text);
    add_straggler(c, straggler(3)); /* 731 ms */
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    json = json_of(c);
    assert_has(json, "\"kind\": \"all_slower\""); /* of the highlights */
    free(json);
    c->stragglers[0].gain_ns = 479 * MS;
    assert_verdict(c, PW_VERDICT_ALL_SLOWER, PW_WANTING_NOTHING);
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_has(line, "most in forward; 1 rank held the job back, too, which cost less.");
    c->trends[0].kind = PW_SLOWING_WARM_UP;
    assert_verdict(c, PW_VERDICT_HELD_BACK, PW_WANTING_NOTHING);
    c->nstragglers = 0;
    assert_verdict(c, PW_VERDICT_NONE, PW_WANTING_NOTHING);
    c->trends[0].kind = PW_SLOWING_STEADY;
    assert_int_equal(pw_report_headline(c, line, sizeof(line)), 0);
    assert_begins(line,
                  "All ranks became slower steadily from step 22 to 41: the last of 20 steps took "
                  "24.0 ms more than the first, 480 ms in all");
    add_note(c, -1, "no_communication", 8);
    assert_verdict(c, PW_VERDICT_UNKNOWN, PW_WANTING_COMMUNICATION);
    pw_cluster_destroy(c);
}

static void test_comparison_with_one_rank(void **state)
{
    (void)state;
    struct pw_cluster *a = make_cluster(1, 52), *b = make_cluster(8, 52);
    struct pw_comparison *made;
    add_note(a, 0, "unrecorded_static", 1);
    assert_int_equal(pw_compare(a, b, 0.05, &made), 0);
    assert_has(made->unlike, "1 rank, then 8; 1 host, then 2; ");
    assert_has(made->unlike, "MPI calls of 1 rank of the first run were not recorded");
    pw_comparison_destroy(made);
    pw_cluster_destroy(a);
    pw_cluster_destroy(b);
}

static void assert_basis(const struct pw_cluster *c, const char *wanted)
{
    struct pw_figures *figures;
    char line[PW_HEADLINE_BYTES];
    assert_int_equal(pw_figures_create(c, &figures), 0);
    pw_basis_write(figures, line, sizeof(line));
    assert_string_equal(line, wanted);
    pw_figures_destroy(figures);
}

/* Only what was seen is marked as seen. */
static void test_what_the_verdict_rests_on(void **state)
{
    (void)state;
    struct pw_cluster *c = make_cluster(2, 52);
    c->steps_inferred = 0;
    c->clock_error_max_ns = -1;
    c->ranks[1].clock_error_ns = -1;
    assert_basis(c, "? collectives not known; ✓ steps marked; ? load of the hosts not "
                    "known; ✓ all 2 ranks; ? clock error not known");
    c->ranks[1].clock_error_ns = 0;
    c->clock_error_max_ns = 3 * MS;
    c->collective_stats = calloc(2, sizeof(*c->collective_stats));
    assert_non_null(c->collective_stats);
    c->ncollective_stats = 2;
    c->collective_stats[0].count = 1;
    c->collective_stats[1].count = 40;
    c->collective_stats[1].source = PW_SOURCE_NCCL;
    add_parts(c);
    for (size_t i = 0; i < (size_t)2 * PW_PART_END; i++)
        c->part_trace[i].ready_ns = 0;
    c->steps_inferred = 1;
    assert_basis(c, "✓ collectives seen: MPI 1, NCCL 40; ! steps inferred from repeated calls; ✓ "
                    "hosts not overloaded; ✓ all 2 ranks; ✓ clock error up to 3.0 ms");
    c->utilisation = calloc(2, sizeof(*c->utilisation));
    assert_non_null(c->utilisation);
    c->nutilisation = 2; /* what the advice "oversubscribed" goes by */
    c->utilisation[1].rank = 1;
    c->utilisation[1].runq_share = 0.5;
    strcpy(c->utilisation[0].hostname, "node0");
    strcpy(c->utilisation[1].hostname, "node0");
    assert_basis(c, "✓ collectives seen: MPI 1, NCCL 40; ! steps inferred from repeated calls; ! 1 "
                    "of 2 ranks of node0 wait for a CPU; ✓ all 2 ranks; ✓ clock error up to 3.0 "
                    "ms");
    /* That of MPI_Init and MPI_Finalize may be polling. */
    for (size_t i = 0; i < (size_t)2 * PW_PART_END; i++) {
        c->part_trace[i].ready_ns = c->part_trace[i].total_ns;
        c->part_trace[i].wait_ns = 0;
    }
    c->clock_error_max_ns = 16 * MS; /* of steps of 150 ms */
    c->ranks[0].dropped_events = 7;
    assert_basis(c, "✓ collectives seen: MPI 1, NCCL 40; ! steps inferred from repeated calls; ! "
                    "hosts overloaded: ranks without a CPU for 100 % of the steps; ! 7 events "
                    "dropped; ! clock error up to 16.0 ms, too much to compare ranks");
    add_note(c, -1, "no_communication", 2);
    c->ranks[1].present = 0;
    char *text = text_of(c, "memory", 12), *json = json_of(c);
    assert_has(text, "\nRests on: ✗ no communication seen; ! steps inferred");
    assert_has(text, "✗ 1 of 2 ranks");
    assert_has(json, "\"mark\": \"missing\"");
    free(text);
    free(json);
    pw_cluster_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_evidence),
        cmocka_unit_test(test_what_the_verdict_rests_on),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_unrecorded_mpi_is_said_first),
        cmocka_unit_test(test_a_straggler_leads),
        cmocka_unit_test(test_imbalance),
        cmocka_unit_test(test_uneven_amounts),
        cmocka_unit_test(test_a_role_of_one_rank),
        cmocka_unit_test(test_sections_agree),
        cmocka_unit_test(test_silence_is_no_health),
        cmocka_unit_test(test_silence_of_one_rank),
        cmocka_unit_test(test_all_ranks_slower),
        cmocka_unit_test(test_comparison_with_one_rank),
        cmocka_unit_test(test_missing_ranks_are_no_health),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
