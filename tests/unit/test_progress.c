/* The line that a merge shows, and that there is none without a terminal. */
#include "unit.h"

#include "aggregate/input/progress.h"

static void test_progress_line(void **state)
{
    (void)state;
    char line[128];
    struct pw_progress p = {.events = 40000000, .done = 25, .total = 100};
    pw_progress_line(&p, 4000000000, line, sizeof(line)); /* a quarter of 40 million in 4 s */
    assert_string_equal(line, "[#####...............] 25 %, 2.5 million events/s, 12 s left");
    p.done = 1;
    pw_progress_line(&p, 4000000000, line, sizeof(line));
    assert_string_equal(line, "[....................] 1 %, 0.1 million events/s, 6 min 36 s left");
    p.done = 120; /* more than was thought */
    pw_progress_line(&p, 4000000000, line, sizeof(line));
    assert_string_equal(line, "[####################] 100 %, 10.0 million events/s, 0 s left");
    p.total = 0;
    pw_progress_line(&p, 4000000000, line, sizeof(line));
    assert_string_equal(line, "[....................] 0 %, 0.0 million events/s, ? left");
}

static void test_no_progress_without_a_terminal(void **state)
{
    (void)state;
    struct pw_progress p = {.total = 10};
    pw_progress_add(&p, 10);
    pw_progress_end(&p);
    assert_int_equal(p.done, 10);
    assert_null(p.to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_line),
        cmocka_unit_test(test_no_progress_without_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
