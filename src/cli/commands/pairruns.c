/* Runs the commands of `profwrap compare --runs`; see pairruns.h.
 *
 * Each run has a process group of its own. A signal that asks compare to end goes to the run's
 * first process, which passes it on as profwrap and launchers do; to what is left of the group when
 * that process has ended, as of a shell that does not pass it on; and as SIGKILL to what is still
 * there after GRACE_S. */
#include "cli/commands/pairruns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/results/clusterpath.h"
#include "core/epochdir.h"
#include "core/log.h"
#include "core/remedy.h"
#include "core/text.h"
#include "run/paths.h"

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

int pw_pairruns_dir(const char *dir, int side, int pair, char *out, size_t size)
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
    if (!realpath(given->dir, here) ||
        pw_pairruns_dir(here, side, pair->number, dir, sizeof(dir))) {
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

int pw_pairruns_run(const struct pw_pairruns *given, char *problem, size_t size)
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
