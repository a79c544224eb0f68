/* Ranks beside processes that are no ranks: values worked by hand, in bins of 100 ms. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/cause.h"

#define MS INT64_C(1000000)

enum { BINS = 10, RANKS = 4 };

struct run {
    struct pw_bound_input in;
    struct pw_row_c_bin_trace rows[BINS * RANKS];
    int64_t host[RANKS], others[BINS * RANKS], kept[BINS * RANKS];
    uint8_t beside[BINS * RANKS];
    struct pw_bound bound;
};

/* In all bins. */
static void set(struct run *r, size_t rank, struct pw_row_c_bin_trace row)
{
    row.cpu_set = (uint64_t)(100 * row.cpu_lowest + row.cpu_highest);
    for (size_t i = 0; i < BINS; i++)
        r->rows[i * RANKS + rank] = row;
}

static struct run *create(void)
{
    struct run *r = calloc(1, sizeof(*r));
    r->in = (struct pw_bound_input){BINS, RANKS, 100 * MS, r->rows, r->host};
    r->bound = (struct pw_bound){r->others, r->kept, r->beside};
    return r;
}

static void measure(struct run *r)
{
    void *scratch = malloc(pw_bound_scratch(&r->in)); /* no byte more: asan looks */
    memset(scratch, 0xa5, pw_bound_scratch(&r->in));
    memset(r->others, 0xa5, sizeof(r->others));
    pw_bound_measure(&r->in, scratch, &r->bound);
    free(scratch);
}

static size_t beside(const struct run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < BINS * RANKS; i++)
        n += r->beside[i] != PW_BESIDE_NOT;
    return n;
}

/* Two CPUs. On CPU 1 something else runs for 60 ms of a bin, rank 3, which is bound there, for 20
 * ms, and rank 2 for 20 ms; on CPU 0 ranks 0 and 1 for 50 ms each. */
static struct run *one_bound(void)
{
    struct run *r = create();
    for (size_t k = 0; k < RANKS; k++)
        set(r, k,
            (struct pw_row_c_bin_trace){.wait_ns = 30 * MS,
                                        .ready_ns = 50 * MS,
                                        .process_ns = (k < 2 ? 50 : 20) * MS,
                                        .cpus_busy_ns = 200 * MS,
                                        .cpus = 2,
                                        .cpu_highest = 1,
                                        .processor = k >= 2});
    set(r, 3,
        (struct pw_row_c_bin_trace){.ready_ns = 80 * MS,
                                    .process_ns = 20 * MS,
                                    .cpus_busy_ns = 100 * MS,
                                    .cpus = 1,
                                    .cpu_lowest = 1,
                                    .cpu_highest = 1,
                                    .processor = 1});
    return r;
}

static void test_bound_beside_others(void **state)
{
    (void)state;
    struct run *r = one_bound();
    measure(r);
    assert_int_equal(r->others[0], 60 * MS); /* 200 - 140 */
    assert_int_equal(r->others[3], 60 * MS); /* 100 - 20 - 20 */
    assert_int_equal(r->kept[3], 60 * MS);   /* 80 x 60 / 80 */
    assert_int_equal(r->kept[0], 20 * MS);   /* 50 x 60 / 150 */
    assert_int_equal(beside(r), BINS);
    assert_int_equal(r->beside[3], PW_BESIDE_NARROW);
    assert_int_equal(r->beside[9 * RANKS + 3], PW_BESIDE_NARROW);
    free(r);
}

/* A rank that was seen elsewhere when it was looked at: others use no more of CPU 1 than of both.
 */
static void test_no_more_than_of_all_cpus(void **state)
{
    (void)state;
    struct run *r = one_bound();
    r->rows[2].processor = 0;
    measure(r);
    assert_int_equal(r->others[3], 60 * MS);
    free(r);
}

static void test_words(void **state)
{
    (void)state;
    struct run *r = one_bound();
    struct pw_bound_found found;
    int64_t scratch[RANKS];
    for (size_t i = 0; i < 4; i++) /* bound in the fifth bin */
        r->rows[i * RANKS + 3] = r->rows[i * RANKS + 2];
    measure(r);
    assert_int_equal(beside(r), 6);
    assert_true(
        pw_bound_look(&r->in, &r->bound, (struct pw_bound_where){3, 2, 9}, scratch, &found));
    assert_int_equal(found.cpus, 1);
    assert_int_equal(found.lowest, 1);
    assert_int_equal(found.others_cpus, 2);
    assert_float_equal(found.share, 0.6, 1e-9);
    assert_int_equal(found.since, 4);
    assert_false(pw_bound_look(&r->in, &r->bound, (struct pw_bound_where){3, 0, 6}, scratch,
                               &found)); /* 3 of 7 bins */
    assert_false(
        pw_bound_look(&r->in, &r->bound, (struct pw_bound_where){2, 4, 9}, scratch, &found));
    free(r);
}

/* Each has a CPU of its own and uses it, or all have all CPUs, or all have one. */
static void test_equally_bound_ranks_are_not_bound_beside_others(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct run *r = create();
        const int cpus = how == 1 ? 4 : 1;
        for (int k = 0; k < RANKS; k++)
            set(r, (size_t)k,
                (struct pw_row_c_bin_trace){.ready_ns = 60 * MS,
                                            .process_ns = (how == 0   ? 98
                                                           : how == 1 ? 50
                                                                      : 10) *
                                                          MS,
                                            .cpus_busy_ns = cpus * 100 * MS,
                                            .cpus = cpus,
                                            .cpu_lowest = how == 0 ? k : 0,
                                            .cpu_highest = how == 0   ? k
                                                           : how == 1 ? 3
                                                                      : 0,
                                            .processor = how == 2 ? 0 : k});
        measure(r);
        assert_int_equal(r->others[0], (how == 0 ? 2 : how == 1 ? 200 : 60) * MS);
        assert_int_equal(beside(r), 0);
        free(r);
    }
}

/* Each has a CPU of its own, and something else is on one of them. */
static void test_one_cpu_per_rank_with_another_process_on_one(void **state)
{
    (void)state;
    struct run *r = create();
    for (int k = 0; k < RANKS; k++)
        set(r, (size_t)k,
            (struct pw_row_c_bin_trace){.process_ns = (k == 2 ? 70 : 90) * MS,
                                        .cpus_busy_ns = 100 * MS,
                                        .cpus = 1,
                                        .cpu_lowest = k,
                                        .cpu_highest = k,
                                        .processor = k});
    measure(r);
    assert_int_equal(beside(r), BINS);
    assert_int_equal(r->beside[2], PW_BESIDE);
    free(r);
}

/* Different numbers of CPUs, of all of which something else uses half: each is kept as long. */
static void test_uneven(void **state)
{
    (void)state;
    static const int cpus[RANKS] = {4, 2, 2, 8}, lowest[RANKS] = {0, 4, 6, 8};
    struct run *r = create();
    for (size_t k = 0; k < RANKS; k++)
        set(r, k,
            (struct pw_row_c_bin_trace){.ready_ns = 40 * MS,
                                        .process_ns = 50 * MS,
                                        .cpus_busy_ns = (50 * cpus[k] + 50) * MS,
                                        .cpus = cpus[k],
                                        .cpu_lowest = lowest[k],
                                        .cpu_highest = lowest[k] + cpus[k] - 1,
                                        .processor = lowest[k]});
    measure(r);
    for (size_t k = 0; k < RANKS; k++) {
        assert_int_equal(r->others[k], 50 * cpus[k] * MS);
        assert_int_equal(r->kept[k], 40 * MS);
    }
    free(r);
}

static void test_bound_is_unknown_without_samples_or_a_file(void **state)
{
    (void)state;
    struct run *r = one_bound();
    r->rows[0].cpus = 0; /* one of the host's ranks, in the first bin */
    measure(r);
    assert_int_equal(r->others[3], -1);
    assert_int_equal(r->others[RANKS + 3], 60 * MS);
    assert_int_equal(beside(r), BINS - 1);
    r->rows[0] = r->rows[RANKS];
    r->host[2] = 1; /* a rank without a file may be anywhere */
    memset(&r->rows[2], 0xff, sizeof(r->rows[2]));
    measure(r);
    assert_int_equal(r->others[RANKS + 3], -1);
    assert_int_equal(beside(r), 0);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_beside_others),
        cmocka_unit_test(test_no_more_than_of_all_cpus),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_equally_bound_ranks_are_not_bound_beside_others),
        cmocka_unit_test(test_one_cpu_per_rank_with_another_process_on_one),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_bound_is_unknown_without_samples_or_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
