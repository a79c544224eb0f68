/* Sums up the GPU time of each rank from its kernels and collectives alone; see gputruth.h. */
#include "sim/gputruth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/clock.h"
#include "sim/gpuwork.h"
#include "sim/play.h"

/* Kernels and copies never overlap each other, nor do collectives. */
struct span {
    int64_t start, end;
};

struct rank {
    struct pw_sim_clock clock;
    int64_t kernels, copies, compute_ns, copy_ns, comm_ns, dry_ns, gap_ns;
    int64_t first, device_end;
    struct span comm[64]; /* of the step so far: those that compute may still hide */
    int ncomm;
    int64_t hidden_ns;
};

struct truth {
    const struct pw_sim_params *params;
    struct rank *ranks;
    int64_t step;
};

static int64_t common(const struct span *a, int64_t start, int64_t end)
{
    int64_t from = a->start > start ? a->start : start, to = a->end < end ? a->end : end;
    return to > from ? to - from : 0;
}

/* The device has nothing between device_end and `start`; `launch` tells why. */
static void enter(struct rank *r, int64_t start, int64_t end, int64_t launch)
{
    if (r->first < 0)
        r->first = r->device_end = start;
    if (start > r->device_end && launch > r->device_end)
        r->dry_ns += start - r->device_end;
    else if (start > r->device_end)
        r->gap_ns += start - r->device_end;
    r->device_end = end > r->device_end ? end : r->device_end;
}

static void take_gpu(void *context, int64_t rank, const struct pw_sim_gpu_event *event)
{
    struct rank *r = &((struct truth *)context)->ranks[rank];
    int64_t start = pw_sim_local_time(&r->clock, event->start);
    int64_t end = pw_sim_local_time(&r->clock, event->end);
    enter(r, start, end, pw_sim_local_time(&r->clock, event->launch));
    if (event->is_copy) {
        r->copies++;
        r->copy_ns += end - start;
        return;
    }
    r->kernels++;
    r->compute_ns += end - start;
    for (int i = 0; i < r->ncomm; i++)
        r->hidden_ns += common(&r->comm[i], start, end);
}

static void take_event(void *context, int64_t rank, const struct pw_row_comm_event *event)
{
    struct truth *t = context;
    struct rank *r = &t->ranks[rank];
    struct span comm = {pw_sim_local_time(&r->clock, event->start),
                        pw_sim_local_time(&r->clock, event->end)};
    /* It begins when the work before it is done, or the collective before it: never before that is
     * told. Compute that was told reaches at most to its begin, or hides it from there on. */
    r->kernels++;
    r->comm_ns += comm.end - comm.start;
    if (r->device_end <= comm.start)
        enter(
            r, comm.start, comm.end,
            pw_sim_local_time(&r->clock, event->start - pw_sim_gpu_lead(t->params, rank, t->step)));
    if (r->ncomm < (int)(sizeof(r->comm) / sizeof(r->comm[0])))
        r->comm[r->ncomm++] = comm;
}

static void take_phase(void *context, int64_t rank, enum pw_phase phase, int64_t start, int64_t end)
{
    (void)context, (void)rank, (void)phase, (void)start, (void)end;
}

static void take_work(void *context, int64_t rank, int64_t step, enum pw_phase phase, int64_t start,
                      int64_t end)
{
    struct truth *t = context;
    t->step = step;
    pw_sim_gpu_tell(t->params, rank, step, phase, start, end, take_gpu, t);
}

static void take_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    struct rank *r = &((struct truth *)context)->ranks[rank];
    (void)step, (void)start, (void)end;
    r->ncomm = 0; /* all of them are over */
}

static void print_rank(FILE *out, const struct rank *r, int64_t rank)
{
    int64_t span = r->device_end - r->first;
    fprintf(out, "    {\"rank\": %" PRId64 ", \"kernels\": %" PRId64 ", \"copies\": %" PRId64, rank,
            r->kernels, r->copies);
    fprintf(out, ", \"span_ns\": %" PRId64 ", \"busy_ns\": %" PRId64, span,
            span - r->dry_ns - r->gap_ns);
    fprintf(out, ", \"compute_ns\": %" PRId64 ", \"copy_ns\": %" PRId64, r->compute_ns, r->copy_ns);
    fprintf(out, ", \"comm_ns\": %" PRId64 ", \"comm_exposed_ns\": %" PRId64, r->comm_ns,
            r->comm_ns - r->hidden_ns);
    fprintf(out, ", \"idle_host_ns\": %" PRId64 ", \"idle_gap_ns\": %" PRId64 "}", r->dry_ns,
            r->gap_ns);
}

int pw_sim_gputruth_print(FILE *out, const struct pw_sim_params *p)
{
    struct truth t = {p, calloc((size_t)p->ranks, sizeof(*t.ranks)), 0};
    struct pw_sim_sink sink = {&t,         0,         p->ranks - 1, take_event,
                               take_phase, take_work, take_step,    NULL};
    struct pw_sim_params marked = *p;
    struct pw_sim_result result;
    marked.steps_marked = 1; /* so that the ends of steps are told */
    for (int64_t r = 0; t.ranks && r < p->ranks; r++)
        t.ranks[r] = (struct rank){.clock = pw_sim_clock_of(p, r), .first = -1};
    int err = !t.ranks ? -ENOMEM : p->gpu ? pw_sim_play(&marked, 0, &sink, &result) : 0;
    fprintf(out, "[");
    for (int64_t r = 0; r < p->ranks && p->gpu && !err; r++) {
        fprintf(out, r ? ",\n" : "\n");
        print_rank(out, &t.ranks[r], r);
    }
    fprintf(out, "]");
    free(t.ranks);
    return err;
}
