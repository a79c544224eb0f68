/* Causes from counts made by hand: 10 steps of 100 ms, own work 60 ms where nothing is wrong. */
#include "analysis/thresholds.h"
#include "unit.h"

#include "analysis/cause.h"

#define MS INT64_C(1000000)

enum { RANKS = 4, SLOW = 2 };

/* 600 ms of own work in 1 s: 500 ms on a CPU, 100 ms ready, none off it. Waiting is spun, so the
 * counts of the whole second are those of the own work over 0.6. */
static void make(struct pw_usage ranks[RANKS])
{
    for (int r = 0; r < RANKS; r++)
        ranks[r] = (struct pw_usage){
            .own_ns = 600 * MS,
            .total_ns = 1000 * MS,
            .cpu_ns = 833333333,
            .runq_ns = 166666667,
            .io_bytes = 1000,
            .involuntary_cs = 10,
            .samples = 10,
        };
}

/* The slow rank never waits: its second is all its own. */
static void make_slow(struct pw_usage ranks[RANKS], int64_t cpu_ms, int64_t runq_ms)
{
    make(ranks);
    ranks[SLOW].own_ns = 1000 * MS;
    ranks[SLOW].cpu_ns = cpu_ms * MS;
    ranks[SLOW].runq_ns = runq_ms * MS;
}

static struct pw_cause_found find(const struct pw_usage ranks[RANKS], enum pw_phase phase)
{
    int64_t scratch[RANKS];
    return pw_cause_find(ranks, RANKS, SLOW, phase, scratch);
}

static void test_off_the_cpu(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make_slow(ranks, 500, 100);
    struct pw_cause_found found = find(ranks, PW_PHASE_BACKWARD);
    assert_int_equal(found.cause, PW_CAUSE_BLOCKED_OFF_CPU);
    assert_int_equal(found.excess_ns, 400 * MS);
    assert_int_equal(found.part_ns, 400 * MS);
    assert_int_equal(found.others_part_ns, 0);
    assert_true(found.share > 0.99 && found.share <= 1);
    assert_int_equal(find(ranks, PW_PHASE_DATA).cause, PW_CAUSE_DATA_STARVATION);

    ranks[SLOW].io_bytes = 1000 + 400000; /* 400 ms at 1 MB/s: the least that counts */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_FILE_IO);
    ranks[SLOW].io_bytes--;
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_BLOCKED_OFF_CPU);

    ranks[SLOW].child_faults = 8; /* one in 50 ms */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_CHILD_PROCESS);
    assert_int_equal(find(ranks, PW_PHASE_DATA).cause, PW_CAUSE_DATA_STARVATION);
    ranks[SLOW].io_bytes += 1000000; /* of the child processes, perhaps */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_CHILD_PROCESS);
    ranks[SLOW].child_faults--;
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_BLOCKED_OFF_CPU);
    ranks[SLOW].child_faults = 0;
    ranks[SLOW].io_bytes -= 1000000;

    ranks[SLOW].major_faults = 40; /* one in 10 ms */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_PAGE_FAULTS);
    ranks[SLOW].major_faults--;
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_BLOCKED_OFF_CPU);
}

/* A rank that was slow in few steps, on a CPU, and wrote meanwhile: its checkpoint. */
static void test_files_that_a_cpu_writes(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    int64_t scratch[RANKS];
    make_slow(ranks, 900, 100);            /* on a CPU for 900 ms, the others for 500 ms */
    ranks[SLOW].io_bytes = 1000 + 4000000; /* 400 ms at 10 MB/s: the least that counts */
    struct pw_cause_found found = find(ranks, PW_PHASE_OTHER);
    assert_int_equal(found.cause, PW_CAUSE_MORE_CPU_WORK);
    assert_true(found.is_on_cpu);
    pw_cause_refine_rare(ranks, RANKS, SLOW, &found, scratch);
    assert_int_equal(found.cause, PW_CAUSE_FILE_IO);
    assert_in_range(found.part_ns - found.others_part_ns, 399 * MS, 401 * MS);

    ranks[SLOW].io_bytes = 1000 + 3900000;
    found = find(ranks, PW_PHASE_OTHER);
    pw_cause_refine_rare(ranks, RANKS, SLOW, &found, scratch);
    assert_int_equal(found.cause, PW_CAUSE_MORE_CPU_WORK);

    make_slow(ranks, 500, 100); /* off a CPU: the usual limits */
    ranks[SLOW].io_bytes = 1000 + 4000000;
    ranks[SLOW].major_faults = 40;
    found = find(ranks, PW_PHASE_OTHER);
    pw_cause_refine_rare(ranks, RANKS, SLOW, &found, scratch);
    assert_int_equal(found.cause, PW_CAUSE_PAGE_FAULTS);
}

static void test_without_a_cpu(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make_slow(ranks, 500, 500);
    ranks[SLOW].throttled_ns = -1;
    struct pw_cause_found found = find(ranks, PW_PHASE_FORWARD);
    assert_int_equal(found.cause, PW_CAUSE_CPU_CONTENTION);
    assert_int_equal(found.part_ns, 500 * MS);
    /* The others have 100 ms for 500 ms on the CPU, as this one should; 1/1024 of rounding. */
    assert_in_range(found.others_part_ns, 99 * MS, 100 * MS);

    ranks[SLOW].throttled_ns = 132 * MS; /* a third of 400.4 is more than that */
    assert_int_equal(find(ranks, PW_PHASE_FORWARD).cause, PW_CAUSE_CPU_CONTENTION);
    ranks[SLOW].throttled_ns = 134 * MS;
    assert_int_equal(find(ranks, PW_PHASE_FORWARD).cause, PW_CAUSE_CGROUP_THROTTLING);
    for (int r = 0; r < RANKS;
         r++) /* of all ranks alike, as in one cgroup: 133 ms more are needed */
        ranks[r].throttled_ns = 300 * MS;
    assert_int_equal(find(ranks, PW_PHASE_FORWARD).cause, PW_CAUSE_CPU_CONTENTION);
    ranks[SLOW].throttled_ns = 434 * MS;
    assert_int_equal(find(ranks, PW_PHASE_FORWARD).cause, PW_CAUSE_CGROUP_THROTTLING);
}

/* Twice the work on a machine where each ms on a CPU costs another ms of waiting for it. */
static void test_more_work_on_a_busy_machine(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make(ranks);
    for (int r = 0; r < RANKS; r++)
        ranks[r].cpu_ns = ranks[r].runq_ns = 500 * MS; /* of own work: 300 and 300 */
    ranks[SLOW] = ranks[0];
    ranks[SLOW].own_ns = ranks[SLOW].total_ns = 1200 * MS;
    ranks[SLOW].cpu_ns = ranks[SLOW].runq_ns = 600 * MS;
    struct pw_cause_found found = find(ranks, PW_PHASE_FORWARD);
    assert_int_equal(found.cause, PW_CAUSE_MORE_CPU_WORK);
    assert_int_equal(found.part_ns, 600 * MS);
    assert_int_equal(found.others_part_ns, 300 * MS);
    assert_true(found.share == 1);
}

/* It sleeps for 350 of its 1000 ms. On the CPU it is 20 ms longer than the others, where each ms
 * costs them 19 of waiting: that would be 400, the whole excess, but the sleep was counted. */
static void test_asleep_on_a_busy_machine(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make(ranks);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].cpu_ns = 50 * MS; /* of own work: 30 and 570 */
        ranks[r].runq_ns = 950 * MS;
    }
    ranks[SLOW].own_ns = ranks[SLOW].total_ns = 1000 * MS;
    ranks[SLOW].runq_ns = 600 * MS;
    struct pw_cause_found found = find(ranks, PW_PHASE_BACKWARD);
    assert_int_equal(found.cause, PW_CAUSE_BLOCKED_OFF_CPU);
    assert_int_equal(found.part_ns, 350 * MS);
    assert_int_equal(found.others_part_ns, 0);
    assert_true(found.share == 350.0 / 400);
}

/* A rank that sleeps twice as long as others which yield while they wait: all are hardly on a CPU,
 * and ready most of the time. As measured of 8 ranks on 2 busy processors. */
static void test_asleep_among_ranks_that_yield(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make(ranks);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].own_ns = 340 * MS;
        ranks[r].cpu_ns = 8 * MS;
        ranks[r].runq_ns = 820 * MS;
    }
    ranks[SLOW].own_ns = 490 * MS;
    ranks[SLOW].cpu_ns = 2 * MS;
    ranks[SLOW].runq_ns = 650 * MS; /* less than the others */
    struct pw_cause_found found = find(ranks, PW_PHASE_FORWARD);
    assert_int_equal(found.cause, PW_CAUSE_BLOCKED_OFF_CPU);
    ranks[SLOW].runq_ns = 960 * MS; /* 470 ms of its own work, others 279 ms */
    assert_int_equal(find(ranks, PW_PHASE_FORWARD).cause, PW_CAUSE_CPU_CONTENTION);
}

static void test_no_cause_when_nothing_explains_half(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    /* Excess 400: 155 on the CPU with its share of waiting (129 * 1.2), 116 ready beyond that, 129
     * off. */
    make_slow(ranks, 629, 242);
    struct pw_cause_found found = find(ranks, PW_PHASE_FORWARD);
    assert_int_equal(found.cause, PW_CAUSE_UNKNOWN);
    assert_true(found.share == 0);
}

static void test_no_cause_from_unknown_counts(void **state)
{
    (void)state;
    struct pw_usage ranks[RANKS];
    make_slow(ranks, 500, 100);
    ranks[SLOW].samples = 2;
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_UNKNOWN);

    make_slow(ranks, 500, 100);
    ranks[SLOW].cpu_ns = -1;
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_UNKNOWN);

    make_slow(ranks, 500, 100);
    for (int r = 0; r < RANKS; r++)
        if (r != SLOW)
            ranks[r].total_ns = -1; /* their files are missing */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_UNKNOWN);

    make_slow(ranks, 500, 100);
    ranks[0].runq_ns = -1; /* one of the others: the rest will do */
    assert_int_equal(find(ranks, PW_PHASE_BACKWARD).cause, PW_CAUSE_BLOCKED_OFF_CPU);
}

static struct pw_growth grow(const int64_t *op, const int64_t *own)
{
    int64_t scratch[RANKS];
    return pw_cause_growth(op, own, RANKS, SLOW, scratch);
}

static void test_operator_that_grew(void **state)
{
    (void)state;
    const int64_t own[RANKS] = {100, 104, 160, 98}, even[RANKS] = {100, 104, 100, 98};
    const int64_t most[RANKS] = {20, 24, 65, 21}, less[RANKS] = {20, 24, 40, 21};
    const int64_t shrunk[RANKS] = {20, 24, 10, 21}, nowhere[RANKS] = {0, 0, 60, 0};
    const int64_t unknown[RANKS] = {-1, -1, 65, -1}, missing[RANKS] = {20, 24, -1, 21};
    struct pw_growth found = grow(most, own);
    assert_int_equal(found.mine_ns, 65);
    assert_int_equal(found.others_ns, 21);
    assert_true(found.share == 44.0 / 60);
    assert_true(grow(less, own).share < PW_CAUSE_LEAST_SHARE);
    assert_true(grow(nowhere, own).share == 1);
    assert_int_equal(grow(nowhere, own).others_ns, 0);
    assert_true(grow(shrunk, own).share == 0);
    assert_true(grow(most, even).share == 0); /* no excess: it has less of something else */
    assert_true(grow(unknown, own).share == 0);
    assert_true(grow(missing, own).share == 0);
}

static struct pw_runtimework collect(const int64_t *gc, int64_t lost)
{
    int64_t scratch[RANKS];
    return pw_cause_runtimework(gc, RANKS, SLOW, lost, scratch);
}

static void test_garbage_collection(void **state)
{
    (void)state;
    const int64_t mine[RANKS] = {4, 6, 66, 5}, even[RANKS] = {60, 66, 66, 70};
    const int64_t less[RANKS] = {4, 6, 3, 5}, alone[RANKS] = {-1, -1, 66, -1};
    const int64_t twice[RANKS] = {61, 61, 122, 61}, nearly[RANKS] = {61, 61, 121, 61};
    const int64_t one[RANKS] = {-1, 6, 66, -1}, unknown[RANKS] = {4, 6, -1, 5};
    struct pw_runtimework found = collect(mine, 122);
    assert_int_equal(found.mine_ns, 66);
    assert_int_equal(found.others_ns, 5);
    assert_true(found.share == 0.5); /* 61 of 122: the least that is a cause */
    assert_true(collect(mine, 123).share < PW_CAUSE_LEAST_SHARE);
    assert_true(collect(mine, 50).share == 1);
    assert_true(collect(one, 120).share == 0.5);
    assert_true(collect(even, 122).share == 0); /* all collect as long: it is no cause */
    assert_true(collect(twice, 122).share == 61.0 / 122);
    assert_true(collect(nearly, 122).share == 0);
    assert_true(collect(less, 122).share == 0);
    assert_true(collect(alone, 122).share == 0);
    assert_true(collect(unknown, 122).share == 0);
    assert_true(collect(mine, 0).share == 0);
}

static bool may_be(int cause, const struct pw_runtimework *work)
{
    return pw_cause_may_be_runtimework(cause, work);
}

static void test_what_lengthens_collections_stays_the_cause(void **state)
{
    (void)state;
    const struct pw_runtimework gc = {.share = 1, .mine_ns = 66};
    assert_true(may_be(PW_CAUSE_MORE_CPU_WORK, &gc));
    assert_true(may_be(PW_CAUSE_UNKNOWN, &gc));
    assert_true(may_be(PW_CAUSE_HOST_BOUND, &gc));
    assert_false(may_be(PW_CAUSE_CPU_CONTENTION, &gc));
    assert_false(may_be(PW_CAUSE_PAGE_FAULTS, &gc));
    assert_false(may_be(PW_CAUSE_STOPPED, &gc));
}

/* Measured: torch.compile() on one of 4 ranks took 1039 ms of a step, of which 822 ms were without
 * a CPU. */
static void test_what_one_rank_alone_compiles_is_the_cause(void **state)
{
    (void)state;
    const struct pw_runtimework alone = {.share = 1, .mine_ns = 1039, .is_of_program = true};
    const struct pw_runtimework most = {1, 1039, 103, true}, some = {1, 1039, 104, true};
    assert_true(may_be(PW_CAUSE_CPU_CONTENTION, &alone));
    assert_true(may_be(PW_CAUSE_CGROUP_THROTTLING, &alone));
    assert_true(may_be(PW_CAUSE_PAGE_FAULTS, &most));
    assert_false(may_be(PW_CAUSE_CPU_CONTENTION, &some));
    assert_false(may_be(PW_CAUSE_STOPPED, &alone));
    assert_false(may_be(PW_CAUSE_HOST_FROZEN, &alone));
    assert_false(may_be(PW_CAUSE_LATE_START, &alone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_the_cpu),
        cmocka_unit_test(test_files_that_a_cpu_writes),
        cmocka_unit_test(test_without_a_cpu),
        cmocka_unit_test(test_more_work_on_a_busy_machine),
        cmocka_unit_test(test_asleep_on_a_busy_machine),
        cmocka_unit_test(test_asleep_among_ranks_that_yield),
        cmocka_unit_test(test_no_cause_when_nothing_explains_half),
        cmocka_unit_test(test_no_cause_from_unknown_counts),
        cmocka_unit_test(test_operator_that_grew),
        cmocka_unit_test(test_garbage_collection),
        cmocka_unit_test(test_what_lengthens_collections_stays_the_cause),
        cmocka_unit_test(test_what_one_rank_alone_compiles_is_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
