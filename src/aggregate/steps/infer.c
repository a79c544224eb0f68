/* Steps of a job that marks none, from the period of its collectives; see infer.h. */
#include "aggregate/steps/infer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/input/events.h"
#include "analysis/bandwidth.h"
#include "analysis/period.h"
#include "core/ops.h"

/* Operations that are looked at: the time it takes grows with their square. */
enum { MOST_KEYS = 4096 };

/* The period as all processes know it; length 0: none. */
struct pattern {
    uint64_t uid;
    int64_t first_seq, length;
    double confidence;
};

/* Collectives that follow each other. */
struct run {
    uint64_t keys[MOST_KEYS];
    int64_t first_seq;
    size_t n;
};

struct listing {
    int32_t comm; /* row of the input's /comms */
    struct run first, others[2];
    struct run *now, *longest; /* `longest` of those that came between the first and now */
};

/* The communicator with most members; of several the one with most collectives. */
static int32_t largest_comm(const struct pw_input *input)
{
    int32_t best = -1;
    for (size_t c = 0; c < input->ncomms; c++) {
        const struct pw_row_comms *row = &input->comms[c];
        const struct pw_row_comms *most = best >= 0 ? &input->comms[best] : NULL;
        if (row->collectives > 0 && row->size > 1 &&
            (!most || row->size > most->size ||
             (row->size == most->size && row->collectives > most->collectives)))
            best = (int32_t)c;
    }
    return best;
}

/* What was not recorded, as while recording was paused, ends a run. */
static void begin_run(struct listing *l)
{
    struct run *before = l->now;
    if (before == &l->first) {
        l->now = &l->others[0];
        l->longest = &l->others[1];
    } else if (before->n > l->longest->n) {
        l->now = l->longest;
        l->longest = before;
    }
    l->now->n = 0;
}

static void list_key(void *context, const struct pw_input *input,
                     const struct pw_row_comm_event *event)
{
    struct listing *l = context;
    (void)input;
    if (event->comm != l->comm || pw_op_info(event->op)->cls != PW_CLASS_COLL ||
        l->now->n == MOST_KEYS)
        return;
    int64_t expected = l->now->first_seq + (int64_t)l->now->n;
    if (l->now->n && event->seq < expected)
        return;
    if (l->now->n && event->seq > expected)
        begin_run(l);
    struct run *run = l->now;
    run->first_seq = run->n ? run->first_seq : event->seq;
    run->keys[run->n++] = (uint64_t)event->op << 48 | (uint64_t)pw_size_class(event->sent_bytes);
}

static int has_period(const struct run *run, struct pw_period *period)
{
    return pw_period_find(run->keys, run->n, period);
}

/* By the first run if it is long enough, for then all steps are known. */
static struct pattern find_pattern(struct pw_input *input)
{
    struct pattern none = {0, 0, 0, 0};
    struct listing *l = calloc(1, sizeof(*l));
    struct pw_period period;
    if (!l)
        return none;
    l->comm = largest_comm(input);
    l->now = &l->first;
    int ok = l->comm >= 0 && pw_events_read(input, list_key, l) == 0;
    begin_run(l);
    const struct run *run = has_period(&l->first, &period) ? &l->first : l->longest;
    if (ok && has_period(run, &period))
        none = (struct pattern){input->comms[l->comm].uid, run->first_seq + (int64_t)period.first,
                                (int64_t)period.length, period.confidence};
    free(l);
    return none;
}

/* The window of recording that a time lies in, -1 none; 0 where the file has none. */
static ptrdiff_t window_at(const struct pw_input *input, int64_t time)
{
    for (size_t i = input->nwindows; i-- > 0;)
        if (input->windows[i].start <= time)
            return time <= input->windows[i].end ? (ptrdiff_t)i : -1;
    return input->nwindows ? -1 : 0;
}

struct cutting {
    const struct pattern *pattern;
    struct pw_row_step *steps;
    size_t n, capacity;
    ptrdiff_t window; /* that the last of them began in */
};

/* A step that recording was paused in, or that something is missing from, is none. */
static void end_last(struct cutting *c, int64_t number, ptrdiff_t window, int64_t end)
{
    if (c->n && window >= 0 && window == c->window && c->steps[c->n - 1].step + 1 == number)
        c->steps[c->n - 1].end = end;
    else if (c->n)
        c->n--;
}

/* A step ends with the last collective of a period, and the next begins there. */
static void cut(void *context, const struct pw_input *input, const struct pw_row_comm_event *event)
{
    struct cutting *c = context;
    if (pw_op_info(event->op)->cls != PW_CLASS_COLL || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms || input->comms[event->comm].uid != c->pattern->uid)
        return;
    int64_t since = event->seq + 1 - c->pattern->first_seq;
    if (since < 0 || since % c->pattern->length)
        return;
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 256;
        struct pw_row_step *steps = realloc(c->steps, capacity * sizeof(*steps));
        if (!steps)
            return;
        c->steps = steps;
        c->capacity = capacity;
    }
    ptrdiff_t window = window_at(input, event->end);
    end_last(c, since / c->pattern->length, window, event->end);
    c->window = window;
    c->steps[c->n++] = (struct pw_row_step){.step = since / c->pattern->length,
                                            .start = event->end,
                                            .end = event->end,
                                            .recorded = PW_RECORDED_ACTIVE};
}

static void cut_input(struct pw_input *input, const struct pattern *pattern)
{
    struct cutting c = {.pattern = pattern};
    pw_events_read(input, cut, &c); /* damage is noted by the first pass */
    free(input->steps);
    input->steps = c.steps;
    input->nsteps = c.n ? c.n - 1 : 0; /* what comes after the last boundary is no whole step */
}

void pw_infer_steps(struct pw_job *job)
{
    struct {
        long rank;
        int process;
    } lowest = {LONG_MAX, job->process}, first;
    struct pw_input *input = NULL;
    struct pattern pattern = {0, 0, 0, 0};
    char detail[160];
    if (job->nsteps)
        return;
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].rank < lowest.rank) {
            lowest.rank = (long)job->inputs[i].rank;
            input = &job->inputs[i];
        }
    MPI_Allreduce(&lowest, &first, 1, MPI_LONG_INT, MPI_MINLOC, job->comm);
    if (first.process == job->process && input)
        pattern = find_pattern(input);
    MPI_Bcast(&pattern, sizeof(pattern), MPI_BYTE, first.process, job->comm);
    if (!pattern.length)
        return;
    for (size_t i = 0; i < job->ninputs; i++)
        cut_input(&job->inputs[i], &pattern);
    if (pw_job_agree_on_steps(job))
        pw_job_out_of_memory(job);
    job->steps_inferred = job->nsteps > 0;
    snprintf(detail, sizeof(detail), "a step is a period of %lld collectives; %.1f %% are alike",
             (long long)pattern.length, 100 * pattern.confidence);
    if (job->process == 0 && job->steps_inferred)
        pw_job_note(job, -1, "steps_inferred", pattern.length, detail);
}
