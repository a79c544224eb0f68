/* Runs launchers; see cli/commands.h.
 *
 * The merge is done by this process after the launcher has ended, because then all ranks have
 * ended. Without `profwrap LAUNCHER`, rank 0's guard merges. That would not work here: when a rank
 * fails, launchers also kill rank 0's guard, and torchrun does not notice that rank 0 has failed
 * while its guard lives. */
#include "cli/commands.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands/watch.h"
#include "cli/conclude/conclude.h"
#include "cli/conclude/latereport.h"
#include "cli/conclude/standby.h"
#include "core/log.h"
#include "core/remedy.h"
#include "rank/live/inquiry.h"
#include "rank/run/baretext.h"
#include "rank/run/outdir.h"
#include "rank/run/rankenv.h"
#include "run/ctl.h"
#include "run/run.h"

/* Makes the output directory's path absolute, because the ranks may run in another directory.
 * Returns 0 or -errno. */
static int absolute_output(const struct pw_run *run, char *out, size_t size)
{
    const char *pattern = run->options.text[PW_OPT_OUTPUT];
    char here[PATH_MAX];
    if (pattern[0] == '/')
        return snprintf(out, size, "%s", pattern) < (int)size ? 0 : -ENAMETOOLONG;
    if (!getcwd(here, sizeof(here)))
        return -errno;
    /* A % in the name of the current directory would be read as a pattern such as %j. */
    if (strchr(here, '%'))
        return -EINVAL;
    return snprintf(out, size, "%s/%s", here, pattern) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Checks the output directory before anything runs, if its name is already known. */
static int check_output(const char *output, char *problem, int size)
{
    return strchr(output, '%') ? 0 : pw_outdir_check_new(output, problem, size);
}

/* Stores the launch in the environment: all options, and after them those that are set here. */
static int tell(const char *name, char *const *options, int count, const char *output)
{
    static char output_option[] = "-o", unprofiled[] = "--unprofiled-on-error";
    char **words = calloc((size_t)count + 3, sizeof(*words));
    char *path = strdup(output);
    if (!words || !path) {
        free(words);
        free(path);
        return -ENOMEM;
    }
    memcpy(words, options, (size_t)count * sizeof(*words));
    words[count] = output_option;
    words[count + 1] = path;
    words[count + 2] = unprofiled;
    int err = pw_launchenv_tell(name, words, count + 3);
    free(words);
    free(path);
    return err;
}

/* Converts `output` to a pattern for glob(3). */
static void glob_pattern(const char *output, const char *below, char *out, size_t size)
{
    size_t n = 0;
    for (const char *at = output; *at && n + 3 < size; at++) {
        if (*at == '%' && at[1] && strchr("jrh", at[1])) {
            out[n++] = '*';
            at++;
            continue;
        }
        if (strchr("*?[\\", *at))
            out[n++] = '\\';
        out[n++] = *at;
    }
    snprintf(out + n, size - n, "%s", below);
}

/* Returns N of a directory DIR/epoch-N; 0 for DIR itself. */
static int epoch_of(const char *dir)
{
    const char *at = strrchr(dir, '/');
    int epoch;
    return at && sscanf(at, "/epoch-%d", &epoch) == 1 ? epoch : 0;
}

/* Finds the last epoch of the job in `dir` that this launch started, and its number of ranks. */
static void find_last_epoch(const char *dir, const char *name, char *last, size_t size, int *ranks)
{
    char pattern[2 * PATH_MAX];
    glob_t found;
    snprintf(last, size, "%s", dir);
    glob_pattern(dir, "/epoch-*", pattern, sizeof(pattern));
    if (glob(pattern, 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const int n = pw_launchenv_find(found.gl_pathv[i], name);
        if (n > 0 && epoch_of(found.gl_pathv[i]) > epoch_of(last)) {
            snprintf(last, size, "%s", found.gl_pathv[i]);
            *ranks = n;
        }
    }
    globfree(&found);
}

/* A job that another process concludes. */
struct late_job {
    const char *dir;
    int ranks;
    const struct pw_options *options;
};

static void conclude_late(void *arg)
{
    const struct late_job *job = arg;
    pw_latereport_lock(job->dir);
    pw_conclude(job->dir, job->ranks, job->options, 0);
    pw_conclude_forget_later(job->dir);
}

/* Merges and reports; when this process was asked to end, another one does that. */
static void conclude_job(const struct pw_run *run, const char *dir, int ranks)
{
    struct late_job job = {dir, ranks, &run->options};
    if (pw_conclude(dir, ranks, &run->options, 0) == -ECANCELED &&
        pw_standby_start(run->lifeline, 0, dir, conclude_late, &job) > 0)
        pw_conclude_say_later(dir);
}

/* Merges and reports each job whose rank 0 this launch started. Returns the number of directories
 * to which its ranks wrote. */
static int conclude_jobs(const struct pw_run *run, const char *name, const char *output)
{
    char pattern[2 * PATH_MAX], last[PATH_MAX + 32];
    glob_t found;
    int seen = 0;
    glob_pattern(output, "", pattern, sizeof(pattern));
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int ranks = pw_launchenv_find(found.gl_pathv[i], name);
        seen += ranks >= 0;
        if (ranks <= 0 || pw_option_flag(&run->options, PW_OPT_NO_MERGE))
            continue;
        find_last_epoch(found.gl_pathv[i], name, last, sizeof(last), &ranks);
        if (epoch_of(last))
            pw_conclude_epochs(found.gl_pathv[i], epoch_of(last));
        conclude_job(run, last, ranks);
    }
    globfree(&found);
    return seen;
}

/* Whether the command contains a `profwrap` itself, whose output directory is not known here. Looks
 * for the word in the arguments and in a shell's command, not for a directory in a path. */
static int has_profwrap(char *const *argv)
{
    static const char name[] = "profwrap";
    for (size_t i = 1; argv[i]; i++)
        for (const char *at = strstr(argv[i], name); at; at = strstr(at + 1, name)) {
            const char after = at[sizeof(name) - 1];
            if ((at == argv[i] || !isalnum((unsigned char)at[-1])) &&
                (!after || isspace((unsigned char)after)))
                return 1;
        }
    return 0;
}

/* accelerate starts several ranks only if the user asks for them; a single process gets no rank. */
static int is_accelerate(const struct pw_run *run)
{
    for (size_t i = 0; i < 3 && run->argv[i]; i++)
        if (strcmp(pw_bare_base_name(run->argv[i]), "accelerate") == 0 ||
            strcmp(run->argv[i], "accelerate.commands.launch") == 0)
            return 1;
    return 0;
}

static void say_no_rank(const struct pw_run *run)
{
    if (is_accelerate(run))
        pw_say(
            "accelerate started one process, without a rank, which was not profiled: use 'profwrap "
            "python train.py' for one process, and 'profwrap accelerate launch --multi_gpu "
            "--num_processes 4 train.py' for several ranks");
    else
        pw_say("%s started no process with a rank that could be profiled: put profwrap before the "
               "program itself, as in 'mpirun -np 4 profwrap ./program' or 'torchrun --no-python "
               "profwrap python train.py'",
               run->argv[0]);
}

/* ---- alerts, by a process beside the launcher ---- */

/* Finds a job of this launch that runs. Returns whether there is one. */
static int find_running(const char *name, const char *output, char *dir, size_t size)
{
    char pattern[2 * PATH_MAX];
    glob_t found;
    int nrunning = 0;
    glob_pattern(output, "", pattern, sizeof(pattern));
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc && nrunning <= 0; i++) {
        int32_t *running = NULL;
        int ranks = pw_launchenv_find(found.gl_pathv[i], name);
        if (ranks < 0)
            continue;
        find_last_epoch(found.gl_pathv[i], name, dir, size, &ranks);
        nrunning = pw_inquiry_running(dir, &running);
        free(running);
    }
    globfree(&found);
    return nrunning > 0;
}

/* Follows one job after the other, until the other end of the pipe `launch_end` is closed. */
static void follow_jobs(const struct pw_run *run, const char *name, const char *output,
                        int launch_end)
{
    enum { LOOK_MS = 200 };
    struct pw_cli_watched what = {.command = run->options.text[PW_OPT_ON_ALERT]};
    struct pw_options options = run->options; /* the rate was checked */
    struct pollfd launch = {.fd = launch_end};
    static const struct timespec none;
    char dir[PATH_MAX + 32];
    sigset_t ends;
    int err = pw_option_per_day(&options, PW_OPT_FALSE_ALARMS, &what.alarms_per_day);
    pw_ctl_block_signals(&ends);
    if (pw_option_flag(&run->options, PW_OPT_ALERTS))
        what.alerts = PW_ALERTS_SAID;
    while (!err && poll(&launch, 1, LOOK_MS) <= 0 && sigtimedwait(&ends, NULL, &none) < 0)
        if (find_running(name, output, dir, sizeof(dir)))
            err = pw_cli_watch_beside(dir, &what, &ends);
}

/* A process that tells of slow ranks. */
struct teller {
    pid_t pid; /* 0: none */
    int lasts; /* the end of a pipe that this process has while the launcher runs */
};

/* Closes the pipes that profwrap was given: the launcher may wait for their end. */
__attribute__((noreturn)) static void tell_of_ranks(const struct pw_run *run, const char *name,
                                                    const char *output, const int pipe[2])
{
    prctl(PR_SET_NAME, "profwrap-alerts");
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pw_launch_outlive_signals(NULL);
    signal(SIGTSTP, SIG_DFL);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, commands cannot be waited for */
    pw_launch_leave_pipes(run->lifeline);
    pw_launchenv_forget();
    umask(run->umask);   /* for the user's commands */
    pw_log_set_quiet(0); /* --quiet is not about what --alerts asks for */
    close(pipe[1]);
    follow_jobs(run, name, output, pipe[0]);
    _exit(0);
}

static struct teller start_teller(const struct pw_run *run, const char *name, const char *output)
{
    struct teller teller = {0};
    int pipe[2];
    if (!pw_option_flag(&run->options, PW_OPT_ALERTS) && !run->options.text[PW_OPT_ON_ALERT][0])
        return teller;
    struct pw_options options = run->options;
    double rate;
    if (pw_option_per_day(&options, PW_OPT_FALSE_ALARMS, &rate)) { /* of the environment */
        pw_error("no alerts: %s", options.problem);
        return teller;
    }
    if (pipe2(pipe, O_CLOEXEC)) {
        pw_error("no alerts: %s", pw_remedy(errno));
        return teller;
    }
    teller.lasts = pipe[1];
    teller.pid = fork();
    if (teller.pid == 0)
        tell_of_ranks(run, name, output, pipe);
    close(pipe[0]);
    if (teller.pid > 0)
        return teller;
    pw_error("no alerts: %s", pw_remedy(errno));
    close(pipe[1]);
    return (struct teller){0};
}

/* After the job: the commands of --on-alert may run on for a while. */
static void end_teller(const struct teller *teller)
{
    enum { LOOKS = 250, LOOK_NS = 20000000 };
    const struct timespec look = {.tv_nsec = LOOK_NS};
    if (!teller->pid)
        return;
    for (int i = 0; waitpid(teller->pid, NULL, WNOHANG) == 0; i++) {
        if (i >= LOOKS || pw_launch_end_requested())
            kill(teller->pid, i < 2 * LOOKS ? SIGTERM : SIGKILL);
        nanosleep(&look, NULL);
    }
}

static int follow(struct pw_run *run)
{
    enum { LOOK_NS = 20000000 };
    static _Atomic uint32_t wake;
    struct pw_exit end;
    while (!pw_launch_has_ended(run->lifeline, &end))
        pw_launch_sleep(&wake, atomic_load(&wake), LOOK_NS);
    return pw_exit_status(&end);
}

static int start_launcher(struct pw_run *run)
{
    const struct pw_launch launch = {
        .argv = run->argv, .lifeline = run->lifeline, .umask = run->umask};
    const pid_t pid = pw_launch_start(&launch, run->path);
    pw_launchenv_forget(); /* the merge must not be profiled */
    if (pid < 0)
        pw_error("cannot run %s: %s", run->path, pw_remedy(pid));
    return pid < 0 ? -1 : 0;
}

/* Returns -1 to continue, else the exit status. */
static int refuse_output(struct pw_run *run, int err, const char *problem)
{
    const int unprofiled = pw_run_goes_on_after(run, err) ||
                           run->options.origin[PW_OPT_OUTPUT] == PW_OPTION_ENVIRONMENT;
    if (!err)
        return -1;
    pw_error("%s%s%s%s", problem, unprofiled ? "; running " : "", unprofiled ? run->argv[0] : "",
             unprofiled ? " unprofiled" : pw_run_way_out(err));
    return unprofiled ? pw_run_unprofiled(run) : 2;
}

int pw_cli_launch(struct pw_run *run, char *const *options, int count)
{
    char output[PATH_MAX], name[64], problem[PATH_MAX + 256];
    int err = absolute_output(run, output, sizeof(output));
    if (err)
        snprintf(problem, sizeof(problem), "--output must be an absolute path here: %s",
                 strerror(-err));
    else
        err = check_output(output, problem, sizeof(problem));
    int status = refuse_output(run, err, problem);
    if (status >= 0)
        return status;
    snprintf(name, sizeof(name), "%llx-%x", (long long)time(NULL), (unsigned)getpid());
    err = tell(name, options, count, output);
    if (err)
        pw_launchenv_forget();
    if (err)
        pw_error("cannot profile the ranks of %s: %s", run->argv[0], pw_remedy(err));
    const struct teller teller = start_teller(run, name, output);
    const int is_started = start_launcher(run) == 0;
    status = is_started ? follow(run) : 126;
    if (teller.pid)
        close(teller.lasts);
    if (is_started && !err && !conclude_jobs(run, name, output) && !has_profwrap(run->argv))
        say_no_rank(run);
    end_teller(&teller);
    return status;
}
