/* Forks for a question, and writes the answer; see serve_answer.h. */
#include "cli/serve_answer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clusterpath.h"
#include "core/h5/h5watch.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "timeline/timeline.h"

/* Exit statuses of the process; any other: it was killed, or a file was damaged. */
enum { IS_ANSWERED = 0, IS_NOWHERE = 44, HAS_FAILED = 50 };

enum { PERFETTO_BYTES = 64 << 20, PROBLEM = 400, DESCRIPTORS = 1024 };

static int write_step(FILE *out, const struct pw_serve_run *run, const int64_t numbers[3],
                      char *problem)
{
    const struct pw_report_question question = {numbers[0], numbers[1], numbers[2]};
    int err = pw_report_html_step(out, run->figures, run->report, &question);
    if (err == -ESRCH)
        snprintf(problem, PROBLEM,
                 "the run has no such step or rank, or the step's times are unknown");
    return err;
}

static int write_perfetto(FILE *out, const struct pw_serve_run *run, const int64_t numbers[3],
                          char *problem)
{
    const struct pw_cluster *c = run->figures->cluster;
    struct pw_timeline_result result;
    char dir[PATH_MAX];
    size_t s = 0;
    while (s < c->nstep_rows && c->steps[s].step != numbers[0])
        s++;
    if (s == c->nstep_rows || c->steps[s].start < 0 || numbers[2] <= numbers[1]) {
        snprintf(problem, PROBLEM, "the run has no such step, or its times are unknown");
        return -ESRCH;
    }
    pw_cli_directory_of(run->cluster_file, dir);
    const struct pw_timeline_options options = {
        .dir = dir,
        .cluster_file = run->cluster_file,
        .ranks = "",
        .from = pw_sum(c->steps[s].start, numbers[1]),
        .until = pw_sum(c->steps[s].start, numbers[2]),
        .most_bytes = PERFETTO_BYTES,
        .is_perfetto = 1,
        .keeps_files = 1,
    };
    int err = pw_timeline_write(out, c, &options, &result);
    if (!err && result.share < 1) {
        snprintf(problem, PROBLEM,
                 "the window has more than %d MiB: zoom in, or take 'profwrap "
                 "report --format perfetto --steps %" PRId64 " -o FILE DIR'",
                 PERFETTO_BYTES >> 20, numbers[0]);
        return -E2BIG;
    }
    if (!err && result.unread)
        pw_say("%d rank files cannot be read and are left out", result.unread);
    return err;
}

static int (*const writers[PW_SERVE_WHATS])(FILE *out, const struct pw_serve_run *run,
                                            const int64_t numbers[3], char *problem) = {
    [PW_SERVE_STEP] = write_step,
    [PW_SERVE_PERFETTO] = write_perfetto,
};

/* Writes the answer, or a sentence in its place. Returns the exit status. */
static int answer(FILE *out, const struct pw_serve_run *run,
                  const struct pw_serve_question *question)
{
    char problem[PROBLEM] = "", dir[PATH_MAX];
    int err = writers[question->what](out, run, question->numbers, problem);
    if (fflush(out) && !err)
        err = -errno;
    if (!err)
        return IS_ANSWERED;
    pw_cli_directory_of(run->cluster_file, dir);
    if (err == -ENOENT)
        snprintf(problem, sizeof(problem), "no rank file can be read in %.200s", dir);
    rewind(out);
    if (ftruncate(fileno(out), 0))
        return HAS_FAILED;
    fprintf(out, "%s", problem[0] ? problem : pw_readlimit_error(err));
    fflush(out);
    return err == -ESRCH || err == -ENOENT || err == -E2BIG ? IS_NOWHERE : HAS_FAILED;
}

/* The process of one question. */
__attribute__((noreturn)) static void be_answerer(const struct pw_serve_run *run,
                                                  const struct pw_serve_question *question,
                                                  const sigset_t *signals, int fd)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGCHLD};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        signal(ends[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int other = STDERR_FILENO + 1; other < DESCRIPTORS; other++)
        if (other != fd)
            close(other); /* else connections would stay open until this process ends */
    sigprocmask(SIG_SETMASK, signals, NULL);
    pw_h5_watch_install(); /* its timer is not inherited */
    FILE *out = fdopen(fd, "w");
    _exit(out ? answer(out, run, question) : HAS_FAILED);
}

pid_t pw_serve_start(const struct pw_serve_run *run, const struct pw_serve_question *question,
                     const sigset_t *signals, int *fd)
{
    const int file = memfd_create("answer", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    const pid_t pid = fork();
    if (pid == 0)
        be_answerer(run, question, signals, file);
    if (pid < 0) {
        const int err = -errno;
        close(file);
        return err;
    }
    *fd = file;
    return pid;
}

unsigned pw_serve_status(int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code == IS_ANSWERED ? 200 : code == IS_NOWHERE ? 404 : code == HAS_FAILED ? 500 : 502;
}
