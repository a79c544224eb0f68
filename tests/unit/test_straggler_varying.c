/* Work that varies from step to step, in figures made by hand. */
#include "unit.h"

#include <math.h>

#include "analysis/amount.h"
#include "analysis/straggler.h"

enum { STEPS = 60, RANKS = 8, DATA = 0, FORWARD, BACKWARD, OPTIMIZER = 4 };

struct world {
    int64_t phase[STEPS * RANKS * PW_PHASES];
    struct pw_varying found;
};

/* -1 or 1: of no order, and another one for each kind. */
static int sign(int kind, int step, int rank)
{
    uint32_t x = (uint32_t)(kind * 7919 + step * 104729 + rank * 1299709);
    x = (x ^ (x >> 16)) * 0x45d9f3bU;
    x = (x ^ (x >> 16)) * 0x45d9f3bU;
    return (x ^ (x >> 16)) & 1 ? 1 : -1;
}

/* Each phase's work is as usual times e to +- its noise of 1 %, and +- `more` in three kinds of
 * phases: forward, backward, and the others. */
static void make(struct world *w, const double more[3], int ranks)
{
    static const double usual[PW_PHASES] = {50000, 300000, 600000, 0, 50000, 0};
    for (int s = 0; s < STEPS; s++)
        for (int r = 0; r < RANKS; r++)
            for (int p = 0; p < PW_PHASES; p++) {
                int kind = p == FORWARD ? 0 : p == BACKWARD ? 1 : 2;
                double log_of = r < ranks ? more[kind] * sign(0, s, r) : 0;
                log_of += 0.01 * sign(p + 1, s, r);
                w->phase[(s * RANKS + r) * PW_PHASES + p] = (int64_t)(usual[p] * exp(log_of));
            }
}

static int find(struct world *w)
{
    static double scratch[4 * STEPS * RANKS + STEPS + RANKS];
    assert_true(pw_varying_scratch(STEPS, RANKS) <= sizeof(scratch) / sizeof(*scratch));
    const struct pw_varying_input in = {STEPS, RANKS, w->phase};
    return pw_varying_find(&in, &w->found, scratch);
}

/* Forward and backward are longer or shorter by 10 % at once. Noise is 1 % of 300 and of 600 us:
 * 6.7 us; the amount's part is 10 % of 900 us. */
static void test_amounts_vary(void **state)
{
    (void)state;
    static struct world w;
    make(&w, (const double[]){0.1, 0.1, 0}, RANKS);
    assert_true(find(&w));
    assert_true(fabs(w.found.spread - 0.1) < 0.02);
    assert_int_equal(w.found.phases, 1 << FORWARD | 1 << BACKWARD);
    assert_true(fabs(w.found.noise - 6.7 / 90) < 0.03);
}

/* The machine makes all phases longer; something makes one longer; noise is in no two at once. */
static void test_noise_is_no_amount(void **state)
{
    (void)state;
    static struct world w;
    make(&w, (const double[]){0.1, 0.1, 0.1}, RANKS);
    assert_false(find(&w));
    make(&w, (const double[]){0, 0.1, 0}, RANKS);
    assert_false(find(&w));
    make(&w, (const double[]){0, 0, 0}, RANKS);
    assert_false(find(&w));
}

static void test_one_rank_alone_is_not_all(void **state)
{
    (void)state;
    static struct world w;
    make(&w, (const double[]){0.5, 0.5, 0}, 1);
    assert_false(find(&w));
}

static void test_small_spreads_are_left(void **state)
{
    (void)state;
    static struct world w;
    make(&w, (const double[]){0.015, 0.015, 0}, RANKS);
    assert_false(find(&w));
}

/* Without noise all have the mean, 1; with noise of half, deviations are half: works of 1/2 and 2
 * are 2^-1/2 and 2^1/2 of their geometric mean, and their sum stays 5/2. */
static void test_sharing(void **state)
{
    (void)state;
    const double works[] = {0.5, 2, -1};
    double factors[3];
    pw_varying_share(&(struct pw_varying){.noise = 0}, works, 3, factors);
    assert_true(fabs(factors[0] - 2.5) < 1e-9 && fabs(factors[1] - 0.625) < 1e-9);
    assert_true(fabs(factors[2] - 1) < 1e-9);
    pw_varying_share(&(struct pw_varying){.noise = 0.5}, works, 3, factors);
    assert_true(fabs(0.5 * factors[0] + 2 * factors[1] - 2.5) < 1e-9);
    assert_true(fabs(2 * factors[1] / (0.5 * factors[0]) - 2) < 1e-9);
}

/* Four ranks of one role, means of 10 values with a variance of 0.9: one of the means has 0.1.
 * Means of +-0.1 are chance, those of +-10 are not, and are kept but for 0.1 of 133. */
static void test_usual_works(void **state)
{
    (void)state;
    double usual[4], scratch[PW_VARYING_SUMS];
    struct pw_varying_level ranks[4];
    for (int times = 1; times <= 100; times *= 100) {
        for (int r = 0; r < 4; r++) {
            const double mean = (r % 2 ? 0.1 : -0.1) * times;
            ranks[r] = (struct pw_varying_level){10, 10 * mean, 10 * (mean * mean + 0.9)};
        }
        pw_varying_usual(ranks, 4, (struct pw_varying_roles){NULL, 1}, usual, scratch);
        const double kept = times == 1 ? 0 : 10 * (1 - 0.1 / (400.0 / 3));
        for (int r = 0; r < 4; r++)
            assert_true(fabs(usual[r] - (r % 2 ? kept : -kept)) < 1e-9);
    }
}

/* Means of 10 values with a standard error of sqrt(0.1) each: their difference has 0.45. With fewer
 * than 10 the mean is taken as 0. */
static void test_differences(void **state)
{
    (void)state;
    const struct pw_varying_level none = {9, 90, 900}, zero = {10, 0, 9}, one = {10, 10, 19},
                                  two = {10, 20, 49};
    assert_true(fabs(pw_varying_difference(&two, &zero) - 2) < 1e-9);
    assert_true(fabs(pw_varying_difference(&one, &zero)) < 1e-9);
    assert_true(fabs(pw_varying_difference(&one, &none) - 1) < 1e-9); /* 3.2 errors of one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts_vary),
        cmocka_unit_test(test_noise_is_no_amount),
        cmocka_unit_test(test_one_rank_alone_is_not_all),
        cmocka_unit_test(test_small_spreads_are_left),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_usual_works),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
