/* Calls of iterations written out by hand: a letter a call, 10 ns apart; an iteration begins with
 * each a. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/iteration.h"

static size_t find(const char *text, struct pw_recurring *out, size_t max)
{
    static struct pw_call calls[512];
    static int64_t begins[512];
    const size_t n = strlen(text);
    size_t nbegins = 0;
    for (size_t i = 0; i < n; i++) {
        calls[i] = (struct pw_call){(uint64_t)text[i], 10 * (int64_t)i, 10 * (int64_t)i + 1};
        if (text[i] == 'a')
            begins[nbegins++] = calls[i].start;
    }
    void *scratch = malloc(pw_recurring_scratch(n));
    assert_non_null(scratch);
    size_t listed =
        pw_recurring_find(&(struct pw_calls){calls, n},
                          &(struct pw_iteration_begins){begins, nbegins}, scratch, out, max);
    free(scratch);
    return listed;
}

static void test_phases_of_other_periods(void **state)
{
    (void)state;
    struct pw_recurring found[4];
    /* x, twice in one, in every second; y, and z with it, in every third. */
    const char *text = "axxb abyz axxb ab abxxyz ab axxb abyz axxb ab abxxyz ab a";
    char packed[64], *end = packed;
    for (const char *c = text; *c; c++)
        if (*c != ' ')
            *end++ = *c;
    *end = '\0';
    assert_int_equal(find(packed, found, 4), 2);
    assert_int_equal(found[0].key, 'x');
    assert_int_equal(found[0].every, 2);
    assert_int_equal(found[0].count, 6);
    assert_int_equal(found[0].call, 1);
    assert_int_equal(found[1].key, 'y');
    assert_int_equal(found[1].every, 3);
    assert_int_equal(found[1].count, 4);
    assert_true(found[0].alike == 1 && found[1].alike == 1);
    assert_int_equal(find(packed, found, 1), 1);
    assert_int_equal(found[0].every, 2);
}

static void test_calls_without_a_period(void **state)
{
    (void)state;
    struct pw_recurring found[4];
    assert_int_equal(find("", found, 4), 0);
    assert_int_equal(find("abababab", found, 4), 0);              /* b is in all */
    assert_int_equal(find("axaaaxaaa", found, 4), 0);             /* twice is no rule */
    assert_int_equal(find("axaxaaaaaxaaxaaaaaaxa", found, 4), 0); /* now and then */
    assert_int_equal(find("xaaxaaxa", found, 4), 0); /* x before the first a does not count */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_phases_of_other_periods),
                                       cmocka_unit_test(test_calls_without_a_period)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
