/* Slow hosts in figures made by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/straggler.h"

/* Three hosts of two ranks. */
static const int64_t host_of[] = {0, 0, 1, 1, 2, 2};

static struct pw_straggler_found straggler(size_t rank, size_t first, size_t last, int64_t excess)
{
    return (struct pw_straggler_found){.rank = rank,
                                       .first = first,
                                       .last = last,
                                       .excess_ns = excess,
                                       .confidence = 1 - (double)rank / 100};
}

static size_t find(const struct pw_straggler_found *found, size_t n, struct pw_host_found *out)
{
    int64_t scratch[3 * 3 + 3 * 6];
    return pw_hosts_find(found, n, &(struct pw_hosts){host_of, 6, 3}, out, scratch);
}

static void test_host(void **state)
{
    (void)state;
    struct pw_host_found out[3];
    const struct pw_straggler_found both[] = {straggler(2, 10, 19, 400), straggler(3, 12, 21, 600)};
    assert_int_equal(find(both, 2, out), 1);
    assert_int_equal(out[0].host, 1);
    assert_int_equal(out[0].slow_ranks, 2);
    assert_int_equal(out[0].first, 11);
    assert_int_equal(out[0].last, 20);
    assert_int_equal(out[0].excess_ns, 500);
    assert_true(fabs(out[0].confidence - 0.97) < 1e-12);
}

static void test_stragglers_that_are_no_slow_host(void **state)
{
    (void)state;
    struct pw_host_found out[3];
    const struct pw_straggler_found one[] = {straggler(2, 10, 19, 400), straggler(5, 10, 19, 400)};
    assert_int_equal(find(one, 2, out), 0); /* one rank of each: no host */
    const struct pw_straggler_found apart[] = {straggler(2, 10, 19, 400), straggler(3, 20, 29, 9)};
    assert_int_equal(find(apart, 2, out), 0); /* never in the same step */
    const struct pw_straggler_found most[] = {straggler(0, 1, 9, 4), straggler(1, 1, 9, 4),
                                              straggler(2, 1, 9, 4), straggler(3, 1, 9, 4)};
    assert_int_equal(find(most, 4, out), 0); /* two hosts of three */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_stragglers_that_are_no_slow_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
