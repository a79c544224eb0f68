/* `profwrap compare A B`: two merged runs side by side. Exit status 3 when the second is slower, 4
 * when this cannot be determined. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clusterpath.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/safefile.h"
#include "report/compare/compare.h"

enum { SLOWER = 3, UNKNOWN = 4 };

static int print_help(void)
{
    printf(
        "usage: profwrap compare [OPTIONS] A B\n\n"
        "Compares two merged runs (directories or cluster files): whether B took longer than A by\n"
        "more than noise, where (steps, start-up, end), and in which phase and on which ranks. "
        "The\n"
        "status is 3 when B or its steps are slower by more than the threshold, 0 when they are\n"
        "not, and 4 when that cannot be told.\n\n");
    pw_options_print_help(stdout, PW_CMD_COMPARE);
    return fflush(stdout) ? 1 : 0;
}

static int write_to(FILE *out, const struct pw_options *options,
                    const struct pw_comparison *comparison)
{
    const char *format = options->text[PW_OPT_COMPARE_FORMAT];
    const int top = (int)pw_option_int(options, PW_OPT_COMPARE_TOP);
    int err;
    if (strcmp(format, "json") == 0)
        err = pw_compare_json(out, comparison);
    else if (strcmp(format, "markdown") == 0)
        err = pw_compare_markdown(out, comparison, top);
    else if (strcmp(format, "junit") == 0)
        err = pw_compare_junit(out, comparison, top);
    else
        err = pw_compare_text(out, comparison, top);
    return fflush(out) && !err ? -EIO : err;
}

static int write_out(const struct pw_options *options, const struct pw_comparison *comparison)
{
    const char *path = options->text[PW_OPT_COMPARE_OUTPUT];
    struct pw_newfile file = {.out = stdout};
    int err = path[0] ? pw_newfile_open_named(path, 0666, &file) : 0;
    errno = 0;
    if (!err) {
        err = write_to(file.out, options, comparison);
        if (err == -EIO && errno)
            err = -errno; /* the real reason, such as a full disk */
        if (path[0])
            err = pw_newfile_close(&file, err);
    }
    if (err)
        pw_error("cannot write the comparison to %s: %s", path[0] ? path : "standard output",
                 pw_readlimit_error(err));
    return err;
}

static int compare(struct pw_cluster *const runs[2], char *const names[2], double threshold,
                   const struct pw_options *options)
{
    struct pw_comparison *comparison;
    if (pw_compare(runs[0], runs[1], threshold, &comparison)) {
        pw_error("cannot compare '%s' with '%s': out of memory", names[0], names[1]);
        return 1;
    }
    int status = comparison->kind == PW_COMPARE_UNKNOWN ? UNKNOWN
                 : pw_compare_is_slower(comparison)     ? SLOWER
                                                        : 0;
    status = write_out(options, comparison) ? 1 : status;
    pw_comparison_destroy(comparison);
    return status;
}

/* Returns the share of "5" or "2.5" percent; negative when the text is no percentage. */
static double threshold_of(const char *text)
{
    char *end;
    double percent = strtod(text, &end);
    return end == text || *end || !(percent >= 0 && percent <= 1e6) ? -1 : percent / 100;
}

int pw_cli_compare(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_COMPARE, argc, argv, &end)) {
        pw_error("%s", options.problem);
        return 2;
    }
    if (end.help)
        return print_help();
    double threshold = threshold_of(options.text[PW_OPT_COMPARE_THRESHOLD]);
    if (threshold < 0 || end.version || end.next + 2 != argc) {
        if (end.version)
            pw_error("unknown option '%s'; 'profwrap --help' lists them", argv[end.version]);
        else if (threshold < 0)
            pw_error("--threshold expects percent, such as 5, not '%s'",
                     options.text[PW_OPT_COMPARE_THRESHOLD]);
        else
            pw_error("compare takes two directories or cluster files, the run before and the run "
                     "after; options come before them");
        return 2;
    }
    char dirs[2][PATH_MAX], problem[PW_EPOCHDIR_PROBLEM];
    for (int i = 0; i < 2; i++)
        if (pw_epochdir_choose(argv[end.next + i], "", dirs[i], sizeof(dirs[i]), problem)) {
            pw_error("%s", problem);
            return 2;
        }
    pw_h5_watch_install();
    pw_confine(pw_cli_cluster_size(dirs[0]) + pw_cli_cluster_size(dirs[1]),
               options.text[PW_OPT_COMPARE_OUTPUT][0] ? PW_CONFINE_WRITES : 0);
    char path[PATH_MAX];
    struct pw_cluster *runs[2] = {NULL, NULL};
    int status = 1;
    if (!pw_cli_load_cluster(dirs[0], path, &runs[0]) &&
        !pw_cli_load_cluster(dirs[1], path, &runs[1]))
        status = compare(runs, argv + end.next, threshold, &options);
    pw_cluster_destroy(runs[0]);
    pw_cluster_destroy(runs[1]);
    return status;
}
