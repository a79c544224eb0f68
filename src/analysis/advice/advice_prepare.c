/* What several rules need to know, and words that several say; see advice.h and rules.h. */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "analysis/mean.h"
#include "core/limits.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t add_known(int64_t sum, int64_t value)
{
    return value < 0 ? sum : pw_sum(sum, value);
}

static void count_ranks(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int unaligned = 0;
    in->expected = larger(c->nranks, (int64_t)c->nrank_rows);
    in->clock_error_max_ns = c->clock_error_max_ns;
    for (size_t r = 0; r < c->nrank_rows; r++) {
        const struct pw_row_c_rank *rank = &c->ranks[r];
        in->present += rank->present != 0;
        in->unclosed += rank->present && rank->complete != 1 && c->snapshot <= 0;
        in->dropped_events = add_known(in->dropped_events, rank->dropped_events);
        in->clock_error_max_ns = larger(in->clock_error_max_ns, rank->clock_error_ns);
        unaligned |= rank->present && rank->clock_error_ns < 0;
        if (rank->overhead_ns >= 0 && rank->run_ns > 0) {
            in->overhead_ns = add_known(in->overhead_ns, rank->overhead_ns);
            in->overhead_of_ns = add_known(in->overhead_of_ns, rank->run_ns);
        }
    }
    if (unaligned)
        in->clock_error_max_ns = -1;
}

/* The rules' words follow from what the program has shown. Ranges of operators are no sign: others
 * have them, too. */
static int is_training(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int seen = c->nqueues > 0 || in->mean.interval_ns >= 0 || in->mean.fp_bp_ns >= 0 ||
               in->mean.tail_ns >= 0 || in->mean.data_wait_ns >= 0;
    for (size_t i = 0; i < c->nstragglers && !seen; i++)
        seen =
            c->stragglers[i].phase >= PW_PHASE_DATA && c->stragglers[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->nwhatif && !seen; i++)
        seen = strncmp(c->whatif[i].scope, "phase", sizeof(c->whatif[i].scope)) == 0 &&
               c->whatif[i].phase >= PW_PHASE_DATA && c->whatif[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->ncollective_stats && !seen; i++)
        seen = c->collective_stats[i].source == PW_SOURCE_NCCL;
    return seen;
}

const char *pw_advice_text_of(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    return rule->plain && !in->is_training ? rule->plain : rule->text;
}

void pw_advice_prepare(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_mean duration = {0};
    in->present = in->unclosed = in->dropped_events = in->measured = 0;
    in->overhead_ns = in->overhead_of_ns = 0;
    count_ranks(in);
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE) {
            in->measured++;
            pw_mean_add(&duration, c->steps[s].duration_ns);
        }
    in->step_mean_ns = pw_mean_value(&duration);
    in->is_training = is_training(in);
    pw_verdict_find(in, &in->verdict);
}

void pw_advice_add_rank(struct pw_advice *advice, int32_t rank)
{
    if (advice->nranks < PW_ADVICE_RANKS)
        advice->ranks[advice->nranks] = rank;
    advice->nranks++;
}

void pw_advice_write_ranks(const struct pw_advice *advice, struct pw_sentence *s)
{
    enum { SHOWN = 4 }; /* so that they fit a row's text */
    size_t shown = advice->nranks < SHOWN ? advice->nranks : SHOWN;
    for (size_t i = 0; i < shown; i++)
        pw_sentence_add(s, "%s%" PRId32, i ? ", " : "", advice->ranks[i]);
    if (advice->nranks > shown)
        pw_sentence_add(s, " and %zu more", advice->nranks - shown);
}

int64_t pw_advice_whatif_gain(const struct pw_advice_input *in, const char *scope)
{
    const struct pw_cluster *c = in->cluster;
    for (size_t i = 0; i < c->nwhatif; i++)
        if (strncmp(c->whatif[i].scope, scope, sizeof(c->whatif[i].scope)) == 0)
            return larger(c->whatif[i].gain_ns, 0);
    return -1;
}

int64_t pw_advice_of_all_steps(const struct pw_advice_input *in, double ns)
{
    return ns < 0 ? -1 : pw_whole(ns * (double)in->measured);
}
