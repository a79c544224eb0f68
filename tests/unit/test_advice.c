/* Every rule of the table fires on a job with its condition, and on no other job. Each case changes
 * a job in which nothing is wrong: once enough, and once just not enough. */
#include "test_advice_world.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

/* ---- how to make each rule's condition true (`enough`), or just not ---- */

/* For each rule for stragglers: the cause and phase that it takes, and those that it does not. */
static const struct {
    const char *rule;
    int cause, phase, other_cause, other_phase;
    const char *says;
} straggler_cases[] = {
    {"data_starvation", PW_CAUSE_DATA_STARVATION, PW_PHASE_DATA, PW_CAUSE_FILE_IO, PW_PHASE_DATA,
     "Rank 3 (in data) waits for its data"},
    {"file_io", PW_CAUSE_FILE_IO, PW_PHASE_FORWARD, PW_CAUSE_PAGE_FAULTS, PW_PHASE_FORWARD,
     "move it to a thread"},
    {"child_process", PW_CAUSE_CHILD_PROCESS, PW_PHASE_FORWARD, PW_CAUSE_FILE_IO, PW_PHASE_FORWARD,
     "processes"},
    {"garbage_collection", PW_CAUSE_GARBAGE_COLLECTION, PW_PHASE_DATA, PW_CAUSE_MORE_CPU_WORK,
     PW_PHASE_FORWARD, "gc.freeze() after set-up"},
    {"page_faults", PW_CAUSE_PAGE_FAULTS, PW_PHASE_OTHER, PW_CAUSE_FILE_IO, PW_PHASE_OTHER,
     "Rank 3 (outside any phase) is held up"},
    {"cpu_contention", PW_CAUSE_CPU_CONTENTION, PW_PHASE_FORWARD, PW_CAUSE_CGROUP_THROTTLING,
     PW_PHASE_FORWARD, "pin ranks to cores"},
    {"cgroup_throttling", PW_CAUSE_CGROUP_THROTTLING, PW_PHASE_NONE, PW_CAUSE_CPU_CONTENTION,
     PW_PHASE_NONE, "Rank 3 is stopped"},
    {"gpu_clocks_throttled", PW_CAUSE_GPU_CLOCKS_THROTTLED, PW_PHASE_FORWARD,
     PW_CAUSE_SLOWER_KERNELS, PW_PHASE_FORWARD,
     "Rank 3 (in forward) has a GPU whose clocks are held down"},
    {"host_bound", PW_CAUSE_HOST_BOUND, PW_PHASE_BACKWARD, PW_CAUSE_DATA_STARVATION,
     PW_PHASE_BACKWARD, "launches kernels late"},
    {"slower_kernels", PW_CAUSE_SLOWER_KERNELS, PW_PHASE_FORWARD, PW_CAUSE_MORE_GPU_WORK,
     PW_PHASE_FORWARD, "for the same kernels"},
    {"more_gpu_work", PW_CAUSE_MORE_GPU_WORK, PW_PHASE_FORWARD, PW_CAUSE_MORE_CPU_WORK,
     PW_PHASE_FORWARD, "has more GPU work"},
    {"blocked_off_cpu_data", PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_DATA, PW_CAUSE_BLOCKED_OFF_CPU,
     PW_PHASE_FORWARD, "sleeps while it gets data"},
    {"blocked_off_cpu", PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_FORWARD, PW_CAUSE_BLOCKED_OFF_CPU,
     PW_PHASE_DATA, "rank 3: 18.0 ms more than the others in 41 steps (4-50)"},
    {"slow_data", PW_CAUSE_UNKNOWN, PW_PHASE_DATA, PW_CAUSE_UNKNOWN, PW_PHASE_FORWARD,
     "Compare its shard"},
    {"more_cpu_work", PW_CAUSE_MORE_CPU_WORK, PW_PHASE_FORWARD, PW_CAUSE_UNKNOWN, PW_PHASE_FORWARD,
     "batch size"},
    {"unknown_optimizer", PW_CAUSE_UNKNOWN, PW_PHASE_OPTIMIZER, PW_CAUSE_UNKNOWN, PW_PHASE_FORWARD,
     "checkpoints"},
    {"unknown", PW_CAUSE_UNKNOWN, PW_PHASE_FORWARD, PW_CAUSE_MORE_CPU_WORK, PW_PHASE_FORWARD,
     "--level 2"},
};
enum { STRAGGLER_CASES = sizeof(straggler_cases) / sizeof(straggler_cases[0]) };

static void ranks_missing(struct world *w, int enough)
{
    w->c->ranks[2].present = !enough;
}

static void note(struct world *w, int32_t rank, const char *what)
{
    w->c->completeness =
        realloc(w->c->completeness, (w->c->ncompleteness + 1) * sizeof(*w->c->completeness));
    struct pw_row_c_completeness *row = &w->c->completeness[w->c->ncompleteness++];
    *row = (struct pw_row_c_completeness){.rank = rank, .count = 1};
    snprintf(row->what, sizeof(row->what), "%s", what);
}

/* Spawned processes are no ranks of the job. */
static void mpi_not_recorded(struct world *w, int enough)
{
    note(w, 1, "unrecorded_spawned");
    note(w, 1, enough ? "unrecorded_preload_replaced" : "unrecorded_by_nobody_known");
    note(w, 1, enough ? "unrecorded_environment" : "steps_missing");
    note(w, 3, enough ? "unrecorded_preload_replaced" : "unrecorded");
}

static void no_communication(struct world *w, int enough)
{
    note(w, -1, enough ? "no_communication" : "no_communications");
}

static void ranks_unclosed(struct world *w, int enough)
{
    w->c->ranks[2].complete = enough ? 2 : 1;
}

static void events_dropped(struct world *w, int enough)
{
    w->c->ranks[1].dropped_events = enough;
}

static void ring_waits(struct world *w, int enough)
{
    w->c->completeness = calloc(1, sizeof(*w->c->completeness));
    w->c->ncompleteness = 1;
    w->c->completeness[0].rank = 2;
    strcpy(w->c->completeness[0].what, enough ? "ring_wait" : "steps_missing");
    strcpy(w->c->completeness[0].detail, "waited 1.2 s in all");
}

/* 100 calls on 4 ranks. */
static void nccl_untimed(struct world *w, int enough)
{
    w->c->collective_stats = calloc(1, sizeof(*w->c->collective_stats));
    w->c->ncollective_stats = 1;
    w->c->collective_stats[0] =
        (struct pw_row_c_collective_stat){.source = PW_SOURCE_NCCL, .count = 100, .nranks = 4};
    w->c->completeness = calloc(1, sizeof(*w->c->completeness));
    w->c->ncompleteness = 1;
    w->c->completeness[0].count = enough ? 200 : 199;
    strcpy(w->c->completeness[0].what, "nccl_untimed");
}

/* 400 operations, all with times, and more that ran in graphs. */
static void nccl_unplaced(struct world *w, int enough)
{
    nccl_untimed(w, 1);
    w->c->completeness[0].count = enough ? 400 : 399;
    strcpy(w->c->completeness[0].what, "nccl_unplaced");
}

static void no_steps(struct world *w, int enough)
{
    if (enough)
        w->c->nstep_rows = 0;
}

static void steps_inferred(struct world *w, int enough)
{
    w->c->steps_inferred = enough;
}

static void few_steps(struct world *w, int enough)
{
    w->c->nstep_rows = enough ? 11 : 12;
}

static void clock_coarse(struct world *w, int enough)
{
    w->c->clock_error_max_ns = 7500000 + enough;
}

static void clocks_not_aligned(struct world *w, int enough)
{
    w->c->ranks[2].clock_error_ns = enough ? -1 : 0;
}

/* Half of a step of 150 ms. */
static void requests_polled(struct world *w, int enough)
{
    note(w, -1, "requests_polled");
    w->mean.comm_ns = w->mean.comm_exposed_ns + 75 * MS - 1 + enough;
}

static void slow_host(struct world *w, int enough)
{
    w->c->hosts_slow = calloc(1, sizeof(*w->c->hosts_slow));
    w->c->nhosts_slow = (size_t)enough;
    w->c->hosts_slow[0] = (struct pw_row_c_host){
        .hostname = "node-b", .nranks = 2, .slow_ranks = 2, .excess_ns = MS, .gain_ns = 40 * MS};
}

static void all_slower(struct world *w, int enough)
{
    w->c->trends = calloc(1, sizeof(*w->c->trends));
    w->c->ntrends = 1;
    w->c->trends[0] =
        (struct pw_row_c_trend){.kind = enough ? PW_SLOWING_STRETCH : PW_SLOWING_WARM_UP,
                                .first_step = 4,
                                .last_step = 9,
                                .steps = 6,
                                .excess_ns = 20 * MS,
                                .cost_ns = 120 * MS,
                                .share = 0.016};
}

static void slow_link(struct world *w, int enough)
{
    w->c->links_slow = calloc(1, sizeof(*w->c->links_slow));
    w->c->nlinks_slow = (size_t)enough;
    w->c->links_slow[0] = (struct pw_row_c_link){
        .src = 1, .dst = 2, .messages = 100, .transfer_ns = 3 * MS, .others_ns = MS};
}

/* 5 % of 7.5 s are 375 ms a rank, 1.5 s in all. */
static void late_senders(struct world *w, int enough)
{
    w->c->p2p = calloc(3, sizeof(*w->c->p2p));
    w->c->np2p = 3;
    w->c->p2p[0] = (struct pw_row_c_p2p){.src = 0, .dst = 1, .late_sender_ns = 500 * MS};
    w->c->p2p[1] = (struct pw_row_c_p2p){.src = 2, .dst = 1, .late_sender_ns = 500 * MS};
    w->c->p2p[2] = (struct pw_row_c_p2p){.src = 2, .dst = 3, .late_sender_ns = 500 * MS + enough};
}

static void set_balance(struct world *w, double balance)
{
    w->c->efficiency = calloc(1, sizeof(*w->c->efficiency));
    w->c->nefficiency = 1;
    w->c->efficiency->load_balance = balance;
}

static void load_imbalance(struct world *w, int enough)
{
    set_balance(w, enough ? 0.89 : 0.9);
}

static void unequal_work(struct world *w, int enough)
{
    world_set_imbalance(w, "imbalance", 75 * MS - 1 + enough);
}

static void no_peers(struct world *w, int enough)
{
    world_set_imbalance(w, "cannot_tell", 75 * MS - 1 + enough);
}

static void wait_roams(struct world *w, int enough)
{
    w->mean.wait_ns = 15 * MS + enough;
}

static void transfer_exposed(struct world *w, int enough)
{
    w->mean.comm_exposed_ns = 40 * MS + enough;
}

static void gpus_idle(struct world *w, int enough)
{
    w->c->gpu_ranks = calloc(RANKS, sizeof(*w->c->gpu_ranks));
    w->c->ngpu_ranks = RANKS;
    for (int32_t r = 0; r < RANKS; r++)
        w->c->gpu_ranks[r] = (struct pw_row_c_gpu_rank){
            .rank = r, .span_ns = 7500 * MS, .idle_host_ns = 750 * MS - 1 + enough};
}

/* The run is as long as world_create() makes it: 30 s. */
static void mpi_call_long(struct world *w, int enough)
{
    w->c->npart_trace = PW_PART_END * RANKS;
    w->c->part_trace = calloc(w->c->npart_trace, sizeof(*w->c->part_trace));
    for (size_t r = 0; r < RANKS; r++) {
        w->c->ranks[r].run_ns = 30000 * MS;
        w->c->part_trace[(PW_PART_FINALIZE - PW_PART_START) * RANKS + r].total_ns =
            1500 * MS - 1 + enough;
    }
}

/* 10 % of 7.5 s are 750 calls of 1 ms. */
static void small_collectives(struct world *w, int enough)
{
    w->c->collective_stats = calloc(2, sizeof(*w->c->collective_stats));
    w->c->ncollective_stats = 2;
    w->c->collective_stats[0] = (struct pw_row_c_collective_stat){.op = PW_OP_Allreduce,
                                                                  .count = 750 + enough,
                                                                  .bytes = 750 * 1024,
                                                                  .nranks = 4,
                                                                  .transfer_mean_ns = MS,
                                                                  .busbw_p50 = 1e6};
    w->c->collective_stats[1] = (struct pw_row_c_collective_stat){.op = PW_OP_Allreduce,
                                                                  .count = 5,
                                                                  .bytes = 5 << 20,
                                                                  .nranks = 4,
                                                                  .transfer_mean_ns = MS,
                                                                  .busbw_p50 = 1e9};
}

static void data_processing_slow(struct world *w, int enough)
{
    world_add_queues(w, enough ? 0.31 : 0.3, 0);
}

static void data_transfer_slow(struct world *w, int enough)
{
    world_add_queues(w, 0, enough);
}

/* 5 % of 150 ms. */
static void data_wait(struct world *w, int enough)
{
    for (size_t r = 0; r < 2; r++)
        w->trace[r].data_wait_ns = 7500000 + 1;
    w->trace[1].data_wait_ns -= !enough;
}

static void oversubscribed(struct world *w, int enough)
{
    w->c->utilisation = calloc(RANKS, sizeof(*w->c->utilisation));
    w->c->nutilisation = RANKS;
    for (int32_t r = 0; r < RANKS; r++) {
        w->c->utilisation[r].rank = r;
        strcpy(w->c->utilisation[r].hostname, w->c->ranks[r].hostname);
        w->c->utilisation[r].runq_share = r == 3 && enough ? 0.3 : 0.1;
    }
}

static void memory_growth(struct world *w, int enough)
{
    w->c->memory = calloc(1, sizeof(*w->c->memory));
    w->c->nmemory = 1;
    w->c->memory[0] = (struct pw_row_c_memory){.rank = 2,
                                               .what = "rss",
                                               .device = -1,
                                               .peak_bytes = 100 << 20,
                                               .steps = 50,
                                               .fit = 0.95,
                                               .bytes_per_step = 1 << 20,
                                               .later_bytes_per_step = enough ? 1 << 20 : 1 << 18};
}

static void profiling_costly(struct world *w, int enough)
{
    w->c->ranks[0].overhead_ns = 4 * 152 * MS - 3 * MS + enough; /* 2 % of 4 x 7.6 s */
}

static void one_rank(struct world *w, int enough)
{
    if (!enough)
        return;
    w->c->nranks = 1;
    w->c->nrank_rows = 1;
}

static const struct {
    const char *rule;
    void (*change)(struct world *w, int enough);
    const char *says; /* in its text or its evidence */
} cases[] = {
    {"mpi_not_recorded", mpi_not_recorded, "LD_PRELOAD was replaced"},
    {"no_communication", no_communication, "4 ranks, and none of their collectives"},
    {"ranks_missing", ranks_missing, "3 of 4 ranks"},
    {"ranks_unclosed", ranks_unclosed, "1 file was not closed"},
    {"events_dropped", events_dropped, "--ring-size"},
    {"ring_waits", ring_waits, "rank 2 waited 1.2 s"},
    {"nccl_untimed", nccl_untimed, "200 NCCL operations"},
    {"nccl_unplaced", nccl_unplaced, "400 NCCL kernels"},
    {"no_steps", no_steps, "profwrap_step"},
    {"steps_inferred", steps_inferred, "50 steps were found"},
    {"few_steps", few_steps, "9 steps were measured"},
    {"clock_coarse", clock_coarse, "clock error up to 7.5 ms, steps of 150 ms"},
    {"clocks_not_aligned", clocks_not_aligned, "of 1 of 4 ranks is not known"},
    {"requests_polled", requests_polled,
     "open for 95.0 ms of a step, of which ranks are in calls that block for 20.0 ms"},
    {"all_slower", all_slower, "All ranks were slower in steps 4-9: by 20.0 ms in each of 6 steps"},
    {"slow_host", slow_host, "2 of 2 ranks of node-b"},
    {"slow_link", slow_link, "from rank 1 to 2: 3.0 ms a message, others 1.0 ms"},
    {"late_senders", late_senders, "most waits are for rank 2 (1.00 s)"},
    {"load_imbalance", load_imbalance, "89 %"},
    {"unequal_work", unequal_work, "1.50 times the work of the others"},
    {"no_peers", no_peers, "it is the only one of its role (heavy)"},
    {"wait_roams", wait_roams, "the delay moves"},
    {"transfer_exposed", transfer_exposed, "20 % of a step"},
    {"mpi_call_long", mpi_call_long, "1.50 s in MPI_Finalize on every rank, 5 % of the run"},
    {"gpus_idle", gpus_idle, "10 % of the GPUs' time"},
    {"small_collectives", small_collectives, "at 1.0 MB/s, the best measured is 1.0 GB/s"},
    {"data_processing_slow", data_processing_slow, "'map decode', which fills 'ready' (20 % full)"},
    {"data_transfer_slow", data_transfer_slow, "in 1 of 50 steps (4-40) when it was needed"},
    {"data_wait", data_wait, "2 of 4 ranks wait"},
    {"oversubscribed", oversubscribed, "rank 3 for 30 % of its time"},
    {"memory_growth", memory_growth, "rank 2: rss memory grows by 1.0 MiB a step"},
    {"profiling_costly", profiling_costly, "--sample-hz"},
    {"one_rank", one_rank, "mpirun -np N"},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* `enough`: the rule is to fire, and to say that. */
static void assert_rule(const struct world *w, const char *rule, int enough, const char *says)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    const struct pw_advice *found = world_find(advice, world_collect(w, advice), rule);
    if (enough && !found)
        fail_msg("%s does not fire", rule);
    if (!enough && found)
        fail_msg("%s fires: %s", rule, found->evidence);
    if (found && !strstr(found->text, says) && !strstr(found->evidence, says))
        fail_msg("%s does not say '%s' but '%s' and '%s'", rule, says, found->text,
                 found->evidence);
}

static void change_world(struct world *w, size_t i, int enough)
{
    cases[i].change(w, enough);
    assert_rule(w, cases[i].rule, enough, cases[i].says);
}

static void add_case_straggler(struct world *w, size_t i, int enough)
{
    world_add_straggler(w, enough ? straggler_cases[i].cause : straggler_cases[i].other_cause,
                        enough ? straggler_cases[i].phase : straggler_cases[i].other_phase);
    assert_rule(w, straggler_cases[i].rule, enough, straggler_cases[i].says);
}

/* Each of `n` cases in a world of its own, once with too little evidence and once with enough. */
static void check_cases(size_t n, void (*check)(struct world *w, size_t i, int enough))
{
    for (size_t i = 0; i < n; i++)
        for (int enough = 0; enough < 2; enough++) {
            struct world w;
            world_make(&w);
            check(&w, i, enough);
            pw_cluster_destroy(w.c);
        }
}

static void test_each_rule_fires_and_does_not(void **state)
{
    (void)state;
    check_cases(CASES, change_world);
}

static void test_each_straggler_rule_fires_and_does_not(void **state)
{
    (void)state;
    check_cases(STRAGGLER_CASES, add_case_straggler);
}

static void test_no_advice_for_a_healthy_run(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    assert_int_equal(world_collect(&w, advice), 1);
    assert_string_equal(advice[0].rule, "none");
    pw_cluster_destroy(w.c);
}

/* What saves most comes first; what saves nothing that is known, last. */
static void test_order_and_rows(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    steps_inferred(&w, 1);                                               /* not known */
    slow_host(&w, 1);                                                    /* 40 ms */
    slow_link(&w, 1);                                                    /* 200 ms */
    world_add_straggler(&w, PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_FORWARD); /* 731 ms */
    w.c->stragglers[0].lost_ns = 738 * MS;
    size_t n = world_collect(&w, advice);
    assert_int_equal(n, 4);
    assert_string_equal(advice[0].rule, "blocked_off_cpu");
    assert_int_equal(advice[0].saves_ns, 731 * MS);
    assert_string_equal(advice[1].rule, "slow_link");
    assert_int_equal(advice[1].saves_ns, 200 * MS);
    assert_string_equal(advice[2].rule, "slow_host");
    assert_string_equal(advice[3].rule, "steps_inferred");
    assert_int_equal(advice[3].saves_ns, -1);

    struct pw_advice_input in = {.cluster = w.c, .trace = w.trace, .mean = w.mean};
    pw_advice_prepare(&in);
    struct pw_row_c_advice row = pw_advice_row(&in, &advice[1]);
    assert_string_equal(row.ranks, "1, 2");
    assert_string_equal(row.docs, "docs/advice.md#slow_link");
    assert_true(row.share > 0.0266 && row.share < 0.0267); /* 200 ms of 7.5 s */
    advice[1].saves_ns = 7500 * MS;
    assert_true(pw_advice_share(&in, &advice[1]) == 1);
    advice[1].saves_ns++; /* some of it is saved outside of the steps */
    assert_true(pw_advice_share(&in, &advice[1]) == -1);
    w.c->hosts_slow[0].lost_ns = 369 * MS; /* the headline names the host */
    assert_int_equal(world_collect(&w, advice), 4);
    assert_string_equal(advice[1].rule, "slow_host");
    pw_cluster_destroy(w.c);
}

/* Half of the ranks' time is without a CPU. */
static void lack_cpus(struct world *w)
{
    w->c->part_trace = calloc((size_t)RANKS * PW_PART_END, sizeof(*w->c->part_trace));
    assert_non_null(w->c->part_trace);
    for (size_t i = 0; i < (size_t)RANKS * PW_PART_END; i++) {
        w->c->part_trace[i].total_ns = 100 * MS;
        w->c->part_trace[i].ready_ns = 50 * MS;
    }
}

/* A small loss that the headline names comes before larger ones, and so do missing CPUs, which make
 * the others larger. */
static void test_what_the_headline_names_comes_first(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    late_senders(&w, 1); /* not less */
    world_add_straggler(&w, PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_FORWARD);
    for (size_t i = 0; i < w.c->nwhatif; i++)
        w.c->whatif[i].gain_ns = 5 * MS;
    w.c->stragglers[0].gain_ns = 5 * MS;
    oversubscribed(&w, 1); /* not known */
    size_t n = world_collect(&w, advice);
    assert_int_equal(n, 3);
    assert_string_equal(advice[0].rule, "blocked_off_cpu");
    assert_int_equal(advice[0].saves_ns, 5 * MS);
    assert_string_equal(advice[1].rule, "late_senders"); /* few ranks lack a CPU */
    assert_string_equal(advice[2].rule, "oversubscribed");
    lack_cpus(&w);
    assert_int_equal(world_collect(&w, advice), 3);
    assert_string_equal(advice[0].rule, "blocked_off_cpu");
    assert_string_equal(advice[1].rule, "oversubscribed");
    assert_string_equal(advice[2].rule, "late_senders");
    w.c->nstragglers = 0;
    assert_int_equal(world_collect(&w, advice), 2);
    assert_string_equal(advice[0].rule, "oversubscribed");
    pw_cluster_destroy(w.c);
}

/* Names and texts of files that fill their fields, with no NUL at the end. */
static void test_full_fields(void **state)
{
    (void)state;
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    world_make(&w);
    data_processing_slow(&w, 1);
    slow_host(&w, 1);
    memory_growth(&w, 1);
    oversubscribed(&w, 1);
    ring_waits(&w, 1);
    world_add_straggler(&w, PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_FORWARD);
    for (size_t i = 0; i < w.c->nqueues; i++) {
        memset(w.c->queues[i].queue, 'q', sizeof(w.c->queues[i].queue));
        memset(w.c->queues[i].filled_by, 'f', sizeof(w.c->queues[i].filled_by));
    }
    memset(w.c->hosts_slow[0].hostname, 'h', 64);
    memset(w.c->memory[0].what, 'm', 16);
    memset(w.c->completeness[0].detail, 'd', 256);
    memset(w.c->stragglers[0].evidence, 'e', 256);
    for (size_t r = 0; r < RANKS; r++)
        memset(w.c->utilisation[r].hostname, 'u', 64);
    size_t n = world_collect(&w, advice);
    for (size_t i = 0; i < n; i++) {
        assert_true(memchr(advice[i].text, '\0', sizeof(advice[i].text)) != NULL);
        assert_true(memchr(advice[i].evidence, '\0', sizeof(advice[i].evidence)) != NULL);
    }
    pw_cluster_destroy(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_rule_fires_and_does_not),
        cmocka_unit_test(test_each_straggler_rule_fires_and_does_not),
        cmocka_unit_test(test_no_advice_for_a_healthy_run),
        cmocka_unit_test(test_order_and_rows),
        cmocka_unit_test(test_what_the_headline_names_comes_first),
        cmocka_unit_test(test_full_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
