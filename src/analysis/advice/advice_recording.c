/* Rules about what the figures rest on. They save no time, but without them nothing is sure. */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/advice/rules.h"
#include "core/text.h"

enum { STEPS_ENOUGH = 10 };

#define CLOCK_COARSE 0.05 /* of a step */
#define COSTLY 0.02       /* of the run */

int pw_judge_mpi_not_recorded(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    int32_t last = -1;
    (void)rule;
    pw_unrecorded_sum(c, &sum);
    pw_sentence_add(&evidence, "MPI calls of %" PRId64 " of %" PRId64 " ranks were not recorded",
                    sum.ranks, in->expected);
    for (size_t i = 0; i < c->ncompleteness; i++) {
        const enum pw_unrecorded reason = pw_unrecorded_of(&c->completeness[i]);
        if (reason == PW_UNRECORDED_NONE || reason == PW_UNRECORDED_SPAWNED ||
            c->completeness[i].rank == last)
            continue;
        last = c->completeness[i].rank;
        pw_advice_add_rank(advice, last);
    }
    if (sum.ranks)
        pw_sentence_add(&text, "MPI calls were not recorded, because %s: %s.",
                        pw_unrecorded_because(pw_unrecorded_most(&sum)),
                        pw_unrecorded_remedy(pw_unrecorded_most(&sum)));
    return sum.ranks > 0;
}

int pw_judge_no_communication(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_unrecorded_sum(in->cluster, &sum);
    pw_sentence_add(&evidence, "%" PRId64 " ranks, and no collective or message of theirs",
                    in->expected);
    return sum.is_silent && !sum.ranks;
}

int pw_judge_ranks_missing(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                           struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " of %" PRId64 " ranks left a usable file", in->present,
                    in->expected);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (!c->ranks[r].present)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->present < in->expected;
}

int pw_judge_ranks_unclosed(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " file%s not closed in order", in->unclosed,
                    in->unclosed == 1 ? " was" : "s were");
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].complete != 1)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->unclosed > 0;
}

int pw_judge_events_dropped(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " events are missing", in->dropped_events);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].dropped_events > 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->dropped_events > 0;
}

int pw_judge_ring_waits(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                        struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    for (size_t i = 0; i < c->ncompleteness; i++) {
        const struct pw_row_c_completeness *row = &c->completeness[i];
        if (strncmp(row->what, "ring_wait", sizeof(row->what)) != 0)
            continue;
        if (!advice->nranks)
            pw_sentence_add(&evidence, "rank %" PRId32 " %.*s", row->rank, (int)sizeof(row->detail),
                            row->detail);
        pw_advice_add_rank(advice, row->rank);
    }
    return advice->nranks > 0;
}

int pw_judge_no_steps(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                      struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "no step was measured");
    return in->measured == 0;
}

int pw_judge_steps_inferred(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " steps were found, and none was marked", in->measured);
    return in->measured > 0 && in->cluster->steps_inferred > 0;
}

int pw_judge_few_steps(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                       struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " step%s measured", in->measured,
                    in->measured == 1 ? " was" : "s were");
    return in->measured > 0 && in->measured < STEPS_ENOUGH;
}

int pw_judge_clock_coarse(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    char error[32], step[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "clock error up to %s, steps of %s",
                    pw_text_ns(error, sizeof(error), in->clock_error_max_ns),
                    pw_text_ns(step, sizeof(step), in->step_mean_ns));
    return in->expected > 1 && in->step_mean_ns > 0 &&
           (double)in->clock_error_max_ns > CLOCK_COARSE * (double)in->step_mean_ns;
}

int pw_judge_clocks_not_aligned(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                                struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].clock_error_ns < 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    pw_sentence_add(&evidence, "the clock error of %zu of %" PRId64 " ranks is not known",
                    advice->nranks, in->present);
    return in->present > 1 && in->clock_error_max_ns < 0;
}

int pw_judge_profiling_costly(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    char cost[32], of[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%s of %s of rank time",
                    pw_text_ns(cost, sizeof(cost), in->overhead_ns),
                    pw_text_ns(of, sizeof(of), in->overhead_of_ns));
    return in->overhead_of_ns > 0 && (double)in->overhead_ns > COSTLY * (double)in->overhead_of_ns;
}

int pw_judge_one_rank(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                      struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "one rank ran");
    return in->expected == 1;
}

/* In double: a damaged file must not overflow an integer. */
static double count_nccl(const struct pw_cluster *c)
{
    double operations = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].source == PW_SOURCE_NCCL)
            operations +=
                (double)c->collective_stats[i].count * (double)c->collective_stats[i].nranks;
    return operations;
}

int64_t pw_advice_untimed(const struct pw_cluster *c)
{
    double untimed = 0;
    for (size_t i = 0; i < c->ncompleteness; i++)
        if (strncmp(c->completeness[i].what, "nccl_untimed", sizeof(c->completeness[i].what)) == 0)
            untimed += (double)c->completeness[i].count;
    if (!(untimed > 0) || untimed < count_nccl(c) - untimed)
        return 0;
    return untimed < 9e18 ? (int64_t)untimed : INT64_MAX;
}

int pw_judge_nccl_untimed(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const int64_t untimed = pw_advice_untimed(in->cluster);
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " operations of NCCL are known by their enqueueing only",
                    untimed);
    return untimed > 0;
}
