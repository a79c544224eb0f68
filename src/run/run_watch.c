/* Answers inquiries, and makes them for the watchdog; see run_watch.h. */
#include "run/run_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/live/calltrace.h"
#include "rank/ring/tick.h"
#include "run/ctl.h"
#include "run/hangfile.h"

#define SECOND ((int64_t)1000000000)
#define LOOK_NS SECOND
#define LOOK_OFTEN_NS (SECOND / 50)
#define ASKED_NS (5 * SECOND)
/* After this time without a look of the host's leader, a rank looks itself. */
#define NOTICE_NS (3 * SECOND)
#define PACE_NS (3 * SECOND)
/* How long the watchdog waits for answers: collectors check once a second, and call stacks take
 * longer. */
#define GATHER_NS (8 * SECOND)

void pw_run_watch_init(struct pw_run_watch *w, const struct pw_options *options)
{
    w->pace_step = -1;
    w->steps_per_1000s = -1;
    w->queue_seen = -1;
    w->hang_ns = pw_option_int(options, PW_OPT_HANG_TIMEOUT) * SECOND;
}

/* Returns the letter of a process's state in /proc; '?' when it cannot be read. */
static char process_state(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return '?';
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')'); /* the name may contain ')' */
    return name_end && name_end[1] == ' ' && name_end[2] ? name_end[2] : '?';
}

/* Updates the rate of steps over the last 3 to 6 s, or since the first step. */
static void keep_pace(struct pw_run_watch *w, int64_t now)
{
    int64_t step = atomic_load(&w->segment->control.step), span = now - w->pace_ns;
    if (step < 0)
        return;
    if (w->pace_step < 0 || step < w->pace_step) {
        w->pace_step = step;
        w->pace_ns = now;
        return;
    }
    if (span < SECOND / 10)
        return;
    double rate = (double)(step - w->pace_step) / ((double)span / 1e12);
    w->steps_per_1000s = rate < 1e15 ? (int64_t)rate : (int64_t)1e15;
    if (span > PACE_NS) {
        w->pace_step = step;
        w->pace_ns = now;
    }
}

/* Carries out the request and adds the result to *live. */
static void carry_out(struct pw_run_watch *w, const struct pw_request *request,
                      struct pw_live *live)
{
    int64_t step = atomic_load(&w->segment->control.step);
    switch (request->kind) {
    case PW_REQUEST_PREPARE:
        live->change = pw_change_prepare(w->segment, &request->change, &step);
        break;
    case PW_REQUEST_COMMIT:
        live->change = pw_change_commit(w->segment, request->change.id, &step);
        if (request->change.step < 0)
            pw_drain_signal(w->drain);
        break;
    case PW_REQUEST_WITHDRAW:
        live->change = pw_change_withdraw(w->segment, request->change.id);
        break;
    case PW_REQUEST_SNAPSHOT:
    case PW_REQUEST_ORDER:
    case PW_REQUEST_QUEUES:
        pw_drain_sync(w->drain);
        break;
    default:
        break;
    }
    live->step = step;
    live->recording = atomic_load(&w->segment->control.state) != PW_WINDOW_CLOSED;
    live->recording_after = pw_change_outcome(w->segment, live->recording);
    live->steps_per_1000s = w->steps_per_1000s;
}

/* How long a call must be open to count as waiting in the report of a hang. */
static int64_t least_of(const struct pw_run_watch *w)
{
    return w->hang_ns / 2 < SECOND ? w->hang_ns / 2 : SECOND;
}

/* The ranks are being asked about the operations on GPUs: this one need not ask about those that it
 * has called. */
static void see_queue(struct pw_run_watch *w, const struct pw_request *request)
{
    int64_t start;
    const int64_t waited = pw_drain_queued(w->drain, &start);
    if (request->is_hang)
        w->is_held = 0;
    if ((request->is_hang || request->kind == PW_REQUEST_QUEUES) && waited >= w->hang_ns &&
        start > w->queue_seen)
        w->queue_seen = start;
}

static void answer(struct pw_run_watch *w, const struct pw_request *request)
{
    pid_t owner = atomic_load(&w->segment->owner_pid);
    struct pw_live live = {
        .rank = w->id->rank,
        .world_size = w->id->size,
        .pid = owner ? owner : w->pid,
        .unrecorded = pw_unrecorded_reason(w->unrecorded),
        .recording = atomic_load(&w->segment->control.state) != PW_WINDOW_CLOSED,
        .wants_steps = request->wants_steps,
        .steps_after = request->steps_after,
        .usage = {.samples = -1},
        .wants_order = request->is_hang || request->kind == PW_REQUEST_ORDER ||
                       request->kind == PW_REQUEST_QUEUES,
    };
    snprintf(live.hostname, sizeof(live.hostname), "%s", w->id->hostname);
    /* Now, not after the stacks: a call that begins meanwhile is not in the answer. One that does
     * not yet count as waiting is reported later, as it may close a circle. */
    const uint64_t reported = pw_drain_last_entry(w->drain, least_of(w));
    see_queue(w, request);
    int err = pw_drain_live(w->drain, &live);
    live.state = process_state((pid_t)live.pid);
    carry_out(w, request, &live);
    if (request->is_hang)
        pw_drain_sync(w->drain); /* the journals are read when the order differs */
    if (request->wants_stacks) {
        pw_calltrace_take((pid_t)live.pid, &live);
        pw_pystack_finish(&w->pystack, &live);
    }
    err = err ? err : pw_inquiry_answer(w->dir, request, &live);
    if (err)
        pw_debug(PW_LOG_WATCH, 1, "no answer to a request: %s", strerror(-err));
    pw_live_fini(&live);
    memcpy(w->answered, request->nonce, sizeof(w->answered));
    if (request->is_hang && reported > w->reported)
        w->reported = reported;
}

/* Answers at once; a request for stacks when pystack has ended. */
static void begin_answer(struct pw_run_watch *w, const struct pw_request *request, int64_t now)
{
    if (!request->wants_stacks) {
        answer(w, request);
        return;
    }
    const pid_t owner = atomic_load(&w->segment->owner_pid);
    memcpy(w->answered, request->nonce, sizeof(w->answered));
    w->stacking = *request;
    w->is_stacking = 1;
    pw_pystack_start(&w->pystack, owner ? owner : w->pid, now);
}

/* `is_last`: the program has ended. */
static void finish_answer(struct pw_run_watch *w, int64_t now, int is_last)
{
    if (!w->is_stacking || (!pw_pystack_poll(&w->pystack, is_last ? INT64_MAX : now) && !is_last))
        return;
    w->is_stacking = 0;
    answer(w, &w->stacking);
}

/* Finds a request. Only the host's leader looks into the output directory, and tells the other
 * ranks of the host. They look themselves when it has not looked for some time. `is_due`: it is
 * time to look. */
static int find_request(struct pw_run_watch *w, int is_due, int64_t now, struct pw_request *request)
{
    static_assert(sizeof(*request) <= PW_HOSTPAGE_NOTICE, "it is published as a notice");
    if (!is_due || !pw_hostpage_lead(w->page)) {
        const int bytes = w->page->shared
                              ? pw_hostpage_get(w->page, request, sizeof(*request), now, NOTICE_NS)
                              : -EAGAIN;
        if (bytes >= 0)
            return bytes == (int)sizeof(*request);
        return is_due && pw_inquiry_find(w->dir, request);
    }
    const int found = pw_inquiry_find(w->dir, request);
    pw_hostpage_put(w->page, request, found ? sizeof(*request) : 0, now);
    return found;
}

static void answer_if_asked(struct pw_run_watch *w, int is_due, int64_t now)
{
    struct pw_request request;
    if (!find_request(w, is_due, now, &request) || strcmp(request.nonce, w->answered) == 0)
        return;
    if (w->is_stacking)
        return; /* one request at a time: the other one was given up, or waits for this answer */
    begin_answer(w, &request, now);
    w->asked_until_ns = pw_local_ns() + ASKED_NS;
}

/* Makes the request. The first rank that can do so evaluates the answers. */
static void ask(struct pw_run_watch *w, const struct pw_request *wanted, int64_t now)
{
    struct pw_request request;
    if (!w->inquiry.dir[0])
        pw_inquiry_init(&w->inquiry, w->dir);
    int err = pw_inquiry_begin(&w->inquiry, wanted);
    if (err == 0) {
        w->is_gathering = 1;
        w->asks_queues = wanted->kind == PW_REQUEST_QUEUES;
        w->gather_until_ns = now + GATHER_NS;
        if (pw_inquiry_find(w->dir, &request) && !w->is_stacking)
            begin_answer(w, &request, now);
    } else if (err != -EBUSY) {
        pw_debug(PW_LOG_WATCH, 1, "cannot ask the other ranks: %s", strerror(-err));
    }
}

/* Makes an inquiry when a call takes too long. That nothing new is called on a GPU does not tell
 * that something waits there: first the ranks are asked for that alone, which does not stop them.
 */
static void ask_if_hung(struct pw_run_watch *w, int64_t now)
{
    const struct pw_request hang = {.wants_stacks = 1, .is_hang = 1};
    const struct pw_request queues = {.kind = PW_REQUEST_QUEUES};
    uint64_t start;
    int64_t queued;
    if (!w->hang_ns || w->is_gathering)
        return;
    if (w->is_held || pw_drain_longest_call(w->drain, w->reported, &start) >= w->hang_ns)
        ask(w, &hang, now);
    else if (pw_drain_queued(w->drain, &queued) >= w->hang_ns && queued > w->queue_seen)
        ask(w, &queues, now);
}

/* Where ranks did not answer, asks again at the next look: a collector that had no CPU may answer
 * then, and its rank may be the one that is waited for. */
static void report(struct pw_run_watch *w)
{
    enum { MOST_AGAIN = 3 };
    int32_t *silent = NULL;
    pw_inquiry_end(&w->inquiry);
    w->is_held = w->asks_queues && pw_hangfile_is_held(&w->inquiry, w->hang_ns);
    if (!w->asks_queues)
        pw_hangfile_write(&w->inquiry, least_of(w));
    const int is_known = w->is_held || !pw_hangfile_silent(&w->inquiry, &silent);
    if (!is_known && w->asked_again < MOST_AGAIN) {
        w->asked_again++;
        w->queue_seen = w->asks_queues ? -1 : w->queue_seen;
        w->reported = w->asks_queues ? w->reported : 0;
    } else {
        w->asked_again = 0;
    }
    free(silent);
    pw_inquiry_fini(&w->inquiry);
    w->is_gathering = 0;
}

/* Sends the change that a signal asks for to all ranks, in a child process, because this one must
 * answer. The child's parent becomes the guard, which waits for all children. */
static void apply_signal(struct pw_run_watch *w)
{
    int signal = atomic_exchange(w->signalled, 0);
    pid_t pid = signal ? fork() : -1;
    if (pid == 0) {
        if (fork() == 0) {
            dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output belongs to the program */
            _exit(pw_ctl_change(w->dir, signal == SIGUSR1, PW_OPENED_SIGNAL));
        }
        _exit(0);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

void pw_run_watch_poll(struct pw_run_watch *w)
{
    int64_t now = pw_local_ns();
    apply_signal(w);
    pw_unrecorded_poll(w->unrecorded);
    if (w->is_gathering && (pw_inquiry_poll(&w->inquiry) == 0 || now > w->gather_until_ns))
        report(w);
    const int is_due = now >= w->next_look_ns;
    finish_answer(w, now, 0);
    answer_if_asked(w, is_due, now);
    if (!is_due)
        return;
    w->next_look_ns = now + (now < w->asked_until_ns ? LOOK_OFTEN_NS : LOOK_NS);
    keep_pace(w, now);
    pw_drain_look_at_polls(w->drain, now);
    ask_if_hung(w, now);
}

void pw_run_watch_fini(struct pw_run_watch *w)
{
    finish_answer(w, pw_local_ns(), 1);
    if (w->is_gathering)
        report(w);
    if (w->answered[0])
        pw_inquiry_forget(w->dir, w->id->rank);
    pw_unrecorded_finish(w->unrecorded);
    pw_unrecorded_destroy(w->unrecorded);
}
