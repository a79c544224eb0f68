/* Files in directories that others may reach; see safefile.h. */
#include "core/safefile.h"
#include "core/remedy.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's format of a POSIX ACL: a version, then these entries, which acl(5) explains. */
struct acl_entry {
    uint16_t tag, permissions;
    uint32_t id;
};
enum {
    ACL_VERSION = 2,
    ACL_NAMED_USER = 0x02,
    ACL_NAMED_GROUP = 0x08,
    ACL_MASK = 0x10,
    ACL_WRITE = 0x02,
    ACL_BYTES = 4096,
    NAMES_BYTES = 1 << 16,
};

/* Whether the group is the user's private one; see pw_directory_check(). */
static bool is_private_group(gid_t gid, uid_t uid)
{
    static char user_names[NAMES_BYTES], group_names[NAMES_BYTES];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    if (getpwuid_r(uid, &user, user_names, sizeof(user_names), &found_user) || !found_user ||
        getgrgid_r(gid, &group, group_names, sizeof(group_names), &found_group) || !found_group)
        return false;
    if (user.pw_gid != gid || strcmp(user.pw_name, group.gr_name) != 0)
        return false;
    for (char **member = group.gr_mem; *member; member++)
        if (strcmp(*member, user.pw_name) != 0)
            return false;
    return true;
}

/* Whether the ACL lets named users or groups write. True also when the ACL cannot be read. */
static bool acl_lets_others_write(int fd, uid_t owner)
{
    unsigned char bytes[ACL_BYTES];
    uint32_t version = 0;
    ssize_t n = fgetxattr(fd, "system.posix_acl_access", bytes, sizeof(bytes));
    if (n < 0)
        return errno != ENODATA && errno != ENOTSUP;
    if (n >= (ssize_t)sizeof(version))
        memcpy(&version, bytes, sizeof(version));
    if (version != ACL_VERSION)
        return true;
    unsigned mask = ACL_WRITE, named = 0;
    for (size_t at = sizeof(version); at + sizeof(struct acl_entry) <= (size_t)n;
         at += sizeof(struct acl_entry)) {
        struct acl_entry entry;
        memcpy(&entry, bytes + at, sizeof(entry));
        if (entry.tag == ACL_MASK)
            mask = entry.permissions;
        else if (entry.tag == ACL_NAMED_GROUP || (entry.tag == ACL_NAMED_USER && entry.id != owner))
            named |= entry.permissions;
    }
    return (named & mask & ACL_WRITE) != 0;
}

static int judge(int fd, char *who, size_t size)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    int is_open = status.st_mode & S_IWOTH;
    if (!is_open && status.st_mode & S_IWGRP)
        is_open = !is_private_group(status.st_gid, status.st_uid) ||
                  acl_lets_others_write(fd, status.st_uid);
    if (status.st_uid != geteuid())
        snprintf(who, size, "belongs to another user");
    else if (is_open)
        snprintf(who, size, "can be written by others (mode %04o)",
                 (unsigned)status.st_mode & 07777);
    return who[0] ? -EPERM : 0;
}

/* A link of another user must not be followed: that user chooses where it leads. */
static bool is_foreign_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != geteuid() &&
           status.st_uid != 0;
}

int pw_directory_check(const char *dir, char *problem, size_t size)
{
    char who[64] = "is a link of another user";
    if (!is_foreign_link(dir)) {
        who[0] = '\0';
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
        int err = fd < 0 ? -errno : judge(fd, who, sizeof(who));
        if (fd >= 0)
            close(fd);
        if (!err)
            return 0;
        if (!who[0]) {
            snprintf(problem, size, "directory %s: %s", dir, pw_remedy(err));
            return err;
        }
    }
    snprintf(problem, size,
             "directory %s %s, so that others could replace profwrap's files: remove that "
             "permission, choose another directory, or trust it (--trust-directory, "
             "PROFWRAP_TRUST_DIRECTORY=1)",
             dir, who);
    return -EPERM;
}

int pw_directory_vet(const char *dir, char *problem, size_t size)
{
    const char *trusted = getenv("PROFWRAP_TRUST_DIRECTORY");
    if (trusted && *trusted && strcmp(trusted, "0") != 0)
        return 0;
    return pw_directory_check(dir, problem, size) == -EPERM ? -EPERM : 0;
}

enum { RANDOM_NAME = 16 + sizeof("..part") };

/* Opens the path's directory (file->dir) and copies the last component (file->name). Returns 0 or
 * -errno. */
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

/* ---- removes the unfinished file when a signal ends the program ---- */

static const int endings[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

static struct pw_newfile *volatile making; /* the unfinished file; the last that was opened */
static volatile pid_t maker;               /* the process that opened it: children inherit these
                                            * handlers */

static void remove_part(int number)
{
    struct pw_newfile *file = making;
    if (file && maker == getpid())
        unlinkat(file->dir, file->part, 0);
    signal(number, SIG_DFL);
    raise(number);
}

/* Installs the handler for the signals whose action is still the default. */
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

/* Returns the descriptor that a path such as /dev/stdout stands for, or -1. */
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

/* Returns 1 when the path must be written in place: a trusted pipe or device, or a trusted link to
 * a file. 0 when a new file takes the path's name; -errno. */
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

/* Opens what is at `path` for writing. Returns a descriptor or -errno. A descriptor of this process
 * is duplicated and keeps its position, so that output of earlier shell commands stays. */
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
