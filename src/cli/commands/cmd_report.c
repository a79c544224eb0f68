/* `profwrap report`: chooses the cluster file, the format and the output; see commands.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "analysis/figures/figures.h"
#include "analysis/figures/restrict.h"
#include "cli/commands.h"
#include "cli/commands/watch.h"
#include "cli/conclude/latereport.h"
#include "cli/confine.h"
#include "cli/libexec.h"
#include "cli/results/clusterpath.h"
#include "cli/results/htmlpage.h"
#include "cli/results/screen.h"
#include "core/cluster.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "report/report.h"
#include "report/writing/safenames.h"
#include "timeline/timeline.h"

/* ---- the page of the last hang that a watchdog has reported in a directory: hang.txt, hang-2.txt,
 * ... It is there also when all processes of the job were killed; --section hang prints it. ---- */

/* The watchdogs write at most 20; see run/hangfile.c. A line has at most a call stack's frame. */
enum { MOST_PAGES = 20, LINE = 4096, MOST_LINES = 1 << 16 };

static FILE *open_page(const char *dir, int number)
{
    char path[PATH_MAX], suffix[16] = "";
    struct stat status;
    if (number > 1)
        snprintf(suffix, sizeof(suffix), "-%d", number);
    if (snprintf(path, sizeof(path), "%s/hang%s.txt", dir, suffix) >= (int)sizeof(path))
        return NULL;
    const int fd = pw_open_regular(path, O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
        return fdopen(fd, "re");
    if (fd >= 0)
        close(fd);
    return NULL;
}

static FILE *open_last(const char *dir)
{
    FILE *last = NULL;
    for (int number = 1; number <= MOST_PAGES; number++) {
        FILE *page = open_page(dir, number);
        if (!page)
            continue;
        if (last)
            fclose(last);
        last = page;
    }
    return last;
}

/* Prints the page of the directory of `given`, a directory or a cluster file. Control characters
 * become '?'. Returns 1; 0 when there is none. */
static int print_hang_page(const char *given, FILE *out)
{
    char dir[PATH_MAX], line[LINE], shown[LINE];
    struct stat status;
    if (stat(given, &status))
        return 0;
    if (S_ISDIR(status.st_mode))
        snprintf(dir, sizeof(dir), "%s", given);
    else
        pw_cli_directory_of(given, dir);
    FILE *page = open_last(dir);
    if (!page)
        return 0;
    for (int i = 0; i < MOST_LINES && fgets(line, sizeof(line), page); i++) {
        const size_t length = strcspn(line, "\n");
        fprintf(out, "%s\n", pw_names_printable(shown, sizeof(shown), line, length));
    }
    fclose(page);
    return 1;
}

/* ---- --format chrome and --format perfetto ---- */

struct pw_cli_timeline {
    const struct pw_options *options;
    const char *cluster_file; /* the rank files are in its directory */
    const char *output;       /* name of the output; compressed when it ends with ".gz" */
};

/* A stream that compresses what is written to it. */

static ssize_t write_some(void *cookie, const char *bytes, size_t size)
{
    errno = 0;
    int written = gzwrite(cookie, bytes, (unsigned)size);
    if (written > 0)
        return written;
    errno = errno ? errno : EIO;
    return 0; /* the error value of fopencookie(3) */
}

static int close_it(void *cookie)
{
    errno = 0;
    if (gzclose(cookie) == Z_OK)
        return 0;
    errno = errno ? errno : EIO;
    return EOF;
}

/* Opens a stream that compresses with gzip and writes to `fd`, which it closes. Returns NULL with
 * errno set on failure. Errors of writing are seen by ferror() or fclose(). */
static FILE *pw_gzstream_open(int fd)
{
    gzFile file = gzdopen(fd, "wb1"); /* fast: a timeline is large and read once */
    if (!file) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    FILE *stream =
        fopencookie(file, "w", (cookie_io_functions_t){.write = write_some, .close = close_it});
    if (!stream)
        gzclose(file);
    return stream;
}

static void say_what_is_missing(const struct pw_timeline_result *result)
{
    if (result->unread)
        pw_say("%d rank files cannot be read and are left out", result->unread);
    if (result->share < 1)
        pw_say("the timeline holds the first %.1f %% of what was asked for: take fewer --steps or "
               "--ranks, or a larger --max-size",
               100 * result->share);
    if (result->arrow_ends_left_out)
        pw_say("there is no room for all arrows: %" PRId64 " ends of messages and collectives have "
               "none; take fewer --steps or --ranks",
               result->arrow_ends_left_out);
}

static int write_plain(FILE *out, const struct pw_cluster *cluster,
                       const struct pw_cli_timeline *wanted)
{
    char dir[PATH_MAX];
    pw_cli_directory_of(wanted->cluster_file, dir);
    const struct pw_timeline_options options = {
        .dir = dir,
        .cluster_file = wanted->cluster_file,
        .ranks = wanted->options->text[PW_OPT_RANKS],
        .only_steps = wanted->options->text[PW_OPT_STEPS][0] != '\0',
        .most_bytes = (int64_t)pw_option_size(wanted->options, PW_OPT_MAX_SIZE),
        .has_scopes = strcmp(wanted->options->text[PW_OPT_LANES], "scope") == 0,
        .is_perfetto = strcmp(wanted->options->text[PW_OPT_FORMAT], "perfetto") == 0,
    };
    struct pw_timeline_result result;
    int err = pw_timeline_write(out, cluster, &options, &result);
    if (err == -EINVAL)
        pw_error("%s", result.problem);
    if (err == -ENOENT)
        pw_error("there are no rank files in '%s', from which a timeline is made: put them beside "
                 "cluster.h5",
                 dir);
    if (err == 0)
        say_what_is_missing(&result);
    return err == -EINVAL || err == -ENOENT ? 1 : err;
}

/* Writes the timeline. Returns 0; -errno when writing failed; 1 when there is no timeline, after a
 * message. */
static int pw_cli_timeline_write(FILE *out, const struct pw_cluster *cluster,
                                 const struct pw_cli_timeline *wanted)
{
    size_t length = strlen(wanted->output);
    if (length < 3 || strcmp(wanted->output + length - 3, ".gz") != 0)
        return write_plain(out, cluster, wanted);
    int fd = dup(fileno(out));
    FILE *stream = fd < 0 ? NULL : pw_gzstream_open(fd);
    if (!stream)
        return -errno;
    int err = write_plain(stream, cluster, wanted);
    if (fclose(stream) && !err)
        err = -errno;
    return err;
}

typedef int report_fn(FILE *out, const struct pw_cluster *cluster,
                      const struct pw_report_options *options);

/* What is to be written. */
struct job {
    report_fn *report; /* NULL: the timeline */
    const struct pw_cluster *cluster;
    const struct pw_report_options *options;
    const struct pw_cli_timeline *timeline;
};

static int produce(FILE *out, const struct job *job)
{
    return job->report ? job->report(out, job->cluster, job->options)
                       : pw_cli_timeline_write(out, job->cluster, job->timeline);
}

static int write_stream(FILE *out, const struct job *job)
{
    errno = 0;
    int err = produce(out, job);
    if (fflush(out) && !err)
        err = -EIO;
    return err == -EIO && errno ? -errno : err; /* the real reason, such as a full disk */
}

/* Writes the report; the file gets its final name when it is complete. */
static int write_file(struct pw_newfile *file, const struct job *job)
{
    return pw_newfile_close(file, write_stream(file->out, job));
}

/* Writes to a file that the user named; its mode is limited by the umask only. */
static int write_named(const char *path, const struct job *job)
{
    struct pw_newfile file;
    int err = pw_newfile_open_named(path, 0666, &file);
    return err ? err : write_file(&file, job);
}

static int usage_error(const char *problem)
{
    pw_error("%s", problem);
    return 2;
}

static int print_help(void)
{
    printf("usage: profwrap report [OPTIONS] DIR|cluster.h5\n\n"
           "Prints a summary of a run: which rank, phase or operation holds the job back. --full "
           "prints\nall tables, and --section some of them. A run that is not merged yet is merged "
           "first.\n\n");
    pw_options_print_help(stdout, PW_CMD_REPORT);
    return fflush(stdout) ? 1 : 0;
}

static const struct format {
    const char *name;
    report_fn *report;
} formats[] = {
#define FORMAT(name, remark, function) {#name, function},
    PW_REPORT_FORMATS(FORMAT, FORMAT)
#undef FORMAT
};

/* options.c has checked the name. */
static report_fn *find_format(const char *name)
{
    size_t i = 0;
    while (strcmp(formats[i].name, name) != 0)
        i++;
    return formats[i].report;
}

/* Finds the parts of an HTML report besides the data; prints what is missing. `page` must outlive
 * `wanted`. */
static int prepare_html(const struct pw_options *options, const char *path,
                        struct pw_htmlpage *page, struct pw_report_options *wanted)
{
    char problem[2 * PATH_MAX];
    if (!path[0] && isatty(STDOUT_FILENO))
        return usage_error(
            "HTML is not for a terminal: give a file with -o, such as -o report.html");
    if (pw_htmlpage_find(options->text[PW_OPT_D3], page, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    wanted->page_dir = page->dir;
    wanted->d3 = page->d3;
    return 0;
}

/* 1 when the text is to have the tables: with --full, with --section, or with an option that is
 * about tables. A file gets them, too, because nobody has to scroll back in it. */
static int wants_tables(const struct pw_options *options)
{
    static const enum pw_option about_tables[] = {PW_OPT_TOP, PW_OPT_GROUP_BY, PW_OPT_SEARCH,
                                                  PW_OPT_SORT};
    int wants = pw_option_flag(options, PW_OPT_FULL) || options->text[PW_OPT_SECTION][0] ||
                options->text[PW_OPT_REPORT_OUTPUT][0];
    for (size_t i = 0; i < sizeof(about_tables) / sizeof(about_tables[0]); i++)
        wants |= options->origin[about_tables[i]] == PW_OPTION_COMMAND_LINE;
    return wants;
}

static int is_text(const struct pw_options *options)
{
    return find_format(options->text[PW_OPT_FORMAT]) == pw_report_text;
}

/* Writes what was asked for. If the pager could not run, it has shown nothing: then writes again,
 * without it. If the user has left the pager early, the rest could not be written: no error. */
static int write_asked(const struct job *job, const char *given, const char *cluster_file,
                       const struct pw_options *options, struct pw_pager *pager)
{
    const char *path = options->text[PW_OPT_REPORT_OUTPUT];
    if (path[0])
        return write_named(path, job);
    if (is_text(options) && !wants_tables(options))
        return pw_cli_summary_print(stdout, job->cluster, given, cluster_file, NULL);
    const int is_paged = pager->pid > 0, err = write_stream(stdout, job);
    if (pw_pager_end(pager))
        return write_stream(stdout, job);
    return is_paged && err == -EPIPE ? 0 : err;
}

static int report_on(const char *given, const struct pw_options *options, struct pw_pager *pager)
{
    struct pw_report_options wanted = {
        .sections = options->text[PW_OPT_SECTION],
        .top = (int)pw_option_int(options, PW_OPT_TOP),
        .group_by = options->text[PW_OPT_GROUP_BY],
        .search = options->text[PW_OPT_SEARCH],
        .sort = options->text[PW_OPT_SORT],
    };
    struct pw_htmlpage page;
    const char *path = options->text[PW_OPT_REPORT_OUTPUT];
    wanted.width = path[0] ? 0 : pw_cli_width(pager->pid ? pager->terminal : STDOUT_FILENO, 0);
    report_fn *report = find_format(options->text[PW_OPT_FORMAT]);
    struct pw_cluster *cluster;
    int status = report == pw_report_html ? prepare_html(options, path, &page, &wanted) : 0;
    if (status)
        return status;
    char cluster_file[PATH_MAX];
    const int is_summary =
        is_text(options) && !wants_tables(options) && !options->text[PW_OPT_STEPS][0];
    if ((is_summary ? pw_cli_load_for_summary : pw_cli_load_cluster)(given, cluster_file, &cluster))
        return 1;
    if (options->text[PW_OPT_STEPS][0]) {
        char problem[256] = "out of memory";
        if (pw_cluster_restrict(cluster, options->text[PW_OPT_STEPS], problem, sizeof(problem))) {
            pw_cluster_destroy(cluster);
            return usage_error(problem);
        }
    }
    struct pw_cli_windows windows = {.cluster_file = cluster_file};
    if (report == pw_report_html)
        pw_cli_add_timelines(&wanted, cluster, &windows);
    if (report != pw_report_text && report != pw_report_csv && wanted.sections[0])
        pw_say("--section is for text and csv; other reports are always whole");
    const struct pw_cli_timeline timeline = {options, cluster_file, path};
    const struct job job = {report, cluster, &wanted, &timeline};
    int err = write_asked(&job, given, cluster_file, options, pager);
    pw_cli_windows_fini(&windows);
    pw_cluster_destroy(cluster);
    if (err < 0)
        pw_error("cannot write the report to %s: %s", path[0] ? path : "standard output",
                 pw_readlimit_remedy(err));
    return err ? 1 : 0;
}

/* Reads --false-alarms, and refuses what is for --watch without it. Returns 0, or 2 after a
 * message. */
static int check_alarms(struct pw_options *options, double *rate)
{
    if (!pw_option_flag(options, PW_OPT_WATCH) &&
        (options->origin[PW_OPT_ALERTS] == PW_OPTION_COMMAND_LINE ||
         options->origin[PW_OPT_ON_ALERT] == PW_OPTION_COMMAND_LINE))
        return usage_error("--alerts and --on-alert are for --watch and for 'profwrap LAUNCHER'");
    return pw_option_per_day(options, PW_OPT_FALSE_ALARMS, rate) ? usage_error(options->problem)
                                                                 : 0;
}

/* --watch prints text on standard output only. */
static int watch(const char *dir, struct pw_options *options, double rate)
{
    int64_t top = pw_option_int(options, PW_OPT_TOP);
    if (strcmp(options->text[PW_OPT_FORMAT], "text") != 0 || options->text[PW_OPT_REPORT_OUTPUT][0])
        return usage_error("--watch shows text on standard output: no --format or -o with it");
    const struct pw_cli_watched what = {
        .ranks = top ? (size_t)top : SIZE_MAX,
        .alarms_per_day = rate,
        .alerts = pw_option_flag(options, PW_OPT_ALERTS) ? PW_ALERTS_PRINTED : PW_ALERTS_NO_LINES,
        .command = options->text[PW_OPT_ON_ALERT]};
    return pw_cli_watch(dir, &what);
}

/* Checks the options that belong to --serve. Returns 0, or 2 after a message. */
static int check_serve(struct pw_options *options)
{
    const char *format = options->text[PW_OPT_FORMAT];
    const int is_html = strcmp(format, "html") == 0 || strcmp(format, "text") == 0;
    if (!pw_option_flag(options, PW_OPT_SERVE))
        return options->origin[PW_OPT_PORT] == PW_OPTION_COMMAND_LINE
                   ? usage_error("--port is for --serve")
                   : 0;
    if (!is_html || options->text[PW_OPT_REPORT_OUTPUT][0] || pw_option_flag(options, PW_OPT_WATCH))
        return usage_error(
            "--serve shows the HTML report: no other --format, -o or --watch with it");
    if (pw_option_int(options, PW_OPT_PORT) > 65535) {
        pw_option_refuse(options, PW_OPT_PORT, "0 to 65535");
        return usage_error(options->problem);
    }
    return 0;
}

/* Limits this process; timelines also read the rank files, so the limit counts them. */
static void confine(const char *given, const struct pw_options *options)
{
    report_fn *report = find_format(options->text[PW_OPT_FORMAT]);
    const int reads_ranks = !report || report == pw_report_html;
    pw_confine(reads_ranks ? pw_cli_run_size(given) : pw_cli_cluster_size(given),
               options->text[PW_OPT_REPORT_OUTPUT][0] ? PW_CONFINE_WRITES : 0);
}

/* 1 when the page of a hang is asked for: then the one of the watchdog is better than what the
 * files of the ranks tell after the end, and it needs no merge. */
static int wants_hang_alone(const struct pw_options *options)
{
    return is_text(options) && strcmp(options->text[PW_OPT_SECTION], "hang") == 0 &&
           !options->text[PW_OPT_REPORT_OUTPUT][0] && !pw_option_flag(options, PW_OPT_WATCH) &&
           !pw_option_flag(options, PW_OPT_SERVE);
}

int pw_cli_report(int argc, char **argv)
{
    struct pw_options options;
    char problem[PW_EPOCHDIR_PROBLEM];
    struct pw_options_end end;
    char dir[PATH_MAX];
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_REPORT, argc, argv, &end))
        return usage_error(options.problem);
    if (end.help)
        return print_help();
    if (end.version) {
        snprintf(problem, sizeof(problem), "unknown option '%s'; 'profwrap help report' lists them",
                 argv[end.version]);
        return usage_error(problem);
    }
    if (pw_report_sections_check(options.text[PW_OPT_SECTION], problem, sizeof(problem)))
        return usage_error(problem);
    if (end.next >= argc)
        return usage_error("report needs the output directory of a run, or a cluster file");
    if (end.next + 1 < argc)
        return usage_error("report takes one directory or cluster file; options come before it");
    if (pw_epochdir_choose(argv[end.next], options.text[PW_OPT_EPOCH], dir, sizeof(dir), problem))
        return usage_error(problem);
    double rate;
    int refused = check_serve(&options);
    refused = refused ? refused : check_alarms(&options, &rate);
    if (refused)
        return refused;
    if (wants_hang_alone(&options) && print_hang_page(dir, stdout))
        return fflush(stdout) ? 1 : 0;
    if (!pw_option_flag(&options, PW_OPT_WATCH) &&
        pw_latereport_make(dir, options.text[PW_OPT_EPOCH]))
        return 1;
    if (pw_option_flag(&options, PW_OPT_SERVE))
        return pw_cli_serve_report(dir, argv);
    if (pw_option_flag(&options, PW_OPT_WATCH))
        return watch(dir, &options, rate);
    if (strcmp(options.text[PW_OPT_FORMAT], "otf2") == 0)
        return pw_cli_otf2(argv);
    struct pw_pager pager = {0};
    if (is_text(&options) && pw_option_flag(&options, PW_OPT_FULL) &&
        !options.text[PW_OPT_REPORT_OUTPUT][0])
        pw_pager_start(&pager);
    pw_h5_watch_install();
    confine(dir, &options);
    const int status = report_on(dir, &options, &pager);
    pw_pager_end(&pager); /* it still runs if report_on() failed before it wrote */
    return status;
}

/* Writes the report to DIR/name; prints why it cannot. */
static int write_into(const char *dir, const char *name, report_fn *report,
                      const struct pw_cluster *cluster, const struct pw_report_options *wanted)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    const struct job job = {report, cluster, wanted, NULL};
    struct pw_newfile file;
    int err = n < (int)sizeof(path) ? pw_newfile_open(path, 0600, &file) : -ENAMETOOLONG;
    err = err ? err : write_file(&file, &job);
    if (err)
        pw_error("cannot write '%s/%s': %s", dir, name, pw_remedy(err));
    return err;
}

/* Writes DIR/report.html. When profwrap was built without D3, prints how to get it; that is not a
 * failure. */
static int write_html(const char *dir, const char *d3, const struct pw_cluster *cluster,
                      struct pw_report_options *wanted)
{
    struct pw_htmlpage page;
    char problem[2 * PATH_MAX];
    if (pw_htmlpage_find(d3, &page, problem, sizeof(problem))) {
        pw_say("no report.html: %s", problem);
        return 0;
    }
    wanted->page_dir = page.dir;
    wanted->d3 = page.d3;
    return write_into(dir, "report.html", pw_report_html, cluster, wanted);
}

/* Writes DIR/report.html with timelines. These are read from the rank files, which may be damaged.
 * So a process of its own does this, which is confined. When it fails, writes the page without
 * timelines. */
static int write_html_apart(const char *dir, const char *d3, const struct pw_cluster *cluster,
                            struct pw_report_options *wanted, char *cluster_file)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        pw_confine(pw_readlimit_size(dir), PW_CONFINE_WRITES);
        struct pw_cli_windows windows = {.cluster_file = cluster_file};
        pw_cli_add_timelines(wanted, cluster, &windows);
        _exit(write_html(dir, d3, cluster, wanted) ? 1 : 0);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return write_html(dir, d3, cluster, wanted);
}

static int print_line(FILE *out, const char *dir, const struct pw_cluster *cluster)
{
    char line[PW_REPORT_LINE];
    int err = pw_report_one_line(cluster, line, sizeof(line));
    if (!err)
        fprintf(out, "profwrap: %s See %s/report.txt\n", line, dir);
    return err;
}

int pw_cli_report_write(const char *dir, FILE *screen, enum pw_cli_shown shown)
{
    struct pw_options options;
    struct pw_report_options wanted = {.sections = "", .top = PW_REPORT_TOP};
    struct pw_cluster *cluster;
    pw_options_init(&options);
    wanted.top = (int)pw_option_int(&options, PW_OPT_TOP);
    char path[PATH_MAX];
    int err = pw_cli_load_cluster(dir, path, &cluster);
    if (err)
        return err;
    struct pw_figures *figures = NULL;
    if (pw_figures_create(cluster, &figures) == 0)
        wanted.figures = figures;
    err = write_into(dir, "report.txt", pw_report_text, cluster, &wanted);
    int json = write_into(dir, "report.json", pw_report_json, cluster, &wanted);
    int html = write_html_apart(dir, options.text[PW_OPT_D3], cluster, &wanted, path);
    int printed = shown == PW_SHOWN_LINE ? print_line(screen, dir, cluster)
                  : shown == PW_SHOWN_SUMMARY
                      ? pw_cli_summary_print(screen, cluster, dir, path, figures)
                  : shown == PW_SHOWN_FULL ? pw_report_text(screen, cluster, &wanted)
                                           : 0;
    fflush(screen);
    pw_figures_destroy(figures);
    pw_cluster_destroy(cluster);
    return err ? err : json ? json : html ? html : printed;
}
