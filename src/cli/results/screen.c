/* Starts a pager and waits for it, and prints the summary; see screen.h. */
#include "cli/results/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/results/clusterpath.h"

static int is_in_path(const char *name)
{
    const char *at = getenv("PATH");
    char path[4096];
    while (at && *at) {
        const int length = (int)strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s/%s", length, at, name);
        if (length && access(path, X_OK) == 0)
            return 1;
        at += length + (at[length] == ':');
    }
    return 0;
}

/* Returns the command, NULL for none. */
static const char *command(void)
{
    const char *pager = getenv("PAGER"), *terminal = getenv("TERM");
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0)
        return NULL; /* a pager would complain and wait */
    if (!pager)
        return is_in_path("less") ? "less" : NULL;
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

__attribute__((noreturn)) static void become_pager(const char *pager, int input)
{
    dup2(input, STDIN_FILENO);
    close(input);
    setenv("LESS", "FRX", 0); /* no pager for one screen; colours; the text stays */
    execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
}

void pw_pager_start(struct pw_pager *pager)
{
    const char *name = isatty(STDOUT_FILENO) ? command() : NULL;
    int ends[2];
    *pager = (struct pw_pager){.terminal = -1};
    if (!name || pipe2(ends, O_CLOEXEC))
        return;
    pager->terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    fflush(stdout);
    const pid_t pid = pager->terminal < 0 ? -1 : fork();
    if (pid == 0)
        become_pager(name, ends[0]);
    if (pid > 0) {
        pager->pid = pid;
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGPIPE, SIG_IGN); /* the user may leave it before the end */
        signal(SIGINT, SIG_IGN);  /* Ctrl-C is for the pager */
    } else if (pager->terminal >= 0) {
        close(pager->terminal);
    }
    close(ends[0]);
    close(ends[1]);
}

int pw_pager_end(struct pw_pager *pager)
{
    int status = 0;
    if (!pager->pid)
        return 0;
    fflush(stdout);
    clearerr(stdout);
    dup2(pager->terminal, STDOUT_FILENO); /* closes the pipe, which is the end of the text */
    close(pager->terminal);
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    pager->pid = 0;
    return WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
}

/* ---- the summary of a run on a stream ---- */

/* Width of a summary that goes through a pipe, such as that of mpirun, to a terminal that is not
 * known: most terminals have it or more. */
enum { WIDTH_UNKNOWN = 80 };

int pw_cli_width(int fd, int unknown)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size))
        width = size.ws_col;
    return width <= 0 ? unknown : width < PW_REPORT_WIDTH ? (int)width : PW_REPORT_WIDTH;
}

static int is_terminal(int fd)
{
    const char *kind = getenv("TERM");
    return fd >= 0 && isatty(fd) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static int is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Finds report.html beside the cluster file. One that is older is of an earlier merge. */
static int find_page(const char *cluster_file, char page[PATH_MAX])
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    struct stat of_page, of_cluster;
    pw_cli_directory_of(cluster_file, dir);
    snprintf(path, sizeof(path), "%s/report.html", dir);
    return stat(path, &of_page) == 0 && stat(cluster_file, &of_cluster) == 0 &&
           !is_before(&of_page.st_mtim, &of_cluster.st_mtim) && realpath(path, page) != NULL;
}

int pw_cli_summary_print(FILE *out, const struct pw_cluster *cluster, const char *dir,
                         const char *cluster_file, const struct pw_figures *figures)
{
    char page[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
    const char *no_colour = getenv("NO_COLOR");
    const int fd = fileno(out), can_link = is_terminal(fd) && gethostname(host, sizeof(host)) == 0;
    const struct pw_report_place place = {
        .dir = dir,
        .page = find_page(cluster_file, page) ? page : NULL,
        .link_host = can_link ? host : NULL,
    };
    const struct pw_report_options options = {
        .width = pw_cli_width(fd, WIDTH_UNKNOWN),
        .place = &place,
        .figures = figures,
        .is_coloured = is_terminal(fd) && !(no_colour && *no_colour),
    };
    return pw_report_summary(out, cluster, &options);
}
