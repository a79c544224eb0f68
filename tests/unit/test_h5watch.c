/* Crashes and endless loops while a file is read: one sentence that names it, and status 1. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/h5/h5vet.h"
#include "core/h5/h5watch.h"

/* Runs `act` in a child that is watched; what it said, and its status as waitpid() has it. */
static int in_child(void (*act)(void), char said[512])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL); /* cmocka has handlers of its own */
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        pw_h5_watch_install();
        act();
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n; (n = read(ends[0], said + got, 511 - got)) > 0;)
        got += (size_t)n;
    said[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void open_two(void)
{
    pw_h5_watch_open("first.h5");
    pw_h5_watch_opened(11);
    pw_h5_watch_open("second.h5");
    pw_h5_watch_opened(12);
}

static void crash_in_second(void)
{
    open_two();
    raise(SIGSEGV);
}

static void crash_in_first(void)
{
    open_two();
    pw_h5_watch_touch(11);
    abort();
}

/* Never 0, which the compiler does not know. */
static int overflow(volatile char *depth)
{
    volatile char room[4096];
    room[0] = (char)(*depth | 1);
    return room[0] ? overflow(room) + room[0] : 0;
}

static void end_the_stack(void)
{
    volatile char depth = 1;
    open_two();
    _exit(overflow(&depth));
}

static void crash_before_any_file(void)
{
    raise(SIGSEGV);
}

static void expire(void)
{
    raise(SIGPROF); /* as the timer does after 5 s of processor time */
}

static void come_to_no_end(void)
{
    open_two();
    expire();
    expire();
    expire();
}

static void go_on_slowly(void)
{
    open_two();
    for (int i = 0; i < 10; i++) {
        pw_h5_watch_touch(11);
        expire();
    }
    pw_h5_watch_closed(11);
    pw_h5_watch_closed(12);
    for (int i = 0; i < 10; i++)
        expire(); /* nothing is being read */
}

static void expire_at(void *context, const struct pw_h5_unpacked *chunk)
{
    (void)context;
    (void)chunk;
    expire();
}

/* A table of 8 chunks, for each of which the time expires. */
static void read_a_large_table(void)
{
    const hsize_t rows = 64, chunk = 8;
    const struct pw_h5_piece all = {{0, 0}, {rows, 1}};
    int64_t values[64] = {0};
    struct pw_h5_storage storage;
    hid_t file = H5Fcreate("large.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &rows, NULL), form = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(form, 1, &chunk);
    H5Pset_deflate(form, 1);
    hid_t table = H5Dcreate2(file, "t", H5T_NATIVE_INT64, space, H5P_DEFAULT, form, H5P_DEFAULT);
    int bad = H5Dwrite(table, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
    H5Fflush(file, H5F_SCOPE_LOCAL);
    open_two();
    bad |= pw_h5_vet_storage(table, sizeof(values[0]), &storage);
    bad |= pw_h5_vet_visit(table, &storage, &all, expire_at, NULL);
    unlink("large.h5");
    _exit(bad ? 2 : 0);
}

static void check_said(void (*act)(void), const char *name, const char *what)
{
    char said[512];
    int status = in_child(act, said);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(strncmp(said, "profwrap: ", 10), 0);
    assert_int_equal(strncmp(said + 10, name, strlen(name)), 0);
    assert_non_null(strstr(said, what));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
}

static void test_crashes(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: crashes are the sanitizer's in this build\n");
    skip();
#endif
    char said[512];
    check_said(crash_in_second, "second.h5 ", "damaged");
    check_said(crash_in_first, "first.h5 ", "damaged");
    check_said(end_the_stack, "second.h5 ", "damaged");
    int status = in_child(crash_before_any_file, said);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_string_equal(said, "");
    setenv("PROFWRAP_LOG", "crash:1", 1);
    status = in_child(crash_in_second, said);
    unsetenv("PROFWRAP_LOG");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void test_endless_loops(void **state)
{
    (void)state;
    char said[512];
    check_said(come_to_no_end, "second.h5 ", "does not finish");
    assert_int_equal(in_child(go_on_slowly, said), 0);
    assert_string_equal(said, "");
    assert_int_equal(in_child(read_a_large_table, said), 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_endless_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
