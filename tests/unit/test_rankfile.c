/* Output directories and rank files. */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "rank/file/rankfile.h"
#include "rank/run/outdir.h"

static void test_outdir(void **state)
{
    char dir[UNIT_PATH], problem[512] = "";
    struct stat st;
    unit_path(dir, state, "out");
    assert_int_equal(pw_outdir_prepare(dir, "job-1", 0, problem, sizeof(problem)), 0);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(pw_outdir_prepare(dir, "job-1", 0, problem, sizeof(problem)), 0); /* joins */
    assert_string_equal(problem, "");
    assert_int_equal(pw_outdir_prepare(dir, "job-2", 0, problem, sizeof(problem)), -EEXIST);
    assert_non_null(strstr(problem, "another job"));
    assert_non_null(strstr(problem, dir));
}

static void test_outdir_of_others(void **state)
{
    char dir[UNIT_PATH], file[UNIT_PATH], problem[512] = "";
    unit_path(dir, state, "mine");
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(pw_outdir_prepare(dir, "job", 0, problem, sizeof(problem)), 0); /* empty */
    assert_int_equal(mkdir(unit_path(dir, state, "foreign"), 0755), 0);
    unit_write(unit_path(file, state, "foreign/thesis.tex"), "x", 1, 0600);
    assert_int_equal(pw_outdir_prepare(dir, "job", 0, problem, sizeof(problem)), -EEXIST);
    assert_non_null(strstr(problem, "not empty"));
    assert_int_equal(unlink(file), 0); /* and nothing of ours was left in it */
    assert_int_equal(rmdir(dir), 0);
    unit_write(unit_path(file, state, "file"), "x", 1, 0600);
    assert_true(pw_outdir_prepare(file, "job", 0, problem, sizeof(problem)) < 0);
    assert_int_equal(
        pw_outdir_prepare(unit_path(dir, state, "file/dir"), "job", 0, problem, sizeof(problem)),
        -ENOTDIR);
}

static void test_outdir_above(void **state)
{
    char dir[UNIT_PATH], mark[UNIT_PATH], problem[512] = "";
    struct stat status;
    unit_path(dir, state, "above/it//dir/");
    assert_int_equal(pw_outdir_prepare(dir, "job", 0, problem, sizeof(problem)), 0);
    assert_int_equal(lstat(unit_path(mark, state, "above/it/dir/.job"), &status), 0);
    assert_int_equal(stat(unit_path(dir, state, "above"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

static void test_outdir_unwritable(void **state)
{
    char dir[UNIT_PATH], problem[512] = "";
    if (geteuid() == 0) { /* root may write anywhere but there */
        assert_true(pw_outdir_prepare("/proc/profwrap", "job", 0, problem, sizeof(problem)) < 0);
    } else {
        assert_int_equal(mkdir(unit_path(dir, state, "closed"), 0500), 0);
        assert_int_equal(pw_outdir_prepare(dir, "job", 0, problem, sizeof(problem)), -EACCES);
        assert_non_null(strstr(problem, dir));
        unit_path(dir, state, "closed/out");
        assert_int_equal(pw_outdir_prepare(dir, "job", 0, problem, sizeof(problem)), -EACCES);
    }
    assert_true(problem[0] != '\0');
}

/* Eight ranks at the same moment: all of one job get in, of two jobs only one. */
static void test_outdir_race(void **state)
{
    char dir[UNIT_PATH], name[32];
    for (int round = 0; round < 20; round++) {
        int welcome = 0, jobs = 1 + round % 2;
        snprintf(name, sizeof(name), "race%d", round);
        unit_path(dir, state, name);
        for (int i = 0; i < 8; i++)
            if (fork() == 0) {
                char problem[512];
                const char *job = i % jobs ? "other" : "job";
                _exit(pw_outdir_prepare(dir, job, 0, problem, sizeof(problem)) ? 1 : 0);
            }
        for (int i = 0, status; i < 8; i++) {
            wait(&status);
            welcome += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        assert_int_equal(welcome, 8 / jobs);
    }
}

static const struct pw_identity rank_3 = {.rank = 3,
                                          .size = 8,
                                          .local_rank = 1,
                                          .job = "j",
                                          .hostname = "node-b",
                                          .clock_domain = "boot time"};

static int64_t get_int(hid_t file, const char *name)
{
    int64_t value = -12345;
    assert_int_equal(pw_h5_get_int(file, name, &value), 0);
    return value;
}

static void assert_text(hid_t file, const char *name, const char *expected)
{
    char text[256];
    assert_int_equal(pw_h5_get_text(file, name, text, sizeof(text)), 0);
    assert_string_equal(text, expected);
}

static void check_rankfile(const char *path)
{
    hid_t file;
    struct pw_row_overhead overhead;
    struct pw_row_step *steps;
    char **strings;
    size_t n;
    assert_int_equal(pw_h5_open(path, &file), 0);
    assert_int_equal(pw_format_check(file, PW_FORMAT_RANK), 0);
    assert_int_equal(get_int(file, "rank"), 3);
    assert_int_equal(get_int(file, "world_size"), 8);
    assert_int_equal(get_int(file, "local_rank"), 1);
    assert_int_equal(get_int(file, "pid"), 4711);
    assert_int_equal(get_int(file, "exit_code"), -1);
    assert_int_equal(get_int(file, "exit_signal"), 9);
    assert_int_equal(get_int(file, "complete"), 1);
    assert_int_equal(get_int(file, "dropped_events"), 17);
    assert_true(get_int(file, "end_unix_ns") >= get_int(file, "start_unix_ns"));
    assert_text(file, "hostname", "node-b");
    assert_text(file, "command", "prog -x");
    assert_int_equal(pw_h5_read_all(file, PW_TABLE_step, (void **)&steps, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(steps[1].step, 8);
    free(steps);
    assert_int_equal(pw_h5_read_rows(file, PW_TABLE_overhead, 0, 1, &overhead), 0);
    assert_string_equal(overhead.name, "records");
    assert_true(overhead.value == 2.5);
    assert_string_equal(overhead.unit, "ns");
    hsize_t dims[2];
    assert_int_equal(pw_h5_extent(file, PW_TABLE_clock, dims), 0); /* there though empty */
    assert_int_equal(pw_h5_read_strings(file, "/strings", &strings, &n), 0);
    assert_int_equal(n, 6);
    assert_string_equal(strings[0], "");
    assert_string_equal(strings[2], "forward pass of the encoder");
    assert_string_equal(strings[4], ""); /* never named */
    assert_string_equal(strings[5], "late");
    free(strings);
    H5Fclose(file);
}

static void test_rankfile(void **state)
{
    char path[UNIT_PATH], part[UNIT_PATH];
    struct pw_rankfile *file, *second = NULL;
    assert_int_equal(pw_rankfile_create(*state, &rank_3, "prog -x", 1, &file), 0);
    unit_path(path, state, "rank-00003.h5");
    assert_int_equal(access(unit_path(part, state, "rank-00003.h5.part"), F_OK), 0);
    assert_int_equal(pw_rankfile_texts(file), 1);
    for (int64_t i = 7; i <= 8; i++) {
        struct pw_row_step row = {.step = i};
        pw_rankfile_append(file, PW_TABLE_step, &row);
    }
    assert_int_equal(pw_rankfile_rows(file, PW_TABLE_step), 2);
    pw_rankfile_overhead(file, "records", 2.5, "ns");
    /* "forward pass of the encoder", in pieces that arrive in any order and overlap. */
    pw_rankfile_text_piece(file, &(struct pw_text_piece){2, 27, 20, 14, "encoder......."});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){2, 27, 0, 16, "forward pass of "});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){2, 27, 12, 8, " of the "});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){5, 4, 0, 4, "late"});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){1 << 20, 4, 0, 4, "much"}); /* refused: */
    pw_rankfile_text_piece(file, &(struct pw_text_piece){3, 9000, 0, 4, "long"});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){3, 4, 5, 4, "past"});
    pw_rankfile_text_piece(file, &(struct pw_text_piece){UINT32_MAX, 4, 0, 4, "much"});
    assert_int_equal(pw_rankfile_texts(file), 6);
    pw_rankfile_count_dropped(file, 17);
    assert_int_equal(access(path, F_OK), -1);
    const struct pw_rankfile_end end = {-1, 9, 1, 4711};
    assert_int_equal(pw_rankfile_close(file, &end), 0);
    assert_int_equal(access(part, F_OK), -1);
    check_rankfile(path);
    assert_int_equal(pw_rankfile_create(*state, &rank_3, "prog", 1, &second), -EEXIST);
    const struct pw_identity other = {.rank = 4, .size = 8};
    unit_write(unit_path(part, state, "rank-00004.h5.part"), "left by a crash", 15, 0600);
    assert_int_equal(pw_rankfile_create(*state, &other, "prog", 1, &second), -EEXIST);
    assert_null(second);
}

/* What `work` returns (0..255) in a process of its own: HDF5 leaks what it could not write. */
static int in_child(int (*work)(void **state), void **state)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(work(state));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The error number of creating a file that may have no more than 100 bytes. */
static int create_a_file_that_may_not_grow(void **state)
{
    const struct pw_identity rank = {.rank = 5, .size = 8};
    struct pw_rankfile *file = NULL;
    struct rlimit small;
    getrlimit(RLIMIT_FSIZE, &small);
    small.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small))
        return 255;
    const int err = pw_rankfile_create(*state, &rank, "prog", 1, &file);
    return file ? 255 : -err;
}

/* The kernel's reason is returned, not that HDF5 could not write. */
static void test_rankfile_that_may_not_grow(void **state)
{
    char part[UNIT_PATH];
    assert_int_equal(in_child(create_a_file_that_may_not_grow, state), EFBIG);
    assert_int_equal(access(unit_path(part, state, "rank-00005.h5.part"), F_OK), -1);
}

static int64_t set_back_ns; /* what the time of day is behind of itself */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int err = __real_clock_gettime(clock, t);
    if (clock == CLOCK_REALTIME)
        t->tv_sec -= set_back_ns / 1000000000;
    return err;
}

static void test_rankfile_while_the_clock_is_set(void **state)
{
    const struct pw_rankfile_end end = {0, 0, 1, 4711};
    const int64_t hour = (int64_t)3600 * 1000000000;
    char path[UNIT_PATH];
    struct pw_rankfile *file;
    int64_t started = 0, ended = 0;
    hid_t h5;
    assert_int_equal(pw_rankfile_create(*state, &rank_3, "prog", 1, &file), 0);
    set_back_ns = hour;
    usleep(2000);
    assert_int_equal(pw_rankfile_close(file, &end), 0);
    set_back_ns = 0;
    assert_int_equal(pw_h5_open(unit_path(path, state, "rank-00003.h5"), &h5), 0);
    assert_int_equal(pw_h5_get_int(h5, "start_unix_ns", &started), 0);
    assert_int_equal(pw_h5_get_int(h5, "end_unix_ns", &ended), 0);
    H5Fclose(h5);
    assert_in_range(ended - started, 2000000, hour / 2);
}

/* What goes wrong, as bits, when the disk is full from the start or later. */
static int write_without_room(void **state)
{
    const struct pw_rankfile_end end = {0, 0, 1, 4711};
    struct pw_rankfile *file = NULL;
    struct rlimit limit = {200, RLIM_INFINITY};
    int wrong = 0;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 200;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    wrong |= pw_rankfile_create(*state, &rank_3, "prog", 1, &file) >= 0 || file ? 1 : 0;
    wrong |= rmdir(*state) || mkdir(*state, 0700) ? 2 : 0; /* nothing is left */
    limit.rlim_cur = 200000;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (pw_rankfile_create(*state, &rank_3, "prog", 0, &file))
        return wrong | 4;
    for (int64_t i = 0; i < 20000; i++) {
        struct pw_row_step row = {.step = i};
        pw_rankfile_append(file, PW_TABLE_step, &row);
    }
    return wrong | (pw_rankfile_close(file, &end) < 0 ? 0 : 8);
}

/* An error, never a file that looks whole. */
static void test_rankfile_without_room(void **state)
{
    char path[UNIT_PATH];
    assert_int_equal(in_child(write_without_room, state), 0);
    assert_int_equal(access(unit_path(path, state, "rank-00003.h5"), F_OK), -1);
    assert_int_equal(access(unit_path(path, state, "rank-00003.h5.part"), F_OK), 0);
}

/* What does not fit into the budget is refused and counted; what is there stays. */
static void test_rankfile_with_little_memory(void **state)
{
    char text[1000];
    struct pw_rankfile *file;
    memset(text, 'x', sizeof(text));
    assert_int_equal(pw_rankfile_create(*state, &rank_3, "prog", 1, &file), 0);
    struct pw_budget *budget = pw_rankfile_borrow_budget(file);
    budget->limit_bytes = 20000;
    for (uint32_t row = 1; row <= 60; row++)
        pw_rankfile_text(file, row, text, sizeof(text));
    assert_in_range(budget->used_bytes, 18000, 20000);
    assert_in_range(budget->refused, 60 - 19, 60 - 17);
    assert_int_equal(strlen(pw_rankfile_borrow_text(file, 1)), sizeof(text));
    assert_string_equal(pw_rankfile_borrow_text(file, 60), "");
    assert_int_equal(pw_rankfile_texts(file), 61); /* nameless, but their numbers are used */
    const struct pw_rankfile_end end = {0, 0, 1, 4711};
    assert_int_equal(pw_rankfile_close(file, &end), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_outdir),
        UNIT_IN_DIR(test_outdir_of_others),
        UNIT_IN_DIR(test_outdir_above),
        UNIT_IN_DIR(test_outdir_unwritable),
        UNIT_IN_DIR(test_outdir_race),
        UNIT_IN_DIR(test_rankfile),
        UNIT_IN_DIR(test_rankfile_with_little_memory),
        UNIT_IN_DIR(test_rankfile_that_may_not_grow),
        UNIT_IN_DIR(test_rankfile_while_the_clock_is_set),
        UNIT_IN_DIR(test_rankfile_without_room),
    };
    pw_h5_quiet();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
