/* The virtual clock of a run: steps, and which fault is on; see play.h. */
#include "sim/play.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/ends.h"
#include "sim/extra.h"
#include "sim/kinds.h"
#include "sim/random.h"
#include "sim/script.h"
#include "sim/stage.h"
#include "sim/stops.h"
#include "sim/unequal.h"

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
    /* The stages' noises add up to that of the step. */
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
