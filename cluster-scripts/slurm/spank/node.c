/* Looks at the node; see node.h. slurmstepd is root with the user's effective ids while it calls
 * this, so files are the user's concern, and a child must give up what is left of root. */
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 2 };

/* For good. Of root's groups none stays; where the caller is not root there is nothing to give up.
 */
static int become(uid_t uid, gid_t gid)
{
    if (getuid() == uid && geteuid() == uid)
        return 0;
    return seteuid(0) || setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid);
}

__attribute__((noreturn)) static void become_program(uid_t uid, gid_t gid, char *const argv[],
                                                     char *variable, int input)
{
    char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", variable, NULL};
    int null = open("/dev/null", O_RDWR);
    dup2(input >= 0 ? input : null, 0);
    dup2(null, 1);
    dup2(null, 2);
    setpgid(0, 0);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    if (become(uid, gid) || chdir("/"))
        _exit(126);
    execve(argv[0], argv, environment);
    _exit(127);
}

static int wait_for(pid_t pid, int patience_ms)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    int status = -1;
    for (int ms = 0; ms < patience_ms; ms += LOOK_MS) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        nanosleep(&pause, NULL);
    }
    kill(-pid, SIGKILL); /* it leads a group, in which its children are */
    waitpid(pid, &status, 0);
    return -1;
}

int pw_node_run(uid_t uid, gid_t gid, char *const argv[], char *variable, int input,
                int patience_ms)
{
    pid_t pid = fork();
    if (pid == 0)
        become_program(uid, gid, argv, variable, input);
    if (pid > 0)
        setpgid(pid, pid); /* here too: whoever comes first */
    return pid > 0 ? wait_for(pid, patience_ms) : -1;
}

int pw_node_make_directory(const char *path)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof(part))
        return -ENAMETOOLONG;
    strcpy(part, path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        mkdir(part, 0700); /* the last one says what is wrong */
        *p = '/';
    }
    if (mkdir(part, 0700) && errno != EEXIST)
        return -errno;
    return eaccess(part, W_OK | X_OK) ? -errno : 0; /* access() would ask for root's ids */
}

int64_t pw_node_free_bytes(const char *path)
{
    struct statvfs fs;
    if (statvfs(path, &fs))
        return -errno;
    return (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
}

static int64_t directory_bytes(int parent, const char *name)
{
    int64_t bytes = 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        struct stat st;
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += st.st_size;
    }
    if (stream)
        closedir(stream);
    else if (fd >= 0)
        close(fd);
    return bytes;
}

int64_t pw_node_used_bytes(const char *root, const char *prefix)
{
    int64_t bytes = 0;
    DIR *stream = opendir(root);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            strchr(".-", entry->d_name[strlen(prefix)]))
            bytes += directory_bytes(dirfd(stream), entry->d_name);
    if (stream)
        closedir(stream);
    return bytes;
}

int pw_node_read_line(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, out, size - 1);
    int err = n < 0 ? -errno : 0;
    close(fd);
    if (!err) {
        out[n] = '\0';
        out[strcspn(out, "\n")] = '\0';
    }
    return err;
}
