/* Finds which rank has slower kernels, and why a straggler's GPU was slow, from figures made by
 * hand. */
#include "unit.h"

#include "analysis/cause.h"
#include "analysis/slowranks.h"

#define MS INT64_C(1000000)

enum { RANKS = 4, KERNELS = 8, SLOW = 2 };

/* Every kernel 10 times on every rank, of 1 ms and a little that makes each rank the slowest in
 * turn; on SLOW, kernels below `slower` take `percent` more. */
static void make_kernels(int64_t calls[], int64_t total[], int slower, int percent)
{
    for (int k = 0; k < KERNELS; k++)
        for (int r = 0; r < RANKS; r++) {
            calls[k * RANKS + r] = 10;
            total[k * RANKS + r] = 10 * MS + (k % RANKS == r ? 1000 : 0);
            if (r == SLOW && k < slower)
                total[k * RANKS + r] += 10 * MS * percent / 100;
        }
}

static void test_slower_kernels(void **state)
{
    (void)state;
    int64_t calls[KERNELS * RANKS], total[KERNELS * RANKS], scratch[RANKS];
    struct pw_kernelrank_found found[RANKS];
    const struct pw_kernelrank_input in = {KERNELS, RANKS, calls, total};
    make_kernels(calls, total, KERNELS, 20);
    total[3 * RANKS + SLOW] += 5 * MS;
    pw_kernelrank_find(&in, scratch, found);
    assert_true(found[SLOW].slowdown > 1.26 && found[SLOW].slowdown < 1.27); /* 101 of 80 */
    assert_int_equal(found[SLOW].worst, 3);
    assert_int_equal(found[SLOW].excess_ns, 7 * MS);
    assert_int_equal(found[SLOW].slowest, KERNELS);
    /* 4 ranks x (1/4)^8 */
    assert_true(found[SLOW].confidence > 1 - 1e-4 && found[SLOW].confidence < 1);
    assert_true(found[0].slowdown > 0.999 && found[0].slowdown < 1.001);
    assert_true(found[0].confidence == 0);

    make_kernels(calls, total, 0, 0); /* each is the slowest at as many */
    pw_kernelrank_find(&in, scratch, found);
    for (int r = 0; r < RANKS; r++)
        assert_true(found[r].confidence == 0 && found[r].slowdown < 1.001);
}

static void test_kernels_of_two_ranks(void **state)
{
    (void)state;
    int64_t calls[KERNELS * 2], total[KERNELS * 2], scratch[2];
    struct pw_kernelrank_found found[2];
    const struct pw_kernelrank_input in = {KERNELS, 2, calls, total};
    for (int k = 0; k < KERNELS; k++)
        for (int r = 0; r < 2; r++) {
            calls[k * 2 + r] = 10;
            total[k * 2 + r] = (r ? 12 : 10) * MS;
        }
    pw_kernelrank_find(&in, scratch, found);
    assert_true(found[1].slowdown > 1.199 && found[1].slowdown < 1.201);
    assert_true(found[1].confidence == 0 && found[1].excess_ns == 0);
    assert_true(found[0].slowdown < 1 && found[0].confidence == 0);
    for (int k = 0; k < KERNELS; k++)
        calls[k * 2] = 0; /* nobody else ran them */
    pw_kernelrank_find(&in, scratch, found);
    assert_true(found[0].slowdown == -1 && found[1].slowdown == -1);
}

static void test_kernels_that_cannot_be_compared(void **state)
{
    (void)state;
    int64_t calls[KERNELS * RANKS], total[KERNELS * RANKS], scratch[RANKS];
    struct pw_kernelrank_found found[RANKS];
    const struct pw_kernelrank_input in = {KERNELS, RANKS, calls, total};
    make_kernels(calls, total, KERNELS, 20);
    for (int k = 0; k < KERNELS; k++)
        calls[k * RANKS] = calls[k * RANKS + 1] = 0; /* two ranks are left */
    pw_kernelrank_find(&in, scratch, found);
    for (int r = 0; r < RANKS; r++)
        assert_true(found[r].slowdown == -1 && found[r].excess_ns == 0);
}

/* 600 ms of own work, 500 of it computing; SLOW has 100 ms more, of which `more` computing. */
static void make(struct pw_gpu_usage ranks[RANKS], int more_ms, int drier_ms)
{
    for (int r = 0; r < RANKS; r++)
        ranks[r] = (struct pw_gpu_usage){.own_ns = 600 * MS,
                                         .compute_ns = 500 * MS,
                                         .dry_ns = 20 * MS,
                                         .clocks = {.samples = 10, .mhz = 19800},
                                         .slowdown = 1,
                                         .confidence = 0};
    ranks[SLOW].own_ns += 100 * MS;
    ranks[SLOW].compute_ns += more_ms * MS;
    ranks[SLOW].dry_ns += drier_ms * MS;
}

static enum pw_cause find(const struct pw_gpu_usage ranks[RANKS])
{
    int64_t scratch[RANKS];
    return pw_gpu_cause_find(ranks, RANKS, SLOW, scratch).cause;
}

static void test_causes(void **state)
{
    (void)state;
    struct pw_gpu_usage ranks[RANKS];
    make(ranks, 100, 0);
    assert_int_equal(find(ranks), PW_CAUSE_MORE_GPU_WORK);
    ranks[SLOW].slowdown = 1.2; /* explains 100 of the 600 ms */
    assert_int_equal(find(ranks), PW_CAUSE_UNKNOWN);
    ranks[SLOW].confidence = 0.96;
    assert_int_equal(find(ranks), PW_CAUSE_SLOWER_KERNELS);
    ranks[SLOW].clocks.mhz = 17000; /* lower, for an unknown reason */
    assert_int_equal(find(ranks), PW_CAUSE_SLOWER_KERNELS);
    ranks[SLOW].clocks.slowed = 4;
    assert_int_equal(find(ranks), PW_CAUSE_GPU_CLOCKS_THROTTLED);
    ranks[SLOW].clocks.slowed = 3; /* less than a third of the samples */
    assert_int_equal(find(ranks), PW_CAUSE_SLOWER_KERNELS);
    ranks[SLOW].slowdown = -1;
    assert_int_equal(find(ranks), PW_CAUSE_UNKNOWN);

    make(ranks, 0, 100);
    int64_t scratch[RANKS];
    struct pw_gpu_cause_found found = pw_gpu_cause_find(ranks, RANKS, SLOW, scratch);
    assert_int_equal(found.cause, PW_CAUSE_HOST_BOUND);
    assert_int_equal(found.part_ns, 120 * MS);
    assert_int_equal(found.others_part_ns, 20 * MS);
    make(ranks, 49, 49); /* neither explains half */
    assert_int_equal(find(ranks), PW_CAUSE_UNKNOWN);
    make(ranks, 0, 100);
    ranks[SLOW].dry_ns = -1;
    assert_int_equal(find(ranks), PW_CAUSE_UNKNOWN);
}

static void test_clocks(void **state)
{
    (void)state;
    struct pw_gpu_clocks c = {0};
    assert_true(pw_gpu_clocks_mean(&c) == -1);
    const struct pw_row_gpu samples[] = {
        {.sm_clock_mhz = 1000, .clock_reasons = PW_CLOCKS_HARDWARE_THERMAL},
        {.sm_clock_mhz = 2000, .clock_reasons = 2},
        {.sm_clock_mhz = 300, .clock_reasons = PW_CLOCKS_IDLE},
        {.sm_clock_mhz = -1, .clock_reasons = PW_CLOCKS_POWER_CAP},
        {.sm_clock_mhz = 1500, .clock_reasons = UINT64_MAX}, /* not readable */
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        pw_gpu_clocks_add(&c, &samples[i]);
    assert_int_equal(c.samples, 3);
    assert_int_equal(c.slowed, 1);
    assert_true(pw_gpu_clocks_mean(&c) == 1500);
    assert_int_equal(pw_gpu_clocks_reasons(&c), PW_CLOCKS_HARDWARE_THERMAL);
    assert_string_equal(pw_gpu_clocks_word(pw_gpu_clocks_reasons(&c)), "heat");
    assert_string_equal(pw_gpu_clocks_word(2), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slower_kernels),
        cmocka_unit_test(test_kernels_of_two_ranks),
        cmocka_unit_test(test_kernels_that_cannot_be_compared),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
