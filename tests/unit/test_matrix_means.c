/* The rows of /rank_means, from sums of the ranks' steps. */
#include "unit.h"

#include "aggregate/secondpass/matrix.h"

/* Rank 0 has totals 10 and 11 ns, whose mean 10.5 is rounded up, and waits 4 ns in one of the
 * steps; rank 1 has one total of 20 ns, and its waits are not known. Of all: (10 + 11 + 20) / 3
 * = 13.67 and 4.
 */
static void test_means(void **state)
{
    (void)state;
    struct pw_step_sums sums[2] = {{.rank = 0}, {.rank = 1}};
    struct pw_row_c_rank_mean rows[3];
    pw_mean_add(&sums[0].members[PW_STEP_MEMBER(total_ns)], 10);
    pw_mean_add(&sums[0].members[PW_STEP_MEMBER(total_ns)], 11);
    pw_mean_add(&sums[0].members[PW_STEP_MEMBER(wait_ns)], 4);
    pw_mean_add(&sums[0].members[PW_STEP_MEMBER(wait_ns)], -1);
    pw_mean_add(&sums[1].members[PW_STEP_MEMBER(total_ns)], 20);
    pw_mean_add(&sums[1].phases[0], 6); /* data */
    pw_mean_add(&sums[1].phases[5], 8); /* no phase */
    pw_share_means(sums, 2, rows);
    static const int64_t wanted[3][6] = {
        {0, 2, 11, 4, -1, -1}, {1, 1, 20, -1, 6, 8}, {-1, 3, 14, 4, 6, 8}};
    for (int r = 0; r < 3; r++) {
        const int64_t row[6] = {rows[r].rank,    rows[r].steps,   rows[r].total_ns,
                                rows[r].wait_ns, rows[r].data_ns, rows[r].other_ns};
        assert_memory_equal(row, wanted[r], sizeof(row));
    }
    assert_int_equal(rows[2].forward_ns, -1);
}

static void test_no_ranks(void **state)
{
    (void)state;
    struct pw_row_c_rank_mean row;
    pw_share_means(NULL, 0, &row);
    assert_int_equal(row.rank, -1);
    assert_int_equal(row.steps, 0);
    assert_int_equal(row.total_ns, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_means),
                                       cmocka_unit_test(test_no_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
