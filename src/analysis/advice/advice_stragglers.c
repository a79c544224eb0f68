/* Rules about stragglers: all of them have one judge, and differ in cause and phase. */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "core/limits.h"
#include "core/text.h"

static const char *phase_words(int phase)
{
    return phase == PW_PHASE_NONE ? "" : phase == PW_PHASE_OTHER ? "outside any phase" : "in ";
}

/* "Rank 3 (in backward) ", or "Ranks 3, 5 and 12 more: each ". */
static void write_subject(const struct pw_advice *advice, int phase, struct pw_sentence *s)
{
    const char *words = phase_words(phase);
    pw_sentence_add(s, "Rank%s ", advice->nranks > 1 ? "s" : "");
    pw_advice_write_ranks(advice, s);
    if (advice->nranks > 1)
        pw_sentence_add(s, ": each ");
    else if (words[0])
        pw_sentence_add(s, " (%s%s) ", words,
                        phase == PW_PHASE_OTHER ? "" : pw_enum_name(PW_F_PHASE, phase));
    else
        pw_sentence_add(s, " ");
}

static void write_evidence(const struct pw_row_c_straggler *row, struct pw_sentence *s)
{
    char excess[32];
    if (row->kind == PW_STRAGGLER_STRETCH) {
        pw_sentence_add(s, "rank %" PRId32 ": %.*s", row->rank, (int)sizeof(row->evidence),
                        row->evidence);
        return;
    }
    pw_sentence_add(s,
                    "rank %" PRId32 ": %s more than the others in %" PRId64 " steps (%" PRId64
                    "-%" PRId64 ")",
                    row->rank, pw_text_ns(excess, sizeof(excess), row->excess_ns), row->steps_hit,
                    row->first_step, row->last_step);
    if (row->evidence[0])
        pw_sentence_add(s, "; %.*s", (int)sizeof(row->evidence), row->evidence);
}

/* What a rank's queues explain is advice about its data pipeline. */
static int is_taken(const struct pw_advice_input *in, const struct pw_row_c_straggler *row)
{
    return (row->phase == PW_PHASE_DATA || row->cause == PW_CAUSE_DATA_STARVATION) &&
           pw_advice_is_starved(in, row->rank);
}

int pw_judge_straggler(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                       struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    int phase = PW_PHASE_NONE;
    for (size_t i = 0; i < in->cluster->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &in->cluster->stragglers[i];
        if (pw_advice_rule_of(row) != rule || is_taken(in, row) ||
            (in->verdict.unrecorded.ranks && pw_unrecorded_has(in->cluster, row->rank)))
            continue;
        if (!advice->nranks)
            write_evidence(row, &evidence);
        pw_advice_add_rank(advice, row->rank);
        phase = row->phase;
        if (row->gain_ns >= 0)
            advice->saves_ns = pw_sum(advice->saves_ns < 0 ? 0 : advice->saves_ns, row->gain_ns);
    }
    if (!advice->nranks ||
        (in->verdict.kind != PW_VERDICT_HELD_BACK && in->verdict.kind != PW_VERDICT_ALL_SLOWER &&
         in->verdict.kind != PW_VERDICT_IMBALANCE && in->verdict.kind != PW_VERDICT_NETWORK))
        return 0;
    write_subject(advice, phase == PW_PHASE_OTHER && !in->is_training ? PW_PHASE_NONE : phase,
                  &text);
    pw_sentence_add(&text, "%s", pw_advice_text_of(in, rule));
    return 1;
}
