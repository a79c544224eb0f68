/* The programs that can be simulated, as sequences of stages; see stage.h. */
#include "sim/pattern.h"

#include "sim/overlap.h"
#include "sim/script.h"

enum { HALO_BYTES = 1 << 16 };

void pw_sim_work_phase(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    pw_sim_phase_begin(play);
    pw_sim_work(play, phase, pw_sim_part(play, share), 1);
    pw_sim_phase_end(play, phase);
}

void pw_sim_reduce_phase(struct pw_sim_play *play, enum pw_sim_comm comm, int64_t bytes)
{
    pw_sim_phase_begin(play);
    pw_sim_collective(play, comm, PW_OP_Allreduce, bytes);
    pw_sim_phase_end(play, PW_PHASE_ALLREDUCE);
}

static int64_t pieces(const struct pw_sim_params *p)
{
    return p->collectives > 0 ? p->collectives : 1;
}

static void data_step(struct pw_sim_play *play)
{
    int64_t n = pieces(play->params);
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    for (int64_t i = 0; i < n; i++) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_BACKWARD, pw_sim_part(play, BACKWARD_SHARE) / (double)n,
                    1 / (double)n);
        pw_sim_phase_end(play, PW_PHASE_BACKWARD);
        if (play->params->collectives && play->params->overlap > 0)
            pw_sim_overlap_begin(play, play->params->bytes / n);
        else if (play->params->collectives && play->params->gpu)
            pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, play->params->bytes / n);
        else if (play->params->collectives)
            pw_sim_reduce_phase(play, PW_SIM_WORLD, play->params->bytes / n);
    }
    if (play->params->overlap > 0)
        pw_sim_overlap_end(play);
    if (play->params->gpu)
        pw_sim_join(play);
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
}

/* Columns of the grid: the largest divisor of the ranks that is at most their square root. */
static int64_t grid_width(int64_t ranks)
{
    int64_t width = 1;
    for (int64_t w = 2; w * w <= ranks; w++)
        width = ranks % w == 0 ? w : width;
    return width;
}

static void halo_step(struct pw_sim_play *play)
{
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_exchange(play, grid_width(play->params->ranks), HALO_BYTES);
    pw_sim_work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pw_sim_exchange(play, grid_width(play->params->ranks), HALO_BYTES);
    pw_sim_work_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    for (int64_t i = 0; i < play->params->collectives; i++)
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, PW_SIM_NORM_BYTES);
}

static void pipeline_phase(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    const struct pw_sim_params *p = play->params;
    double part_of_phase = 1 / (double)p->microbatches;
    for (int64_t m = 0; m < p->microbatches; m++) {
        pw_sim_phase_begin(play);
        pw_sim_pipeline(play, phase, phase == PW_PHASE_FORWARD,
                        pw_sim_part(play, share) * part_of_phase, part_of_phase);
        pw_sim_collective(play, PW_SIM_TENSOR, PW_OP_Allreduce, p->bytes / 64);
        pw_sim_phase_end(play, phase);
    }
}

static void hybrid_step(struct pw_sim_play *play)
{
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pipeline_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pipeline_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    for (int64_t i = 0; i < play->params->collectives; i++)
        pw_sim_reduce_phase(play, PW_SIM_REPLICAS, play->params->bytes / play->params->collectives);
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    pw_sim_reduce_phase(play, PW_SIM_WORLD, PW_SIM_NORM_BYTES);
}

/* Messages with neighbours in a ring of ranks, to one side and to the other. Ranks with even
 * numbers send first, so that sends that wait are received. */
static void add_shift(struct pw_sim_script *script, const struct pw_sim_params *p, int64_t rank,
                      int64_t by)
{
    int64_t to = (rank + by + p->ranks) % p->ranks, from = (rank - by + p->ranks) % p->ranks;
    struct pw_sim_op send = {.kind = PW_SIM_SENDS, .peer = to, .bytes = p->message, .tag = 1 + by};
    struct pw_sim_op recv = {
        .kind = PW_SIM_RECVS, .peer = from, .bytes = p->message, .tag = 1 + by};
    pw_sim_script_add(script, rank, rank % 2 ? &recv : &send);
    pw_sim_script_add(script, rank, rank % 2 ? &send : &recv);
}

static struct pw_sim_script *make_ring(const struct pw_sim_params *p)
{
    static const struct {
        enum pw_phase phase;
        double share;
        int64_t shift;
    } parts[] = {{PW_PHASE_DATA, DATA_SHARE, 0},
                 {PW_PHASE_FORWARD, FORWARD_SHARE, 1},
                 {PW_PHASE_BACKWARD, BACKWARD_SHARE, -1},
                 {PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE, 0}};
    struct pw_sim_script *script = pw_sim_script_create(p, 8);
    for (int64_t r = 0; r < p->ranks && script; r++)
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            struct pw_sim_op work = {.kind = PW_SIM_WORKS,
                                     .phase = parts[i].phase,
                                     .mean_ns = parts[i].share * (double)p->step_ns,
                                     .share = 1};
            pw_sim_script_add(script, r, &work);
            if (parts[i].shift)
                add_shift(script, p, r, parts[i].shift);
        }
    return script;
}

static void ring_step(struct pw_sim_play *play)
{
    if (!play->script)
        play->script = make_ring(play->params);
    pw_sim_script_step(play);
}

static void nested_step(struct pw_sim_play *play)
{
    double n = (double)play->params->inner;
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    for (int64_t i = 0; i < play->params->inner; i++) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_FORWARD, pw_sim_part(play, FORWARD_SHARE) / n, 1 / n);
        pw_sim_phase_end(play, PW_PHASE_FORWARD);
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_BACKWARD, pw_sim_part(play, BACKWARD_SHARE) / n, 1 / n);
        pw_sim_phase_end(play, PW_PHASE_BACKWARD);
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, PW_SIM_NORM_BYTES);
    }
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    pw_sim_reduce_phase(play, PW_SIM_WORLD, play->params->bytes);
}

/* As a simulation that balances its load in every 4th step, and writes a summary in every 10th. */
static void periods_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    pw_sim_work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pw_sim_exchange(play, grid_width(p->ranks), HALO_BYTES);
    pw_sim_work_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    if (play->step % 4 == 3) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_OTHER, pw_sim_part(play, FORWARD_SHARE), 1);
        pw_sim_phase_end(play, PW_PHASE_OTHER);
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Alltoall, p->bytes);
    }
    pw_sim_work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    pw_sim_reduce_phase(play, PW_SIM_WORLD, PW_SIM_NORM_BYTES);
    if (play->step % 10 == 9)
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allgather, p->bytes / 16);
}

void pw_sim_pattern_step(struct pw_sim_play *play)
{
    static void (*const steps[PW_SIM_PATTERNS])(struct pw_sim_play *) = {
        data_step,   halo_step,    hybrid_step,          ring_step,
        nested_step, periods_step, pw_sim_pipeline_step, pw_sim_moe_step};
    steps[play->params->pattern](play);
}

double pw_sim_sum_of_squares(const struct pw_sim_params *p)
{
    int64_t forward = p->pattern == PW_SIM_HYBRID     ? p->microbatches
                      : p->pattern == PW_SIM_NESTED   ? p->inner
                      : p->pattern == PW_SIM_PIPELINE ? p->microbatches * p->chunks
                      : p->pattern == PW_SIM_MOE      ? 2 * p->microbatches
                                                      : 1;
    int64_t backward = p->pattern == PW_SIM_DATA ? pieces(p) : forward;
    return DATA_SHARE * DATA_SHARE + OPTIMIZER_SHARE * OPTIMIZER_SHARE +
           FORWARD_SHARE * FORWARD_SHARE / (double)forward +
           BACKWARD_SHARE * BACKWARD_SHARE / (double)backward;
}
