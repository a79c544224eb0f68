/* Plays the run once more and notes what faults do; see effects.h. */
#include "sim/effects.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/play.h"

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

static void ignore_work(void *context, int64_t rank, int64_t step, enum pw_phase phase,
                        int64_t start, int64_t end)
{
    (void)context, (void)rank, (void)step, (void)phase, (void)start, (void)end;
}

static void ignore_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    (void)context, (void)rank, (void)step, (void)start, (void)end;
}

static void take_fault(void *context, int64_t rank, size_t fault, int64_t step, int64_t start,
                       int64_t end)
{
    struct notes *notes = context;
    struct pw_sim_effect *effect = &notes->effects[fault];
    (void)rank;
    if (effect->start_ns < 0 || start < effect->start_ns)
        effect->start_ns = start;
    if (end > effect->end_ns)
        effect->end_ns = end;
    effect->held_ns += end - start;
    if (step >= 0 && step < notes->params->steps)
        effect->steps[step] = 1;
}

int pw_sim_effects_play(const struct pw_sim_params *p, struct pw_sim_effect *out)
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

void pw_sim_effects_free(const struct pw_sim_params *p, struct pw_sim_effect *effects)
{
    for (size_t i = 0; i < p->nfaults; i++)
        free(effects[i].steps);
}
