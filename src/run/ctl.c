/* Asks the collectors of a running job, and makes its ranks begin or end recording; see ctl.h. */
#include "run/ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
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
            pw_error("%s cannot be read: %s", dir, pw_remedy(running));
        else
            pw_error("%s has no running job: 'profwrap report %s' shows one that has ended", dir,
                     dir);
        free(ranks);
        return 1;
    }
    snprintf(path, sizeof(path), "%s/rank-%05d.h5.part", dir, (int)ranks[0]);
    free(ranks);
    if (lstat(path, &st) == 0 && st.st_uid != geteuid()) {
        pw_error(
            "the job in %s belongs to another user, and answers only that user: ask as that user",
            dir);
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
                 "the directory is not the one that they write to; 'profwrap report DIR' shows "
                 "what is there",
                 inquiry->dir);
    else if (err != -EINTR)
        pw_error("cannot ask the ranks of %s: %s", inquiry->dir, pw_remedy(err));
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

/* ---- start and stop: agrees with all collectors of a running job on a step at which every rank
 * begins or ends recording; docs/control.md says how ---- */

/* LEAD_S: time from the proposal to the step, within which all ranks must get the commit; doubled
 * with each attempt. LEFT_PERCENT: the part of it that must be left when the commit is sent. */
enum { LEAD_S = 2, LEFT_PERCENT = 40, ATTEMPTS = 5 };

struct change {
    struct pw_inquiry inquiry;
    sigset_t ends;
    struct pw_request request;
    double rate; /* steps per second of the fastest rank */
};

/* Sends another request to the same ranks; the answers are in change->inquiry. */
static int ask(struct change *change, enum pw_request_kind kind)
{
    char dir[sizeof(change->inquiry.dir)];
    snprintf(dir, sizeof(dir), "%s", change->inquiry.dir);
    pw_inquiry_fini(&change->inquiry);
    pw_inquiry_init(&change->inquiry, dir);
    change->request.kind = kind;
    return pw_ctl_ask(&change->inquiry, &change->request, &change->ends);
}

static int64_t greatest_step(const struct pw_inquiry *inquiry)
{
    int64_t most = -1;
    for (size_t i = 0; i < inquiry->n; i++)
        most = inquiry->lives[i].step > most ? inquiry->lives[i].step : most;
    return most;
}

/* Returns the number of ranks whose answer was `state`. */
static size_t count(const struct pw_inquiry *inquiry, enum pw_change_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < inquiry->n; i++)
        n += inquiry->lives[i].change == state;
    return n;
}

static size_t count_unmarked(const struct pw_inquiry *inquiry)
{
    size_t n = 0;
    for (size_t i = 0; i < inquiry->n; i++)
        n += inquiry->lives[i].step < 0;
    return n;
}

/* Returns the number of running ranks that did not answer. */
static size_t count_silent(const struct pw_inquiry *inquiry)
{
    int32_t *ranks = NULL;
    int running = pw_inquiry_running(inquiry->dir, &ranks);
    size_t silent = 0, at = 0;
    for (int i = 0; i < running; i++) {
        while (at < inquiry->n && inquiry->lives[at].rank < ranks[i])
            at++;
        silent += at == inquiry->n || inquiry->lives[at].rank != ranks[i];
    }
    free(ranks);
    return silent;
}

/* Returns the first step that no rank will reach within `lead` seconds at its present speed. */
static int64_t propose(struct change *change, double lead)
{
    int64_t most = greatest_step(&change->inquiry), rate = 0;
    for (size_t i = 0; i < change->inquiry.n; i++)
        if (change->inquiry.lives[i].steps_per_1000s > rate)
            rate = change->inquiry.lives[i].steps_per_1000s;
    change->rate = (double)rate / 1000;
    if (most < 0)
        return -1;
    double ahead = change->rate * lead + 2;
    return ahead < 1e15 ? most + (int64_t)ahead : most + (int64_t)1e15;
}

/* Whether no rank, at its present speed, reaches the step before all ranks have the commit. */
static int is_far(const struct change *change, double lead)
{
    int64_t step = change->request.change.step, left = step - greatest_step(&change->inquiry);
    return step < 0 || (left > 0 && (double)left >= change->rate * lead * LEFT_PERCENT / 100);
}

static int withdraw(struct change *change)
{
    return ask(change, PW_REQUEST_WITHDRAW);
}

/* Prepares the change on all ranks for the same step. Returns 0 when it can be committed. */
static int prepare(struct change *change)
{
    double lead = LEAD_S;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, lead *= 2) {
        change->request.change.step = propose(change, lead);
        if (ask(change, PW_REQUEST_PREPARE))
            return 1;
        size_t silent = count_silent(&change->inquiry),
               busy = count(&change->inquiry, PW_CHANGE_BUSY);
        if (!silent && !busy && !count(&change->inquiry, PW_CHANGE_LATE) && is_far(change, lead))
            return 0;
        if (withdraw(change))
            return 1;
        if (silent || busy) {
            if (busy)
                pw_error("too many earlier changes have not taken effect yet; nothing was changed: "
                         "try again later");
            else
                pw_error("%zu ranks did not answer; nothing was changed: try again", silent);
            return 1;
        }
    }
    pw_error(
        "the ranks were always past the step that was agreed on; nothing was changed: try again");
    return 1;
}

static int commit(struct change *change)
{
    const struct pw_change_wanted *wanted = &change->request.change;
    const char *what = wanted->starts ? "begins" : "ends";
    if (ask(change, PW_REQUEST_COMMIT))
        return 1;
    size_t late = count(&change->inquiry, PW_CHANGE_LATE), silent = count_silent(&change->inquiry);
    size_t kept = change->inquiry.n - count(&change->inquiry, PW_CHANGE_UNKNOWN),
           all = change->inquiry.n + silent;
    if (wanted->step < 0)
        printf("recording %s now on %zu of %zu ranks: the program marks no steps, so not at the "
               "same point on all\n",
               what, kept, all);
    else if (kept == all && !late)
        printf("recording %s at step %" PRId64 " on all %zu ranks\n", what, wanted->step, all);
    else
        printf("recording %s at step %" PRId64 " on %zu of %zu ranks, and on %zu at the next one\n",
               what, wanted->step, kept - late, all, late);
    if (wanted->step >= 0 && count_unmarked(&change->inquiry))
        printf("%zu ranks have marked no step yet\n", count_unmarked(&change->inquiry));
    return fflush(stdout) || kept < all || late;
}

static int is_needed(const struct change *change)
{
    for (size_t i = 0; i < change->inquiry.n; i++)
        if (change->inquiry.lives[i].recording_after != change->request.change.starts)
            return 1;
    return 0;
}

static int agree(struct change *change)
{
    if (ask(change, PW_REQUEST_STATUS))
        return 1;
    if (change->request.change.cause == PW_OPENED_SIGNAL && !is_needed(change))
        return 0; /* the signal went to several ranks, and another one was faster */
    int status = prepare(change);
    return status ? status : commit(change);
}

int pw_ctl_change(const char *dir, int starts, enum pw_opened cause)
{
    static struct change change;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    memset(&change, 0, sizeof(change));
    change.request.change.starts = starts;
    change.request.change.cause = cause;
    while (change.request.change.id == 0)
        if (getrandom(&change.request.change.id, sizeof(change.request.change.id), 0) < 0)
            change.request.change.id = (uint32_t)pw_local_ns();
    pw_ctl_block_signals(&change.ends);
    pw_inquiry_init(&change.inquiry, dir);
    status = agree(&change);
    pw_inquiry_fini(&change.inquiry);
    return status;
}
