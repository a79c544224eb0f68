/* Writes truth.json, which has what a report on the run should find (pw_sim_write_truth() of
 * runwrite.h). Plays the run once with all faults, and once without each fault, to get the time
 * that it costs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/safefile.h"
#include "sim/gpuwork.h"
#include "sim/noise.h"
#include "sim/params.h"
#include "sim/play.h"
#include "sim/runwrite.h"
#include "sim/samples.h"
#include "sim/unequal.h"
#include "sim/workranges.h"

/* When and in which steps each fault delayed ranks, for truth.json. */

struct pw_sim_effect {
    int64_t start_ns, end_ns; /* begin of the first and end of the last delay; start_ns < 0: none */
    int64_t held_ns;          /* delay, summed over its ranks */
    uint8_t *steps;           /* [steps] 1: delayed a rank in this step */
};

struct notes {
    const struct pw_sim_params *params;
    struct pw_sim_effect *effects;
};

static void ignore_event(void *context, int64_t rank, const struct pw_row_comm_event *event)
{
    (void)context, (void)rank, (void)event;
}

static void ignore_phase(void *context, int64_t rank, enum pw_phase phase, int64_t start,
                         int64_t end)
{
    (void)context, (void)rank, (void)phase, (void)start, (void)end;
}

static void ignore_work(void *context, const struct pw_sim_piece *work)
{
    (void)context, (void)work;
}

static void ignore_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    (void)context, (void)rank, (void)step, (void)start, (void)end;
}

static void take_fault(void *context, const struct pw_sim_held *held)
{
    struct notes *notes = context;
    struct pw_sim_effect *effect = &notes->effects[held->fault];
    if (effect->start_ns < 0 || held->start < effect->start_ns)
        effect->start_ns = held->start;
    if (held->end > effect->end_ns)
        effect->end_ns = held->end;
    effect->held_ns += held->end - held->start;
    if (held->step >= 0 && held->step < notes->params->steps)
        effect->steps[held->step] = 1;
}

/* `out` has room for all faults; the caller frees it by pw_sim_effects_free(). 0 or -ENOMEM. */
static int pw_sim_effects_play(const struct pw_sim_params *p, struct pw_sim_effect *out)
{
    struct notes notes = {p, out};
    struct pw_sim_sink sink = {&notes,       0,           p->ranks - 1, ignore_event,
                               ignore_phase, ignore_work, ignore_step,  take_fault};
    struct pw_sim_result result;
    int err = 0;
    for (size_t i = 0; i < p->nfaults; i++) {
        out[i] = (struct pw_sim_effect){.start_ns = -1, .end_ns = -1};
        out[i].steps = calloc((size_t)p->steps, 1);
        err = out[i].steps ? err : -ENOMEM;
    }
    return err ? err : p->nfaults ? pw_sim_play(p, 0, &sink, &result) : 0;
}

static void pw_sim_effects_free(const struct pw_sim_params *p, struct pw_sim_effect *effects)
{
    for (size_t i = 0; i < p->nfaults; i++)
        free(effects[i].steps);
}

/* The use of time by each rank's GPU, for truth.json. */

/* Kernels and copies never overlap each other, nor do collectives. */
struct span {
    int64_t start, end;
};

struct rank {
    struct pw_sim_clock clock;
    int64_t kernels, copies, compute_ns, copy_ns, comm_ns, dry_ns, gap_ns;
    int64_t first, device_end;
    struct span comm[64]; /* collectives of the step that later compute may still hide */
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

/* Adds an activity. The device was idle between device_end and `start`; `launch` shows why. */
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
    /* A collective begins after the work or the collective before it was reported. Reported compute
     * ends at its begin, or hides it from there on. */
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

static void take_work(void *context, const struct pw_sim_piece *work)
{
    struct truth *t = context;
    t->step = work->step;
    pw_sim_gpu_tell(t->params, work, take_gpu, t);
}

static void take_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    struct rank *r = &((struct truth *)context)->ranks[rank];
    (void)step, (void)start, (void)end;
    r->ncomm = 0; /* all of them have ended */
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

/* Prints a JSON array, empty for runs without GPUs. 0 or -ENOMEM. */
static int pw_sim_gputruth_print(FILE *out, const struct pw_sim_params *p)
{
    struct truth t = {p, calloc((size_t)p->ranks, sizeof(*t.ranks)), 0};
    struct pw_sim_sink sink = {&t,         0,         p->ranks - 1, take_event,
                               take_phase, take_work, take_step,    NULL};
    struct pw_sim_params marked = *p;
    struct pw_sim_result result;
    marked.steps_marked = 1; /* so that the ends of steps are reported */
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

/* The operators that a report on the run should show. */

enum { MOST_TEXTS = 64 };

struct sum {
    uint32_t type;
    uint8_t kind;
    int64_t calls, total_ns, self_ns, min_ns, max_ns, alloc_bytes;
};

struct sums {
    const struct pw_sim_params *params;
    struct sum all[MOST_TEXTS];
    int64_t *self_ns; /* [MOST_TEXTS * ranks] */
};

static void take_range(void *context, int64_t rank, const struct pw_row_range *range,
                       int64_t self_ns)
{
    struct sums *sums = context;
    struct sum *sum = &sums->all[range->name];
    int64_t ns = range->end - range->start;
    sum->min_ns = !sum->calls || ns < sum->min_ns ? ns : sum->min_ns;
    sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
    sum->type = range->category;
    sum->kind = range->kind;
    sum->calls++;
    sum->total_ns += ns;
    sum->self_ns += self_ns;
    sum->alloc_bytes += range->alloc_bytes;
    sums->self_ns[range->name * sums->params->ranks + rank] += self_ns;
}

static void take_range_work(void *context, const struct pw_sim_piece *work)
{
    struct sums *sums = context;
    struct pw_sim_clock clock = pw_sim_clock_of(sums->params, work->rank);
    struct pw_sim_piece in_file = *work;
    in_file.start = pw_sim_local_time(&clock, work->start);
    in_file.end = pw_sim_local_time(&clock, work->end);
    pw_sim_operators_tell(sums->params, &in_file, take_range, sums);
}

static void print_sum(FILE *out, const struct sums *sums, uint32_t name)
{
    const struct sum *sum = &sums->all[name];
    fprintf(out, "    {\"name\": \"%s\", \"type\": \"%s\", \"kind\": \"%s\", ", pw_sim_text(name),
            pw_sim_text(sum->type), pw_enum_name(PW_F_KIND, sum->kind));
    fprintf(out, "\"calls\": %" PRId64 ", \"total_ns\": %" PRId64 ", \"self_ns\": %" PRId64,
            sum->calls, sum->total_ns, sum->self_ns);
    fprintf(out, ", \"min_ns\": %" PRId64 ", \"max_ns\": %" PRId64 ", \"alloc_bytes\": %" PRId64,
            sum->min_ns, sum->max_ns, sum->alloc_bytes);
    fprintf(out, ",\n     \"rank_self_ns\": [");
    for (int64_t r = 0; r < sums->params->ranks; r++)
        fprintf(out, "%s%" PRId64, r ? ", " : "", sums->self_ns[name * sums->params->ranks + r]);
    fprintf(out, "]}");
}

/* The JSON array of the operators with their calls and times over all ranks and on each. 0 or
 * -ENOMEM. */
static int pw_sim_optruth_print(FILE *out, const struct pw_sim_params *p)
{
    struct sums *sums = calloc(1, sizeof(*sums));
    int64_t *self_ns = calloc((size_t)p->ranks * MOST_TEXTS, sizeof(*self_ns));
    struct pw_sim_sink sink = {
        sums, 0, p->ranks - 1, ignore_event, ignore_phase, take_range_work, ignore_step, NULL};
    struct pw_sim_result result;
    const char *comma = "";
    int err = sums && self_ns ? 0 : -ENOMEM;
    if (!err) {
        sums->params = p;
        sums->self_ns = self_ns;
        err = p->operators ? pw_sim_play(p, 0, &sink, &result) : 0;
    }
    fprintf(out, "[");
    for (uint32_t name = 0; pw_sim_text(name) && !err; name++) {
        if (!sums->all[name].calls)
            continue;
        fprintf(out, "%s\n", comma);
        print_sum(out, sums, name);
        comma = ",";
    }
    fprintf(out, "]");
    free(self_ns);
    free(sums);
    return err;
}

static void print_hit_ranks(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f)
{
    const char *comma = "";
    fprintf(out, "\"ranks\": [");
    for (int64_t r = 0; r < p->ranks; r++)
        if (pw_sim_fault_on_rank(p, f, r)) {
            fprintf(out, "%s%" PRId64, comma, r);
            comma = ", ";
        }
    fprintf(out, "]");
}

static int is_stop(const struct pw_sim_fault *f)
{
    enum pw_sim_how how = pw_sim_kind_of(f->kind)->how;
    return how == PW_SIM_STOPS || how == PW_SIM_STOPS_ONCE;
}

/* Prints the steps that were hit, when these follow from the times and were not declared. */
static void print_hit_steps(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f,
                            const struct pw_sim_effect *effect)
{
    int64_t rank = f->kind == PW_SIM_SLOW_HOST ? f->host * p->ranks_per_host : f->rank;
    const char *comma = "";
    fprintf(out, "\"steps\": [");
    for (int64_t s = 0; s < p->steps; s++)
        if (is_stop(f) ? effect->steps[s] : pw_sim_fault_hits(p, f, rank < 0 ? 0 : rank, s)) {
            fprintf(out, "%s%" PRId64, comma, s);
            comma = ", ";
        }
    fprintf(out, "]");
}

static void print_advice(FILE *out, const struct pw_sim_params *p, const struct pw_sim_fault *f)
{
    const char *slowest = p->queues ? pw_sim_queue_slowest(f->kind) : NULL;
    if (slowest)
        fprintf(out, ", \"advice\": \"%s\", \"slowest\": \"%s\"",
                f->kind == PW_SIM_SLOW_TRANSFER ? "data_transfer_slow" : "data_processing_slow",
                slowest);
}

static int print_fault(FILE *out, const struct pw_sim_params *p, size_t i, int64_t elapsed,
                       const struct pw_sim_effect *effect)
{
    const struct pw_sim_fault *f = &p->faults[i];
    const struct pw_sim_kind *kind = pw_sim_kind_of(f->kind);
    struct pw_sim_result without;
    int err = pw_sim_play(p, (uint32_t)1 << i, NULL, &without);
    if (err)
        return err;
    fprintf(out, "%s    {\"kind\": \"%s\", ", i ? ",\n" : "\n", kind->name);
    print_hit_ranks(out, p, f);
    fprintf(out, ", \"rank\": %" PRId64 ", \"peer\": %" PRId64 ", \"host\": %" PRId64, f->rank,
            f->peer, f->host);
    fprintf(out, ", \"first_step\": %" PRId64 ", \"last_step\": %" PRId64 ",\n     ", f->first,
            f->last);
    print_hit_steps(out, p, f, effect);
    fprintf(out, ",\n     \"phase\": \"%s\", \"percent\": %.6g, \"extra_ns\": %.0f",
            pw_enum_name(PW_F_PHASE, f->phase), f->percent, f->percent / 100 * (double)p->step_ns);
    if (f->kind == PW_SIM_SLOW_OPERATOR)
        fprintf(out, ", \"operator\": \"%s\", \"factor\": %.6g", f->name, f->factor);
    print_advice(out, p, f);
    fprintf(out, ", \"gain_ns\": %" PRId64 ",\n     ", elapsed - without.elapsed_ns);
    fprintf(out, "\"scope\": \"%s\", \"part\": \"%s\", \"cause\": \"%s\", \"lost_ns\": %" PRId64,
            pw_sim_scope_name(pw_sim_scope_of(f)), pw_sim_part_of(f), kind->cause,
            elapsed - without.elapsed_ns);
    fprintf(out, ", \"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"held_ns\": %" PRId64 "}",
            effect->start_ns, effect->end_ns, effect->held_ns);
    return 0;
}

static int print_faults(FILE *out, const struct pw_sim_params *p, int64_t elapsed)
{
    struct pw_sim_effect effects[PW_SIM_FAULTS];
    int err = pw_sim_effects_play(p, effects);
    fprintf(out, "  \"faults\": [");
    for (size_t i = 0; i < p->nfaults && !err; i++)
        err = print_fault(out, p, i, elapsed, &effects[i]);
    fprintf(out, "%s],\n", p->nfaults ? "\n  " : "");
    pw_sim_effects_free(p, effects);
    return err;
}

static int print_truth(FILE *out, const struct pw_sim_params *p)
{
    struct pw_sim_result with, without;
    int err = pw_sim_play(p, 0, NULL, &with);
    err = err ? err : pw_sim_play(p, UINT32_MAX, NULL, &without);
    if (err)
        return err;
    fprintf(out, "{\n  \"seed\": %" PRIu64 ",\n  \"pattern\": \"%s\",\n", p->seed,
            pw_sim_pattern_name(p->pattern));
    fprintf(out, "  \"ranks\": %" PRId64 ",\n  \"steps\": %" PRId64 ",\n", p->ranks, p->steps);
    fprintf(out, "  \"collectives\": %" PRId64 ",\n  \"ranks_per_host\": %" PRId64 ",\n",
            p->collectives, p->ranks_per_host);
    fprintf(out, "  \"noise_all\": %.6g,\n", pw_sim_noise_all(p));
    fprintf(out, "  \"noise\": %.6g,\n  \"step_work_ns\": %" PRId64 ",\n", p->noise, p->step_ns);
    fprintf(out, "  \"ends_work_ns\": %" PRId64 ",\n", p->ends_ns);
    fprintf(out, "  \"elapsed_ns\": %" PRId64 ",\n  \"elapsed_without_faults_ns\": %" PRId64 ",\n",
            with.elapsed_ns, without.elapsed_ns);
    err = print_faults(out, p, with.elapsed_ns);
    fprintf(out, "  \"design\": ");
    err = err ? err : pw_sim_unequal_print(out, p, with.elapsed_ns);
    fprintf(out, ",\n  \"operators\": ");
    err = err ? err : pw_sim_optruth_print(out, p);
    fprintf(out, ",\n  \"gpu\": ");
    err = err ? err : pw_sim_gputruth_print(out, p);
    fprintf(out, "\n}\n");
    return err;
}

int pw_sim_write_truth(const char *dir, const struct pw_sim_params *p, char *problem, size_t size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%.4000s/truth.json", dir);
    struct pw_newfile file;
    int err = pw_newfile_open(path, 0600, &file);
    if (!err)
        err = pw_newfile_close(&file, print_truth(file.out, p));
    if (err)
        snprintf(problem, size, "cannot write %.200s: %s", path, strerror(-err));
    return err;
}
