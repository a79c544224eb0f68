/* Root's note of where a job's profiles are: what is added, what is refused, and that it has an
 * end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"
#include "unit.h"

struct place {
    void *directory;
    char path[UNIT_PATH], other[UNIT_PATH];
};

static int make_place(void **state)
{
    static struct place place;
    if (unit_dir_create(&place.directory))
        return -1;
    unit_path(place.path, &place.directory, "7");
    unit_path(place.other, &place.directory, "other");
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    return unit_dir_destroy(&place->directory);
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void holds(const char *path, const char *expected)
{
    char text[256];
    int fd = pw_record_open(path);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void lines_are_added_once(void **state)
{
    struct place *place = *state;
    assert_int_equal(pw_record_add(place->path, "/a/b"), -ENOENT);
    assert_int_equal(access(place->path, F_OK), -1);
    make_file(place->path);
    assert_int_equal(pw_record_add(place->path, "/a/b"), 0);
    assert_int_equal(pw_record_add(place->path, "/a"), 0);
    assert_int_equal(pw_record_add(place->path, "b"), 0);
    assert_int_equal(pw_record_add(place->path, "/a"), 0);
    assert_int_equal(pw_record_add(place->path, "/a/b"), 0);
    holds(place->path, "/a/b\n/a\nb\n");
}

static void test_line_breaks_are_refused(void **state)
{
    struct place *place = *state;
    make_file(place->path);
    assert_int_equal(pw_record_add(place->path, "/a\n/etc"), -EINVAL);
    assert_int_equal(pw_record_add(place->path, ""), -EINVAL);
    holds(place->path, "");
}

/* None makes the caller wait, and none is written to. */
static void what_is_no_file_is_refused(void **state)
{
    struct place *place = *state;
    make_file(place->other);
    assert_int_equal(symlink(place->other, place->path), 0);
    assert_int_equal(pw_record_add(place->path, "/a"), -ELOOP);
    assert_int_equal(pw_record_open(place->path), -ELOOP);
    unlink(place->path);
    assert_int_equal(link(place->other, place->path), 0);
    assert_int_equal(pw_record_add(place->path, "/a"), -EPERM);
    unlink(place->path);
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(pw_record_open(place->path), -EPERM);
    assert_true(pw_record_add(place->path, "/a") < 0);
    holds(place->other, "");
}

static void there_is_an_end(void **state)
{
    struct place *place = *state;
    char line[1001];
    struct stat st;
    make_file(place->path);
    memset(line, 'a', 1000);
    line[1000] = '\0';
    int taken = 0, err = 0;
    for (; !err && taken < 100; taken++) {
        snprintf(line, 8, "%06d", taken);
        line[6] = '/';
        err = pw_record_add(place->path, line);
    }
    assert_int_equal(err, -EFBIG);
    assert_int_equal(stat(place->path, &st), 0);
    assert_int_equal(st.st_size, 65 * 1001);
    assert_true(st.st_size <= PW_RECORD_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_are_added_once, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_line_breaks_are_refused, make_place, remove_place),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_refused, make_place, remove_place),
        cmocka_unit_test_setup_teardown(there_is_an_end, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
