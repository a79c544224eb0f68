/* Advice speaks of training only to programs that have shown some, and of savings only where they
 * are known. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "test_advice_world.h"

/* A program that has shown no phase, no loader and no NCCL: a solver, say. */
static void make_plain(struct world *w)
{
    world_make(w);
    w->mean.interval_ns = w->mean.fp_bp_ns = w->mean.tail_ns = w->mean.data_wait_ns = -1;
    for (size_t r = 0; r < RANKS; r++)
        w->trace[r] = w->mean;
}

/* 10 % of 7.5 s are 750 calls of 1 ms. */
static void add_small_collectives(struct world *w, double busbw)
{
    w->c->collective_stats = calloc(2, sizeof(*w->c->collective_stats));
    w->c->ncollective_stats = 2;
    for (size_t i = 0; i < 2; i++)
        w->c->collective_stats[i] =
            (struct pw_row_c_collective_stat){.op = PW_OP_Allreduce,
                                              .count = i ? 5 : 751,
                                              .bytes = i ? 5 << 20 : 750 * 1024,
                                              .nranks = RANKS,
                                              .transfer_mean_ns = MS,
                                              .busbw_p50 = i ? 1e9 : busbw};
}

/* What is said to everybody, all at once: small collectives, exposed transfers, ranks that wait for
 * CPUs, memory that grows, and uneven work (0.5) or waits that roam (1). */
static void add_losses(struct world *w, double balance)
{
    add_small_collectives(w, 1e6);
    w->mean.comm_exposed_ns = 100 * MS;
    w->mean.wait_ns = 40 * MS;
    w->c->efficiency = calloc(1, sizeof(*w->c->efficiency));
    w->c->nefficiency = 1;
    w->c->efficiency->load_balance = balance;
    w->c->utilisation = calloc(RANKS, sizeof(*w->c->utilisation));
    w->c->nutilisation = RANKS;
    for (int32_t r = 0; r < RANKS; r++)
        w->c->utilisation[r] = (struct pw_row_c_utilisation){.rank = r, .runq_share = 0.5};
    w->c->memory = calloc(1, sizeof(*w->c->memory));
    w->c->nmemory = 1;
    w->c->memory[0] = (struct pw_row_c_memory){.what = "rss",
                                               .device = -1,
                                               .peak_bytes = 100 << 20,
                                               .steps = 50,
                                               .fit = 0.95,
                                               .bytes_per_step = 1 << 20,
                                               .later_bytes_per_step = 1 << 20};
}

/* How many pieces of advice there are; none has a word of training. */
static size_t assert_plain(const struct world *w)
{
    static const char *const words[] = {
        "outside any phase", "batch",  "backward", "forward", "optimizer", "epoch", "shard",
        "sequence ",         "loader", "loss"};
    struct pw_advice advice[PW_ADVICE_MAX];
    size_t n = world_collect(w, advice);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            if (strstr(advice[i].text, words[k]))
                fail_msg("a solver is told '%s' (%s)", advice[i].text, advice[i].rule);
    return n;
}

static void test_solvers_are_not_told_of_training(void **state)
{
    static const char *const rules[] = {"small_collectives", "transfer_exposed", "oversubscribed",
                                        "memory_growth"};
    struct pw_advice advice[PW_ADVICE_MAX];
    (void)state;
    for (int even = 0; even < 2; even++) {
        struct world w;
        make_plain(&w);
        add_losses(&w, even ? 1 : 0.5);
        assert_int_equal(assert_plain(&w), 5);
        size_t n = world_collect(&w, advice);
        for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
            assert_non_null(world_find(advice, n, rules[i]));
        assert_non_null(world_find(advice, n, even ? "wait_roams" : "load_imbalance"));
        pw_cluster_destroy(w.c);
    }
    for (int cause = PW_CAUSE_UNKNOWN; cause <= PW_CAUSE_MORE_GPU_WORK; cause++) {
        struct world w;
        if (cause == PW_CAUSE_DATA_STARVATION)
            continue; /* there is none without a data phase */
        make_plain(&w);
        world_add_straggler(&w, cause, PW_PHASE_OTHER);
        assert_int_equal(assert_plain(&w), 1);
        pw_cluster_destroy(w.c);
    }
}

/* Where most ranks have no CPU, time inside calls says nothing of the network. */
static void test_no_network_advice_without_cpus(void **state)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    (void)state;
    make_plain(&w);
    add_losses(&w, 1);
    w.c->part_trace = calloc(RANKS * PW_PART_END, sizeof(*w.c->part_trace));
    assert_non_null(w.c->part_trace);
    for (size_t r = 0; r < RANKS; r++)
        w.c->part_trace[r] = (struct pw_row_c_part_trace){.total_ns = 100, .ready_ns = 14};
    const size_t all = world_collect(&w, advice);
    assert_non_null(world_find(advice, all, "transfer_exposed"));
    for (size_t r = 0; r < RANKS; r++)
        w.c->part_trace[r].ready_ns = 15;
    const size_t n = world_collect(&w, advice);
    assert_int_equal(n, all - 2);
    assert_non_null(world_find(advice, n, "oversubscribed"));
    assert_null(world_find(advice, n, "transfer_exposed"));
    assert_null(world_find(advice, n, "small_collectives"));
    pw_cluster_destroy(w.c);
}

static void test_training_programs_get_words_of_training(void **state)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    (void)state;
    make_plain(&w);
    world_add_straggler(&w, PW_CAUSE_MORE_CPU_WORK, PW_PHASE_OTHER);
    size_t n = world_collect(&w, advice);
    const struct pw_advice *found = world_find(advice, n, "more_cpu_work");
    assert_int_equal(strncmp(found->text, "Rank 3 computes longer", 22), 0);
    assert_has(found->text, "part of the problem");
    w.mean.fp_bp_ns = 100 * MS; /* it marks forward and backward */
    n = world_collect(&w, advice);
    assert_has(world_find(advice, n, "more_cpu_work")->text, "batch size");
    w.mean.fp_bp_ns = -1;
    add_small_collectives(&w, 1e6);
    w.c->collective_stats[1].source = PW_SOURCE_NCCL;
    n = world_collect(&w, advice);
    assert_has(world_find(advice, n, "more_cpu_work")->text, "batch size");
    pw_cluster_destroy(w.c);
}

/* What is read before the first step cannot be moved out of the step. */
static void test_file_io_outside_the_steps(void **state)
{
    (void)state;
    for (int part = PW_PART_ANY; part <= PW_PART_END; part++) {
        const int is_outside = part != PW_PART_ANY && part != PW_PART_STEPS;
        struct pw_advice advice[PW_ADVICE_MAX];
        struct world w;
        world_make(&w);
        world_add_straggler(&w, PW_CAUSE_FILE_IO, PW_PHASE_NONE);
        w.c->stragglers[w.c->nstragglers - 1].part = (uint8_t)part;
        const size_t n = world_collect(&w, advice);
        const struct pw_advice *outside = world_find(advice, n, "file_io_outside_steps");
        const struct pw_advice *inside = world_find(advice, n, "file_io");
        assert_true(is_outside ? outside && !inside : inside && !outside);
        assert_has((is_outside ? outside : inside)->text,
                   is_outside ? "before its first step" : "out of the step.");
        pw_cluster_destroy(w.c);
    }
}

/* 751 ms of 7.5 s in collectives; of some the clocks cannot tell how long their transfer took. */
static void test_bandwidth_that_is_not_known_saves_nothing(void **state)
{
    struct pw_advice advice[PW_ADVICE_MAX];
    struct world w;
    (void)state;
    world_make(&w);
    add_small_collectives(&w, 1e6);
    const struct pw_advice *found =
        world_find(advice, world_collect(&w, advice), "small_collectives");
    assert_int_equal(found->saves_ns, 751 * MS - 751 * MS / 1000); /* at 1000 times the bandwidth */
    assert_has(found->evidence, "at 1.0 MB/s, the best measured is 1.0 GB/s");
    w.c->collective_stats[0].busbw_p50 = 0;
    found = world_find(advice, world_collect(&w, advice), "small_collectives");
    assert_int_equal(found->saves_ns, -1);
    assert_has(found->evidence, "take 751 ms");
    assert_has_not(found->evidence, "the best measured is");
    pw_cluster_destroy(w.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solvers_are_not_told_of_training),
        cmocka_unit_test(test_no_network_advice_without_cpus),
        cmocka_unit_test(test_training_programs_get_words_of_training),
        cmocka_unit_test(test_file_io_outside_the_steps),
        cmocka_unit_test(test_bandwidth_that_is_not_known_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
