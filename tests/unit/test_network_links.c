/* Slow links in figures made by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/network.h"

/* Six links of mean 100 and variance 100 (sum of squares = n (mean^2 + (n - 1) / n variance)), the
 * last with the mean given. */
static void make_links(struct pw_link links[6], double mean)
{
    for (int i = 0; i < 6; i++) {
        double m = i == 5 ? mean : 100;
        links[i] = (struct pw_link){.dst = i,
                                    .kind = 7,
                                    .messages = 25,
                                    .sum_ns = 25 * m,
                                    .squares_ns = 25 * m * m + 24 * 100,
                                    .error_ns = 20};
    }
}

static void test_link(void **state)
{
    (void)state;
    struct pw_link links[6];
    struct pw_link_found out[6];
    int64_t scratch[6];
    make_links(links, 160);
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 1);
    assert_int_equal(out[0].link, 5);
    assert_true(fabs(out[0].transfer_ns - 160) < 1e-9 && fabs(out[0].others_ns - 100) < 1e-9);
    assert_true(out[0].confidence > 0.999);
    make_links(links, 160);
    links[4].sum_ns = 25 * 155; /* slow too, but into the same rank */
    links[4].squares_ns = 25 * 155 * 155 + 24 * 100;
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 2);
    links[4].dst = 5;
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 1);
    assert_int_equal(out[0].link, 5);
    make_links(links, 149); /* below 1.5 times */
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 0);
    make_links(links, 160);
    links[5].error_ns = 60; /* not above what the clocks may make of it */
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 0);
    links[5].error_ns = -1;
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 0);
    make_links(links, 160);
    links[5].kind = 8; /* nothing to compare with */
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 0);
    make_links(links, 160);
    links[5].squares_ns += 24 * 40000; /* spread 200: a mean of 25 is known to 40 */
    assert_int_equal(pw_links_find(links, 6, out, 6, scratch), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
