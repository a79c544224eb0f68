/* Preloaded into profwrap: makes writes to rank files and journals fail as on a bad disk.
 * FAILWRITE="ERRNO:BYTES[:NAME]" applies to files whose path contains NAME ("rank-" by default).
 * Once BYTES have been written to them, each further write fails with ERRNO. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long long written;

/* Whether this write is to fail; counts it otherwise. */
static int fails(int fd, size_t size)
{
    char link[64], path[4096], name[64] = "rank-";
    long long limit;
    int error;
    const char *how = getenv("FAILWRITE");
    if (!how || sscanf(how, "%d:%lld:%63s", &error, &limit, name) < 2)
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    if (!strstr(path, name))
        return 0;
    if (written + (long long)size > limit) {
        written = limit; /* what is smaller fails, too */
        errno = error;
        return 1;
    }
    written += (long long)size;
    return 0;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    return fails(fd, size) ? -1 : real(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    return fails(fd, size) ? -1 : real(fd, data, size, at);
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "write");
    return fails(fd, size) ? -1 : real(fd, data, size);
}
