/* Prints running ranks, their call stacks and the state of a hang; see liveview.h. */
#include "report/live/liveview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "core/ops.h"
#include "core/text.h"
#include "report/report.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

/* Writes calls, ranks and times. */

/* Returns the request to name of those that the thread waits for: a missing one if there is one.
 * *others: how many more there are of which the same is known. NULL: it waits for none that is
 * known. */
static const struct pw_live_request *
first_awaited(const struct pw_live *rank, const struct pw_live_thread *thread, int64_t *others)
{
    const struct pw_live_request *best = NULL;
    int64_t n[2] = {0, 0};
    for (size_t i = 0; i < rank->nrequests; i++) {
        const struct pw_live_request *r = &rank->requests[i];
        if (&rank->threads[r->thread] != thread || r->need == PW_LIVE_MATCHED)
            continue;
        if (!best || (r->need == PW_LIVE_MISSING && best->need != PW_LIVE_MISSING))
            best = r;
        n[r->need == PW_LIVE_MISSING] += r->count;
    }
    const int is_missing = best && best->need == PW_LIVE_MISSING;
    *others = best ? n[is_missing] - 1 + (is_missing ? 0 : thread->unlisted) : 0;
    return best;
}

const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size)
{
    if (!thread || thread->op == PW_OP_None) {
        snprintf(out, size, "no MPI call");
        return out;
    }
    int64_t others = 0;
    const struct pw_live_request *awaited = first_awaited(rank, thread, &others);
    const uint64_t uid = awaited ? awaited->comm_uid : thread->comm_uid;
    const struct pw_live_comm *comm = pw_live_comm(rank, uid);
    struct pw_call_words words = {
        .source = thread->source,
        .op = thread->op,
        .awaited = awaited ? awaited->op : thread->awaited,
        .comm_name = comm ? comm->name : "",
        .comm_uid = uid,
        .seq = awaited ? awaited->seq : thread->seq,
        .peer = awaited ? awaited->peer : thread->peer,
        .tag = awaited ? awaited->tag : thread->tag,
        .others = others,
    };
    return pw_call_write(&words, out, size);
}

/* Returns the name of a communicator from any rank that knows one; "" when none does. */
static const char *live_comm_name(const struct pw_live_view *view, uint64_t uid)
{
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_comm *comm = pw_live_comm(&view->ranks[r], uid);
        if (comm && comm->name[0])
            return comm->name;
    }
    return "";
}

/* Writes "MPI_Allreduce #17 on MPI_COMM_WORLD". Returns `out`. */
static const char *live_group(const struct pw_live_view *view, const struct pw_hang_group *group,
                              char *out, size_t size)
{
    struct pw_call_words words = {
        .source = group->source,
        .op = group->op,
        .comm_name = live_comm_name(view, group->comm_uid),
        .comm_uid = group->comm_uid,
        .seq = group->seq,
        .peer = group->root,
    };
    return pw_call_write(&words, out, size);
}

/* Writes "rank 3" or "ranks 0-2,4" for rows of the view. Returns `out`. */
static const char *live_ranks(const struct pw_live_view *view, const int32_t *rows, size_t n,
                              char *out, size_t size)
{
    int32_t *ranks = malloc(sizeof(*ranks) * (n + 1));
    for (size_t i = 0; ranks && i < n; i++)
        ranks[i] = view->ranks[rows[i]].rank;
    if (ranks)
        pw_call_ranks(ranks, n, out, size);
    else
        snprintf(out, size, "%zu ranks", n);
    free(ranks);
    return out;
}

/* Writes "63.0 s", or "an unknown time". Returns `out`. */
static const char *live_time(int64_t ns, char *out, size_t size)
{
    if (ns < 0)
        snprintf(out, size, "an unknown time");
    else
        pw_text_ns(out, size, ns);
    return out;
}

/* Call stacks of running ranks as text: equal stacks once, with the ranks that have them. */

/* The stack of the thread, or of the program's first one if no thread is known, if it is known
 * where it is in Python; else NULL. */
static const struct pw_live_stack *stackview_python(const struct pw_live *rank,
                                                    const struct pw_live_thread *thread)
{
    const int64_t tid = thread ? thread->tid : rank->pid;
    const struct pw_live_stack *of_program = NULL;
    for (size_t i = 0; i < rank->nstacks; i++) {
        if (!rank->stacks[i].place[0])
            continue;
        if (rank->stacks[i].tid == tid)
            return &rank->stacks[i];
        if (rank->stacks[i].tid == rank->pid)
            of_program = &rank->stacks[i];
    }
    /* A library's thread may have given it to the GPU. */
    return thread && thread->queue != PW_LIVE_THREAD ? of_program : NULL;
}

/* 1 when no earlier rank has the same stack; equal stacks are printed once. */
static int is_first(const struct pw_live_view *view, size_t rank, size_t stack)
{
    const char *text = view->ranks[rank].stacks[stack].text;
    for (size_t r = 0; r <= rank; r++)
        for (size_t i = 0; i < view->ranks[r].nstacks; i++) {
            if (r == rank && i == stack)
                return 1;
            if (strcmp(view->ranks[r].stacks[i].text, text) == 0)
                return 0;
        }
    return 1;
}

static int has_stack(const struct pw_live *rank, const char *text)
{
    for (size_t i = 0; i < rank->nstacks; i++)
        if (strcmp(rank->stacks[i].text, text) == 0)
            return 1;
    return 0;
}

static int print_stack(const struct pw_live_view *view, const struct pw_page *page,
                       const char *text, int32_t *rows)
{
    char ranks[PW_LIVE_RANKS_TEXT];
    size_t n = 0;
    for (size_t r = 0; r < view->n; r++)
        if (has_stack(&view->ranks[r], text))
            rows[n++] = (int32_t)r;
    int err = pw_page_print(page, 2, 4, "%s", live_ranks(view, rows, n, ranks, sizeof(ranks)));
    for (const char *at = text; *at && !err; at += at[0] == ';') {
        size_t length = strcspn(at, ";");
        err = pw_page_print(page, 6, 10, "%.*s", (int)length, at);
        at += length;
    }
    return err;
}

/* Why a rank has no stacks, or none of Python; "" when it has. */
static const char *problem_of(const struct pw_live *rank, int is_python)
{
    return is_python ? rank->python_problem : rank->stack_problem;
}

/* Prints a problem once for all ranks that have it. */
static int print_problems(const struct pw_live_view *view, const struct pw_page *page,
                          int is_python, int32_t *rows)
{
    char ranks[PW_LIVE_RANKS_TEXT];
    int err = 0;
    for (size_t r = 0; r < view->n && !err; r++) {
        const char *problem = problem_of(&view->ranks[r], is_python);
        size_t n = 0, first = 0;
        while (strcmp(problem_of(&view->ranks[first], is_python), problem) != 0)
            first++;
        if (!problem[0] || first < r)
            continue;
        for (size_t k = r; k < view->n; k++)
            if (strcmp(problem_of(&view->ranks[k], is_python), problem) == 0)
                rows[n++] = (int32_t)k;
        err = pw_page_print(page, 2, 4, "%s: no %s: %s",
                            live_ranks(view, rows, n, ranks, sizeof(ranks)),
                            is_python ? "Python frames" : "call stacks", problem);
    }
    return err;
}

/* Returns 0 or -ENOMEM. */
static int stackview_print(const struct pw_live_view *view, const struct pw_page *page)
{
    int64_t stopped_ns = 0;
    char time[32];
    int32_t *rows = malloc(sizeof(*rows) * (view->n + 1));
    for (size_t r = 0; r < view->n; r++)
        if (view->ranks[r].stopped_ns > stopped_ns)
            stopped_ns = view->ranks[r].stopped_ns;
    int err = rows ? 0 : -ENOMEM;
    if (!err)
        err = pw_page_print(page, 0, 2,
                            "Call stacks, outermost first (no program was stopped for longer than "
                            "%s)",
                            live_time(stopped_ns, time, sizeof(time)));
    for (size_t r = 0; r < view->n; r++)
        for (size_t i = 0; i < view->ranks[r].nstacks && !err; i++)
            if (is_first(view, r, i))
                err = print_stack(view, page, view->ranks[r].stacks[i].text, rows);
    err = err ? err : print_problems(view, page, 0, rows);
    err = err ? err : print_problems(view, page, 1, rows);
    free(rows);
    return err;
}

/* 1 when a rank has stacks, or says why it has none. */
static int stackview_has(const struct pw_live_view *view)
{
    for (size_t r = 0; r < view->n; r++)
        if (view->ranks[r].nstacks || view->ranks[r].stack_problem[0])
            return 1;
    return 0;
}

static struct pw_page page_on(FILE *out)
{
    return (struct pw_page){.out = out, .width = PW_REPORT_WIDTH};
}

/* ---- ranks ---- */

struct line {
    const struct pw_live *rank;
    const struct pw_live_thread *thread; /* NULL: the rank has recorded nothing yet */
};

static int is_in_call(const struct pw_live_thread *thread)
{
    return thread && thread->op != PW_OP_None && thread->queue != PW_LIVE_QUEUE;
}

/* Sorts threads in calls before the others, and both by time, longest first. */
static int by_wait(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int x_in = is_in_call(x->thread), y_in = is_in_call(y->thread);
    int64_t x_ns = x->thread ? x->thread->since_ns : -1,
            y_ns = y->thread ? y->thread->since_ns : -1;
    if (x_in != y_in)
        return y_in - x_in;
    if (x_ns != y_ns)
        return x_ns < y_ns ? 1 : -1;
    return x->rank->rank - y->rank->rank;
}

/* Whether another row of the rank tells more: of a thread that is in no call, the row of what it
 * gave the GPU; of what is on the GPU and may have ended, a call, what is held, or what came later.
 */
static int is_covered(const struct pw_live *rank, const struct pw_live_thread *row)
{
    for (size_t i = 0; i < rank->nthreads; i++) {
        const struct pw_live_thread *other = &rank->threads[i];
        if (other == row)
            continue;
        if (row->queue == PW_LIVE_QUEUE &&
            (is_in_call(other) || (other->queue == PW_LIVE_QUEUE &&
                                   (other->since_ns < row->since_ns ||
                                    (other->since_ns == row->since_ns && other < row)))))
            return 1;
        if (row->queue == PW_LIVE_THREAD && row->op == PW_OP_None &&
            other->queue != PW_LIVE_THREAD && other->tid == row->tid)
            return 1;
    }
    return 0;
}

static size_t count_program_threads(const struct pw_live *rank)
{
    size_t n = 0;
    for (size_t i = 0; i < rank->nthreads; i++)
        n += rank->threads[i].queue == PW_LIVE_THREAD;
    return n;
}

/* Whether the thread has made no call, although another one of the rank has: it does work for the
 * library, or for the interpreter. */
static int is_helper(const struct pw_live *rank, const struct pw_live_thread *thread)
{
    const struct pw_live_thread *main = pw_live_main(rank);
    return thread->op == PW_OP_None && thread->since_ns < 0 && thread != main &&
           (main->op != PW_OP_None || main->since_ns >= 0);
}

static size_t count_threads(const struct pw_live_view *view)
{
    size_t n = 0;
    for (size_t r = 0; r < view->n; r++)
        n += view->ranks[r].nthreads ? view->ranks[r].nthreads : 1;
    return n;
}

static const char *prefix_of(const struct pw_live_thread *thread)
{
    if (!thread)
        return "";
    return thread->polls                    ? "polls with "
           : thread->queue == PW_LIVE_QUEUE ? "no call; last on the GPU: "
           : thread->queue == PW_LIVE_HELD  ? "on the GPU: "
                                            : "";
}

/* Prints the call of a thread, with the thread's number if the rank has several. */
static int print_line(const struct pw_page *page, const struct line *line)
{
    const struct pw_live *rank = line->rank;
    char call[PW_LIVE_CALL_TEXT] = "nothing recorded yet", time[32] = "", step[32] = "",
         tid[32] = "", at[PW_LIVE_PLACE + 8] = "";
    if (line->thread) {
        pw_live_call(rank, line->thread, call, sizeof(call));
        live_time(line->thread->since_ns, time, sizeof(time));
    }
    if (rank->state == 'X')
        snprintf(call, sizeof(call), "has ended");
    if (rank->unrecorded)
        snprintf(call, sizeof(call), "MPI is not recorded: %s",
                 pw_unrecorded_because((enum pw_unrecorded)rank->unrecorded));
    if (rank->step >= 0)
        snprintf(step, sizeof(step), "%" PRId64, rank->step);
    if (line->thread && count_program_threads(rank) > 1)
        snprintf(tid, sizeof(tid), ", thread %" PRId32, line->thread->tid);
    const struct pw_live_stack *stack = stackview_python(rank, line->thread);
    if (stack)
        snprintf(at, sizeof(at), " at %s", stack->place);
    return pw_page_print(page, 0, 41, "%6" PRId32 "  %-16.16s %c %10s %6s  %s%s%s%s%s", rank->rank,
                         rank->hostname, rank->state, line->thread ? time : "", step,
                         prefix_of(line->thread), call, at,
                         stack && stack->collects ? ", collects garbage" : "", tid);
}

static int print_ranks(const struct pw_live_view *view, const struct pw_page *page)
{
    size_t n = 0;
    struct line *lines = calloc(count_threads(view) + 1, sizeof(*lines));
    if (!lines)
        return -ENOMEM;
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live *rank = &view->ranks[r];
        for (size_t i = 0; i < rank->nthreads; i++)
            if (!is_helper(rank, &rank->threads[i]) && !is_covered(rank, &rank->threads[i]))
                lines[n++] = (struct line){rank, &rank->threads[i]};
        if (!rank->nthreads)
            lines[n++] = (struct line){rank, NULL};
    }
    if (n)
        qsort(lines, n, sizeof(*lines), by_wait);
    int err = pw_page_print(page, 0, 0, "  rank  %-16s %s %10s %6s  %s", "host", "S", "for", "step",
                            "in");
    for (size_t i = 0; i < n && !err; i++)
        err = print_line(page, &lines[i]);
    free(lines);
    return err;
}

static int print_silent(const struct pw_live_view *view, const struct pw_page *page)
{
    char ranks[PW_LIVE_RANKS_TEXT];
    if (!view->nsilent)
        return 0;
    return pw_page_print(page, 2, 4, "%s did not answer: the collector may be stopped or gone",
                         pw_call_ranks(view->silent, view->nsilent, ranks, sizeof(ranks)));
}

/* ---- collectives ---- */

static int print_group(const struct pw_live_view *view, const struct pw_page *page,
                       const struct pw_hang_group *group)
{
    char call[PW_LIVE_CALL_TEXT], waiting[PW_LIVE_RANKS_TEXT], missing[PW_LIVE_RANKS_TEXT] = "";
    char unknown[64] = "", time[32];
    if (group->nmissing)
        live_ranks(view, group->missing, group->nmissing, missing, sizeof(missing));
    if (group->unknown)
        snprintf(unknown, sizeof(unknown), "; of %zu members nothing is known", group->unknown);
    return pw_page_print(
        page, 2, 4, "%s, %" PRId64 " members: %s wait%s, the longest for %s; %s%s%s%s",
        live_group(view, group, call, sizeof(call)), group->size,
        live_ranks(view, group->waiting, group->nwaiting, waiting, sizeof(waiting)),
        group->nwaiting == 1 ? "s" : "", live_time(group->waited_ns, time, sizeof(time)),
        group->nmissing  ? missing
        : group->unknown ? "no member is known to be missing"
                         : "none is missing",
        group->nmissing == 0   ? ""
        : group->nmissing == 1 ? " has not entered it"
                               : " have not entered it",
        unknown, group->is_mismatched ? "; they are in different functions" : "");
}

/* Prints where the ranks differ in the order of collectives. */
static int print_order(const struct pw_live_view *view, const struct pw_page *page)
{
    char text[PW_ORDER_TEXT];
    const size_t n = view->order ? view->order->n : 0;
    int err = n ? pw_page_print(page, 0, 0, "Order of collectives") : 0;
    for (size_t i = 0; i < n && !err; i++)
        err = pw_page_print(page, 2, 4, "%s",
                            pw_order_write(&view->order->list[i], text, sizeof(text)));
    return err;
}

static int print_groups(const struct pw_live_view *view, const struct pw_page *page)
{
    const struct pw_hang *hang = view->hang;
    int err = hang->ngroups ? pw_page_print(page, 0, 0, "Collectives that wait") : 0;
    for (size_t i = 0; i < hang->ngroups && !err; i++)
        err = print_group(view, page, &hang->groups[i]);
    if (!err && hang->more_groups)
        err = pw_page_print(page, 2, 4, "and more: %zu ranks wait in others", hang->more_groups);
    return err;
}

/* Prints "on MPI_COMM_WORLD ranks 0-2 have left 17 collectives, rank 3 has left 16". */
static int print_reached(const struct pw_live_view *view, const struct pw_page *page, uint64_t uid)
{
    char name[96], text[512] = "", ranks[PW_LIVE_RANKS_TEXT];
    int32_t *rows = malloc(sizeof(*rows) * (view->n + 1));
    size_t used = 0;
    int64_t next = -1;
    for (int64_t value; rows && used + sizeof(ranks) + 32 < sizeof(text); next = value) {
        size_t n = 0;
        value = INT64_MAX;
        for (size_t r = 0; r < view->n; r++) {
            const struct pw_live_comm *comm = pw_live_comm(&view->ranks[r], uid);
            if (comm && comm->reached > next && comm->reached < value)
                value = comm->reached;
        }
        for (size_t r = 0; r < view->n && value < INT64_MAX; r++) {
            const struct pw_live_comm *comm = pw_live_comm(&view->ranks[r], uid);
            if (comm && comm->reached == value)
                rows[n++] = (int32_t)r;
        }
        if (!n)
            break;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRId64 " by %s",
                                 used ? ", " : "", value,
                                 live_ranks(view, rows, n, ranks, sizeof(ranks)));
    }
    free(rows);
    return pw_page_print(page, 2, 4, "%s: %s",
                         pw_call_comm(live_comm_name(view, uid), uid, name, sizeof(name)), text);
}

/* Prints the communicators in which a rank waits. */
static int print_progress(const struct pw_live_view *view, const struct pw_page *page)
{
    const struct pw_hang *hang = view->hang;
    int err = 0, shown = 0;
    for (size_t i = 0; i < hang->ngroups && !err; i++) {
        int is_new = hang->groups[i].comm_uid != 0;
        for (size_t k = 0; k < i; k++)
            is_new &= hang->groups[k].comm_uid != hang->groups[i].comm_uid;
        if (is_new && !shown++)
            err = pw_page_print(page, 0, 0, "Collectives completed, or started if nonblocking");
        if (is_new && !err)
            err = print_reached(view, page, hang->groups[i].comm_uid);
    }
    return err;
}

/* ---- the reports ---- */

int pw_live_print_status(const struct pw_live_view *view, FILE *out)
{
    struct pw_page page = page_on(out);
    int err = print_ranks(view, &page);
    err = err ? err : print_silent(view, &page);
    return err || !stackview_has(view) ? err : stackview_print(view, &page);
}

int pw_live_print_hang(const struct pw_live_view *view, FILE *out)
{
    struct pw_page page = page_on(out);
    char headline[PW_LIVE_HEADLINE];
    pw_live_headline(view, headline, sizeof(headline));
    int err = pw_page_print(&page, 0, 0, "%s.", headline);
    fputc('\n', out);
    err = err ? err : print_ranks(view, &page);
    err = err ? err : print_silent(view, &page);
    fputc('\n', out);
    err = err ? err : print_order(view, &page);
    err = err ? err : print_groups(view, &page);
    err = err ? err : print_progress(view, &page);
    fputc('\n', out);
    return err ? err : stackview_print(view, &page);
}

/* ---- the one sentence about a hang, and the verdict as JSON ---- */

static void capitalise(char *text)
{
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
}

/* "which has been computing (in no MPI call) for 63.0 s", "which has been in MPI_Wait for 12.0 s".
 */
static void add_doing(struct pw_sentence *s, const struct pw_live *rank, const char *who)
{
    const struct pw_live_thread *thread = pw_live_main(rank);
    char call[PW_LIVE_CALL_TEXT], time[32];
    const int is_asleep = rank->state == 'S' || rank->state == 'D';
    if (thread)
        live_time(thread->since_ns, time, sizeof(time));
    if (rank->state == 'X')
        pw_sentence_add(s, "%s has ended", who);
    else if (!thread)
        pw_sentence_add(s, "%s has made no communication call yet%s", who,
                        is_asleep || rank->state == 'T' ? "" : ", and is computing");
    else if (thread->op == PW_OP_None && (is_asleep || rank->state == 'T'))
        pw_sentence_add(s, "%s has been in no communication call for %s", who, time);
    else if (thread->op == PW_OP_None)
        pw_sentence_add(s, "%s has been computing (in no MPI call) for %s", who, time);
    else
        pw_sentence_add(s, "%s has been %s %s for %s", who, thread->polls ? "polling with" : "in",
                        pw_live_call(rank, thread, call, sizeof(call)), time);
    const int is_outside = (!thread || thread->op == PW_OP_None) && rank->state != 'X';
    if (rank->state == 'T')
        pw_sentence_add(s, "%s and is stopped by a signal", is_outside ? "," : "");
    else if (is_outside && is_asleep)
        pw_sentence_add(s, ", and is asleep%s",
                        rank->state == 'D' ? " in the kernel, as when it waits for a disk" : "");
}

static int has_row(const int32_t *rows, size_t n, int32_t row)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i] == row)
            return 1;
    return 0;
}

/* Whether `a` rather than `b` is the collective to name: one that only roots have not entered, then
 * the one in which more ranks wait. */
static int is_nearer(const struct pw_hang *hang, const struct pw_hang_group *a,
                     const struct pw_hang_group *b)
{
    const int a_only = a->nmissing <= hang->nroots, b_only = b->nmissing <= hang->nroots;
    return a_only != b_only ? a_only : a->nwaiting > b->nwaiting;
}

/* Returns the collective to name of those that the first root has not entered; or NULL. */
static const struct pw_hang_group *group_of_root(const struct pw_hang *hang)
{
    const struct pw_hang_group *best = NULL;
    for (size_t i = 0; i < hang->ngroups; i++)
        if (has_row(hang->groups[i].missing, hang->groups[i].nmissing, hang->roots[0]) &&
            (!best || is_nearer(hang, &hang->groups[i], best)))
            best = &hang->groups[i];
    return best;
}

/* Whether the thread waits for the rank by a message. */
static int waits_for(const struct pw_live *rank, const struct pw_live_thread *thread, int32_t peer)
{
    int has_requests = 0;
    for (size_t i = 0; i < rank->nrequests; i++) {
        const struct pw_live_request *r = &rank->requests[i];
        if (&rank->threads[r->thread] != thread)
            continue;
        has_requests = 1;
        if ((r->need == PW_LIVE_MISSING || r->need == PW_LIVE_EITHER) && r->peer == peer &&
            pw_op_info(r->op)->cls != PW_CLASS_COLL)
            return 1;
    }
    return !has_requests && thread->peer == peer && pw_op_info(thread->op)->cls != PW_CLASS_COLL &&
           pw_op_info(thread->op)->cls != PW_CLASS_RMA;
}

/* Returns the rank that waits longest for a message of `root`, or NULL; `polls`: of those that call
 * tests in a loop. */
static const struct pw_live *longest_for(const struct pw_live_view *view,
                                         const struct pw_live *root, int polls)
{
    const struct pw_live *best = NULL;
    int64_t longest = -1;
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_thread *thread = pw_live_main(&view->ranks[r]);
        if (!thread || thread->op == PW_OP_None || thread->polls != polls ||
            thread->since_ns <= longest || !waits_for(&view->ranks[r], thread, root->rank))
            continue;
        best = &view->ranks[r];
        longest = thread->since_ns;
    }
    return best;
}

static const struct pw_live *partner_of(const struct pw_live_view *view, const struct pw_live *root)
{
    const struct pw_live *waiting = longest_for(view, root, 0);
    return waiting ? waiting : longest_for(view, root, 1);
}

/* Lists the rows of the ranks for any of which the rank waits. Returns how many; 0 when it waits
 * for one, or for several together. */
static size_t list_either(const struct pw_live_view *view, const struct pw_live *rank,
                          int32_t rows[PW_LIVE_REQUESTS])
{
    size_t n = 0;
    for (size_t row = 0; rank && row < view->n; row++)
        for (size_t i = 0; i < rank->nrequests; i++)
            if (rank->requests[i].need == PW_LIVE_EITHER &&
                &rank->threads[rank->requests[i].thread] == pw_live_main(rank) &&
                rank->requests[i].peer == view->ranks[row].rank) {
                rows[n++] = (int32_t)row;
                break;
            }
    return n;
}

/* ", at load (train.py:88), and holds Python's lock": where it is in Python. */
static void add_place(struct pw_sentence *s, const struct pw_live *rank)
{
    const struct pw_live_stack *stack = stackview_python(rank, pw_live_main(rank));
    if (!stack)
        return;
    pw_sentence_add(s, ", at %s", stack->place);
    if (stack->collects)
        pw_sentence_add(s, ", where it collects garbage");
    else if (stack->has_gil)
        pw_sentence_add(s, ", and holds the GIL");
}

/* Returns the only rank that the root may wait for, when it calls tests in a loop; or NULL. */
static const struct pw_live *polled_by(const struct pw_live_view *view, const struct pw_live *root)
{
    const struct pw_live_thread *thread = pw_live_main(root);
    int32_t peer = thread && thread->polls ? thread->peer : -1;
    for (size_t i = 0; thread && thread->polls && i < root->nrequests; i++) {
        const struct pw_live_request *r = &root->requests[i];
        if (&root->threads[r->thread] != thread || r->need == PW_LIVE_MATCHED)
            continue;
        if (r->peer < 0 || (peer >= 0 && peer != r->peer))
            return NULL;
        peer = r->peer;
    }
    for (size_t i = 0; i < view->n; i++)
        if (peer >= 0 && view->ranks[i].rank == peer && &view->ranks[i] != root)
            return &view->ranks[i];
    return NULL;
}

/* Adds that the rank for which the root waits did not answer: it may be to blame. */
static void add_silent(const struct pw_live_view *view, const struct pw_live *root,
                       struct pw_sentence *s)
{
    const struct pw_live_thread *thread = pw_live_main(root);
    for (size_t i = 0; thread && thread->op != PW_OP_None && i < view->nsilent; i++)
        if (waits_for(root, thread, view->silent[i])) {
            pw_sentence_add(s, "; rank %" PRId32 " did not answer", view->silent[i]);
            return;
        }
}

static void say_held(const struct pw_live_view *view, struct pw_sentence *s)
{
    const struct pw_hang *hang = view->hang;
    const struct pw_live *root = &view->ranks[hang->roots[0]];
    const struct pw_hang_group *group = group_of_root(hang);
    const struct pw_live *partner = partner_of(view, root);
    char ranks[PW_LIVE_RANKS_TEXT], call[PW_LIVE_CALL_TEXT], who[48];
    int32_t either[PW_LIVE_REQUESTS];
    size_t direct = 0, neither = 0;
    /* Other ranks are missing in the collective because they wait for the root, too. */
    if (group && partner && group->nmissing > hang->nroots)
        group = NULL;
    if (group) {
        direct = group->nwaiting;
        live_ranks(view, group->waiting, group->nwaiting, ranks, sizeof(ranks));
        pw_sentence_add(s, "%s wait%s in %s for ", ranks, direct == 1 ? "s" : "",
                        live_group(view, group, call, sizeof(call)));
    } else if (partner) {
        direct = 1;
        neither = list_either(view, partner, either);
        pw_sentence_add(s, "rank %" PRId32 " %s %s for %s", partner->rank,
                        pw_live_main(partner)->polls ? "polls with" : "waits in",
                        pw_live_call(partner, pw_live_main(partner), call, sizeof(call)),
                        neither ? "any of " : "");
    }
    const int32_t *rows = group ? group->missing : neither ? either : hang->roots;
    size_t n = group ? group->nmissing : neither ? neither : partner ? 1 : hang->nroots;
    pw_sentence_add(s, "%s, ", live_ranks(view, rows, n, ranks, sizeof(ranks)));
    snprintf(who, sizeof(who), n == 1 ? "which" : "of which rank %" PRId32, root->rank);
    add_doing(s, root, who);
    add_place(s, root);
    const struct pw_live_thread *other = pw_hang_other(root);
    if (other)
        pw_sentence_add(s, "; another thread of it has been in no MPI call for %s",
                        live_time(other->since_ns, call, sizeof(call)));
    const struct pw_live *polled = polled_by(view, root);
    if (polled) {
        snprintf(who, sizeof(who), "; rank %" PRId32, polled->rank);
        add_doing(s, polled, who);
    }
    add_silent(view, root, s);
    if (hang->held > direct)
        pw_sentence_add(s, "; %zu ranks in all wait for %s%s", hang->held,
                        hang->nroots == 1 ? "it"
                        : n > 1 || group
                            ? "these"
                            : live_ranks(view, hang->roots, hang->nroots, ranks, sizeof(ranks)),
                        hang->nroots == 1 ? "" : ", directly or through others");
}

static void say_cycle(const struct pw_live_view *view, struct pw_sentence *s)
{
    enum { SHOWN = 4 };
    const struct pw_hang *hang = view->hang;
    char call[PW_LIVE_CALL_TEXT];
    pw_sentence_add(s, hang->is_likely ? "likely deadlock: " : "deadlock: ");
    for (size_t i = 0; i < hang->ncycle && i < SHOWN; i++) {
        const struct pw_live *rank = &view->ranks[hang->cycle[i]];
        pw_sentence_add(s, "%srank %" PRId32 " (%s %s)",
                        i == 0   ? ""
                        : i == 1 ? " waits for "
                                 : ", which waits for ",
                        rank->rank, pw_live_main(rank)->polls ? "polling with" : "in",
                        pw_live_call(rank, pw_live_main(rank), call, sizeof(call)));
    }
    if (hang->ncycle > SHOWN)
        pw_sentence_add(s, ", and so on through %zu ranks, the last of which waits for",
                        hang->ncycle);
    else
        pw_sentence_add(s, "%s", hang->ncycle == 1 ? " waits for" : ", which waits for");
    pw_sentence_add(s, " rank %" PRId32, view->ranks[hang->cycle[0]].rank);
    if (hang->held)
        pw_sentence_add(s, "; %zu more rank%s wait%s for these", hang->held,
                        hang->held == 1 ? "" : "s", hang->held == 1 ? "s" : "");
}

static const struct pw_hang_group *mismatched(const struct pw_hang *hang)
{
    for (size_t i = 0; i < hang->ngroups; i++)
        if (hang->groups[i].is_mismatched)
            return &hang->groups[i];
    return NULL;
}

static uint16_t awaited_of(const struct pw_live *rank)
{
    const struct pw_live_thread *thread = pw_live_main(rank);
    return thread->awaited ? thread->awaited : thread->op;
}

static void say_mismatch(const struct pw_live_view *view, const struct pw_hang_group *group,
                         struct pw_sentence *s)
{
    const struct pw_live *first = NULL, *other = NULL;
    char a[PW_LIVE_CALL_TEXT], b[PW_LIVE_CALL_TEXT];
    for (size_t i = 0; i < group->nwaiting && !other; i++) {
        const struct pw_live *rank = &view->ranks[group->waiting[i]];
        if (!first)
            first = rank;
        else if (awaited_of(rank) != awaited_of(first))
            other = rank;
    }
    if (!other)
        return;
    pw_sentence_add(s,
                    "ranks disagree about a collective: rank %" PRId32
                    " is in %s, but rank %" PRId32 " in %s",
                    first->rank, pw_live_call(first, pw_live_main(first), a, sizeof(a)),
                    other->rank, pw_live_call(other, pw_live_main(other), b, sizeof(b)));
}

/* It is not known which rank the others wait for: writes which rank waits longest, and in which
 * call. */
static void say_unknown(const struct pw_live_view *view, struct pw_sentence *s)
{
    const struct pw_live *longest = NULL;
    char call[PW_LIVE_CALL_TEXT], time[32], ranks[PW_LIVE_RANKS_TEXT];
    for (size_t r = 0; r < view->n; r++) {
        const struct pw_live_thread *thread = pw_live_main(&view->ranks[r]);
        if (thread && thread->op != PW_OP_None &&
            (!longest || thread->since_ns > pw_live_main(longest)->since_ns))
            longest = &view->ranks[r];
    }
    if (!longest)
        return;
    pw_sentence_add(s, "%zu of %zu ranks wait in MPI calls, rank %" PRId32 " longest: %s %s for %s",
                    view->hang->waiting, view->n, longest->rank,
                    pw_live_main(longest)->polls ? "polling with" : "in",
                    pw_live_call(longest, pw_live_main(longest), call, sizeof(call)),
                    live_time(pw_live_main(longest)->since_ns, time, sizeof(time)));
    const struct pw_live *stopped = NULL;
    for (size_t r = 0; r < view->n && !stopped; r++)
        stopped = view->ranks[r].state == 'T' ? &view->ranks[r] : NULL;
    if (stopped)
        pw_sentence_add(s, "; rank %" PRId32 " is stopped by a signal in %s", stopped->rank,
                        pw_live_call(stopped, pw_live_main(stopped), call, sizeof(call)));
    else if (view->nsilent)
        pw_sentence_add(s, "; %s did not answer",
                        pw_call_ranks(view->silent, view->nsilent, ranks, sizeof(ranks)));
    else
        pw_sentence_add(s, "; the rank that they wait for is not known");
}

/* The difference to begin with: one on a communicator on which ranks wait, if there is one. */
static const struct pw_order_finding *first_finding(const struct pw_live_view *view)
{
    const size_t n = view->order ? view->order->n : 0;
    for (size_t i = 0; i < n; i++)
        for (size_t g = 0; g < view->hang->ngroups; g++)
            if (view->hang->groups[g].comm_uid == view->order->list[i].comm_uid)
                return &view->order->list[i];
    return n ? &view->order->list[0] : NULL;
}

/* Writes which rank waits for which. */
static void say_waits(const struct pw_live_view *view, char *out, size_t size)
{
    struct pw_sentence s = {.out = out, .size = size};
    const struct pw_hang_group *wrong = first_finding(view) ? NULL : mismatched(view->hang);
    out[0] = '\0';
    if (wrong)
        say_mismatch(view, wrong, &s);
    if (!out[0]) {
        switch (view->hang->kind) {
        case PW_HANG_CYCLE:
            say_cycle(view, &s);
            break;
        case PW_HANG_HELD:
            say_held(view, &s);
            break;
        case PW_HANG_UNKNOWN:
            say_unknown(view, &s);
            break;
        default:
            pw_sentence_add(&s, "no rank waits any more");
            break;
        }
    }
    capitalise(out);
}

void pw_live_headline(const struct pw_live_view *view, char *out, size_t size)
{
    const struct pw_order_finding *finding = first_finding(view);
    size_t used = 0;
    if (finding) {
        pw_order_write(finding, out, size);
        capitalise(out);
        if (view->hang->kind == PW_HANG_UNKNOWN || view->hang->kind == PW_HANG_NOBODY)
            return; /* the difference says why they wait */
        used = strlen(out);
        used += (size_t)snprintf(out + used, size - used, ". ");
    }
    if (used < size)
        say_waits(view, out + used, size - used);
}

/* ---- the verdict as JSON ---- */

static json_t *ranks_of(const struct pw_live_view *view, const int32_t *rows, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        json_array_append_new(array, json_integer(view->ranks[rows[i]].rank));
    return array;
}

static json_t *group_json(const struct pw_live_view *view, const struct pw_hang_group *group)
{
    char uid[24];
    const char *name = live_comm_name(view, group->comm_uid);
    snprintf(uid, sizeof(uid), "0x%" PRIx64, group->comm_uid);
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:o, s:b}", "op",
                     pw_op_info(group->op)->name, "comm_uid",
                     group->comm_uid ? json_string(uid) : json_null(), "comm_name",
                     pw_json_text(name, PW_LIVE_NAME), "seq", pw_json_int(group->seq), "size",
                     (json_int_t)group->size, "root", pw_json_int(group->root), "waiting",
                     ranks_of(view, group->waiting, group->nwaiting), "missing",
                     ranks_of(view, group->missing, group->nmissing), "unknown_members",
                     (json_int_t)group->unknown, "waited_ns", pw_json_int(group->waited_ns),
                     "mismatched", group->is_mismatched);
}

static const char *kind_name(const struct pw_hang *hang)
{
    static const char *const names[] = {
        [PW_HANG_NOBODY] = "nobody_waits",
        [PW_HANG_HELD] = "held",
        [PW_HANG_CYCLE] = "deadlock",
        [PW_HANG_UNKNOWN] = "unknown",
    };
    return hang->is_likely ? "likely_deadlock" : names[hang->kind];
}

json_t *pw_live_hang_json(const struct pw_live_view *view)
{
    const struct pw_hang *hang = view->hang;
    char headline[PW_LIVE_HEADLINE];
    pw_live_headline(view, headline, sizeof(headline));
    json_t *groups = json_array(), *silent = json_array(), *order = json_array();
    for (size_t i = 0; view->order && i < view->order->n; i++)
        json_array_append_new(order, pw_order_json(&view->order->list[i]));
    for (size_t i = 0; i < hang->ngroups; i++)
        json_array_append_new(groups, group_json(view, &hang->groups[i]));
    for (size_t i = 0; i < view->nsilent; i++)
        json_array_append_new(silent, json_integer(view->silent[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "headline",
                     pw_json_text(headline, sizeof(headline)), "kind", kind_name(hang), "roots",
                     ranks_of(view, hang->roots, hang->nroots), "cycle",
                     ranks_of(view, hang->cycle, hang->ncycle), "held", (json_int_t)hang->held,
                     "waiting", (json_int_t)hang->waiting, "collectives", groups, "silent", silent,
                     "order", order);
}
