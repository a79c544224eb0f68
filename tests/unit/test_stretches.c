/* Which cause a straggler of the steps gets from the bins of its time. MPI is never started. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/stretches.h"

#define MS INT64_C(1000000)

enum { RANKS = 2, BINS = 20, BIN_MS = 100, PARTS = PW_PART_END * RANKS };

/* Both ranks are stopped by a quota for `throttled_ms` of each bin, and rank 0 is ready without a
 * CPU for 40 ms, these included, for which its steps were named. Returns its row. */
static struct pw_row_c_straggler named(int64_t throttled_ms)
{
    struct pw_row_c_rank ranks[RANKS] = {{.hostname = "node-a"}, {.hostname = "node-a"}};
    struct pw_row_c_bin_trace bins[BINS * RANKS];
    struct pw_row_c_part_trace parts[PARTS];
    struct pw_row_c_straggler rows[PW_MOST_STRAGGLERS] = {{.kind = PW_STRAGGLER_PERSISTENT,
                                                           .hostname = "node-a",
                                                           .end = (int64_t)BINS * BIN_MS * MS,
                                                           .excess_ns = 40 * MS,
                                                           .lost_ns = 800 * MS,
                                                           .gain_ns = 800 * MS,
                                                           .steps_hit = 20,
                                                           .confidence = 1,
                                                           .cause = PW_CAUSE_CPU_CONTENTION,
                                                           .evidence = "ready"}};
    const struct pw_world world = {
        .nranks = RANKS,
        .ranks = ranks,
        .bins = {.end_ns = (int64_t)BINS * BIN_MS * MS, .bin_ns = BIN_MS * MS, .n = BINS},
        .cut_ns = INT64_MAX};
    const struct pw_matrix m = {.nranks = RANKS, .nbins = BINS, .bins = bins, .parts = parts};
    const struct pw_instances none = {.n = 0};
    struct pw_findings f = {.stragglers = rows, .nstragglers = 1};
    for (size_t i = 0; i < sizeof(bins) / sizeof(bins[0]); i++)
        bins[i] = (struct pw_row_c_bin_trace){.cpu_ns = 60 * MS,
                                              .ready_ns = i % RANKS ? throttled_ms * MS : 40 * MS,
                                              .throttled_ns = throttled_ms * MS};
    memset(parts, 0xff, sizeof(parts)); /* not known */
    assert_int_equal(pw_stretches_find(&f, &world, &m, &none), 0);
    assert_int_equal(f.nstragglers, 1);
    assert_int_equal(rows[0].rank, 0);
    return rows[0];
}

/* A third of the time without a CPU, for each rank that shares the quota, is enough. */
static void test_quota_that_ranks_share(void **state)
{
    (void)state;
    struct pw_row_c_straggler row = named(30);
    assert_int_equal(row.cause, PW_CAUSE_CGROUP_THROTTLING);
    assert_string_equal(row.evidence,
                        "ready; the CPU quota that 2 ranks share was used up meanwhile");
    row = named(20);
    assert_int_equal(row.cause, PW_CAUSE_CPU_CONTENTION);
    assert_string_equal(row.evidence, "ready");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_that_ranks_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
