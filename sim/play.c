/* The loop over the steps of a run, the time before the first and after the last step, and when
 * each fault is active; see play.h. */
#include "sim/play.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/faults.h"
#include "sim/params.h"
#include "sim/random.h"
#include "sim/script.h"
#include "sim/stage.h"
#include "sim/unequal.h"

/* The time before the first step and after the last: MPI_Init, set-up, the program's end,
 * MPI_Finalize. */

/* Duration of MPI_Init and MPI_Finalize after all ranks have entered. */
enum { INIT_NS = 20000000, FINALIZE_NS = 5000000 };

/* A random stream of its own, so that other features draw the same numbers as before. */
enum { STREAM = 0x656e6473 };

static void add_faults(struct pw_sim_play *play, enum pw_sim_fault_kind kind)
{
    const struct pw_sim_params *p = play->params;
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        if (f->kind != kind || (play->without >> i & 1))
            continue;
        pw_sim_tell_fault(play, f->rank, i, play->now[f->rank], play->now[f->rank] + f->ns);
        play->now[f->rank] = pw_sim_advance(play, f->rank, play->now[f->rank] + f->ns, 0);
    }
}

static void work(struct pw_sim_play *play, uint64_t which)
{
    const struct pw_sim_params *p = play->params;
    for (int64_t r = 0; r < p->ranks; r++) {
        uint64_t bits = pw_sim_bits(p->seed, (uint64_t)r, STREAM, which);
        double ns = (double)p->ends_ns * pw_sim_lognormal(bits, p->noise);
        play->now[r] = pw_sim_advance(play, r, play->now[r], (int64_t)ns);
    }
}

/* A call that no rank leaves before all have entered. */
static void meet(struct pw_sim_play *play, enum pw_op op, int64_t ns)
{
    const struct pw_sim_sink *sink = play->sink;
    int64_t last = 0;
    for (int64_t r = 0; r < play->params->ranks; r++)
        last = play->now[r] > last ? play->now[r] : last;
    for (int64_t r = 0; r < play->params->ranks; r++) {
        struct pw_row_comm_event event = {
            .start = play->now[r],
            .end = pw_sim_advance(play, r, last, ns),
            .op = (uint16_t)op,
            .source = PW_SOURCE_MPI,
            .comm = -1,
            .peer = -1,
        };
        event.inside_ns = event.end - event.start;
        play->now[r] = event.end;
        if (sink && r >= sink->first && r <= sink->last)
            sink->event(sink->context, r, &event);
    }
}

static void pw_sim_ends_start(struct pw_sim_play *play)
{
    if (!play->params->ends_ns)
        return;
    play->step = -1;
    add_faults(play, PW_SIM_LATE_START);
    meet(play, PW_OP_Init, INIT_NS);
    add_faults(play, PW_SIM_LATE_SETUP);
    work(play, 0);
}

static void pw_sim_ends_finish(struct pw_sim_play *play)
{
    if (!play->params->ends_ns)
        return;
    play->step = play->params->steps;
    work(play, 1);
    add_faults(play, PW_SIM_LATE_END);
    meet(play, PW_OP_Finalize, FINALIZE_NS);
    for (int64_t r = 0; r < play->params->ranks; r++)
        pw_sim_tell_stops(play, r, play->now[r]);
}

struct pw_sim_group pw_sim_group_of(const struct pw_sim_params *p, enum pw_sim_comm comm,
                                    int64_t rank)
{
    int64_t block = p->pipeline * p->tensor; /* ranks of one replica of the model */
    switch (comm) {
    case PW_SIM_TENSOR:
        return (struct pw_sim_group){rank - rank % p->tensor, 1, p->tensor};
    case PW_SIM_REPLICAS:
        return (struct pw_sim_group){rank % block, block, p->ranks / block};
    default:
        return (struct pw_sim_group){0, 1, p->ranks};
    }
}

int pw_sim_fault_on_rank(const struct pw_sim_params *p, const struct pw_sim_fault *f, int64_t rank)
{
    if (pw_sim_kind_of(f->kind)->how == PW_SIM_ELSE)
        return 0;
    switch (pw_sim_scope_of(f)) {
    case PW_SIM_ON_RANK:
        return rank == f->rank;
    case PW_SIM_ON_HOST:
        return pw_sim_host(p, rank) == f->host;
    case PW_SIM_ON_ALL:
        return 1;
    default:
        return 0;
    }
}

int pw_sim_fault_hits(const struct pw_sim_params *p, const struct pw_sim_fault *f, int64_t rank,
                      int64_t step)
{
    if (step < f->first || step > f->last || !pw_sim_fault_on_rank(p, f, rank) ||
        pw_sim_kind_of(f->kind)->how == PW_SIM_AT_ENDS)
        return 0;
    if (f->kind == PW_SIM_CHECKPOINT)
        return (step - f->first) % f->period == f->period - 1;
    return f->kind != PW_SIM_JITTER || (step - f->first) % f->period == 0;
}

static int start(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    size_t n = (size_t)p->ranks;
    play->now = malloc(n * sizeof(*play->now));
    play->phase_start = malloc(n * sizeof(*play->phase_start));
    play->scratch = malloc(2 * n * sizeof(*play->scratch));
    play->reduced = calloc(n, sizeof(*play->reduced));
    play->told = malloc(n * sizeof(*play->told));
    if (!play->now || !play->phase_start || !play->scratch || !play->reduced || !play->told)
        return -ENOMEM;
    for (size_t r = 0; r < n; r++) {
        play->now[r] = PW_SIM_START_NS;
        play->now[r] += (int64_t)(pw_sim_bits(p->seed, r, 1, 1) % 50000);
        play->told[r] = play->now[r];
    }
    /* The noise of the stages adds up to that of the step. */
    play->sigma = p->noise / sqrt(pw_sim_sum_of_squares(p));
    return 0;
}

static void tell_steps(struct pw_sim_play *play, const int64_t *began)
{
    const struct pw_sim_sink *sink = play->sink;
    if (!sink || !play->params->steps_marked || play->params->bare)
        return;
    for (int64_t r = sink->first; r <= sink->last; r++)
        sink->step(sink->context, r, play->step, began[r], play->now[r]);
}

static int64_t latest(const struct pw_sim_play *play)
{
    int64_t most = play->now[0];
    for (int64_t r = 1; r < play->params->ranks; r++)
        most = play->now[r] > most ? play->now[r] : most;
    return most;
}

int pw_sim_play(const struct pw_sim_params *p, uint32_t without, const struct pw_sim_sink *sink,
                struct pw_sim_result *result)
{
    struct pw_sim_play play = {.params = p, .without = without, .sink = sink};
    int64_t *began = malloc((size_t)p->ranks * sizeof(*began));
    int err = began ? start(&play) : -ENOMEM;
    if (!err)
        pw_sim_ends_start(&play);
    for (int64_t s = 0; s < p->steps && !err; s++) {
        play.step = s;
        play.draw = 0;
        play.mean_length = p->even_lengths ? pw_sim_mean_length(p, s) : 1;
        for (int64_t r = 0; r < p->ranks; r++)
            began[r] = play.now[r];
        pw_sim_stops_step(&play);
        pw_sim_pattern_step(&play);
        pw_sim_extra_pauses(&play);
        for (int64_t r = 0; r < p->ranks; r++)
            pw_sim_tell_stops(&play, r, play.now[r]);
        tell_steps(&play, began);
        err = play.failed;
    }
    if (!err) {
        pw_sim_ends_finish(&play);
        result->end_ns = latest(&play);
        result->elapsed_ns = result->end_ns - PW_SIM_START_NS;
        for (int c = 0; c < PW_SIM_COMMS; c++)
            result->collectives[c] = play.collectives[c];
    }
    free(began);
    free(play.now);
    free(play.phase_start);
    free(play.scratch);
    free(play.reduced);
    free(play.told);
    pw_sim_script_destroy(play.script);
    free(play.weights);
    free(play.overlap);
    return err;
}
