/* Weighs the evidence; see verdict.h. */
#include "analysis/advice/verdict.h"

#include "analysis/advice/advice.h"
#include "analysis/advice/trends.h"

/* Fewer measured steps than a straggler must hit: nothing can be said of any rank. */
enum { STEPS_LEAST = 3 };

/* What was recorded of the first straggler shows that it was late; what is not known of others does
 * not change that. */
static int has_straggler(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    const struct pw_cluster *c = in->cluster;
    return c->nstragglers && !v->unrecorded.is_silent &&
           !(v->unrecorded.ranks && pw_unrecorded_has(c, c->stragglers[0].rank));
}

/* In this order: what comes first would make the rest mean nothing. */
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
    if (v->unrecorded.is_silent)
        return PW_WANTING_COMMUNICATION;
    if (in->present < in->expected)
        return PW_WANTING_ALL_RANKS;
    if (in->measured == 0)
        return PW_WANTING_STEPS;
    if (in->measured < STEPS_LEAST)
        return PW_WANTING_MORE_STEPS;
    if (v->untimed)
        return PW_WANTING_NCCL_TIMES;
    return in->clock_error_max_ns < 0 ? PW_WANTING_CLOCKS : PW_WANTING_NOTHING;
}

void pw_verdict_find(const struct pw_advice_input *in, struct pw_verdict *verdict)
{
    *verdict = (struct pw_verdict){.untimed = pw_advice_untimed(in->cluster)};
    pw_unrecorded_sum(in->cluster, &verdict->unrecorded);
    verdict->wanting = find_wanting(in, verdict);
    verdict->kind = verdict->wanting != PW_WANTING_NOTHING ? PW_VERDICT_UNKNOWN
                    : pw_trends_leading(in->cluster)       ? PW_VERDICT_ALL_SLOWER
                    : in->cluster->nstragglers             ? PW_VERDICT_HELD_BACK
                    : in->expected == 1                    ? PW_VERDICT_SINGLE_RANK
                                                           : PW_VERDICT_NONE;
}

const char *pw_verdict_name(enum pw_verdict_kind kind)
{
    static const char *const names[] = {
        [PW_VERDICT_HELD_BACK] = "held_back", [PW_VERDICT_ALL_SLOWER] = "all_slower",
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
        [PW_WANTING_NCCL_TIMES] = "nccl_untimed",
        [PW_WANTING_CLOCKS] = "clocks_not_aligned",
    };
    return names[wanting];
}
