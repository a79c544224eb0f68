/* Finds the calls of the lowest rank with which iterations begin (analysis/iteration.h), and cuts
 * all ranks at these; see inferredsteps.h. */
#include "aggregate/steps/inferredsteps.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/input/job.h"
#include "analysis/collectives.h"
#include "analysis/iteration.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/grow.h"
#include "core/hash.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"
#include "core/text.h"

/* ---- begins of iterations on the lowest rank ---- */

/* The boundaries of the steps; the same on all processes. */
struct pw_boundaries {
    uint64_t uid; /* communicator of the collectives that the steps begin with; 0: steps begin at
                     times */
    size_t n;
    int64_t *at;    /* [n] ascending: sequence numbers of these collectives, or cluster times */
    int is_first;   /* with times: the rank's first operation is less than an iteration before the
                       first boundary */
    double alike;   /* share of usual iterations; 0: slices */
    char what[144]; /* the call that an iteration begins with, and calls that only some iterations
                       have; or "" */
};

enum {
    MOST_CALLS = 1 << 17, /* limit of the calls that are searched */
    MOST_ANCHORS = 4096,
    RECURRING_TOLD = 3,
    LEAST_KEPT = 3, /* least number of iterations after joining pieces */
};

/* The properties of a call that make its kind. Sizes and destinations of messages may change from
 * one iteration to the next. `pairs`: the kind includes that of the call before, because sometimes
 * only both together identify the begin of an iteration. */
struct detail {
    int sizes, peers, pairs;
};

enum { DETAILS = 5 };

static const struct detail details[DETAILS] = {
    {1, 1, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 1}, {0, 0, 1}};

/* A call, with the properties that kinds are made of. */
struct sample {
    int64_t start, end, bytes, seq;
    int64_t inside; /* total time of the rank inside calls before this one, ns */
    int32_t comm, peer;
    uint32_t op;
};

struct listing {
    struct sample *samples; /* in the order of the file */
    size_t n, capacity, most;
    const struct detail *detail; /* the detail of the anchor; NULL: all calls are listed */
    uint64_t anchor, before;
    int64_t inside;
    int failed;
};

/* Returns the key of a call. Keys of collectives are smaller than those of messages, which may
 * differ from rank to rank. */
static uint64_t key_of(const struct sample *call, const struct detail *detail)
{
    const int is_message = pw_op_info(call->op)->cls == PW_CLASS_SEND;
    uint64_t key = (uint64_t)is_message << 62 | (uint64_t)(call->op + 1) << 52 |
                   (uint64_t)(call->comm & 0xffff) << 36;
    if (!is_message || detail->sizes)
        key |= (uint64_t)__builtin_popcountll((uint64_t)pw_size_class(call->bytes)) << 28;
    if (is_message && detail->peers)
        key |= (uint64_t)(call->peer + 1) & 0xfffffff;
    return key;
}

/* Returns the key with the call before taken into account. *before is the key of that call, and
 * becomes the key of this one. */
static uint64_t next_key(const struct sample *call, const struct detail *detail, uint64_t *before)
{
    const uint64_t key = key_of(call, detail), pair = pw_hash_mix(*before, key) | UINT64_C(1) << 63;
    *before = key;
    return detail->pairs ? pair : key;
}

/* Returns the time inside the call, ns. The wait of a nonblocking operation counts in the
 * completing call. */
static int64_t inside_of(const struct pw_row_comm_event *event)
{
    if (!(event->flags & PW_FLAG_NONBLOCKING))
        return event->end - event->start;
    const int64_t waited = event->wait_start ? event->end - event->wait_start : 0;
    return event->inside_ns > waited ? event->inside_ns - waited : 0;
}

static void list_call(void *context, const struct pw_input *input,
                      const struct pw_row_comm_event *event)
{
    struct listing *l = context;
    enum pw_op_class cls = pw_op_info(event->op)->cls;
    int is_shared = event->comm >= 0 && (size_t)event->comm < input->ncomms &&
                    input->comms[event->comm].size > 1;
    const int64_t inside = l->inside;
    if (event->flags & PW_FLAG_RECV_PART)
        return; /* the receiving half of a call that also sends, which was listed */
    l->inside = pw_sum(l->inside, inside_of(event));
    if (!is_shared || (cls != PW_CLASS_COLL && cls != PW_CLASS_SEND) || l->n == l->most)
        return;
    const struct sample call = {event->start, event->end,  event->sent_bytes, event->seq,
                                inside,       event->comm, event->peer,       event->op};
    if (l->detail && next_key(&call, l->detail, &l->before) != l->anchor)
        return;
    struct sample *samples = pw_grow(l->samples, l->n, sizeof(*samples), &l->capacity);
    l->failed |= !samples;
    if (!samples)
        return;
    l->samples = samples;
    l->samples[l->n++] = call;
}

/* Lists the first calls of the rank. Returns 0 or -ENOMEM. */
static int list_first(const struct pw_input *input, struct listing *l)
{
    struct pw_events *events;
    int err = pw_events_open(input, &events);
    if (err)
        return err;
    for (size_t b = 0; !err && b < pw_events_blocks(input) && l->n < l->most; b++)
        err = pw_events_visit(events, b, list_call, l);
    pw_events_close(events);
    return l->failed ? -ENOMEM : 0; /* of a damaged file, the calls before the damage */
}

static int by_start(const void *a, const void *b)
{
    const struct pw_call *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Memory for the search for anchors. */
struct looking {
    struct pw_call *calls;
    struct pw_iterations *all;
    void *scratch;
};

/* How anchors are searched. */
struct attempt {
    double interrupted; /* share of the iterations that may have been interrupted */
    size_t last_detail; /* details 0 .. last_detail are tried */
    int surely;         /* 1: the iterations must be mostly alike, and cover most of the time */
};

/* Finds the best anchor. Returns its detail; NULL: there is none. */
static const struct detail *look(const struct listing *l, struct looking *in,
                                 const struct attempt *try, struct pw_iterations *best)
{
    const size_t last = try->last_detail;
    size_t n = 0, first[DETAILS + 1] = {0};
    for (size_t d = 0; d <= last; d++) {
        uint64_t before = 0;
        for (size_t i = 0; i < l->n; i++)
            in->calls[i] = (struct pw_call){next_key(&l->samples[i], &details[d], &before),
                                            l->samples[i].start, l->samples[i].end};
        pw_sort(in->calls, l->n, sizeof(*in->calls), by_start);
        const struct pw_calls calls = {in->calls, l->n};
        n += pw_iterations_list(&calls, try->interrupted, in->scratch, in->all + n,
                                MOST_ANCHORS - n);
        first[d + 1] = n;
    }
    const size_t chosen = n ? pw_iterations_choose(in->all, n) : 0;
    if (!n || (try->surely && (in->all[chosen].alike < PW_INFERRED_ALIKE ||
                               in->all[chosen].coverage < PW_INFERRED_COVERED)))
        return NULL;
    *best = in->all[chosen];
    for (size_t d = 0; d < last; d++)
        if (chosen < first[d + 1])
            return &details[d];
    return &details[last];
}

/* Finds the best anchor: with all details if these repeat reliably, else with any detail; if there
 * is none, the same with more and more interrupted iterations. Returns its detail; NULL: there is
 * none. */
static const struct detail *find_anchor(const struct listing *l, struct pw_iterations *best)
{
    static const double interrupted[] = {0, 0.02, 0.05, 0.2};
    struct looking in = {malloc(sizeof(*in.calls) * (l->n + 1)),
                         malloc(sizeof(*in.all) * MOST_ANCHORS),
                         malloc(pw_iterations_scratch(l->n))};
    const struct detail *found = NULL;
    const int has_room = in.calls && in.all && in.scratch;
    for (size_t i = 0; has_room && !found && i < sizeof(interrupted) / sizeof(*interrupted); i++) {
        const struct attempt with_all = {interrupted[i], 0, 1},
                             with_any = {interrupted[i], DETAILS - 1, 0};
        found = look(l, &in, &with_all, best);
        found = found ? found : look(l, &in, &with_any, best);
    }
    free(in.calls);
    free(in.all);
    free(in.scratch);
    return found;
}

static int sample_by_start(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Keeps only the anchors that an iteration begins with, when an iteration has several. Returns how
 * many anchors the usual iteration has. */
static size_t merge_pieces(struct listing *l, double *alike)
{
    int64_t *work = malloc(sizeof(*work) * (l->n + 1));
    size_t *first = malloc(sizeof(*first) * (l->n + 1)), pieces = 1, n = l->n ? l->n - 1 : 0;
    double *scratch = malloc(sizeof(*scratch) * (l->n + 1));
    if (work && first && scratch) {
        for (size_t i = 0; i < n; i++)
            work[i] = pw_sum(l->samples[i + 1].start - l->samples[i].start,
                             l->samples[i].inside - l->samples[i + 1].inside);
        const struct pw_period period = pw_period_find(work, n, scratch);
        struct pw_period_cut cut = {0};
        if (period.length > 1)
            cut = pw_period_cut(&period, work, n, scratch, first);
        const size_t kept = cut.count;
        if (kept > LEAST_KEPT && cut.alike >= PW_INFERRED_JOINED_ALIKE) {
            for (size_t i = 0; i < kept; i++)
                l->samples[i] = l->samples[first[i]];
            l->n = kept;
            pieces = period.length;
            *alike *= cut.alike;
        }
    }
    free(work);
    free(first);
    free(scratch);
    return pieces;
}

/* Fills the boundaries: the sequence numbers of the anchors when these are collectives of all
 * ranks, else their start times. */
static void take_anchors(const struct pw_world *world, const struct pw_input *input,
                         const struct listing *l, struct pw_boundaries *b)
{
    const struct sample *call = &l->samples[0];
    const struct pw_row_comms *comm = &input->comms[call->comm];
    const int is_everybodys = !l->detail->pairs && comm->size == world->nranks &&
                              pw_op_info(call->op)->cls == PW_CLASS_COLL;
    b->at = malloc(sizeof(*b->at) * l->n);
    for (size_t i = 0; i < l->n && b->at; i++)
        b->at[b->n++] =
            is_everybodys ? l->samples[i].seq : pw_input_time(input, l->samples[i].start);
    b->uid = is_everybodys ? comm->uid : 0;
    pw_sort_i64(b->at, b->n);
}

static const char *ordinal(int64_t n)
{
    static const char *const suffix[] = {"th", "st", "nd", "rd"};
    return n % 10 > 3 || (n % 100 > 10 && n % 100 < 14) ? "th" : suffix[n % 10];
}

/* Adds to the description the calls that only every n-th step has. */
static void add_recurring(const struct listing *all, const struct listing *anchors,
                          struct pw_sentence *s)
{
    static const struct detail plain = {0, 0, 0};
    struct pw_recurring found[RECURRING_TOLD];
    struct pw_call *calls = malloc(sizeof(*calls) * (all->n + 1));
    int64_t *begins = malloc(sizeof(*begins) * (anchors->n + 1));
    void *scratch = malloc(pw_recurring_scratch(all->n));
    for (size_t i = 0; i < anchors->n && begins; i++)
        begins[i] = anchors->samples[i].start;
    for (size_t i = 0; i < all->n && calls; i++)
        calls[i] = (struct pw_call){key_of(&all->samples[i], &plain), all->samples[i].start,
                                    all->samples[i].end};
    const struct pw_calls all_calls = {calls, all->n};
    const struct pw_iteration_begins iterations = {begins, anchors->n};
    size_t n = calls && begins && scratch
                   ? pw_recurring_find(&all_calls, &iterations, scratch, found, RECURRING_TOLD)
                   : 0;
    for (size_t i = 0; i < n; i++) {
        const struct sample *call = &all->samples[found[i].call];
        char bytes[32];
        pw_sentence_add(s, "%s every %" PRId64 "%s has %s", i ? "," : ";", found[i].every,
                        ordinal(found[i].every), pw_op_info(call->op)->name);
        if (pw_op_info(call->op)->cls == PW_CLASS_COLL && call->bytes > 0)
            pw_sentence_add(s, " of %s", pw_text_bytes(bytes, sizeof(bytes), call->bytes));
    }
    free(calls);
    free(begins);
    free(scratch);
}

static void describe_boundaries(const struct pw_input *input, const struct listing *all,
                                const struct listing *anchors, size_t pieces,
                                struct pw_boundaries *b)
{
    struct pw_sentence s = pw_sentence_on(b->what, sizeof(b->what));
    const char *name = pw_op_info(anchors->samples[0].op)->name;
    if (pieces > 1)
        pw_sentence_add(&s, "every %zu%s %s of rank %" PRId64 ", by the work between them", pieces,
                        ordinal((int64_t)pieces), name, (int64_t)input->rank);
    else
        pw_sentence_add(&s, "each %s of rank %" PRId64, name, (int64_t)input->rank);
    add_recurring(all, anchors, &s);
}

/* Finds the boundaries on the rank of this file; n is 0 when nothing repeats. */
static struct pw_boundaries pw_boundaries_find(const struct pw_world *world, struct pw_input *input)
{
    struct pw_boundaries b = {0};
    struct pw_iterations found = {0};
    struct listing all = {.most = MOST_CALLS}, anchors = {.most = SIZE_MAX};
    anchors.detail = list_first(input, &all) ? NULL : find_anchor(&all, &found);
    if (anchors.detail) {
        anchors.anchor = found.key;
        pw_events_read(input, list_call, &anchors); /* the first pass notes damage */
        pw_sort(anchors.samples, anchors.n, sizeof(*anchors.samples), sample_by_start);
        if (anchors.n && !anchors.failed) {
            b.alike = found.alike;
            const size_t pieces = merge_pieces(&anchors, &b.alike);
            take_anchors(world, input, &anchors, &b);
            describe_boundaries(input, &all, &anchors, pieces, &b);
        }
    }
    free(all.samples);
    free(anchors.samples);
    return b;
}

enum {
    SLICES = 100,
    LEAST_SLICE_NS = 5000000,
};

/* ---- steps of each rank ---- */

/* Returns the recording window that contains a time, or -1; 0 when the file has no windows. */
static ptrdiff_t window_at(const struct pw_input *input, int64_t time)
{
    for (size_t i = input->nwindows; i-- > 0;)
        if (input->windows[i].start <= time)
            return time <= input->windows[i].end ? (ptrdiff_t)i : -1;
    return input->nwindows ? -1 : 0;
}

struct cutting {
    const struct pw_boundaries *boundaries;
    struct pw_row_step *steps;
    size_t n, capacity;
    ptrdiff_t window; /* the window in which the last step began */
};

/* Ends the last step. Drops it when recording was paused in it, or a collective is missing. */
static void end_last(struct cutting *c, int64_t number, ptrdiff_t window, int64_t end)
{
    if (c->n && window >= 0 && window == c->window && c->steps[c->n - 1].step + 1 == number)
        c->steps[c->n - 1].end = end;
    else if (c->n)
        c->n--;
}

static void cut_at(struct cutting *c, const struct pw_input *input, int64_t number, int64_t time)
{
    struct pw_row_step *steps = pw_grow(c->steps, c->n, sizeof(*steps), &c->capacity);
    if (!steps)
        return;
    c->steps = steps;
    ptrdiff_t window = window_at(input, time);
    end_last(c, number, window, time);
    c->window = window;
    c->steps[c->n++] = (struct pw_row_step){
        .step = number, .start = time, .end = time, .recorded = PW_RECORDED_ACTIVE};
}

/* Begins a step at the end of the collective on this rank. */
static void cut_by_collective(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event)
{
    struct cutting *c = context;
    const struct pw_boundaries *b = c->boundaries;
    if (pw_op_info(event->op)->cls != PW_CLASS_COLL || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms || input->comms[event->comm].uid != b->uid)
        return;
    const size_t at = pw_place_i64(b->at, b->n, event->seq);
    if (at < b->n && b->at[at] == event->seq)
        cut_at(c, input, (int64_t)at, event->end);
}

/* Returns the local time of a cluster time. A few rounds suffice, because clocks run at nearly the
 * same rate. */
static int64_t local_time(const struct pw_input *input, int64_t time)
{
    int64_t local = time;
    for (int i = 0; i < 4; i++)
        local += time - pw_input_time(input, local);
    return local;
}

static void cut_by_time(struct cutting *c, const struct pw_input *input)
{
    const struct pw_boundaries *b = c->boundaries;
    for (size_t i = 0; i < b->n && input->begin_ns != INT64_MAX; i++) {
        int64_t local = local_time(input, b->at[i]);
        if (local >= input->begin_ns && local <= input->last_ns)
            cut_at(c, input, (int64_t)i, local);
    }
}

static void cut_input(struct pw_input *input, const struct pw_boundaries *boundaries)
{
    struct cutting c = {.boundaries = boundaries};
    if (boundaries->uid)
        pw_events_read(input, cut_by_collective, &c); /* the first pass notes damage */
    else
        cut_by_time(&c, input);
    free(input->steps);
    input->steps = c.steps;
    input->nsteps = c.n ? c.n - 1 : 0; /* the time after the last boundary is no complete step */
}

/* ---- the job ---- */

/* Divides the time in which every rank was between MPI_Init and its last call into slices.
 * Collective. */
static void slice(const struct pw_job *job, struct pw_boundaries *b)
{
    int64_t span[2] = {INT64_MIN, INT64_MIN}; /* the latest begin, and the negated earliest end */
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (input->begin_ns == INT64_MAX)
            continue;
        int64_t begin = pw_input_time(input, input->first_ns);
        int64_t end = -pw_input_time(input, input->last_ns);
        span[0] = begin > span[0] ? begin : span[0];
        span[1] = end > span[1] ? end : span[1];
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, span, 2, PW_EX_INT64_T, PW_EX_MAX, job->procs.comm);
    int64_t length = span[0] == INT64_MIN ? 0 : -span[1] - span[0];
    int64_t n = length / LEAST_SLICE_NS < SLICES ? length / LEAST_SLICE_NS : SLICES;
    *b = (struct pw_boundaries){0};
    b->at = n > 0 ? malloc(sizeof(*b->at) * ((size_t)n + 1)) : NULL;
    for (int64_t i = 0; b->at && i <= n; i++)
        b->at[b->n++] = span[0] + length / n * i;
}

static int are_clocks_aligned(const struct pw_job *job)
{
    int mine = 1, all;
    for (size_t i = 0; i < job->ninputs; i++)
        mine &= job->inputs[i].aligned;
    pw_ex_allreduce(&mine, &all, 1, PW_EX_INT, PW_EX_MIN, job->procs.comm);
    return all;
}

/* Finds the lowest rank with a file. Returns 1, with *input, when this process has it, else 0;
 * *process: the process that has it. Collective. */
static int find_lowest(const struct pw_job *job, struct pw_input **input, int *process)
{
    struct {
        long rank;
        int process;
    } lowest = {LONG_MAX, job->procs.process}, first;
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].rank < lowest.rank) {
            lowest.rank = (long)job->inputs[i].rank;
            *input = &job->inputs[i];
        }
    pw_ex_allreduce(&lowest, &first, 1, PW_EX_LONG_INT, PW_EX_MINLOC, job->procs.comm);
    *process = first.process;
    return first.process == job->procs.process && *input;
}

/* Sends the boundaries that one process found to all. When memory is short, there are none.
 * Collective. */
static void share(const struct pw_procs *procs, struct pw_boundaries *b, int process)
{
    int64_t *at = b->at;
    pw_procs_broadcast(procs, b, sizeof(*b), process);
    b->at = procs->process == process ? at : malloc(sizeof(*b->at) * (b->n + 1));
    if (!pw_procs_all_ok(procs, b->at || !b->n))
        pw_procs_out_of_memory(procs);
    if (b->n)
        pw_procs_broadcast(procs, b->at, sizeof(*b->at) * b->n, process);
}

static void describe(struct pw_world *world, const struct pw_boundaries *b)
{
    world->steps_inferred = b->alike > 0 ? 1 : 2;
    world->steps_cut = b->alike <= 0 || b->uid ? PW_CUT_NOT
                       : b->is_first           ? PW_CUT_FIRST
                                               : PW_CUT_LATER;
    if (b->alike > 0)
        snprintf(world->steps_found, sizeof(world->steps_found),
                 "%.1f %% of the steps have the same calls; a step begins with %s", 100 * b->alike,
                 b->what);
    else
        snprintf(world->steps_found, sizeof(world->steps_found),
                 "no call repeats regularly: steps are slices of equal length");
}

void pw_infer_note(struct pw_job *job)
{
    if (job->procs.process == 0 && job->world.steps_inferred)
        pw_job_note(job, -1, job->world.steps_inferred == 1 ? "steps_inferred" : "steps_sliced",
                    (int64_t)job->world.nsteps, job->world.steps_found);
}

static struct pw_boundaries find_boundaries(const struct pw_world *world, struct pw_input *input)
{
    struct pw_boundaries b = pw_boundaries_find(world, input);
    b.is_first = !b.uid && b.n > 1 && input->begun_ns != INT64_MAX &&
                 b.at[0] - pw_input_time(input, input->begun_ns) < b.at[1] - b.at[0];
    return b;
}

void pw_infer_steps(struct pw_job *job)
{
    struct pw_input *input = NULL;
    struct pw_boundaries b = {0};
    int process;
    /* In dumps, which have the last operations only, and when they were enqueued, nothing tells how
     * long a step was. */
    if (job->world.nsteps || strcmp(job->world.imported, "flight") == 0)
        return;
    if (find_lowest(job, &input, &process))
        b = find_boundaries(&job->world, input);
    share(&job->procs, &b, process);
    const int aligned = are_clocks_aligned(job);
    if (!b.uid && b.n && !aligned)
        b.n = 0;
    if (!b.n && aligned) {
        free(b.at);
        slice(job, &b);
    }
    for (size_t i = 0; i < job->ninputs && b.n; i++)
        cut_input(&job->inputs[i], &b);
    if (b.n && pw_job_agree_on_steps(job))
        pw_procs_out_of_memory(&job->procs);
    if (job->world.nsteps)
        describe(&job->world, &b);
    free(b.at);
}
