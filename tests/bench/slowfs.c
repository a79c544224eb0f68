/* A library for LD_PRELOAD: each operation on a path below a directory takes longer, as on a shared
 * file system, and is counted.
 *
 *     PW_SLOWFS_DIR   the directory
 *     PW_SLOWFS_US    microseconds that are added to each operation
 *     PW_SLOWFS_LOG   a file of SLOTS counters of 8 bytes, to which operations are added; the slot
 * is the rank that the launcher gave the process, or the last slot without one
 *
 * For start_cost.py. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 65536 };

static struct {
    char dir[4096];
    size_t length;
    int64_t ns;
    _Atomic uint64_t *counters;
    int slot;
} slow;

/* The launcher's variables that profwrap reads, too. */
static int find_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return SLOTS - 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *dir = getenv("PW_SLOWFS_DIR"), *us = getenv("PW_SLOWFS_US");
    const char *log = getenv("PW_SLOWFS_LOG");
    if (!dir || !log)
        return;
    int fd = open(log, O_RDWR | O_CLOEXEC);
    void *map =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, SLOTS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED)
        return;
    slow.counters = map;
    slow.slot = find_rank();
    slow.ns = us ? atoll(us) * 1000 : 0;
    strncpy(slow.dir, dir, sizeof(slow.dir) - 1);
    slow.length = strlen(slow.dir);
}

/* Whether `path` is below the directory. A relative path starts at the directory that is open as
 * `at`. */
static int is_slow(int at, const char *path)
{
    char start[4096], link[64];
    if (!slow.length || !path)
        return 0;
    if (*path == '/' || at == AT_FDCWD)
        return strncmp(path, slow.dir, slow.length) == 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
    const long n = syscall(SYS_readlink, link, start, sizeof(start));
    return n >= (long)slow.length && strncmp(start, slow.dir, slow.length) == 0;
}

static void touch(int at, const char *path)
{
    if (!is_slow(at, path))
        return;
    atomic_fetch_add(&slow.counters[slow.slot], 1);
    const struct timespec pause = {slow.ns / 1000000000, slow.ns % 1000000000};
    if (slow.ns)
        nanosleep(&pause, NULL);
}

/* Defines `name`, which waits and then calls the C library's function. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(type, name, path, parameters, arguments) \
    WRAP_AT(type, name, AT_FDCWD, path, parameters, arguments)
#define WRAP_AT(type, name, at, path, parameters, arguments) \
    type name parameters                                     \
    {                                                        \
        static __typeof__(&name) next;                       \
        if (!next)                                           \
            next = NEXT(name);                               \
        touch(at, path);                                     \
        return next arguments;                               \
    }

WRAP(int, stat, p, (const char *p, struct stat *s), (p, s))
WRAP(int, lstat, p, (const char *p, struct stat *s), (p, s))
WRAP_AT(int, fstatat, d, p, (int d, const char *p, struct stat *s, int f), (d, p, s, f))
WRAP(int, access, p, (const char *p, int m), (p, m))
WRAP(ssize_t, readlink, p, (const char *p, char *b, size_t n), (p, b, n))
WRAP(int, symlink, to, (const char *from, const char *to), (from, to))
WRAP(int, link, to, (const char *from, const char *to), (from, to))
WRAP(int, rename, to, (const char *from, const char *to), (from, to))
WRAP_AT(int, renameat, d2, p2, (int d, const char *p, int d2, const char *p2), (d, p, d2, p2))
WRAP(int, unlink, p, (const char *p), (p))
WRAP_AT(int, unlinkat, d, p, (int d, const char *p, int f), (d, p, f))
WRAP(char *, realpath, p, (const char *p, char *b), (p, b))
WRAP(int, mkdir, p, (const char *p, mode_t m), (p, m))
WRAP(DIR *, opendir, p, (const char *p), (p))

#define WRAP_OPEN(name, at, parameters, arguments) \
    int name parameters                            \
    {                                              \
        static __typeof__(&name) next;             \
        mode_t mode = 0;                           \
        if (flags & O_CREAT) {                     \
            va_list rest;                          \
            va_start(rest, flags);                 \
            mode = va_arg(rest, mode_t);           \
            va_end(rest);                          \
        }                                          \
        if (!next)                                 \
            next = NEXT(name);                     \
        touch(at, path);                           \
        return next arguments;                     \
    }

WRAP_OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))
WRAP_OPEN(openat64, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))
