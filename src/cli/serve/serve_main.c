/* profwrap-serve: the program that `profwrap report --serve` executes, with the arguments of that
 * command, which has checked them. It listens on the loopback address, loads the run, makes the
 * page and serves it (serve_requests.h). Opens no file for writing. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analysis/figures/restrict.h"
#include "cli/confine.h"
#include "cli/results/clusterpath.h"
#include "cli/results/htmlpage.h"
#include "cli/serve/serve_requests.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "report/report.h"

enum { TOKEN = 33, BACKLOG = 64 };

/* Listens on 127.0.0.1. Sets *port to the one that it has got. Returns the socket, or -errno. */
static int listen_here(int *port)
{
    const int yes = 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)},
                             .sin_port = htons((uint16_t)*port)};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); /* after an earlier server */
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, BACKLOG) ||
        getsockname(fd, (struct sockaddr *)&at, &size)) {
        int err = -errno;
        close(fd);
        return err;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static int make_token(char token[TOKEN])
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    snprintf(token, TOKEN, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return 0;
}

static int make_page(const struct pw_serve_run *run, struct pw_serve_page *page)
{
    FILE *out = open_memstream(&page->text, &page->size);
    if (!out)
        return -ENOMEM;
    int err = pw_report_html(out, run->figures->cluster, run->report);
    return fclose(out) && !err ? -ENOMEM : err;
}

/* Prints the address and serves. Returns the exit status. */
static int serve(const struct pw_serve_run *run, int fd, int port)
{
    struct pw_serve_page page = {0};
    char token[TOKEN];
    int err = make_token(token);
    err = err ? err : make_page(run, &page);
    if (!err) {
        printf("http://127.0.0.1:%d/%s/\n", port, token);
        fflush(stdout);
        pw_say("serving %s to browsers on this machine until Ctrl-C", run->cluster_file);
        err = pw_serve_requests(fd, token, &page, run);
    }
    free(page.text);
    if (err)
        pw_error("cannot serve the report: %s", pw_readlimit_remedy(err));
    return err ? 1 : 0;
}

/* Loads the run and the parts of the page, and serves. Returns the exit status. */
static int load_and_serve(const struct pw_options *options, const char *dir, int fd, int port)
{
    struct pw_htmlpage page;
    char problem[2 * PATH_MAX], cluster_file[PATH_MAX];
    struct pw_cluster *cluster;
    if (pw_htmlpage_find(options->text[PW_OPT_D3], &page, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    if (pw_cli_load_cluster(dir, cluster_file, &cluster))
        return 1;
    const char *steps = options->text[PW_OPT_STEPS];
    int status = steps[0] && pw_cluster_restrict(cluster, steps, problem, sizeof(problem)) ? 2 : 0;
    if (status)
        pw_error("%s", problem);
    struct pw_cli_windows windows = {.cluster_file = cluster_file};
    const struct pw_report_options report = {
        .page_dir = page.dir,
        .d3 = page.d3,
        .timeline = pw_cli_write_window,
        .timeline_context = &windows,
        .is_served = 1,
    };
    struct pw_serve_run run = {NULL, &report, cluster_file};
    struct pw_figures *figures = NULL; /* computed once, as that takes as long as reading a step */
    if (!status && pw_figures_create(cluster, &figures)) {
        pw_error("cannot serve the report: %s", pw_readlimit_remedy(-ENOMEM));
        status = 1;
    }
    run.figures = figures;
    status = status ? status : serve(&run, fd, port);
    if (figures)
        pw_figures_destroy(figures);
    pw_cluster_destroy(cluster);
    return status;
}

int main(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    char problem[PW_EPOCHDIR_PROBLEM], dir[PATH_MAX];
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_REPORT, argc, argv, &end) || end.next + 1 != argc ||
        !pw_option_flag(&options, PW_OPT_SERVE)) {
        pw_error("this is a part of profwrap: profwrap report --serve DIR");
        return 2;
    }
    if (pw_epochdir_choose(argv[end.next], options.text[PW_OPT_EPOCH], dir, sizeof(dir), problem)) {
        pw_error("%s", problem);
        return 2;
    }
    int port = (int)pw_option_int(&options, PW_OPT_PORT);
    const int fd = listen_here(&port);
    if (fd < 0) {
        pw_error("cannot listen on port %d of 127.0.0.1: %s; --port 0 takes a free one", port,
                 strerror(-fd));
        return 1;
    }
    pw_h5_watch_install();
    pw_confine(pw_cli_run_size(dir), PW_CONFINE_PROCESSES);
    return load_and_serve(&options, dir, fd, port);
}
