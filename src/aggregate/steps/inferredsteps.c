/* Steps of a job that marks none; see inferredsteps.h. */
#include "aggregate/steps/inferredsteps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "aggregate/steps/boundaries.h"
#include "core/ops.h"

enum {
    SLICES = 100,
    LEAST_SLICE_NS = 5000000,
};

/* ---- steps of each rank ---- */

/* The window of recording that a time lies in, -1 none; 0 where the file has none. */
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

static void cut_at(struct cutting *c, const struct pw_input *input, int64_t number, int64_t time)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 256;
        struct pw_row_step *steps = realloc(c->steps, capacity * sizeof(*steps));
        if (!steps)
            return;
        c->steps = steps;
        c->capacity = capacity;
    }
    ptrdiff_t window = window_at(input, time);
    end_last(c, number, window, time);
    c->window = window;
    c->steps[c->n++] = (struct pw_row_step){
        .step = number, .start = time, .end = time, .recorded = PW_RECORDED_ACTIVE};
}

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A step begins where the collective ended on this rank. */
static void cut_by_collective(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event)
{
    struct cutting *c = context;
    const struct pw_boundaries *b = c->boundaries;
    if (pw_op_info(event->op)->cls != PW_CLASS_COLL || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms || input->comms[event->comm].uid != b->uid)
        return;
    const int64_t *at = bsearch(&event->seq, b->at, b->n, sizeof(*b->at), compare_i64);
    if (at)
        cut_at(c, input, at - b->at, event->end);
}

/* Local time of a cluster time: clocks run so nearly alike that a few rounds end. */
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
        pw_events_read(input, cut_by_collective, &c); /* damage is noted by the first pass */
    else
        cut_by_time(&c, input);
    free(input->steps);
    input->steps = c.steps;
    input->nsteps = c.n ? c.n - 1 : 0; /* what comes after the last boundary is no whole step */
}

/* ---- the job ---- */

/* Slices of the time in which every rank was between MPI_Init and its last call. Collective. */
static void slice(const struct pw_job *job, struct pw_boundaries *b)
{
    int64_t span[2] = {INT64_MIN, INT64_MIN}; /* the latest begin, and less the earliest end */
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (input->begin_ns == INT64_MAX)
            continue;
        int64_t begin = pw_input_time(input, input->first_ns);
        int64_t end = -pw_input_time(input, input->last_ns);
        span[0] = begin > span[0] ? begin : span[0];
        span[1] = end > span[1] ? end : span[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_INT64_T, MPI_MAX, job->comm);
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
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, job->comm);
    return all;
}

/* The lowest rank's file: 1 when this process has it. Collective. */
static int find_lowest(const struct pw_job *job, struct pw_input **input, int *process)
{
    struct {
        long rank;
        int process;
    } lowest = {LONG_MAX, job->process}, first;
    for (size_t i = 0; i < job->ninputs; i++)
        if (job->inputs[i].rank < lowest.rank) {
            lowest.rank = (long)job->inputs[i].rank;
            *input = &job->inputs[i];
        }
    MPI_Allreduce(&lowest, &first, 1, MPI_LONG_INT, MPI_MINLOC, job->comm);
    *process = first.process;
    return first.process == job->process && *input;
}

/* Sends what one process found to all; without memory for it nothing was found. Collective. */
static void share(const struct pw_job *job, struct pw_boundaries *b, int process)
{
    int64_t *at = b->at;
    pw_job_broadcast(job, b, sizeof(*b), process);
    b->at = job->process == process ? at : malloc(sizeof(*b->at) * (b->n + 1));
    if (!pw_job_all_ok(job, b->at || !b->n))
        pw_job_out_of_memory(job);
    if (b->n)
        pw_job_broadcast(job, b->at, sizeof(*b->at) * b->n, process);
}

static void describe(struct pw_job *job, const struct pw_boundaries *b)
{
    job->steps_inferred = b->alike > 0 ? 1 : 2;
    job->steps_cut = b->alike <= 0 || b->uid ? PW_CUT_NOT
                     : b->is_first           ? PW_CUT_FIRST
                                             : PW_CUT_LATER;
    if (b->alike > 0)
        snprintf(job->steps_found, sizeof(job->steps_found),
                 "%.1f %% are alike; a step begins with %s", 100 * b->alike, b->what);
    else
        snprintf(job->steps_found, sizeof(job->steps_found),
                 "no call comes again and again: steps are slices of equal length");
}

void pw_infer_note(struct pw_job *job)
{
    if (job->process == 0 && job->steps_inferred)
        pw_job_note(job, -1, job->steps_inferred == 1 ? "steps_inferred" : "steps_sliced",
                    (int64_t)job->nsteps, job->steps_found);
}

static struct pw_boundaries find_boundaries(const struct pw_job *job, struct pw_input *input)
{
    struct pw_boundaries b = pw_boundaries_find(job, input);
    b.is_first = !b.uid && b.n > 1 && input->begun_ns != INT64_MAX &&
                 b.at[0] - pw_input_time(input, input->begun_ns) < b.at[1] - b.at[0];
    return b;
}

void pw_infer_steps(struct pw_job *job)
{
    struct pw_input *input = NULL;
    struct pw_boundaries b = {0};
    int process;
    if (job->nsteps)
        return;
    if (find_lowest(job, &input, &process))
        b = find_boundaries(job, input);
    share(job, &b, process);
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
        pw_job_out_of_memory(job);
    if (job->nsteps)
        describe(job, &b);
    free(b.at);
}
