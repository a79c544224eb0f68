/* Iterations of sequences written out by hand: a letter a call, which takes 1 ns, begun every 10 ns
 * unless a space, 100 ns, or an exclamation mark, 100 us, is before it. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/iteration.h"

static int find_with(const char *text, double interrupted, struct pw_iterations *out)
{
    static struct pw_call calls[4096];
    struct pw_iterations all[64];
    size_t n = 0;
    int64_t time = 0;
    for (const char *c = text; *c; c++) {
        time += *c == ' ' ? 100 : *c == '!' ? 100000 : 10;
        if (*c != ' ' && *c != '!')
            calls[n++] = (struct pw_call){(uint64_t)*c, time, time + 1};
    }
    void *scratch = malloc(pw_iterations_scratch(n));
    assert_non_null(scratch);
    size_t listed = pw_iterations_list(&(struct pw_calls){calls, n}, interrupted, scratch, all, 64);
    free(scratch);
    if (listed)
        *out = all[pw_iterations_choose(all, listed)];
    return listed > 0;
}

static int find(const char *text, struct pw_iterations *out)
{
    return find_with(text, 0, out);
}

static void test_one_loop(void **state)
{
    (void)state;
    struct pw_iterations it;
    assert_int_equal(find("abc abc abc abc", &it), 1);
    assert_int_equal(it.key, 'a'); /* all cover alike: the first key */
    assert_int_equal(it.count, 3);
    assert_int_equal(it.calls, 3);
    assert_true(fabs(it.alike - 1) < 1e-12);
    /* From the first a, at 10 ns, to the fourth, at 400; the last call ends at 421. */
    assert_true(fabs(it.coverage - 390.0 / 411) < 1e-12);
    assert_int_equal(find("aaaaaa", &it), 1); /* one collective a step */
    assert_int_equal(it.count, 5);
    assert_int_equal(find("xy ab ab ab ab", &it), 1); /* after a prologue */
    assert_int_equal(it.key, 'a');
}

/* What comes only now and then moves no step. */
static void test_exceptions(void **state)
{
    (void)state;
    struct pw_iterations it;
    assert_int_equal(find("ab ab ab ab xyab ab ab ab xyab ab ab ab", &it), 1);
    assert_int_equal(it.count, 11);
    assert_true(fabs(it.alike - 9.0 / 11) < 1e-12);
}

/* The inner loop, not the outer: b ends each of the outer. */
static void test_nested_loops(void **state)
{
    (void)state;
    struct pw_iterations it;
    assert_int_equal(
        find("a a a a a a a ab a a a a a a a ab a a a a a a a ab a a a a a a a ab", &it), 1);
    assert_int_equal(it.key, 'a');
    assert_int_equal(it.count, 31);
}

/* Three dot products in an iteration of a solver are one step, for their contents differ. */
static void test_calls_that_come_several_times(void **state)
{
    (void)state;
    struct pw_iterations it;
    assert_int_equal(find("hgd d d hgd d d hgd d d hgd d d hgd d d", &it), 1);
    assert_int_equal(it.calls, 5);
    assert_int_equal(it.count, 4);
    assert_true(it.key == 'g' || it.key == 'h');
}

/* One iteration in nine stands still, and four of eleven in a row: the mean is far above the
 * median, and they are iterations all the same. Where every third call has the pause before it, all
 * three are one. */
static void test_what_a_machine_does_to_some(void **state)
{
    (void)state;
    struct pw_iterations it;
    const char *one = "abc abc abc!abc abc abc abc abc abc abc";
    assert_int_equal(find(one, &it), 0);
    assert_int_equal(find_with(one, 0.05, &it), 1);
    assert_int_equal(it.count, 9);
    assert_int_equal(find("abc abc abc abc abc!abc!abc!abc!abc abc abc abc", &it), 1);
    assert_int_equal(it.count, 11);
    assert_int_equal(find_with("aaa!aaa!aaa!aaa!aaa!aaa", 0.05, &it), 0);
}

static void test_calls_without_iterations(void **state)
{
    (void)state;
    struct pw_iterations it;
    assert_int_equal(find("", &it), 0);
    assert_int_equal(find("ab", &it), 0);
    assert_int_equal(find("ab ab ab", &it), 0);              /* two iterations are none */
    assert_int_equal(find("abcdefghijkl", &it), 0);          /* nothing comes again */
    assert_int_equal(find("abcdefghij klmno aaaa", &it), 0); /* only the end does */
    assert_int_equal(find("abcaddaefgaahijaklaam nopaqraast", &it), 0); /* each time others */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_loop),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_calls_that_come_several_times),
        cmocka_unit_test(test_what_a_machine_does_to_some),
        cmocka_unit_test(test_calls_without_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
