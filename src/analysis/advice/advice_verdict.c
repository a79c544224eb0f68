/* Finds the verdict in two steps: first, which evidence is missing; if none is, which loss is the
 * largest. See advice.h. */
#include "analysis/advice/advice.h"

#include "analysis/advice/findings.h"
#include "analysis/straggler.h"

/* A straggler needs so many steps: with fewer measured steps the verdict is unknown. */
enum { STEPS_LEAST = 3 };

/* Whether the records of the first straggler show that it was late; unknown facts about other ranks
 * do not change that. */
static int has_straggler(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    const struct pw_cluster *c = in->cluster;
    return c->nstragglers && !v->unrecorded.is_silent &&
           !(v->unrecorded.ranks && pw_unrecorded_has(c, c->stragglers[0].rank)) &&
           !pw_unrecorded_is_silent(c, c->stragglers[0].rank);
}

/* The evidence that is missing. The order matters: without the evidence that is asked for first,
 * the rest says nothing. */
static enum pw_wanting find_wanting(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    if (in->present == 0)
        return PW_WANTING_RANKS;
    if (has_straggler(in, v))
        return PW_WANTING_NOTHING;
    if (v->unrecorded.ranks > 0)
        return PW_WANTING_RECORDED_MPI;
    if (in->expected == 1)
        return PW_WANTING_NOTHING;
    if (v->unrecorded.is_silent || v->unrecorded.silent_ranks)
        return PW_WANTING_COMMUNICATION;
    if (in->present < in->expected)
        return PW_WANTING_ALL_RANKS;
    if (in->measured == 0)
        return PW_WANTING_STEPS;
    if (in->measured < STEPS_LEAST)
        return PW_WANTING_MORE_STEPS;
    if (v->nccl.unmatched)
        return PW_WANTING_WAITS;
    if (v->nccl.untimed)
        return PW_WANTING_NCCL_TIMES;
    if (v->nccl.unplaced)
        return PW_WANTING_NCCL_REPLAYS;
    return in->clock_error_max_ns < 0 ? PW_WANTING_CLOCKS : PW_WANTING_NOTHING;
}

/* The first, and so most expensive, imbalance that `has` accepts and that costs 1 % of the steps;
 * NULL when there is none. */
static const struct pw_row_c_imbalance *
first_imbalance(const struct pw_advice_input *in, int (*has)(const struct pw_row_c_imbalance *))
{
    const double least = (double)in->step_mean_ns * (double)in->measured / 100;
    for (size_t i = 0; i < in->cluster->nimbalances; i++) {
        const struct pw_row_c_imbalance *row = &in->cluster->imbalances[i];
        if (has(row) && (double)pw_imbalance_cost(row, in->measured) >= least)
            return row;
    }
    return NULL;
}

static double straggler_cost(const struct pw_cluster *c)
{
    if (!c->nstragglers)
        return 0;
    const struct pw_row_c_straggler *worst = &c->stragglers[0];
    return worst->gain_ns >= 0 ? (double)worst->gain_ns
                               : (double)worst->excess_ns * (double)worst->steps_hit;
}

/* 1 when slow transfers cost more than any straggler, any imbalance, and any time in which all
 * ranks were slower, except one that the transfers explain. */
static int is_network(const struct pw_cluster *c, const struct pw_verdict *v,
                      const struct pw_row_c_trend *trend, int64_t steps)
{
    const struct pw_row_c_network *row = v->network;
    if (!row || (double)row->gain_ns <= straggler_cost(c))
        return 0;
    if (v->imbalance && pw_imbalance_cost(v->imbalance, steps) >= row->gain_ns)
        return 0;
    return !trend || row->gain_ns > trend->cost_ns || pw_network_explains(row, trend);
}

/* Whether a slow rank would not be seen: waits are lost in the clock error, and the steps are cut
 * at another rank's times, so that the time outside communication needs a common clock, too. */
static int is_lost_in_clocks(const struct pw_advice_input *in)
{
    return in->cluster->steps_inferred > 0 && in->step_mean_ns > 0 &&
           (double)in->clock_error_max_ns > PW_CLOCK_COARSE * (double)in->step_mean_ns;
}

static enum pw_verdict_kind find_kind(const struct pw_advice_input *in, struct pw_verdict *v)
{
    if (v->wanting != PW_WANTING_NOTHING)
        return PW_VERDICT_UNKNOWN;
    if (in->expected == 1)
        return PW_VERDICT_SINGLE_RANK;
    const struct pw_row_c_trend *trend = pw_trends_leading(in->cluster);
    if (is_network(in->cluster, v, trend, in->measured))
        return PW_VERDICT_NETWORK;
    const double others = trend ? (double)trend->cost_ns : straggler_cost(in->cluster);
    if (v->imbalance && (double)pw_imbalance_cost(v->imbalance, in->measured) > others)
        return PW_VERDICT_IMBALANCE;
    if (trend)
        return PW_VERDICT_ALL_SLOWER;
    if (in->cluster->nstragglers)
        return PW_VERDICT_HELD_BACK;
    v->wanting = v->alone                ? PW_WANTING_PEERS
                 : is_lost_in_clocks(in) ? PW_WANTING_CLOCKS
                                         : PW_WANTING_NOTHING;
    return v->wanting != PW_WANTING_NOTHING ? PW_VERDICT_UNKNOWN : PW_VERDICT_NONE;
}

/* What the verdict names costs, ns; -1: it names nothing. */
static int64_t cost_of(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    switch (v->kind) {
    case PW_VERDICT_ALL_SLOWER:
        return pw_trends_leading(in->cluster)->cost_ns;
    case PW_VERDICT_IMBALANCE:
        return pw_imbalance_cost(v->imbalance, in->measured);
    case PW_VERDICT_NETWORK:
        return v->network->gain_ns;
    default:
        return -1;
    }
}

/* Finds what reports begin with. A named rank always comes first, and without a verdict nothing is
 * known to be first. */
static int find_lead(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    struct pw_shared found[PW_SHARED_KINDS];
    struct pw_advice_input judged = *in;
    if (v->kind == PW_VERDICT_HELD_BACK || v->kind == PW_VERDICT_UNKNOWN)
        return -1;
    judged.verdict = *v;
    const size_t n = pw_shared_find(&judged, found);
    return n && found[0].cost_ns > cost_of(in, v) ? (int)found[0].kind : -1;
}

void pw_verdict_find(const struct pw_advice_input *in, struct pw_verdict *verdict)
{
    *verdict = (struct pw_verdict){.kind = PW_VERDICT_UNKNOWN, .lead = -1};
    pw_advice_nccl_unknown(in->cluster, &verdict->nccl);
    pw_unrecorded_sum(in->cluster, &verdict->unrecorded);
    verdict->wanting = find_wanting(in, verdict);
    verdict->imbalance = first_imbalance(in, pw_imbalance_is_sure);
    verdict->alone = first_imbalance(in, pw_imbalance_is_alone);
    verdict->network = pw_network_worst(in->cluster);
    verdict->kind = find_kind(in, verdict);
    verdict->lead = find_lead(in, verdict);
}

const char *pw_verdict_name(enum pw_verdict_kind kind)
{
    static const char *const names[] = {
        [PW_VERDICT_HELD_BACK] = "held_back", [PW_VERDICT_ALL_SLOWER] = "all_slower",
        [PW_VERDICT_IMBALANCE] = "imbalance", [PW_VERDICT_NETWORK] = "network",
        [PW_VERDICT_NONE] = "none",           [PW_VERDICT_SINGLE_RANK] = "single_rank",
        [PW_VERDICT_UNKNOWN] = "unknown",
    };
    return names[kind];
}

const char *pw_verdict_reason(enum pw_wanting wanting)
{
    static const char *const names[] = {
        [PW_WANTING_NOTHING] = NULL,
        [PW_WANTING_RANKS] = "no_ranks",
        [PW_WANTING_RECORDED_MPI] = "mpi_not_recorded",
        [PW_WANTING_COMMUNICATION] = "no_communication",
        [PW_WANTING_ALL_RANKS] = "ranks_missing",
        [PW_WANTING_STEPS] = "no_steps",
        [PW_WANTING_MORE_STEPS] = "few_steps",
        [PW_WANTING_WAITS] = "waits_unknown",
        [PW_WANTING_NCCL_TIMES] = "nccl_untimed",
        [PW_WANTING_NCCL_REPLAYS] = "nccl_unplaced",
        [PW_WANTING_CLOCKS] = "clocks_not_aligned",
        [PW_WANTING_PEERS] = "no_peers",
    };
    return names[wanting];
}
