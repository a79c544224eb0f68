/* Which diagnostics PROFWRAP_LOG asks for. */
#include "unit.h"

#include <stdlib.h>

#include "core/log.h"

static void test_nothing_is_logged_without_a_valid_request(void **state)
{
    (void)state;
    unsetenv("PROFWRAP_LOG");
    assert_false(pw_log_wants(PW_LOG_MERGE, 1));
    setenv("PROFWRAP_LOG", "", 1);
    assert_false(pw_log_wants(PW_LOG_MERGE, 1));
    setenv("PROFWRAP_LOG", "merge,mergers:2,merge:x,ring:1", 1);
    assert_false(pw_log_wants(PW_LOG_MERGE, 1));
}

static void test_level_of_each_domain(void **state)
{
    (void)state;
    setenv("PROFWRAP_LOG", "ring:1,merge:2,watch:0", 1);
    assert_true(pw_log_wants(PW_LOG_RING, 1));
    assert_false(pw_log_wants(PW_LOG_RING, 2));
    assert_true(pw_log_wants(PW_LOG_MERGE, 1));
    assert_true(pw_log_wants(PW_LOG_MERGE, 2));
    assert_false(pw_log_wants(PW_LOG_WATCH, 1));
    assert_false(pw_log_wants(PW_LOG_CLOCK, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_logged_without_a_valid_request),
        cmocka_unit_test(test_level_of_each_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
