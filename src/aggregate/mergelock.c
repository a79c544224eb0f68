/* Polls for a lock on a file beside the output, and removes files of killed merges; see
 * mergelock.h. */
#include "aggregate/mergelock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"

enum { LOOK_MS = 50 };

/* 1 when `path` still names the open file: the merge before may have removed it. */
static int has_its_name(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Opens the lock file. Returns a descriptor; -1 when there is no file of this user to lock. */
static int open_lock(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && (fstat(fd, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns 0 with the lock, or when nothing can be locked; -EAGAIN when another merge has the
 * lock. */
static int try_lock(struct pw_mergelock *lock)
{
    int fd = open_lock(lock->path);
    if (fd < 0)
        return 0;
    int err = flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
    if (!err && has_its_name(fd, lock->path)) {
        lock->fd = fd;
        return 0;
    }
    close(fd);
    return !err || err == EWOULDBLOCK || err == EINTR ? -EAGAIN : 0;
}

/* Skips the leading characters of `set`. Returns the rest of the text; NULL unless there were
 * exactly `count` of them, or with count 0 at least one. */
static const char *skip(const char *text, const char *set, size_t count)
{
    size_t length = strspn(text, set);
    return length && (!count || length == count) ? text + length : NULL;
}

/* "-1-518.lock" */
static int is_lock(const char *name)
{
    name = skip(name, "-0123456789", 0);
    return name && strcmp(name, ".lock") == 0;
}

/* 1 for exactly the names that merges make, because other files may be the user's:
 * "cluster.h5.part-0123456789abcdef"; "cluster.h5.part-0123456789abcdef-1-518.lock", which an MPI
 * library makes beside a file that it writes; and "cluster.h5.matched-0-of-8.part" of a
 * checkpoint. */
static int is_left_over(const char *name, const char *base)
{
    static const char part[] = ".part-", matched[] = ".matched-", of[] = "-of-";
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0)
        return 0;
    name += length;
    if (strncmp(name, part, sizeof(part) - 1) == 0) {
        name = skip(name + sizeof(part) - 1, "0123456789abcdef", 16);
        return name && (!*name || is_lock(name));
    }
    if (strncmp(name, matched, sizeof(matched) - 1) != 0)
        return 0;
    name = skip(name + sizeof(matched) - 1, "0123456789", 0);
    if (!name || strncmp(name, of, sizeof(of) - 1) != 0)
        return 0;
    name = skip(name + sizeof(of) - 1, "0123456789", 0);
    return name && strcmp(name, ".part") == 0;
}

/* Removes files of killed merges. To be called only with the lock, when no other merge writes such
 * files. */
static void remove_left_overs(const char *output)
{
    char folder[4400];
    const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
    struct stat about;
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - output + 1) : 1,
             slash ? output : ".");
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (is_left_over(entry->d_name, base) &&
            fstatat(dirfd(stream), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode) && about.st_uid == geteuid())
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int pw_mergelock_take(struct pw_mergelock *lock, const char *output, int64_t wait_s, int quiet)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    int64_t begin = now_ms();
    int said = quiet;
    lock->fd = -1;
    snprintf(lock->path, sizeof(lock->path), "%s.lock", output);
    while (try_lock(lock)) {
        if ((now_ms() - begin) / 1000 >= wait_s)
            return -EBUSY;
        if (!said)
            pw_say("another merge is writing %s: waiting for it to end", output);
        said = 1;
        nanosleep(&pause, NULL);
    }
    if (lock->fd >= 0)
        remove_left_overs(output);
    return 0;
}

void pw_mergelock_release(struct pw_mergelock *lock, const char *output)
{
    if (lock->fd < 0)
        return;
    remove_left_overs(output); /* an MPI library leaves its lock when it cannot open the file */
    /* Before the lock is released, so that a waiting merge sees that the file has lost its name. */
    unlink(lock->path);
    close(lock->fd);
    lock->fd = -1;
}
