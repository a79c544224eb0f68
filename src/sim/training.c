/* Training whose ranks do different things: pipelines with one forward and one backward in turn
 * (1F1B), and mixtures of experts; see pattern.h. */
#include <errno.h>
#include <stdlib.h>

#include "sim/pattern.h"
#include "sim/script.h"
#include "sim/unequal.h"

/* A pipeline of `stages` ranks, each with `chunks` parts of the model: part k of stage s is the
 * model's part k * stages + s. */
struct pipeline {
    const struct pw_sim_params *params;
    struct pw_sim_script *script;
    int64_t stages, chunks, microbatches, rank, stage;
};

/* How much more work than another part of the model has this one of the rank's: what the first and
 * the last stage have more is in their first and last part. */
static double more_work(const struct pipeline *l, int64_t part)
{
    const double more = pw_sim_stage_growth(l->params, l->stage) - 1;
    if (l->params->even_stages)
        return more;
    return part == 0 || part == l->stages * l->chunks - 1 ? more * (double)l->chunks : 0;
}

/* Of the pass of one microbatch through one part, from the model's part before it, or (backward)
 * after it: what it waits for, its work, and whom it goes to. */
static void add_pass(const struct pipeline *l, int64_t microbatch, int64_t chunk, int forward)
{
    const struct pw_sim_params *p = l->params;
    int64_t parts = l->stages * l->chunks, part = chunk * l->stages + l->stage;
    int64_t before = forward ? part - 1 : part + 1, after = forward ? part + 1 : part - 1;
    int64_t first = l->rank - l->stage, pass = 2 * microbatch * parts + !forward;
    double n = (double)(l->microbatches * l->chunks);
    struct pw_sim_op message = {.bytes = p->message, .is_buffered = 1};
    struct pw_sim_op work = {
        .kind = PW_SIM_WORKS,
        .phase = forward ? PW_PHASE_FORWARD : PW_PHASE_BACKWARD,
        .mean_ns = (forward ? FORWARD_SHARE : BACKWARD_SHARE) * (double)p->step_ns / n *
                   (1 + more_work(l, part)),
        .share = 1 / n,
    };
    if (before >= 0 && before < parts && l->stages > 1) {
        message.kind = PW_SIM_RECVS;
        message.peer = first + before % l->stages;
        message.tag = pass + 2 * part;
        pw_sim_script_add(l->script, l->rank, &message);
    }
    pw_sim_script_add(l->script, l->rank, &work);
    if (after >= 0 && after < parts && l->stages > 1) {
        message.kind = PW_SIM_SENDS;
        message.peer = first + after % l->stages;
        message.tag = pass + 2 * after;
        pw_sim_script_add(l->script, l->rank, &message);
    }
}

/* The i-th pass, forward or backward, of a rank: microbatches go in groups of as many as there are
 * stages through one chunk after the other. */
static void add_nth(const struct pipeline *l, int64_t i, int forward)
{
    int64_t group = l->stages * l->chunks, chunk = i % group / l->stages;
    int64_t microbatch = i / group * l->stages + i % l->stages;
    if (l->chunks == 1)
        add_pass(l, i, 0, forward);
    else
        add_pass(l, microbatch, forward ? chunk : l->chunks - 1 - chunk, forward);
}

/* Some forward passes, then one forward and one backward in turn, then the backward passes that are
 * left (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
 * Megatron-LM", SC 2021). */
static void add_schedule(const struct pipeline *l)
{
    int64_t all = l->microbatches * l->chunks, ahead = l->stages - 1 - l->stage;
    int64_t warm = l->chunks == 1 ? ahead : 2 * ahead + (l->chunks - 1) * l->stages;
    warm = warm < all ? warm : all;
    for (int64_t i = 0; i < warm; i++)
        add_nth(l, i, 1);
    for (int64_t i = warm; i < all; i++) {
        add_nth(l, i, 1);
        add_nth(l, i - warm, 0);
    }
    for (int64_t i = all - warm; i < all; i++)
        add_nth(l, i, 0);
}

static struct pw_sim_script *make_pipeline(const struct pw_sim_params *p)
{
    struct pw_sim_script *script = pw_sim_script_create(p, 6 * p->microbatches * p->chunks);
    for (int64_t r = 0; r < p->ranks && script; r++) {
        struct pipeline line = {p, script,         p->pipeline, p->chunks, p->microbatches,
                                r, r % p->pipeline};
        add_schedule(&line);
    }
    return script;
}

void pw_sim_pipeline_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    if (!play->script)
        play->script = make_pipeline(p);
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_script_step(play);
    for (int64_t i = 0; i < p->collectives; i++)
        pw_sim_reduce_phase(play, PW_SIM_REPLICAS, p->bytes / p->collectives);
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    pw_sim_reduce_phase(play, PW_SIM_WORLD, PW_SIM_NORM_BYTES);
}

/* A layer: half of its work is alike on all ranks, half goes by the tokens that the rank's experts
 * are sent. */
static void moe_layer(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    const struct pw_sim_params *p = play->params;
    double half = pw_sim_part(play, share) / 2, part = 0.5 / (double)p->microbatches;
    int64_t bytes = p->bytes / p->microbatches;
    pw_sim_phase_begin(play);
    pw_sim_work(play, phase, half, part);
    pw_sim_collective_weighted(play, PW_OP_Alltoallv, bytes, 0, play->weights);
    play->draw++;
    for (int64_t r = 0; r < p->ranks; r++)
        pw_sim_work_one(play, r, phase, half * play->weights[r], part);
    pw_sim_collective_weighted(play, PW_OP_Alltoallv, bytes, 1, play->weights);
    pw_sim_phase_end(play, phase);
}

/* Tokens of each rank's experts, by the mean. */
static void fill_weights(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    double sum = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        play->weights[r] = pw_sim_tokens(p, r, play->step);
        sum += play->weights[r];
    }
    for (int64_t r = 0; r < p->ranks && p->even_tokens; r++)
        play->weights[r] = sum / (double)p->ranks;
}

void pw_sim_moe_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    double layers = (double)p->microbatches;
    if (!play->weights)
        play->weights = malloc((size_t)p->ranks * sizeof(*play->weights));
    if (!play->weights) {
        play->failed = -ENOMEM;
        return;
    }
    fill_weights(play);
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    for (int64_t i = 0; i < p->microbatches; i++)
        moe_layer(play, PW_PHASE_FORWARD, FORWARD_SHARE / layers);
    for (int64_t i = 0; i < p->microbatches; i++)
        moe_layer(play, PW_PHASE_BACKWARD, BACKWARD_SHARE / layers);
    for (int64_t i = 0; i < p->collectives; i++)
        pw_sim_reduce_phase(play, PW_SIM_WORLD, p->bytes / p->collectives);
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
}
