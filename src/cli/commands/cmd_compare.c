/* `profwrap compare A B`: two merged runs side by side, or several runs of each. Exit status 3 when
 * the second is slower, 4 when this cannot be determined. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/commands/pairruns.h"
#include "cli/confine.h"
#include "cli/results/clusterpath.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/safefile.h"
#include "report/compare/compare.h"
#include "report/compare/compare_runs.h"

enum { SLOWER = 3, UNKNOWN = 4 };

static const char separator[] = "--";
#include "core/remedy.h"

static int print_help(void)
{
    printf(
        "usage: profwrap compare [OPTIONS] A B\n"
        "       profwrap compare [OPTIONS] A1 A2 ... -- B1 B2 ...\n"
        "       profwrap compare --runs N [OPTIONS] -- COMMAND A -- COMMAND B\n\n"
        "Compares two merged runs (directories or cluster files): whether B took longer than A by\n"
        "more than noise, where (steps, start-up, end), and in which phase and on which ranks. "
        "The\n"
        "second form compares several runs of each in pairs, and the third one makes these runs: "
        "N\n"
        "of each command, in turns. Both say how much longer B takes with a confidence "
        "interval.\n\n"
        "The status is 3 when B or its steps are slower by more than the threshold, 0 when they "
        "are\n"
        "not, and 4 when that cannot be told.\n\n");
    pw_options_print_help(stdout, PW_CMD_COMPARE);
    return fflush(stdout) ? 1 : 0;
}

/* What is printed: one of the two. */
struct result {
    const struct pw_comparison *two;
    const struct pw_runs_comparison *several;
};

static int write_to(FILE *out, const struct pw_options *options, const struct result *result)
{
    const char *format = options->text[PW_OPT_COMPARE_FORMAT];
    const int top = (int)pw_option_int(options, PW_OPT_COMPARE_TOP);
    const struct pw_comparison *two = result->two;
    const struct pw_runs_comparison *several = result->several;
    int err;
    if (strcmp(format, "json") == 0)
        err = two ? pw_compare_json(out, two) : pw_runs_json(out, several);
    else if (strcmp(format, "markdown") == 0)
        err = two ? pw_compare_markdown(out, two, top) : pw_runs_markdown(out, several, top);
    else if (strcmp(format, "junit") == 0)
        err = two ? pw_compare_junit(out, two, top) : pw_runs_junit(out, several, top);
    else
        err = two ? pw_compare_text(out, two, top) : pw_runs_text(out, several, top);
    return fflush(out) && !err ? -EIO : err;
}

static int write_out(const struct pw_options *options, const struct result *result)
{
    const char *path = options->text[PW_OPT_COMPARE_OUTPUT];
    struct pw_newfile file = {.out = stdout};
    int err = path[0] ? pw_newfile_open_named(path, 0666, &file) : 0;
    errno = 0;
    if (!err) {
        err = write_to(file.out, options, result);
        if (err == -EIO && errno)
            err = -errno; /* the real reason, such as a full disk */
        if (path[0])
            err = pw_newfile_close(&file, err);
    }
    if (err)
        pw_error("cannot write the comparison to %s: %s", path[0] ? path : "standard output",
                 pw_readlimit_remedy(err));
    return err;
}

/* ---- two runs ---- */

static int compare(struct pw_cluster *const runs[2], char *const names[2], double threshold,
                   const struct pw_options *options)
{
    struct pw_comparison *comparison;
    if (pw_compare(runs[0], runs[1], threshold, &comparison)) {
        pw_error("cannot compare '%s' with '%s': %s", names[0], names[1],
                 pw_readlimit_remedy(-ENOMEM));
        return 1;
    }
    int status = comparison->kind == PW_COMPARE_UNKNOWN ? UNKNOWN
                 : pw_compare_is_slower(comparison)     ? SLOWER
                                                        : 0;
    const struct result result = {.two = comparison};
    status = write_out(options, &result) ? 1 : status;
    pw_comparison_destroy(comparison);
    return status;
}

/* Loads a pair. Returns 0, or -errno after one sentence; runs[] are NULL or to be destroyed. */
static int load_pair(char *const dirs[2], struct pw_cluster *runs[2])
{
    char path[PATH_MAX];
    int err = pw_cli_load_cluster(dirs[0], path, &runs[0]);
    return err ? err : pw_cli_load_cluster(dirs[1], path, &runs[1]);
}

/* ---- several runs of each ---- */

/* Directories of the runs, in pairs. */
struct pairs {
    char (*dirs)[2][PATH_MAX];
    size_t n;
};

static int conclude(struct pw_runs_comparison *comparison, const struct pw_options *options)
{
    const struct result result = {.several = comparison};
    int status = comparison->has_failed                   ? 1
                 : comparison->kind == PW_COMPARE_UNKNOWN ? UNKNOWN
                 : comparison->is_slower                  ? SLOWER
                                                          : 0;
    status = write_out(options, &result) ? 1 : status;
    pw_runs_comparison_destroy(comparison);
    return status;
}

/* Adds all pairs to `runs`. Returns 0, or -errno after one sentence. */
static int add_pairs(struct pairs *pairs, struct pw_runs *runs)
{
    int err = 0;
    for (size_t i = 0; i < pairs->n && !err; i++) {
        struct pw_cluster *pair[2] = {NULL, NULL};
        char *const dirs[2] = {pairs->dirs[i][0], pairs->dirs[i][1]};
        err = load_pair(dirs, pair);
        if (!err && (err = pw_runs_add(runs, pair[0], pair[1])) != 0)
            pw_error("cannot compare '%s' with '%s': %s", dirs[0], dirs[1],
                     pw_readlimit_remedy(-ENOMEM));
        pw_cluster_destroy(pair[0]);
        pw_cluster_destroy(pair[1]);
    }
    return err;
}

static int compare_pairs(struct pairs *pairs, double threshold, const struct pw_options *options)
{
    struct pw_runs_comparison *comparison = NULL;
    struct pw_runs *runs = pw_runs_create(threshold);
    int err = runs ? add_pairs(pairs, runs) : -ENOMEM;
    if (!err && (err = pw_runs_compare(runs, &comparison)) != 0)
        pw_error("cannot compare the runs: %s", pw_readlimit_remedy(-ENOMEM));
    pw_runs_destroy(runs);
    return err ? 1 : conclude(comparison, options);
}

static void confine(const struct pairs *pairs, const struct pw_options *options)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < pairs->n; i++)
        bytes += pw_cli_cluster_size(pairs->dirs[i][0]) + pw_cli_cluster_size(pairs->dirs[i][1]);
    pw_h5_watch_install();
    pw_confine(bytes, options->text[PW_OPT_COMPARE_OUTPUT][0] ? PW_CONFINE_WRITES : 0);
}

/* Chooses the directory of one run. Returns 0, or -EINVAL after one sentence. */
static int choose(const char *given, struct pairs *pairs, size_t pair, int side)
{
    char problem[PW_EPOCHDIR_PROBLEM];
    int err = pw_epochdir_choose(given, "", pairs->dirs[pair][side], PATH_MAX, problem);
    if (err)
        pw_error("%s", problem);
    return err;
}

/* The words of the command line: those of A, and those of B behind the separator. */
struct words {
    char **of[2];
    size_t n[2];
    int is_divided;
};

static int compare_given(const struct words *words, double threshold,
                         const struct pw_options *options)
{
    struct pairs pairs = {calloc(words->n[0], sizeof(*pairs.dirs)), words->n[0]};
    int err = pairs.dirs ? 0 : -ENOMEM;
    for (size_t i = 0; i < pairs.n && !err; i++)
        for (int side = 0; side < 2 && !err; side++)
            err = choose(words->of[side][i], &pairs, i, side);
    int status = 2;
    if (!err) {
        confine(&pairs, options);
        status = compare_pairs(&pairs, threshold, options);
    }
    free(pairs.dirs);
    return status;
}

static int say_failed(const char *problem, double threshold, const struct pw_options *options)
{
    struct pw_runs_comparison *comparison;
    pw_error("%s", problem);
    return pw_runs_failed(threshold, problem, &comparison) ? 1 : conclude(comparison, options);
}

static int run_and_compare(const struct words *words, double threshold,
                           const struct pw_options *options)
{
    const struct pw_pairruns given = {
        .argv = {words->of[0], words->of[1]},
        .pairs = (int)pw_option_int(options, PW_OPT_COMPARE_RUNS),
        .dir = options->text[PW_OPT_COMPARE_DIRECTORY],
    };
    char problem[512], path[PATH_MAX];
    struct pairs pairs = {calloc((size_t)given.pairs, sizeof(*pairs.dirs)), (size_t)given.pairs};
    if (!pairs.dirs)
        return 1;
    int status = pw_pairruns_run(&given, problem, sizeof(problem))
                     ? say_failed(problem, threshold, options)
                     : 0;
    for (size_t i = 0; i < pairs.n && !status; i++)
        for (int side = 0; side < 2 && !status; side++)
            status = pw_pairruns_dir(given.dir, side, (int)i, path, sizeof(path)) ||
                     choose(path, &pairs, i, side);
    if (!status) {
        confine(&pairs, options);
        status = compare_pairs(&pairs, threshold, options);
    }
    free(pairs.dirs);
    return status;
}

static int compare_two(char *const given[2], double threshold, const struct pw_options *options)
{
    char(*dirs)[2][PATH_MAX] = calloc(1, sizeof(*dirs));
    struct pairs pairs = {dirs, 1};
    struct pw_cluster *runs[2] = {NULL, NULL};
    int status = dirs ? 0 : 1;
    for (int side = 0; side < 2 && !status; side++)
        status = choose(given[side], &pairs, 0, side) ? 2 : 0;
    if (!status) {
        char *const chosen[2] = {dirs[0][0], dirs[0][1]};
        confine(&pairs, options);
        status = load_pair(chosen, runs) ? 1 : compare(runs, given, threshold, options);
    }
    pw_cluster_destroy(runs[0]);
    pw_cluster_destroy(runs[1]);
    free(dirs);
    return status;
}

/* ---- the command line ---- */

/* Returns the share of "5" or "2.5" percent; negative when the text is no percentage. */
static double threshold_of(const char *text)
{
    char *end;
    double percent = strtod(text, &end);
    return end == text || *end || !(percent >= 0 && percent <= 1e6) ? -1 : percent / 100;
}

/* Divides argv[0..n) at its separator, which becomes NULL. Returns the number of separators. */
static size_t divide(char **argv, size_t n, struct words *out)
{
    size_t separators = 0, at = n;
    for (size_t i = 0; i < n; i++)
        if (strcmp(argv[i], separator) == 0) {
            at = separators++ ? at : i;
        }
    *out = (struct words){{argv, argv + n}, {n, 0}, separators > 0};
    if (separators) {
        argv[at] = NULL;
        *out = (struct words){{argv, argv + at + 1}, {at, n - at - 1}, 1};
    }
    return separators;
}

/* Returns what is wrong with the words; NULL: nothing. */
static const char *refuse(const struct words *words, size_t separators, int64_t runs)
{
    if (runs && (separators != 1 || !words->n[0] || !words->n[1]))
        return separators > 1 ? "the commands have a word '--': put them into scripts"
                              : "compare --runs takes two commands: -- COMMAND A -- COMMAND B";
    if (runs && runs < PW_RUNS_LEAST)
        return "--runs takes 5 or more: of fewer pairs there is no interval to rely on";
    if (runs)
        return NULL;
    if (words->is_divided)
        return separators == 1 && words->n[0] && words->n[0] == words->n[1]
                   ? NULL
                   : "compare takes as many runs before '--' as behind it, which it compares in "
                     "pairs";
    return words->n[0] == 2 ? NULL
                            : "compare takes two directories or cluster files, the run before and "
                              "the run after; options come before them";
}

int pw_cli_compare(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    struct words words;
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_COMPARE, argc, argv, &end)) {
        pw_error("%s", options.problem);
        return 2;
    }
    if (end.help)
        return print_help();
    if (end.version) {
        pw_error("unknown option '%s'; 'profwrap help compare' lists them", argv[end.version]);
        return 2;
    }
    const double threshold = threshold_of(options.text[PW_OPT_COMPARE_THRESHOLD]);
    const int64_t runs = pw_option_int(&options, PW_OPT_COMPARE_RUNS);
    const size_t separators = divide(argv + end.next, (size_t)(argc - end.next), &words);
    const char *wrong = refuse(&words, separators, runs);
    if (threshold < 0)
        pw_error("--threshold expects percent, such as 5, not '%s'",
                 options.text[PW_OPT_COMPARE_THRESHOLD]);
    else if (wrong)
        pw_error("%s", wrong);
    if (threshold < 0 || wrong)
        return 2;
    if (runs)
        return run_and_compare(&words, threshold, &options);
    if (words.is_divided && words.n[0] > 1)
        return compare_given(&words, threshold, &options);
    char *const two[2] = {words.of[0][0], words.is_divided ? words.of[1][0] : words.of[0][1]};
    return compare_two(two, threshold, &options);
}
