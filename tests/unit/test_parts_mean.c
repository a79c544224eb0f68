/* Parts of the run of three ranks, against values worked by hand. */
#include "unit.h"

#include <string.h>

#include "analysis/parts.h"

enum { RANKS = 3 };

static struct pw_row_c_part_trace rows[PW_PARTS * RANKS];

static struct pw_row_c_part_trace *at(enum pw_part part, size_t rank)
{
    return &rows[(size_t)(part - PW_PART_START) * RANKS + rank];
}

/* Each part takes its number times 100 ns, the run 2800; in init and steps rank r waits for r times
 * 50 ns. */
static void fill(void)
{
    memset(rows, 0, sizeof(rows));
    for (int part = PW_PART_START; part <= PW_PART_END; part++)
        for (size_t r = 0; r < RANKS; r++) {
            at((enum pw_part)part, r)->total_ns = 100 * part;
            if (part == PW_PART_INIT || part == PW_PART_STEPS)
                at((enum pw_part)part, r)->wait_ns = 50 * (int64_t)r;
        }
}

static void forget(enum pw_part first, enum pw_part last, size_t rank)
{
    for (int part = (int)first; part <= (int)last; part++)
        memset(at((enum pw_part)part, rank), 0xff, sizeof(rows[0]));
}

static struct pw_parts_known find(struct pw_partmean out[PW_PARTS])
{
    const struct pw_parts_known known = pw_parts_known(rows, RANKS, PW_SOURCE_MPI);
    memset(out, 0xa5, sizeof(*out) * PW_PARTS);
    pw_partmeans(rows, RANKS, &known, out);
    return known;
}

static void assert_mean(const struct pw_partmean *means, enum pw_part part, double mean,
                        double wait, double most, size_t rank)
{
    const struct pw_partmean *found = &means[part - PW_PART_START];
    assert_true(found->mean_ns == mean);
    assert_true(found->wait_ns == wait);
    assert_true(found->most_ns == most);
    assert_int_equal(found->most_rank, rank);
}

static void test_all_parts(void **state)
{
    (void)state;
    struct pw_partmean means[PW_PARTS];
    fill();
    at(PW_PART_SETUP, 2)->total_ns += 600; /* by which the other two wait in the steps */
    at(PW_PART_STEPS, 2)->total_ns -= 400;
    at(PW_PART_STEPS, 2)->wait_ns = 0;
    assert_int_equal(find(means).nranks, 3);
    assert_mean(means, PW_PART_START, 100, 0, 100, 0);
    assert_mean(means, PW_PART_INIT, 200, 50, 200, 0);
    assert_mean(means, PW_PART_SETUP, 500, 0, 900, 2);
    /* (400 + 400 + 0) / 3; waiting (0 + 50 + 0) / 3 */
    assert_mean(means, PW_PART_STEPS, 800.0 / 3, 50.0 / 3, 400, 0);
    assert_mean(means, PW_PART_END, 700, 0, 700, 0);
    assert_true(pw_partmeans_sum(means).wait_ns == 50 + 50.0 / 3);
}

/* One rank without MPI_Init, one killed before MPI_Finalize: the parts of all are fewer, and add up
 * to the same. */
static void test_parts_that_some_rank_lacks(void **state)
{
    (void)state;
    struct pw_partmean means[PW_PARTS];
    fill();
    forget(PW_PART_START, PW_PART_INIT, 1);
    at(PW_PART_SETUP, 1)->total_ns = 600;
    at(PW_PART_SETUP, 1)->wait_ns = 0;
    forget(PW_PART_FINALIZE, PW_PART_END, 0);
    at(PW_PART_TAIL, 0)->total_ns = 1800;
    const struct pw_parts_known known = find(means);
    assert_true(!known.has_init && known.has_steps && !known.has_finalize);
    assert_mean(means, PW_PART_START, -1, -1, -1, 0);
    assert_mean(means, PW_PART_INIT, -1, -1, -1, 0);
    assert_mean(means, PW_PART_SETUP, 600, 100.0 / 3, 600, 0); /* rank 2 waited 100 in init */
    assert_mean(means, PW_PART_STEPS, 400, 50, 400, 0);
    assert_mean(means, PW_PART_TAIL, 1800, 0, 1800, 0);
    assert_mean(means, PW_PART_FINALIZE, -1, -1, -1, 0);
    assert_true(pw_partmeans_sum(means).mean_ns == 2800);
    forget(PW_PART_SETUP, PW_PART_SETUP, 2); /* nor steps */
    forget(PW_PART_TAIL, PW_PART_TAIL, 2);
    at(PW_PART_STEPS, 2)->total_ns = 300 + 400 + 500;
    find(means);
    assert_mean(means, PW_PART_STEPS, 2800, 250.0 / 3, 2800, 0);
    assert_mean(means, PW_PART_SETUP, -1, -1, -1, 0);
    assert_true(pw_partmeans_sum(means).mean_ns == 2800);
}

static void test_ranks_without_files(void **state)
{
    (void)state;
    struct pw_partmean means[PW_PARTS];
    fill();
    at(PW_PART_SETUP, 0)->total_ns += 100;
    forget(PW_PART_START, PW_PART_END, 1);
    const struct pw_parts_known known = find(means);
    assert_int_equal(known.nranks, 2);
    assert_true(known.has_init && known.has_steps && known.has_finalize);
    assert_mean(means, PW_PART_SETUP, 350, 0, 400, 0);
    assert_true(pw_parts_own(rows, RANKS, &known, 1, PW_PART_SETUP) == -1);
    assert_true(pw_parts_own(rows, RANKS, &known, 2, PW_PART_INIT) == 100);
    for (size_t r = 0; r < RANKS; r++)
        forget(PW_PART_START, PW_PART_END, r);
    assert_int_equal(find(means).nranks, 0);
    assert_mean(means, PW_PART_STEPS, -1, -1, -1, 0);
    assert_int_equal(pw_parts_known(NULL, RANKS, PW_SOURCE_MPI).nranks, 0);
}

/* Times that no clock has: no sum overflows. */
static void test_damaged_rows(void **state)
{
    (void)state;
    struct pw_partmean means[PW_PARTS];
    fill();
    for (size_t r = 0; r < RANKS; r++) {
        at(PW_PART_SETUP, r)->total_ns = INT64_MAX;
        at(PW_PART_STEPS, r)->wait_ns = INT64_MAX;
        at(PW_PART_TAIL, r)->wait_ns = INT64_MIN;
    }
    find(means);
    assert_true(means[PW_PART_SETUP - PW_PART_START].mean_ns > 9e18);
    assert_mean(means, PW_PART_TAIL, 500, 0, 500, 0);
    assert_true(means[PW_PART_STEPS - PW_PART_START].most_ns == 0);
}

static void test_two_runs(void **state)
{
    (void)state;
    const struct pw_parts_known a = {PW_SOURCE_MPI, 1, 1, 0, 4}, b = {PW_SOURCE_MPI, 0, 1, 1, 3};
    const struct pw_parts_known both = pw_parts_known_of_both(a, b);
    assert_true(!both.has_init && both.has_steps && !both.has_finalize && both.nranks == 3);
    assert_true(pw_parts_is_known(&both, PW_PART_SETUP));
    assert_false(pw_parts_is_known(&both, PW_PART_END));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts),
        cmocka_unit_test(test_parts_that_some_rank_lacks),
        cmocka_unit_test(test_ranks_without_files),
        cmocka_unit_test(test_damaged_rows),
        cmocka_unit_test(test_two_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
