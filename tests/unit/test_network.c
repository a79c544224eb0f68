/* Slow columns and stretches among levels of transfers, by hand. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/network.h"

enum { MOST = 60 * 8 };

/* All at `level`, a little more in every other step. */
static void fill(double *levels, size_t nsteps, size_t ncolumns, double level)
{
    for (size_t s = 0; s < nsteps; s++)
        for (size_t c = 0; c < ncolumns; c++)
            levels[s * ncolumns + c] = level * (s % 2 ? 1 : 1.01);
}

static int find_column(const double *levels, size_t nsteps, size_t ncolumns, size_t column,
                       struct pw_network_found *out)
{
    const struct pw_network_input in = {nsteps, ncolumns, levels};
    void *scratch = malloc(pw_network_scratch(nsteps, ncolumns));
    assert_non_null(scratch);
    const int found = pw_network_column(&in, column, scratch, out);
    free(scratch);
    return found;
}

static int find_stretch(const double *levels, size_t nsteps, size_t ncolumns,
                        struct pw_network_found *out)
{
    const struct pw_network_input in = {nsteps, ncolumns, levels};
    void *scratch = malloc(pw_network_scratch(nsteps, ncolumns));
    assert_non_null(scratch);
    const int found = pw_network_stretch(&in, scratch, out);
    free(scratch);
    return found;
}

/* Five columns, the third at `level` in all of 12 steps; the others are usual. The chance of one
 * step above 1.25 is at most (0 + 3) / (12 + 3) = 0.2, of 12 of them 0.2^12 x 5 columns. */
static void test_always_slow(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 12, 5, 1);
    for (size_t s = 0; s < 12; s++)
        levels[s * 5 + 2] = 3 * levels[s * 5 + 1];
    assert_true(find_column(levels, 12, 5, 2, &found));
    assert_int_equal(found.first, 0);
    assert_int_equal(found.last, 11);
    assert_true(found.ratio > 2.999 && found.ratio < 3.001);
    assert_true(found.confidence > 1 - 5 * 4.2e-9 && found.confidence < 1);
    assert_false(find_column(levels, 12, 5, 1, &found));

    for (size_t s = 0; s < 12; s++)
        levels[s * 5 + 2] = 1.4 * levels[s * 5 + 1];
    assert_false(find_column(levels, 12, 5, 2, &found));
    for (size_t s = 0; s < 12; s++)
        levels[s * 5 + 2] = 3;
    assert_false(find_column(levels, 9, 5, 2, &found)); /* of 9 steps nothing is said */
}

/* One other to compare with: 2 times are asked for. */
static void test_one_of_two_links_must_be_twice_as_slow(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 20, 2, 1);
    for (size_t s = 0; s < 20; s++)
        levels[2 * s] = 2.1 * levels[2 * s + 1];
    assert_true(find_column(levels, 20, 2, 0, &found));
    for (size_t s = 0; s < 20; s++)
        levels[2 * s] = 1.9 * levels[2 * s + 1];
    assert_false(find_column(levels, 20, 2, 0, &found));
}

/* The others' transfers were hidden, a tenth of what is usual: 1.4 times the usual is not slow. */
static void test_hidden_transfers_of_others_are_no_reference(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 20, 6, 0.1);
    for (size_t s = 0; s < 20; s++)
        levels[6 * s] = 1.4;
    assert_false(find_column(levels, 20, 6, 0, &found));
    for (size_t s = 0; s < 20; s++)
        levels[6 * s] = 1.6;
    assert_true(find_column(levels, 20, 6, 0, &found));
    assert_true(found.ratio > 1.599 && found.ratio < 1.601);
}

/* Slow only in steps 20 to 39 of 60. */
static void test_column_in_a_stretch(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 60, 5, 1);
    for (size_t s = 20; s < 40; s++)
        levels[s * 5 + 4] *= 4;
    assert_true(find_column(levels, 60, 5, 4, &found));
    assert_int_equal(found.first, 20);
    assert_int_equal(found.last, 39);
    assert_true(found.ratio > 3.99 && found.ratio < 4.01);
    assert_false(find_column(levels, 60, 5, 3, &found));
}

static void test_stretch(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 60, 4, 1);
    assert_false(find_stretch(levels, 60, 4, &found));
    for (size_t i = 20 * 4; i < 40 * 4; i++)
        levels[i] *= 3;
    assert_true(find_stretch(levels, 60, 4, &found));
    assert_int_equal(found.first, 20);
    assert_int_equal(found.last, 39);
    assert_true(found.ratio > 2.98 && found.ratio < 3.02);

    fill(levels, 60, 4, 1);
    for (size_t i = 20 * 4; i < 40 * 4; i++)
        levels[i] *= 1.4;
    assert_false(find_stretch(levels, 60, 4, &found));
}

/* Bursts of 2 to 42 in steps 20 to 59 of 100, median 12: two thirds of them are above half of its
 * excess (6.5), too few on the scale of the levels; on that of their logarithms, 4.1, 77 %. */
static void test_stretch_of_bursts(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[100];
    fill(levels, 100, 1, 1);
    for (size_t s = 20; s < 60; s++) {
        const double even = fmod((double)s * 0.6180339887, 1); /* fills 0 to 1 evenly */
        levels[s] = 2 + 40 * even * even;
    }
    assert_true(find_stretch(levels, 100, 1, &found));
    assert_true(found.first >= 20 && found.first <= 22);
    assert_true(found.last >= 57 && found.last <= 59);
    assert_true(found.ratio > 10 && found.ratio < 14);
}

static int find_unsteady(const double *levels, size_t nsteps, struct pw_network_found *out)
{
    const struct pw_network_input in = {nsteps, 1, levels};
    void *scratch = malloc(pw_network_scratch(nsteps, 1));
    assert_non_null(scratch);
    const int found = pw_network_unsteady(&in, scratch, out);
    free(scratch);
    return found;
}

/* 18 of 20 steps at 3 times the fastest: by chance at most 211 of 2^20 (1 + 20 + 190). With 10
 * steps all ten are needed, 1 of 1024; 9 may be chance, 11 of 1024. */
static void test_unsteady(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 20, 1, 3);
    levels[4] = levels[7] = 1;
    assert_true(find_unsteady(levels, 20, &found));
    assert_int_equal(found.first, 0);
    assert_int_equal(found.last, 19);
    assert_true(found.ratio > 2.99 && found.ratio < 3.04);
    assert_true(fabs(found.confidence - (1 - 211.0 / (1 << 20))) < 1e-9);

    assert_false(find_unsteady(levels, 10, &found)); /* 8 of 10 */
    levels[4] = 3;
    assert_false(find_unsteady(levels, 10, &found));
    levels[7] = 3;
    assert_true(find_unsteady(levels, 10, &found));
    assert_false(find_unsteady(levels, 9, &found));
    fill(levels, 20, 1, 1.9);
    assert_false(find_unsteady(levels, 20, &found));
    levels[3] = levels[9] = 100; /* two stalls are no state of the network */
    assert_false(find_unsteady(levels, 20, &found));
}

/* Nothing is known of a step without transfers, nor of a column without any. */
static void test_unknown(void **state)
{
    (void)state;
    struct pw_network_found found;
    double levels[MOST];
    fill(levels, 20, 5, 1);
    for (size_t s = 0; s < 20; s++) {
        levels[s * 5] = -1;
        levels[s * 5 + 1] = s % 3 ? 3 : -1;
    }
    assert_false(find_column(levels, 20, 5, 0, &found));
    assert_true(find_column(levels, 20, 5, 1, &found)); /* 13 steps are known */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always_slow),
        cmocka_unit_test(test_one_of_two_links_must_be_twice_as_slow),
        cmocka_unit_test(test_hidden_transfers_of_others_are_no_reference),
        cmocka_unit_test(test_column_in_a_stretch),
        cmocka_unit_test(test_stretch),
        cmocka_unit_test(test_stretch_of_bursts),
        cmocka_unit_test(test_unsteady),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
