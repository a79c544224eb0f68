/* Runs `profwrap recover` and `profwrap merge`, each of which checks and confines itself; see
 * latereport.h. */
#include "cli/conclude/latereport.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/run/baretext.h"
#include "run/paths.h"

/* What a directory has of a job. */
struct contents {
    int ranks;    /* rank files with their final names */
    int journals; /* of ranks that run, or whose collectors were killed */
    int is_merged;
};

static int ends_with(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static struct contents look_at(const char *dir)
{
    struct contents found = {0};
    DIR *stream = opendir(dir);
    for (struct dirent *e = stream ? readdir(stream) : NULL; e; e = readdir(stream)) {
        const int is_rank = strncmp(e->d_name, "rank-", 5) == 0;
        found.ranks += is_rank && ends_with(e->d_name, ".h5");
        found.journals += is_rank && ends_with(e->d_name, ".journal");
        found.is_merged |= strcmp(e->d_name, "cluster.h5") == 0;
    }
    if (stream)
        closedir(stream);
    return found;
}

/* The lock is on the directory itself, so that it leaves no file. Returns a descriptor, or -1 when
 * the file system has no locks. */
static int lock(const char *dir, const char *waiting)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int err = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
    if (err == -EWOULDBLOCK && waiting) {
        pw_say("%s", waiting);
        err = flock(fd, LOCK_EX) ? -errno : 0;
    }
    if (!err)
        return fd;
    close(fd);
    return -1;
}

void pw_latereport_lock(const char *dir)
{
    /* The descriptor stays open until the process ends. */
    if (lock(dir, NULL) < 0)
        pw_debug(PW_LOG_LAUNCH, 1, "%s cannot be locked", dir);
}

/* Runs `profwrap COMMAND [--epoch EPOCH] DIR`, which prints only errors. Returns its exit status.
 */
static int run_command(const char *self, const char *command, const char *epoch, const char *dir)
{
    int status = 1 << 8;
    const pid_t pid = fork();
    if (pid == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing < 0 ? STDERR_FILENO : nothing, STDOUT_FILENO);
        if (epoch[0])
            execl(self, self, command, "--epoch", epoch, dir, (char *)NULL);
        else
            execl(self, self, command, dir, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Recovers and merges. Returns 0; -EBUSY while ranks run; -EIO when a command has failed, after its
 * message. */
static int make(const char *self, const char *epoch, const char *dir)
{
    struct contents has = look_at(dir);
    if (!has.is_merged && has.journals) {
        const int failed = run_command(self, "recover", "", dir);
        has = look_at(dir);
        if (!has.is_merged && has.journals)
            return failed ? -EIO : -EBUSY;
    }
    if (has.is_merged)
        return 0;
    pw_say("'%s' was not merged yet: merging its rank files first", dir);
    return run_command(self, "merge", epoch, dir) == 0 ? 0 : -EIO;
}

/* The program that has the commands; tests call this from others. Returns 0 or -errno. */
static int find_profwrap(char *path, int size)
{
    const int err = pw_cli_self(path, size);
    return err ? err : strcmp(pw_bare_base_name(path), "profwrap") == 0 ? 0 : -ENOENT;
}

/* As make(), under the lock. */
static int make_once(const char *self, const char *epoch, const char *dir)
{
    const int fd = lock(dir, "the report on this job is being made: waiting for it");
    const int err = make(self, epoch, dir);
    if (fd >= 0)
        close(fd);
    return err;
}

int pw_latereport_make(const char *dir, const char *epoch)
{
    /* A launcher returns before the collectors of a job that failed have closed their files. */
    enum { TRIES = 20 };
    const struct timespec pause = {.tv_nsec = 100000000};
    char self[PATH_MAX];
    const struct contents has = look_at(dir);
    if (has.is_merged || has.ranks + has.journals == 0 || find_profwrap(self, sizeof(self)))
        return 0;
    int err = make_once(self, epoch, dir);
    for (int i = 0; i < TRIES && err == -EBUSY; i++) {
        nanosleep(&pause, NULL);
        err = make_once(self, epoch, dir);
    }
    if (err == -EBUSY)
        pw_error("ranks of the job in '%s' still run or cannot be recovered: its report is made "
                 "when they have ended ('profwrap report --watch %s' shows what they do)",
                 dir, dir);
    return err;
}
