/* Which diagnostics PROFWRAP_LOG asks for. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The line goes to the file when the process has left the terminal, and not before. */
static void test_messages_after_the_launcher_has_ended(void **state)
{
    (void)state;
    char text[64] = "";
    struct stat terminal, left;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        pw_log_set_file("messages-of-the-test.txt");
        pw_error("before");
        pw_log_leave_terminal();
        pw_error("after");
        _exit(fstat(STDERR_FILENO, &left) || stat("/dev/null", &terminal) ||
              left.st_ino != terminal.st_ino);
    }
    int status = -1;
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], text, sizeof(text) - 1), sizeof("profwrap: before\n") - 1);
    assert_string_equal(text, "profwrap: before\n");
    assert_int_equal(read(ends[0], text, 1), 0); /* nobody has the pipe any more */
    close(ends[0]);
    FILE *file = fopen("messages-of-the-test.txt", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    assert_string_equal(text, "profwrap: after\n");
    assert_null(fgets(text, sizeof(text), file));
    fclose(file);
    unlink("messages-of-the-test.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_logged_without_a_valid_request),
        cmocka_unit_test(test_level_of_each_domain),
        cmocka_unit_test(test_messages_after_the_launcher_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
