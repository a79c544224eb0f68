/* Asks the collectors of a running job; see ask.h. */
#include "run/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/safefile.h"
#include "rank/ring/tick.h"

#define SECOND ((int64_t)1000000000)
/* Collectors check for requests once a second; call stacks take longer. */
#define PATIENCE_NS (5 * SECOND)
#define PATIENCE_STACKS_NS (15 * SECOND)
/* Within this time, a request of another process is answered or abandoned. */
#define PATIENCE_OTHER_NS (25 * SECOND)

int pw_ctl_pause(const sigset_t *ends)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    return sigtimedwait(ends, NULL, &moment) > 0;
}

int pw_ctl_check_job(const char *dir)
{
    struct stat st;
    char path[4300], problem[4600];
    int32_t *ranks = NULL;
    int running = pw_inquiry_running(dir, &ranks);
    if (running <= 0) {
        if (running < 0)
            pw_error("%s cannot be read: %s", dir, strerror(-running));
        else
            pw_error("%s has no running job", dir);
        free(ranks);
        return 1;
    }
    snprintf(path, sizeof(path), "%s/rank-%05d.h5.part", dir, (int)ranks[0]);
    free(ranks);
    if (lstat(path, &st) == 0 && st.st_uid != geteuid()) {
        pw_error("the job in %s belongs to another user, and answers only that user", dir);
        return 1;
    }
    if (pw_directory_vet(dir, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    return 0;
}

void pw_ctl_block_signals(sigset_t *ends)
{
    sigemptyset(ends);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGHUP);
    sigprocmask(SIG_BLOCK, ends, NULL);
}

/* Writes the request; waits while another process has one. */
static int begin(struct pw_inquiry *inquiry, const struct pw_request *request, const sigset_t *ends)
{
    int64_t until = pw_local_ns() + PATIENCE_OTHER_NS;
    int err = pw_inquiry_begin(inquiry, request);
    while (err == -EBUSY && pw_local_ns() < until) {
        if (pw_ctl_pause(ends))
            return -EINTR;
        err = pw_inquiry_begin(inquiry, request);
    }
    return err;
}

int pw_ctl_gather(struct pw_inquiry *inquiry, const struct pw_request *request,
                  const sigset_t *ends)
{
    int err = begin(inquiry, request, ends);
    if (err)
        return err;
    int64_t until = pw_local_ns() + (request->wants_stacks ? PATIENCE_STACKS_NS : PATIENCE_NS);
    while (!err && pw_inquiry_poll(inquiry) > 0 && pw_local_ns() < until)
        err = pw_ctl_pause(ends) ? -EINTR : 0;
    pw_inquiry_end(inquiry);
    return inquiry->n ? err : err ? err : -ENODATA;
}

void pw_ctl_explain(const struct pw_inquiry *inquiry, int err)
{
    if (err == -EBUSY)
        pw_error("another command is asking the ranks of %s; try again", inquiry->dir);
    else if (err == -ENODATA)
        pw_error("no rank of %s answered: the job has just ended, its collectors were killed, or "
                 "the directory is not the one that they write to",
                 inquiry->dir);
    else if (err != -EINTR)
        pw_error("cannot ask the ranks of %s: %s", inquiry->dir, strerror(-err));
}

int pw_ctl_ask(struct pw_inquiry *inquiry, const struct pw_request *request, const sigset_t *ends)
{
    int err = pw_ctl_gather(inquiry, request, ends);
    if (err == -EINTR && inquiry->n)
        return 0; /* with the answers that came before the signal */
    if (err)
        pw_ctl_explain(inquiry, err);
    return err != 0;
}
