/* Directories, files and random numbers for the unit tests; see unit.h. */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int unit_dir_create(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *dir;
    if (asprintf(&dir, "%s/profwrap-unit-XXXXXX", parent && *parent ? parent : "/tmp") < 0)
        return -1;
    *state = mkdtemp(dir);
    return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int unit_dir_destroy(void **state)
{
    int err = nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return err;
}

const char *unit_path(char out[UNIT_PATH], void **state, const char *name)
{
    snprintf(out, UNIT_PATH, "%s/%s", (const char *)*state, name);
    return out;
}

void unit_write(const char *path, const void *bytes, size_t size, unsigned mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

/* splitmix64. */
uint64_t unit_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

double unit_uniform(uint64_t *seed)
{
    return ((double)(unit_random(seed) >> 11) + 0.5) / 9007199254740992.0;
}

double unit_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(unit_uniform(seed)));
    return radius * cos(6.283185307179586 * unit_uniform(seed));
}

static struct {
    FILE *stream;
    char *text;
    size_t size;
} written;

FILE *unit_open_text(void)
{
    assert_null(written.stream);
    written.stream = open_memstream(&written.text, &written.size);
    assert_non_null(written.stream);
    return written.stream;
}

char *unit_close_text(void)
{
    assert_int_equal(fclose(written.stream), 0);
    written.stream = NULL;
    return written.text;
}
