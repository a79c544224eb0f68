/* Small gzip files that are read at once, and those that are left to zlib. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "import/parsers/jsonfile.h"

enum { SIZE = 100000, PADDING = 16 };

static char *make_text(void)
{
    char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i * i % 23);
    return text;
}

static void write_gzip(const char *path, const char *mode, const char *text, size_t n)
{
    gzFile file = gzopen(path, mode);
    assert_int_equal(gzwrite(file, text, (unsigned)n), n);
    assert_int_equal(gzclose(file), Z_OK);
}

static int read_it(const char *path, char **text, size_t *n)
{
    const int fd = open(path, O_RDONLY);
    const int err = pw_gztext_read(fd, PADDING, text, n);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    close(fd);
    return err;
}

static void test_whole_file(void **state)
{
    char path[UNIT_PATH], *text = make_text(), *read = NULL;
    const char zeros[PADDING] = {0};
    size_t n = 0;
    unit_path(path, state, "whole.gz");
    write_gzip(path, "w", text, SIZE);
    assert_int_equal(read_it(path, &read, &n), 0);
    assert_int_equal(n, SIZE);
    assert_memory_equal(read, text, SIZE);
    assert_memory_equal(read + SIZE, zeros, PADDING);
    free(read);
    free(text);
}

static void test_left_to_zlib(void **state)
{
    char path[UNIT_PATH], *text = make_text(), *read = NULL;
    size_t n = 0;
    unit_path(path, state, "other.gz");
    write_gzip(path, "wT", text, SIZE); /* no gzip */
    assert_int_equal(read_it(path, &read, &n), 1);
    write_gzip(path, "w", text, SIZE);
    write_gzip(path, "a", text, SIZE); /* two members */
    assert_int_equal(read_it(path, &read, &n), 1);
    write_gzip(path, "w", text, SIZE);
    assert_int_equal(truncate(path, 2000), 0);
    assert_int_equal(read_it(path, &read, &n), 1);
    write_gzip(path, "w", text, SIZE);
    const int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "damaged", 7, 500), 7);
    close(fd);
    assert_int_equal(read_it(path, &read, &n), 1);
    write_gzip(path, "w", text, 0);
    assert_int_equal(read_it(path, &read, &n), 1);
    assert_null(read);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_whole_file),
        UNIT_IN_DIR(test_left_to_zlib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
