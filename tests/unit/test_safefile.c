/* Files that are made under a name of their own: what is left of one whose maker is ended. */
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/safefile.h"

static int count_files(void **state)
{
    int n = 0;
    DIR *stream = opendir(*state);
    for (struct dirent *entry; (entry = readdir(stream));)
        n += entry->d_name[0] != '.';
    closedir(stream);
    return n;
}

/* Makes a file, lets the caller know, and waits until it is ended. */
static _Noreturn void make(void **state, int told)
{
    struct pw_newfile file;
    char path[UNIT_PATH];
    if (pw_newfile_open(unit_path(path, state, "made"), 0600, &file))
        _exit(1);
    fputs("half", file.out);
    fflush(file.out);
    if (write(told, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void test_signal_removes_the_unfinished_file(void **state)
{
    const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        int pipes[2], status;
        char byte;
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0)
            make(state, pipes[1]);
        assert_int_equal(read(pipes[0], &byte, 1), 1);
        assert_int_equal(count_files(state), 1);
        assert_int_equal(kill(child, signals[i]), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_int_equal(count_files(state), 0);
        close(pipes[0]);
        close(pipes[1]);
    }
}

/* A program's own handlers, and a signal that it ignores, stay; afterwards all is as it was. */
static void test_handlers_stay(void **state)
{
    struct pw_newfile file;
    char path[UNIT_PATH];
    struct sigaction now;
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    assert_int_equal(pw_newfile_open(unit_path(path, state, "made"), 0600, &file), 0);
    sigaction(SIGHUP, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    sigaction(SIGINT, NULL, &now);
    assert_ptr_not_equal(now.sa_handler, SIG_DFL);
    assert_int_equal(pw_newfile_close(&file, 0), 0);
    sigaction(SIGINT, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_DFL);
    assert_int_equal(count_files(state), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_signal_removes_the_unfinished_file),
        UNIT_IN_DIR(test_handlers_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
