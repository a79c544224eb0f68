/* The virtual clock of a run: steps, and which fault is on; see play.h. */
#include "sim/play.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/random.h"
#include "sim/stage.h"

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

int pw_sim_fault_hits(const struct pw_sim_params *p, const struct pw_sim_fault *f, int64_t rank,
                      int64_t step)
{
    if (step < f->first || step > f->last)
        return 0;
    switch (f->kind) {
    case PW_SIM_SLOW_RANK:
    case PW_SIM_STARVED_LOADER:
    case PW_SIM_SLOW_TRANSFER:
    case PW_SIM_SLOW_OPERATOR:
    case PW_SIM_SLOW_GPU:
    case PW_SIM_HOST_BOUND:
        return rank == f->rank;
    case PW_SIM_SLOW_HOST:
        return pw_sim_host(p, rank) == f->host;
    case PW_SIM_JITTER:
        return rank == f->rank && (step - f->first) % f->period == 0;
    default:
        return 0;
    }
}

static int start(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    size_t n = (size_t)p->ranks;
    play->now = malloc(n * sizeof(*play->now));
    play->phase_start = malloc(n * sizeof(*play->phase_start));
    play->scratch = malloc(2 * n * sizeof(*play->scratch));
    play->reduced = calloc(n, sizeof(*play->reduced));
    if (!play->now || !play->phase_start || !play->scratch || !play->reduced)
        return -ENOMEM;
    for (size_t r = 0; r < n; r++) {
        play->now[r] = PW_SIM_START_NS;
        play->now[r] += (int64_t)(pw_sim_bits(p->seed, r, 1, 1) % 50000);
    }
    /* The stages' noises add up to that of the step. */
    play->sigma = p->noise / sqrt(pw_sim_sum_of_squares(p));
    return 0;
}

static void tell_steps(struct pw_sim_play *play, const int64_t *began)
{
    const struct pw_sim_sink *sink = play->sink;
    if (!sink || !play->params->steps_marked)
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
    for (int64_t s = 0; s < p->steps && !err; s++) {
        play.step = s;
        play.draw = 0;
        for (int64_t r = 0; r < p->ranks; r++)
            began[r] = play.now[r];
        pw_sim_pattern_step(&play);
        tell_steps(&play, began);
    }
    if (!err) {
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
    return err;
}
