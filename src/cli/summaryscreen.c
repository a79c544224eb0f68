/* Prints the summary of a run as the stream can show it; see summaryscreen.h. */
#include "cli/summaryscreen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/clusterpath.h"

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
