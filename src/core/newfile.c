/* Files in directories that others may reach; see newfile.h. */
#include "core/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { RANDOM_NAME = 16 + sizeof("..part") };

/* Splits off the directory, which is opened, and the name. */
static int open_directory(const char *path, struct pw_newfile *file)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (!*name)
        return -EISDIR;
    if (length >= sizeof(dir) || strlen(name) + RANDOM_NAME > sizeof(file->part))
        return -ENAMETOOLONG;
    snprintf(dir, sizeof(dir), "%.*s", (int)length, path);
    snprintf(file->name, sizeof(file->name), "%s", name);
    file->dir = open(length ? dir : slash ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return file->dir < 0 ? -errno : 0;
}

/* ---- the file that a signal that ends the program must not leave ---- */

static const int endings[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

static struct pw_newfile *volatile making; /* the last that was opened */
static volatile pid_t maker;               /* not a child, which has all of this, too */

static void remove_part(int number)
{
    struct pw_newfile *file = making;
    if (file && maker == getpid())
        unlinkat(file->dir, file->part, 0);
    signal(number, SIG_DFL);
    raise(number);
}

/* Where nobody else cares for the signal. */
static void watch_endings(struct pw_newfile *file)
{
    const struct sigaction action = {.sa_handler = remove_part};
    struct sigaction now;
    maker = getpid();
    making = file;
    for (int i = 0; i < ENDINGS; i++)
        if (sigaction(endings[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(endings[i], &action, NULL);
}

static void unwatch_endings(const struct pw_newfile *file)
{
    struct sigaction now;
    if (making != file)
        return;
    making = NULL;
    for (int i = 0; i < ENDINGS; i++)
        if (sigaction(endings[i], NULL, &now) == 0 && now.sa_handler == remove_part)
            signal(endings[i], SIG_DFL);
}

static int create_part(struct pw_newfile *file, mode_t mode)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    snprintf(file->part, sizeof(file->part), "%.*s.%016" PRIx64 ".part",
             (int)(sizeof(file->part) - RANDOM_NAME), file->name, random);
    watch_endings(file);
    int fd =
        openat(file->dir, file->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int err = fd < 0 ? -errno : 0;
    file->out = err ? NULL : fdopen(fd, "w");
    if (file->out)
        return 0;
    if (!err) {
        close(fd);
        unlinkat(file->dir, file->part, 0);
    }
    unwatch_endings(file);
    return err ? err : -ENOMEM;
}

int pw_newfile_open(const char *path, mode_t mode, struct pw_newfile *file)
{
    *file = (struct pw_newfile){.dir = -1};
    int err = open_directory(path, file);
    err = err ? err : create_part(file, mode);
    if (err && file->dir >= 0)
        close(file->dir);
    return err;
}

/* The number of the open descriptor that a path stands for, or -1. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        size_t length = strlen(folders[i]), digits;
        if (strncmp(path, folders[i], length) != 0)
            continue;
        digits = strspn(path + length, "0123456789");
        if (digits && digits < 8 && !path[length + digits])
            return atoi(path + length);
    }
    return -1;
}

static int is_trusted(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

/* 1 when the path is to be written in place: of a pipe or device, or a link to a file, that may be
 * written to; 0 when a new file is to take the path's name, or -errno. */
static int is_in_place(const char *path)
{
    struct stat status, link;
    if (lstat(path, &link) || stat(path, &status))
        return 0;
    if (S_ISREG(status.st_mode))
        return S_ISLNK(link.st_mode) && is_trusted(&link);
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return is_trusted(&status) ? 1 : -EPERM;
}

/* A descriptor to write to what is there, or -errno. An own one keeps its place in the file, behind
 * what a shell's other commands wrote. */
static int open_in_place(const char *path)
{
    int own = descriptor_of(path);
    int fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                      : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

int pw_newfile_open_named(const char *path, mode_t mode, struct pw_newfile *file)
{
    int in_place = descriptor_of(path) >= 0 ? 1 : is_in_place(path);
    if (in_place == 0)
        return pw_newfile_open(path, mode, file);
    *file = (struct pw_newfile){.dir = -1};
    int fd = in_place < 0 ? in_place : open_in_place(path);
    if (fd < 0)
        return fd;
    file->out = fdopen(fd, "w");
    int err = file->out ? 0 : -errno;
    if (err)
        close(fd);
    return err;
}

int pw_newfile_close(struct pw_newfile *file, int err)
{
    errno = 0;
    if ((fflush(file->out) || ferror(file->out)) && !err)
        err = errno ? -errno : -EIO;
    if (!err && fsync(fileno(file->out)) && errno != EINVAL && errno != EROFS)
        err = -errno;
    if (fclose(file->out) && !err)
        err = -errno;
    if (file->dir < 0)
        return err;
    if (!err && renameat(file->dir, file->part, file->dir, file->name))
        err = -errno;
    if (err)
        unlinkat(file->dir, file->part, 0);
    unwatch_endings(file);
    close(file->dir);
    return err;
}

int pw_open_regular(const char *path, int flags)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (fd < 0)
        return -errno;
    int err = fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
    if (!err)
        return fd;
    close(fd);
    return err;
}

FILE *pw_fopen_regular(const char *path)
{
    int fd = pw_open_regular(path, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd < 0)
        errno = -fd;
    else if (!file)
        close(fd);
    return file;
}
