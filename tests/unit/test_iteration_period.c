/* Patterns of work whose truth is written out: pieces in us. */
#include "unit.h"

#include <math.h>

#include "analysis/iteration.h"

enum { US = 1000, MOST = 2048 };

static int64_t work[MOST];
static size_t first[MOST + 1], npieces;
static double scratch[MOST];

/* Writes the pieces `times` times after what there is. */
static void add(size_t times, size_t n, const int *pieces)
{
    for (size_t i = 0; i < times; i++)
        for (size_t k = 0; k < n; k++)
            work[npieces++] = pieces[k] * US;
}

/* Log-normal noise of so much. */
static void disturb(double sigma, uint64_t seed)
{
    for (size_t i = 0; i < npieces; i++)
        work[i] = (int64_t)((double)work[i] * exp(sigma * unit_normal(&seed)));
}

/* A matrix product and two vector operations between three dot products. */
static const int solver[] = {30, 90, 315};

static void test_three_dot_products(void **state)
{
    (void)state;
    npieces = 0;
    add(100, 3, solver);
    struct pw_period p = pw_period_find(work, npieces, scratch);
    assert_int_equal(p.length, 3);
    assert_true(p.pattern[0] > p.pattern[2] && p.pattern[2] > p.pattern[1]);
    /* The longest piece begins an iteration: pieces 2, 5, ... 296; the last whole one ends at 299.
     */
    const struct pw_period_cut cut = pw_period_cut(&p, work, npieces, scratch, first);
    assert_int_equal(cut.count, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(first[i], 2 + 3 * i);
    assert_true(cut.alike == 1);
}

/* 20 % of noise, and every 20th piece interrupted for 15 ms, where the machine is shared. */
static void test_pattern_in_noise(void **state)
{
    (void)state;
    size_t off = 0;
    npieces = 0;
    add(200, 3, solver);
    disturb(0.2, 7);
    for (size_t i = 0; i < npieces; i += 20)
        work[i] += 15000 * US;
    struct pw_period p = pw_period_find(work, npieces, scratch);
    assert_int_equal(p.length, 3);
    const struct pw_period_cut cut = pw_period_cut(&p, work, npieces, scratch, first);
    const size_t n = cut.count;
    assert_true(n >= 195 && n <= 200);
    for (size_t i = 0; i < n; i++)
        off += first[i] % 3 != 2;
    assert_true(off <= 2);
    assert_true(cut.alike > 0.6);
}

/* A fourth dot product, of a residual, in every tenth iteration: the pattern goes on after it. */
static void test_additional_piece_in_some_iterations(void **state)
{
    (void)state;
    static const int with_residual[] = {30, 90, 5, 315};
    npieces = 0;
    for (int i = 0; i < 10; i++) {
        add(9, 3, solver);
        add(1, 4, with_residual);
    }
    struct pw_period p = pw_period_find(work, npieces, scratch);
    assert_int_equal(p.length, 3);
    const size_t n = pw_period_cut(&p, work, npieces, scratch, first).count;
    assert_int_equal(n, 100);
    for (size_t i = 0; i < n - 1; i++)
        assert_int_equal(work[first[i]], 315 * US);
}

/* One piece is an iteration: of like work, of work that becomes more, of noise, of which half is in
 * a window of a fault, and where every tenth is longer, as an outer loop makes it. */
static void test_work_without_a_pattern(void **state)
{
    (void)state;
    static const int one[] = {100}, more[] = {300},
                     nested[] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 900};
    static const int nearly[] = {100, 110};
    npieces = 0;
    add(300, 1, one);
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    disturb(0.3, 3);
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    add(300, 1, more);
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    for (size_t i = 0; i < npieces; i++)
        work[i] = (int64_t)(100 + i) * US;
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    npieces = 0;
    add(60, 10, nested);
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    npieces = 0;
    add(100, 2, nearly);
    assert_int_equal(pw_period_find(work, npieces, scratch).length, 1);
    assert_int_equal(pw_period_find(work, 0, scratch).length, 1);
    assert_int_equal(pw_period_find(work, 7, scratch).length, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_dot_products),
        cmocka_unit_test(test_pattern_in_noise),
        cmocka_unit_test(test_additional_piece_in_some_iterations),
        cmocka_unit_test(test_work_without_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
