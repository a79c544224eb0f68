/* Creates output directories and marks them with the job's name; see outdir.h. */
#include "rank/run/outdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/remedy.h"
#include "core/safefile.h"

/* The mark is a symbolic link whose target is the job's name: it is created atomically, and one
 * call reads it. */
static const char mark_name[] = ".job";

/* Returns true when the directory is empty, apart from files that ranks of a job create before the
 * mark is visible. */
static int is_empty(const char *dir)
{
    DIR *stream = opendir(dir);
    if (!stream)
        return 0;
    int empty = 1;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            empty = 0;
    closedir(stream);
    return empty;
}

static int read_mark(const char *path, char *job, size_t size)
{
    ssize_t n = readlink(path, job, size - 1);
    job[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static const char not_ours[] = "is not empty and not profwrap's; choose another with -o";
static const char of_another[] =
    "holds the profile of another job; choose another with -o, or remove it";

static int fail(char *problem, int size, const char *dir, const char *what, int err)
{
    snprintf(problem, (size_t)size, "output directory %s %s", dir, what);
    return err;
}

static int fail_with(char *problem, int size, const char *dir, const char *what, int err)
{
    const int is_refused = err == -EACCES || err == -EPERM || err == -EROFS || err == -ENOENT;
    snprintf(problem, (size_t)size, "output directory %s %s %s%s", dir, what,
             is_refused ? strerror(-err) : pw_remedy(err),
             is_refused ? "; choose another with -o" : "");
    return err;
}

static int is_ours(const char *dir)
{
    struct stat status;
    return stat(dir, &status) == 0 && status.st_uid == geteuid();
}

/* Creates the missing directories above `dir`, accessible for their owner only. */
static int make_parents(const char *dir)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

int pw_outdir_prepare(const char *dir, const char *job, int is_trusted, char *problem, int size)
{
    char mark[4200], found[128];
    snprintf(mark, sizeof(mark), "%s/%s", dir, mark_name);
    int err = mkdir(dir, 0700) && errno != EEXIST ? -errno : 0;
    if (err == -ENOENT) {
        err = make_parents(dir);
        err = !err && mkdir(dir, 0700) && errno != EEXIST ? -errno : err;
    }
    if (err)
        return fail_with(problem, size, dir, "cannot be made:", err);
    if (!is_ours(dir)) /* another owner could replace our files */
        return fail(problem, size, dir, "belongs to another user; choose another with -o", -EEXIST);
    err = is_trusted ? 0 : pw_directory_check(dir, problem, (size_t)size);
    if (err)
        return err == -EPERM ? PW_OUTDIR_SHARED : err;

    if (!read_mark(mark, found, sizeof(found))) {
        /* Another rank of the job may set the mark between the two checks: then the directory is
         * not empty, but it is ours. */
        if (!is_empty(dir) && !read_mark(mark, found, sizeof(found)))
            return fail(problem, size, dir, not_ours, -EEXIST);
        if (symlink(job, mark) && errno != EEXIST)
            return fail(problem, size, dir, pw_remedy(errno), -errno);
        if (!read_mark(mark, found, sizeof(found)))
            return fail(problem, size, dir, "cannot be read back; choose another with -o", -EIO);
    }
    if (strcmp(found, job) != 0)
        return fail(problem, size, dir, of_another, -EEXIST);
    return 0;
}

int pw_outdir_check_new(const char *dir, char *problem, int size)
{
    char path[4200], found[128];
    struct stat status;
    if (stat(dir, &status))
        return 0;
    snprintf(path, sizeof(path), "%s/%s", dir, mark_name);
    if (!read_mark(path, found, sizeof(found)))
        return is_empty(dir) || read_mark(path, found, sizeof(found))
                   ? 0
                   : fail(problem, size, dir, not_ours, -EEXIST);
    snprintf(path, sizeof(path), "%s/cluster.h5", dir);
    return access(path, F_OK) ? 0 : fail(problem, size, dir, of_another, -EEXIST);
}
