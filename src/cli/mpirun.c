/* Finds Open MPI's mpirun; see mpirun.h. */
#include "cli/mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rank/run/program.h"

/* A script of that name may wait for anything. */
enum { PATIENCE_MS = 5000 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child: leaves the pipe as standard output. */
__attribute__((noreturn)) static void ask_version(const char *path, const int pipe_ends[2])
{
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDERR_FILENO);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    execl(path, path, "--version", (char *)NULL);
    _exit(127);
}

/* Reads until the text ends, is full, or PATIENCE_MS have passed. */
static void read_text(int fd, char *text, size_t size)
{
    const int64_t until = now_ms() + PATIENCE_MS;
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        const int64_t left = until - now_ms();
        if (left <= 0 || poll(&readable, 1, (int)left) <= 0)
            break;
        const ssize_t n = read(fd, text + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = '\0';
}

/* Reads what `path --version` prints, as much as fits into `text`. */
static void read_version(const char *path, char *text, size_t size)
{
    int ends[2];
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return;
    const pid_t pid = fork();
    if (pid == 0)
        ask_version(path, ends);
    close(ends[1]);
    if (pid > 0) {
        read_text(ends[0], text, size);
        kill(pid, SIGKILL); /* all that matters has been said */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
}

/* In Open MPI 4, mpirun is a link to orterun. Any other program is asked for its version. */
static int is_open_mpi(const char *path)
{
    char real[PATH_MAX], text[256];
    const char *name = realpath(path, real) ? strrchr(real, '/') : NULL;
    if (name && strcmp(name, "/orterun") == 0)
        return 1;
    read_version(path, text, sizeof(text));
    return strstr(text, "(Open MPI)") != NULL;
}

/* Whether the environment suits this mpirun: OPAL_PREFIX leads every Open MPI to the files of one
 * installation. The mpirun of the job has set it, if that is Open MPI's from PyPI. */
static int is_of_prefix(const char *path)
{
    const char *given = getenv("OPAL_PREFIX");
    char prefix[PATH_MAX], real[PATH_MAX];
    if (!given || !given[0])
        return 1;
    if (!realpath(given, prefix) || !realpath(path, real))
        return 0;
    const size_t length = strlen(prefix);
    return strncmp(real, prefix, length) == 0 && real[length] == '/';
}

static int is_usable(const char *path)
{
    return is_open_mpi(path) && is_of_prefix(path);
}

int pw_mpirun_find(char *path, size_t size)
{
    if (pw_program_find("mpirun", path, (int)size))
        return -ENOENT;
    if (is_usable(path))
        return 0;
    snprintf(path, size, "%s", PROFWRAP_MPIEXEC);
    return access(path, X_OK) == 0 && is_usable(path) ? 0 : -ENOENT;
}
