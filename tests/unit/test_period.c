/* Periods of sequences written out by hand. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "analysis/period.h"

static int find(const char *text, struct pw_period *out)
{
    uint64_t keys[256];
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        keys[i] = (uint64_t)text[i];
    return pw_period_find(keys, n, out);
}

static void test_found(void **state)
{
    (void)state;
    struct pw_period p;
    assert_int_equal(find("abcabcabcabc", &p), 1);
    assert_int_equal(p.length, 3);
    assert_int_equal(p.first, 0);
    assert_true(fabs(p.confidence - 1) < 1e-12);
    assert_int_equal(find("aaaaaa", &p), 1); /* one collective a step */
    assert_int_equal(p.length, 1);
    assert_int_equal(find("xyaabaabaabaab", &p), 1); /* after a prologue */
    assert_int_equal(p.length, 3);
    assert_int_equal(p.first, 2);
}

/* One step does something else. */
static void test_exceptions(void **state)
{
    (void)state;
    struct pw_period p;
    assert_int_equal(find("ababababababababababababababababababcbabababababababababab", &p), 1);
    assert_int_equal(p.length, 2);
    /* 58 keys, 56 compared, the c twice: 54 alike. */
    assert_true(fabs(p.confidence - 54.0 / 56) < 1e-12);
}

static void test_none(void **state)
{
    (void)state;
    struct pw_period p;
    assert_int_equal(find("", &p), 0);
    assert_int_equal(find("ab", &p), 0);
    assert_int_equal(find("abab", &p), 0);         /* twice is no period */
    assert_int_equal(find("abcdefghijkl", &p), 0); /* nothing comes again */
    assert_int_equal(find("abcdefgaaa", &p), 0);   /* only the end does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
