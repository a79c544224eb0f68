/* Preloaded into one rank: makes malloc() or reading slow, as a busy allocator or disk would.
 *
 * SLOW_MALLOC_US, SLOW_READ_US: what a call of at least SLOW_BYTES takes more; SLOW_FROM_S and
 * SLOW_TO_S: between which seconds of the process's life. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double from_s, to_s, begun_s;
static long malloc_us, read_us, least = 65536;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    begun_s = now();
    from_s = (double)number("SLOW_FROM_S", 0);
    to_s = (double)number("SLOW_TO_S", 1000000);
    least = number("SLOW_BYTES", 65536);
    read_us = number("SLOW_READ_US", 0);
    malloc_us = number("SLOW_MALLOC_US", 0);
}

static int is_time(void)
{
    double since = now() - begun_s;
    return since >= from_s && since < to_s;
}

/* A slow allocator computes. */
static void spin(long us)
{
    double end = now() + 1e-6 * (double)us;
    while (now() < end)
        ;
}

extern void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
    if (malloc_us && (long)size >= least && is_time())
        spin(malloc_us);
    return __libc_malloc(size);
}

/* A slow disk lets wait. */
ssize_t read(int fd, void *to, size_t size)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (read_us && (long)size >= least && is_time())
        usleep((useconds_t)read_us);
    return next(fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next)
        next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    if (read_us && (long)size >= least && is_time())
        usleep((useconds_t)read_us);
    return next(fd, to, size, at);
}

ssize_t pread64(int fd, void *to, size_t size, off_t at)
{
    return pread(fd, to, size, at);
}
