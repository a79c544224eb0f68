/* Runs launchers; see cli/commands.h.
 *
 * The merge is done by this process after the launcher has ended, because then all ranks have
 * ended. Without `profwrap LAUNCHER`, rank 0's guard merges. That would not work here: when a rank
 * fails, launchers also kill rank 0's guard, and torchrun does not notice that rank 0 has failed
 * while its guard lives. */
#include "cli/commands.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/conclude/conclude.h"
#include "cli/conclude/latereport.h"
#include "cli/conclude/standby.h"
#include "core/log.h"
#include "core/remedy.h"
#include "rank/run/baretext.h"
#include "rank/run/outdir.h"
#include "rank/run/rankenv.h"
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

/* Whether the command contains a `profwrap` itself, whose output directory is not known here: as an
 * argument, or as a word of a shell's command, but not as a directory of a path. */
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
    if (start_launcher(run))
        return 126;
    status = follow(run);
    if (!err && !conclude_jobs(run, name, output) && !has_profwrap(run->argv))
        say_no_rank(run);
    return status;
}
