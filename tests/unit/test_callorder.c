/* Where the order of collectives differs: hashes and calls made by hand. */
#include "unit.h"

#include "analysis/callorder.h"
#include "core/ops.h"

/* ---- numbers and levels ---- */

/* 12 is 1100 in binary: two zeros at its end. Up to 13, the last number of level 0 is 13, of level
 * 1 (10 at the end) 10, of level 2 12, and of level 3 8. */
static void test_levels_are_the_zeros_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(pw_callorder_level(12), 2);
    assert_int_equal(pw_callorder_level(1u << 30), PW_CALLORDER_LEVELS - 1);
    assert_int_equal(pw_callorder_at(13, 0), 13);
    assert_int_equal(pw_callorder_at(13, 1), 10);
    assert_int_equal(pw_callorder_at(13, 2), 12);
    assert_int_equal(pw_callorder_at(13, 3), 8);
    assert_int_equal(pw_callorder_at(13, 4), 0);
    assert_int_equal(pw_callorder_at((3u << 23) + 5, PW_CALLORDER_LEVELS - 1), 3u << 23);
}

/* Of any two numbers that begin with the same bits, both keep the hash of these bits and zeros. */
static void test_two_ranks_have_a_common_number(void **state)
{
    (void)state;
    for (uint32_t a = 1; a < 200; a++)
        for (uint32_t b = a; b < 200; b++) {
            uint32_t common = 0, wanted = b;
            for (unsigned level = 0; level < PW_CALLORDER_LEVELS; level++)
                if (pw_callorder_at(a, level) == pw_callorder_at(b, level) &&
                    pw_callorder_at(a, level) > common)
                    common = pw_callorder_at(a, level);
            for (unsigned bit = 0; (wanted >> bit) != (a >> bit); bit++)
                wanted = wanted >> (bit + 1) << (bit + 1);
            assert_true(common >= wanted);
        }
}

/* ---- hashes ---- */

static void test_equal_hashes_are_no_split(void **state)
{
    struct pw_callorder_sample samples[] = {{8, 80, 0}, {12, 120, 0}, {8, 80, 1}, {10, 100, 1}};
    struct pw_callorder_split split;
    (void)state;
    assert_int_equal(pw_callorder_split(samples, 4, &split), 0);
    assert_int_equal(pw_callorder_split(samples, 0, &split), 0);
}

/* After 8 all agree; after 12 rank 2 does not. Rank 3 has come to 10 only. */
static void test_the_first_number_that_differs(void **state)
{
    struct pw_callorder_sample samples[] = {
        {16, 1, 0}, {8, 80, 0}, {12, 120, 0}, {8, 80, 1},   {12, 120, 1},
        {8, 80, 2}, {12, 5, 2}, {16, 2, 2},   {10, 100, 3}, {8, 80, 3},
    };
    struct pw_callorder_split split;
    (void)state;
    assert_int_equal(pw_callorder_split(samples, 10, &split), 1);
    assert_int_equal(split.agreed, 8);
    assert_int_equal(split.differ, 12);
    assert_int_equal(split.n, 3);
    assert_int_equal(split.most, 0);
    assert_int_equal(split.nmost, 2);
    assert_int_equal(split.fewest, 2);
    assert_int_equal(split.is_even, 0);
}

static void test_two_ranks_are_even(void **state)
{
    struct pw_callorder_sample samples[] = {{4, 7, 0}, {4, 3, 1}};
    struct pw_callorder_split split;
    (void)state;
    assert_int_equal(pw_callorder_split(samples, 2, &split), 1);
    assert_int_equal(split.agreed, 0);
    assert_int_equal(split.most, 0);
    assert_int_equal(split.fewest, 1);
    assert_int_equal(split.is_even, 1);
}

/* ---- calls ---- */

enum { MOST_CALLS = 32 };
struct list {
    struct pw_ordered_call calls[MOST_CALLS];
    size_t n;
};

/* A call for each letter: r allreduce, g allgather, b barrier, R an allreduce of another size, '?'
 * one whose signature is not known, d the creation of a communicator, '-' a call that is missing.
 */
static struct list make(const char *letters)
{
    struct list list = {.n = 0};
    int64_t seq = 0;
    for (; *letters; letters++) {
        struct pw_ordered_call *call = &list.calls[list.n];
        *call = (struct pw_ordered_call){.seq = *letters == 'd' ? -1 : seq, .root = -1};
        call->op = *letters == 'g'   ? PW_OP_Allgather
                   : *letters == 'b' ? PW_OP_Barrier
                   : *letters == 'd' ? PW_OP_Comm_dup
                                     : PW_OP_Allreduce;
        call->signature = *letters == 'R' ? 64 : *letters == '?' ? PW_REDUCTION_UNKNOWN : 32;
        list.n += *letters != '-';
        seq += *letters != 'd';
    }
    return list;
}

static void check(const char *most, const char *other, enum pw_callorder_kind kind, int64_t seq)
{
    const struct list a = make(most), b = make(other);
    struct pw_callorder_difference found;
    pw_callorder_compare(a.calls, a.n, b.calls, b.n, &found);
    assert_int_equal(found.kind, kind);
    assert_int_equal(found.seq, seq);
}

static void test_the_same_calls(void **state)
{
    (void)state;
    check("rgb", "rgb", PW_CALLORDER_SAME, -1);
    check("rgb", "rg", PW_CALLORDER_SAME, -1); /* one is only behind */
    check("r?b", "rRb", PW_CALLORDER_SAME, -1);
    check("", "r", PW_CALLORDER_SAME, -1);
}

static void test_another_call(void **state)
{
    (void)state;
    check("rrr", "rRr", PW_CALLORDER_OTHER, 1);
    check("rb", "rg", PW_CALLORDER_OTHER, 1);
    check("r?", "rb", PW_CALLORDER_OTHER, 1);
    /* "gb" after "r" may be that "r" was left out, or chance: it has never come before. */
    check("rrg", "rg", PW_CALLORDER_OTHER, 1);
}

/* The calls after it are those of the other rank. */
static void test_a_call_that_was_left_out(void **state)
{
    (void)state;
    check("rgbrgb", "rgrgb", PW_CALLORDER_SKIPPED, 2);
    check("rgrgb", "rgbrgb", PW_CALLORDER_EXTRA, 2);
}

/* Both ranks hang in the call: before, "r" came where it is missing now, and then "g". */
static void test_a_call_that_used_to_come(void **state)
{
    (void)state;
    check("brgbrgbr", "brgbrgbg", PW_CALLORDER_LIKELY, 7);
    check("rgrgrgrg", "rgrggrgr", PW_CALLORDER_LIKELY, 4); /* or "g" was one more */
    check("brgbrgbr", "brgbrgbR", PW_CALLORDER_OTHER, 7);
}

static void test_a_missing_call_is_a_gap(void **state)
{
    (void)state;
    check("rgbr", "rg-g", PW_CALLORDER_GAP, -1);
    check("rgbr", "-gbr", PW_CALLORDER_GAP, -1);
}

/* A creation has no number: the difference has that of the next collective. */
static void test_creations_are_compared(void **state)
{
    (void)state;
    check("rdb", "rdb", PW_CALLORDER_SAME, -1);
    check("rdb", "rbb", PW_CALLORDER_OTHER, 1);
    check("rdbgb", "rbgb", PW_CALLORDER_SKIPPED, 1);
}

/* ---- words ---- */

static void test_what_differs(void **state)
{
    const struct pw_ordered_call call = {.op = PW_OP_Reduce, .root = 1, .bytes = 8, .signature = 3};
    struct pw_ordered_call other = call;
    (void)state;
    other.signature = PW_REDUCTION_MAX;
    assert_int_equal(pw_callorder_part(&call, &other), PW_PART_REDUCTION);
    other.signature = 3 + 64;
    assert_int_equal(pw_callorder_part(&call, &other), PW_PART_BYTES);
    other.root = 2;
    assert_int_equal(pw_callorder_part(&call, &other), PW_PART_ROOT);
    other.op = PW_OP_Barrier;
    assert_int_equal(pw_callorder_part(&call, &other), PW_PART_OPERATION);
    assert_string_equal(pw_callorder_reduction(64 | PW_REDUCTION_SUM), "MPI_SUM");
    assert_string_equal(pw_callorder_reduction(64), "");
    assert_string_equal(pw_callorder_reduction(PW_REDUCTION_UNKNOWN), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_are_the_zeros_at_the_end),
        cmocka_unit_test(test_two_ranks_have_a_common_number),
        cmocka_unit_test(test_equal_hashes_are_no_split),
        cmocka_unit_test(test_the_first_number_that_differs),
        cmocka_unit_test(test_two_ranks_are_even),
        cmocka_unit_test(test_the_same_calls),
        cmocka_unit_test(test_another_call),
        cmocka_unit_test(test_a_call_that_was_left_out),
        cmocka_unit_test(test_a_call_that_used_to_come),
        cmocka_unit_test(test_a_missing_call_is_a_gap),
        cmocka_unit_test(test_creations_are_compared),
        cmocka_unit_test(test_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
