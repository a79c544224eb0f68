/* Files in directories that others may reach; see newfile.h. */
#include "core/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static int create_part(struct pw_newfile *file, mode_t mode)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    snprintf(file->part, sizeof(file->part), "%.*s.%016" PRIx64 ".part",
             (int)(sizeof(file->part) - RANDOM_NAME), file->name, random);
    int fd =
        openat(file->dir, file->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    file->out = fdopen(fd, "w");
    if (file->out)
        return 0;
    close(fd);
    unlinkat(file->dir, file->part, 0);
    return -ENOMEM;
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

/* 1 when the path is of a pipe or device that may be written to, 0 when it is to be a file, or
 * -errno. */
static int is_stream(const char *path)
{
    struct stat status;
    if (stat(path, &status) || S_ISREG(status.st_mode))
        return 0;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    return status.st_uid == geteuid() || status.st_uid == 0 ? 1 : -EPERM;
}

int pw_newfile_open_named(const char *path, mode_t mode, struct pw_newfile *file)
{
    int in_place = is_stream(path);
    if (in_place == 0)
        return pw_newfile_open(path, mode, file);
    *file = (struct pw_newfile){.dir = -1};
    int fd = in_place < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return in_place < 0 ? in_place : -errno;
    file->out = fdopen(fd, "w");
    if (file->out)
        return 0;
    close(fd);
    return -ENOMEM;
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
