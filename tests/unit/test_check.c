/* Checks that are compiled in end the process when they fail, and only then. */
#undef PW_ASSERT_LEVEL
#define PW_ASSERT_LEVEL 1
#include "core/check.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* How a process ends that checks `value`, and what it says meanwhile. */
static int check_in_child(int value, char *said, size_t size)
{
    int out[2], status;
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        PW_CHECK(value == 1);
        PW_CHECK_FULL(value == 7); /* not compiled at this level */
        _exit(0);
    }
    close(out[1]);
    ssize_t n = read(out[0], said, size - 1);
    said[n > 0 ? n : 0] = 0;
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_condition_that_holds_prints_nothing(void **state)
{
    (void)state;
    char said[256];
    assert_int_equal(check_in_child(1, said, sizeof(said)), 0);
    assert_string_equal(said, "");
}

static void test_condition_that_fails_aborts_with_a_line(void **state)
{
    (void)state;
    char said[256];
    int status = check_in_child(0, said, sizeof(said));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(said, "test_check.c:"));
    assert_non_null(strstr(said, "value == 1 does not hold"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_that_holds_prints_nothing),
        cmocka_unit_test(test_condition_that_fails_aborts_with_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
