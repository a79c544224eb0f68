/* `profwrap compare A B`: two merged runs side by side, or several runs of each. Exit status 3 when
 * the second is slower, 4 when this cannot be determined. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/results/clusterpath.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/remedy.h"
#include "core/safefile.h"
#include "core/text.h"
#include "report/compare/compare.h"
#include "report/compare/compare_runs.h"
#include "run/paths.h"

/* Runs the commands of `profwrap compare --runs` in turns, each under profwrap with a directory of
 * its own.
 *
 * Each run has a process group of its own. A signal that asks compare to end goes to the run's
 * first process, which passes it on as profwrap and launchers do; to what is left of the group when
 * that process has ended, as of a shell that does not pass it on; and as SIGKILL to what is still
 * there after GRACE_S. */

struct pw_pairruns {
    char **argv[2]; /* the commands A and B, each with a NULL at its end */
    int pairs;
    const char *dir; /* is made; has a directory and a log of each run */
};

enum { GRACE_S = 10, LOOK_NS = 20000000 };

static const char sides[2] = {'A', 'B'};
static const int endings[] = {SIGINT, SIGTERM, SIGHUP};

/* What the signal handler can reach: the run's first process, and the signal that came. */
static volatile sig_atomic_t run_pid, asked;

static void pass_on(int signal)
{
    asked = signal;
    if (run_pid > 0)
        kill((pid_t)run_pid, signal);
}

static void handle_endings(sigset_t *set)
{
    const struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        sigaddset(set, endings[i]);
        sigaction(endings[i], &action, NULL);
    }
}

/* Writes the directory of a run: DIR/a-1 of the first pair's A. Returns 0 or -ENAMETOOLONG. */
static int pairruns_dir(const char *dir, int side, int pair, char *out, size_t size)
{
    const int n = snprintf(out, size, "%s/%c-%d", dir, side ? 'b' : 'a', pair + 1);
    return n < (int)size ? 0 : -ENAMETOOLONG;
}

static int has_profwrap(char *const *argv)
{
    for (size_t i = 0; argv[i]; i++) {
        const char *slash = strrchr(argv[i], '/');
        if (strcmp(slash ? slash + 1 : argv[i], "profwrap") == 0)
            return 1;
    }
    return 0;
}

/* In the child. Returns only when the command cannot be executed. */
static void execute(char **argv, const char *dir)
{
    static char name[] = "profwrap", run[] = "run", end[] = "--";
    char self[PATH_MAX];
    size_t n = 0;
    setenv("PROFWRAP_OUTPUT", dir, 1);
    setenv("PROFWRAP_QUIET", "1", 1);
    if (has_profwrap(argv)) {
        execvp(argv[0], argv);
        return;
    }
    while (argv[n])
        n++;
    char **words = calloc(n + 4, sizeof(*words));
    if (!words || pw_cli_self(self, sizeof(self)))
        return;
    words[0] = name;
    words[1] = run;
    words[2] = end;
    memcpy(words + 3, argv, n * sizeof(*words));
    execv(self, words);
}

static void redirect(const char *log)
{
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = open(log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0)
        _exit(126);
}

/* Starts a run in a process group of its own. Returns its pid or -errno. */
static pid_t start(char **argv, const char *dir, const char *log, const sigset_t *set)
{
    sigset_t before;
    sigprocmask(SIG_BLOCK, set, &before); /* until the handler knows the child */
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(126);
        for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
            signal(endings[i], SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        redirect(log);
        execute(argv, dir);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    const int err = pid < 0 ? -errno : 0;
    if (pid > 0)
        setpgid(pid, pid);
    run_pid = pid > 0 ? pid : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid > 0 ? pid : err;
}

static int is_past(const struct timespec *start, int seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start->tv_sec > seconds;
}

/* Waits for the first process of a run; kills its group when it does not end as it was asked to. */
static int wait_for(pid_t pid)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    struct timespec since = {0};
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (asked && !since.tv_sec)
            clock_gettime(CLOCK_MONOTONIC, &since);
        if (asked && is_past(&since, GRACE_S))
            kill(-pid, SIGKILL);
        nanosleep(&look, NULL);
    }
    return status;
}

/* Ends what is left of a run, and then this process. */
static void end_as_asked(pid_t group)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    const int signal_asked = (int)asked;
    struct timespec since;
    clock_gettime(CLOCK_MONOTONIC, &since);
    for (int rest = kill(-group, signal_asked); rest == 0; rest = kill(-group, 0)) {
        if (is_past(&since, GRACE_S))
            kill(-group, SIGKILL);
        nanosleep(&look, NULL);
    }
    signal(signal_asked, SIG_DFL);
    raise(signal_asked);
}

static int has_profile(const char *dir)
{
    char chosen[PATH_MAX], problem[PW_EPOCHDIR_PROBLEM];
    return !pw_epochdir_choose(dir, "", chosen, sizeof(chosen), problem) &&
           pw_cli_cluster_size(chosen) > 0;
}

/* Returns 0, or 1 with what is wrong with the run. */
static int check(int status, const char *dir, const char *log, struct pw_sentence *said)
{
    if (WIFSIGNALED(status))
        pw_sentence_add(said, "was killed by signal %d (%s)", WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        pw_sentence_add(said, "ended with status %d", WEXITSTATUS(status));
    else if (!has_profile(dir))
        pw_sentence_add(said, "left no profile in %.120s", dir);
    else
        return 0;
    pw_sentence_add(said, "; what it printed is in %.120s", log);
    return 1;
}

struct pair {
    const struct pw_pairruns *given;
    const sigset_t *set; /* the signals that ask compare to end */
    int number;          /* from 0 */
};

/* Runs one command. Sets *ns to the time that it took. Returns 0, or 1 with `problem`. */
static int run_one(const struct pair *pair, int side, int64_t *ns, struct pw_sentence *problem)
{
    const struct pw_pairruns *given = pair->given;
    char dir[PATH_MAX], log[PATH_MAX + 8], here[PATH_MAX];
    struct timespec from, to;
    pw_sentence_add(problem, "run %d of %c ", pair->number + 1, sides[side]);
    if (!realpath(given->dir, here) || pairruns_dir(here, side, pair->number, dir, sizeof(dir))) {
        pw_sentence_add(problem, "has no directory: the path of %.80s is too long", given->dir);
        return 1;
    }
    snprintf(log, sizeof(log), "%s.log", dir);
    clock_gettime(CLOCK_MONOTONIC, &from);
    const pid_t pid = start(given->argv[side], dir, log, pair->set);
    if (pid < 0) {
        pw_sentence_add(problem, "could not be started: %s", pw_remedy(pid));
        return 1;
    }
    const int status = wait_for(pid);
    run_pid = 0;
    if (asked)
        end_as_asked(pid);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *ns = (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec;
    return check(status, dir, log, problem);
}

static int run_pair(const struct pair *pair, char *problem, size_t size)
{
    int64_t took[2];
    char text[2][32];
    for (int i = 0; i < 2; i++) {
        struct pw_sentence said = pw_sentence_on(problem, size);
        const int side = i ^ (pair->number & 1);
        if (run_one(pair, side, &took[side], &said))
            return 1;
    }
    pw_say("pair %d of %d: A took %s, B %s", pair->number + 1, pair->given->pairs,
           pw_text_ns(text[0], sizeof(text[0]), took[0]),
           pw_text_ns(text[1], sizeof(text[1]), took[1]));
    return 0;
}

/* Runs A B, B A, A B, ...: so that neither is always the first. A command that has a word
 * `profwrap` runs as it is, any other as the program of `profwrap run`. Standard input is
 * /dev/null. The variables PROFWRAP_OUTPUT and PROFWRAP_QUIET are set. Prints a line after each
 * pair.
 *
 * Returns 0. When a run fails or leaves no profile, starts no further one and returns 1, with one
 * sentence in `problem`. On SIGINT, SIGTERM or SIGHUP, ends the run, and then this process by the
 * same signal. */
static int pairruns_run(const struct pw_pairruns *given, char *problem, size_t size)
{
    sigset_t set;
    if (mkdir(given->dir, 0700)) {
        snprintf(problem, size, "the directory %.120s cannot be made: %s%s", given->dir,
                 errno == EEXIST ? strerror(errno) : pw_remedy(errno),
                 errno == EEXIST ? "; --directory names another" : "");
        return 1;
    }
    handle_endings(&set);
    int status = 0;
    for (int number = 0; number < given->pairs && !status; number++) {
        const struct pair pair = {given, &set, number};
        status = run_pair(&pair, problem, size);
    }
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        signal(endings[i], SIG_DFL);
    return status;
}

enum { SLOWER = 3, UNKNOWN = 4 };

static const char separator[] = "--";

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
    int status = pairruns_run(&given, problem, sizeof(problem))
                     ? say_failed(problem, threshold, options)
                     : 0;
    for (size_t i = 0; i < pairs.n && !status; i++)
        for (int side = 0; side < 2 && !status; side++)
            status = pairruns_dir(given.dir, side, (int)i, path, sizeof(path)) ||
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
