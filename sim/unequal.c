/* Draws unequal work, from random streams of its own; see unequal.h. */
#include "sim/unequal.h"

#include <inttypes.h>

#include "sim/play.h"
#include "sim/random.h"

enum { TOKENS = 4096, ROTATES_AFTER = 10, BURSTS_PER_100 = 5, BURST_TIMES = 4 };
enum { EXPERT_STREAM = 0x65787074, LENGTH_STREAM = 0x6c656e67 };
static const double token_noise = 0.03;

/* Returns the rank whose expert gets most tokens, or -1; *more is the excess as a multiple of the
 * mean. */
static int64_t hot_rank(const struct pw_sim_params *p, int64_t step, double *more)
{
    uint64_t first = pw_sim_bits(p->seed, EXPERT_STREAM, 0, 0) % (uint64_t)p->ranks;
    uint64_t bits = pw_sim_bits(p->seed, EXPERT_STREAM, (uint64_t)step, 1);
    *more = p->hot;
    switch (p->routing) {
    case PW_SIM_ROUTING_HOT:
        return (int64_t)first;
    case PW_SIM_ROUTING_ROTATING:
        return ((int64_t)first + step / ROTATES_AFTER) % p->ranks;
    case PW_SIM_ROUTING_BURST:
        *more = BURST_TIMES * p->hot;
        return bits % 100 < BURSTS_PER_100 ? (int64_t)(pw_sim_mix(bits) % (uint64_t)p->ranks) : -1;
    default:
        return -1;
    }
}

double pw_sim_tokens(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    double more, n = (double)p->ranks;
    int64_t hot = hot_rank(p, step, &more);
    double share = hot < 0 ? 1 : (rank == hot ? 1 + more : 1) * n / (n + more);
    uint64_t bits = pw_sim_bits(p->seed, EXPERT_STREAM + 1, (uint64_t)rank, (uint64_t)step);
    return share * pw_sim_lognormal(bits, token_noise);
}

/* Returns the number of ranks of one replica of the model. */
static int64_t replica_size(const struct pw_sim_params *p)
{
    int is_split = p->pattern == PW_SIM_HYBRID || p->pattern == PW_SIM_PIPELINE;
    return is_split ? p->pipeline * p->tensor : 1;
}

double pw_sim_length(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    uint64_t replica = (uint64_t)(rank / replica_size(p));
    uint64_t bits = pw_sim_bits(p->seed, LENGTH_STREAM, replica, (uint64_t)step);
    return pw_sim_lognormal(bits, p->lengths);
}

double pw_sim_mean_length(const struct pw_sim_params *p, int64_t step)
{
    double sum = 0;
    for (int64_t r = 0; r < p->ranks; r += replica_size(p))
        sum += pw_sim_length(p, r, step);
    return sum / (double)(p->ranks / replica_size(p));
}

double pw_sim_stage_growth(const struct pw_sim_params *p, int64_t stage)
{
    const double last = p->stage_skew, first = p->pipeline > 1 ? p->stage_skew / 2 : 0;
    if (p->even_stages)
        return 1 + (first + last) / (double)p->pipeline;
    return stage == p->pipeline - 1 ? 1 + last : stage == 0 ? 1 + first : 1;
}

void pw_sim_role(const struct pw_sim_params *p, int64_t rank, char *out, size_t size)
{
    int is_split = p->pattern == PW_SIM_HYBRID || p->pattern == PW_SIM_PIPELINE;
    if (is_split)
        snprintf(out, size, "stage %" PRId64, rank / p->tensor % p->pipeline);
    else
        snprintf(out, size, "%s", p->pattern == PW_SIM_MOE ? "expert" : "");
}

int64_t pw_sim_amount(const struct pw_sim_params *p, int64_t rank, int64_t step)
{
    double tokens = p->pattern == PW_SIM_MOE ? (1 + pw_sim_tokens(p, rank, step)) / 2 : 1;
    return (int64_t)(TOKENS * tokens * pw_sim_length(p, rank, step));
}

/* Prints the ranks that always have more work; [] when the ranks change. */
static void print_ranks(FILE *out, const struct pw_sim_params *p, int has_stages, int64_t hot)
{
    const char *comma = "";
    fprintf(out, "[");
    for (int64_t r = 0; r < p->ranks; r++) {
        int64_t stage = has_stages ? r % p->pipeline : 0;
        if (r != hot && (!has_stages || pw_sim_stage_growth(p, stage) <= 1))
            continue;
        fprintf(out, "%s%" PRId64, comma, r);
        comma = ", ";
    }
    fprintf(out, "]");
}

/* Returns 1 when every stage has only one rank: then a slow rank cannot be distinguished from one
 * with more work. */
static int is_alone(const struct pw_sim_params *p, const struct pw_sim_params *even)
{
    return even->even_stages && p->ranks == p->pipeline * p->tensor;
}

/* A kind of work that is unequal between ranks, and the run with this work distributed evenly. */
struct unequal {
    const char *kind;
    struct pw_sim_params even;
    int64_t hot; /* the rank of a hot expert, or -1 */
};

static int print_one(FILE *out, const struct pw_sim_params *p, const struct unequal *u,
                     int64_t elapsed)
{
    struct pw_sim_result result;
    int err = pw_sim_play(&u->even, 0, NULL, &result);
    if (err)
        return err;
    fprintf(out, "\n    {\"kind\": \"%s\", \"scope\": \"role\", \"ranks\": ", u->kind);
    print_ranks(out, p, u->even.even_stages, u->hot);
    fprintf(out, ", \"alone\": %s, \"lost_ns\": %" PRId64 "}",
            is_alone(p, &u->even) ? "true" : "false", elapsed - result.elapsed_ns);
    return 0;
}

int pw_sim_unequal_print(FILE *out, const struct pw_sim_params *p, int64_t elapsed)
{
    static const char *const routings[] = {"", "experts_hot", "experts_rotating", "experts_burst"};
    const char *comma = "";
    double more;
    int err = 0;
    fprintf(out, "[");
    if (p->stage_skew > 0) {
        struct unequal stages = {"stages", *p, -1};
        stages.even.even_stages = 1;
        err = print_one(out, p, &stages, elapsed);
        comma = ",";
    }
    if (p->pattern == PW_SIM_MOE && p->routing && !err) {
        int64_t hot = p->routing == PW_SIM_ROUTING_HOT ? hot_rank(p, 0, &more) : -1;
        struct unequal experts = {routings[p->routing], *p, hot};
        experts.even.even_tokens = 1;
        fprintf(out, "%s", comma);
        err = print_one(out, p, &experts, elapsed);
        comma = ",";
    }
    if (p->lengths > 0 && !err) {
        struct unequal lengths = {"lengths", *p, -1};
        lengths.even.even_lengths = 1;
        fprintf(out, "%s", comma);
        err = print_one(out, p, &lengths, elapsed);
        comma = ",";
    }
    fprintf(out, "%s]", *comma ? "\n  " : "");
    return err;
}
