/* Rules about the ranks' own work: stragglers, work that differs by design, and time in which all
 * ranks were slower; see findings.h and rules.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/advice/rules.h"
#include "core/limits.h"
#include "core/text.h"

/* Stragglers. Their rules share one judge, and differ in cause and phase. */

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

/* Whether the advice about the data pipeline already explains this straggler. */
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

/* Work that differs by design. */

static int is(const char field[16], const char *name)
{
    return strncmp(field, name, 16) == 0;
}

int pw_imbalance_is_sure(const struct pw_row_c_imbalance *row)
{
    return is(row->verdict, "imbalance");
}

int pw_imbalance_is_alone(const struct pw_row_c_imbalance *row)
{
    return !pw_imbalance_is_sure(row) && row->nranks == 1;
}

int64_t pw_imbalance_cost(const struct pw_row_c_imbalance *row, int64_t steps)
{
    if (row->gain_ns >= 0)
        return row->gain_ns;
    if (row->work_ns < 0 || row->others_ns < 0 || row->work_ns < row->others_ns)
        return 0;
    double cost = (double)(row->work_ns - row->others_ns) * (double)steps;
    return cost < 9e18 ? (int64_t)cost : INT64_MAX;
}

/* The quotient of two printed times, so that it is what a reader finds who divides them; `exact`
 * where they have different units. */
static double quotient_of(const char *above, const char *below, double exact)
{
    char *above_unit, *below_unit;
    const double x = strtod(above, &above_unit), y = strtod(below, &below_unit);
    return y > 0 && strcmp(above_unit, below_unit) == 0 ? x / y : exact;
}

static void write_times(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    char work[32], others[32];
    pw_text_ns(work, sizeof(work), row->work_ns);
    pw_text_ns(others, sizeof(others), row->others_ns);
    pw_sentence_add(s, "%.2f times the work of the others in a step (%s, others %s)",
                    quotient_of(work, others, row->ratio), work, others);
}

/* What to do about a role that has more work, by what its name says that it is. */
static const char *role_advice(const struct pw_row_c_imbalance *row,
                               const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    if (strncmp(row->name, "stage", strlen("stage")) == 0)
        return "Move work between the pipeline's stages: layers from the heavy stages to the "
               "others.";
    if (strstr(row->name, "expert"))
        return "Move work between the roles: experts' capacity to where the tokens go, or more "
               "ranks for the heavy role.";
    return pw_advice_text_of(in, rule);
}

static void write_role(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    const int one = row->nranks == 1;
    if (pw_imbalance_is_alone(row)) {
        pw_sentence_add(s,
                        "Cannot tell whether rank %" PRId32
                        " is slow or has more to do by design: it is the only one of its role "
                        "(%.64s), and has ",
                        row->first_rank, row->name);
        write_times(row, s);
        pw_sentence_add(s, " throughout the run");
        return;
    }
    pw_sentence_add(s, "Uneven work: role \"%.64s\" (rank%s %.64s) has ", row->name, one ? "" : "s",
                    row->ranks);
    write_times(row, s);
    if (pw_imbalance_is_sure(row))
        pw_sentence_add(s, ": an imbalance between roles, not a slow rank");
    else
        pw_sentence_add(s, "; cannot tell why: %.256s", row->reason);
}

static void write_amount(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    const int one = row->nranks == 1;
    const int is_guess = is(row->how, "messages") || is(row->how, "collectives");
    const char *most = one ? "" : "up to ";
    if (is(row->how, "phases")) {
        pw_sentence_add(s,
                        "Uneven work: from step to step another rank has more to do, and the "
                        "largest of a step is %.2f times the mean",
                        row->amount_ratio);
    } else if (row->nranks <= 0) {
        pw_sentence_add(s,
                        "Uneven work: the amounts differ from step to step, the largest of a step "
                        "is %.2f times the mean",
                        row->amount_ratio);
    } else if (is_guess) {
        pw_sentence_add(s,
                        "Uneven work: rank%s %.64s %s%s %s%.2f times as large as the others', and "
                        "work%s %s%.2f "
                        "times as long, as with more of the data",
                        one ? "" : "s", row->ranks, one ? "has" : "have",
                        is(row->how, "messages") ? " messages" : " parts of collectives", most,
                        row->amount_ratio, one ? "s" : "", most, row->ratio);
    } else {
        pw_sentence_add(
            s,
            "Uneven work: rank%s %.64s %s %s%.2f times the amount of work of the others, and "
            "take%s %s%.2f times as long",
            one ? "" : "s", row->ranks, one ? "has" : "have", most, row->amount_ratio,
            one ? "s" : "", most, row->ratio);
    }
    pw_sentence_add(s, ": an imbalance, not a slow rank");
}

void pw_imbalance_write(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    if (is(row->kind, "role"))
        write_role(row, s);
    else
        write_amount(row, s);
}

int pw_judge_unequal_work(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_imbalance *row = in->verdict.imbalance;
    if (!row)
        return 0;
    pw_imbalance_write(row, &evidence);
    if (row->first_rank >= 0)
        pw_advice_add_rank(advice, row->first_rank);
    advice->saves_ns = row->gain_ns;
    if (is(row->kind, "role"))
        pw_sentence_add(&text, "%s", role_advice(row, in, rule));
    else
        pw_sentence_add(&text, "Share the work out evenly: %s.",
                        in->is_training ? "batches of equal tokens (sort or bucket what varies)"
                                        : "parts of the problem of equal cost");
    return 1;
}

int pw_judge_no_peers(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                      struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_imbalance *row = in->verdict.alone;
    (void)rule;
    if (!row)
        return 0;
    pw_imbalance_write(row, &evidence);
    pw_advice_add_rank(advice, row->first_rank);
    return 1;
}

/* Time in which all ranks were slower. */

const struct pw_row_c_trend *pw_trends_leading(const struct pw_cluster *c)
{
    const struct pw_row_c_trend *worst = NULL;
    for (size_t i = 0; i < c->ntrends; i++)
        if (c->trends[i].kind != PW_SLOWING_WARM_UP &&
            (!worst || c->trends[i].cost_ns > worst->cost_ns))
            worst = &c->trends[i];
    for (size_t i = 0; worst && i < c->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &c->stragglers[i];
        const double held = (double)row->steps_hit * (double)row->excess_ns;
        const double cost = row->gain_ns > 0 ? (double)row->gain_ns : held;
        /* A CPU that other processes use slows all ranks that may run on it. */
        const int is_bound = row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0;
        const int is_same = (worst->kind == PW_SLOWING_PAUSES || is_bound) &&
                            row->first_step >= 0 && row->first_step <= worst->last_step &&
                            row->last_step >= worst->first_step;
        /* `is_same`: all ranks stood still in a call because one of them did not finish it. */
        if (cost >= (double)worst->cost_ns * (is_same ? 0.5 : 1))
            worst = NULL;
    }
    return worst;
}

static void say_percent(struct pw_sentence *s, double share)
{
    pw_sentence_add(s, share < 0.1 ? " (%.1f %% of the run)" : " (%.0f %% of the run)",
                    100 * share);
}

static void say_doing(struct pw_sentence *s, int cause)
{
    const char *doing = pw_cause_doing(cause);
    pw_sentence_add(s, "%s%s", *doing ? ", " : "", doing);
}

/* "All ranks paused 4 times in steps 24-99, every 25 steps: for 200 ms each, 800 ms in all". */
static void say_pauses(struct pw_sentence *s, const struct pw_row_c_trend *t, const char *who)
{
    char excess[32], cost[32];
    pw_text_ns(excess, sizeof(excess), t->excess_ns);
    if (t->steps == 1) {
        pw_sentence_add(s, "%s paused once, in step %" PRId64 " or just before it: for %s", who,
                        t->first_step, excess);
    } else {
        pw_sentence_add(s, "%s paused %" PRId64 " times in steps %" PRId64 "-%" PRId64, who,
                        t->steps, t->first_step, t->last_step);
        if (t->every > 0)
            pw_sentence_add(s, ", every %" PRId64 " steps", t->every);
        pw_sentence_add(s, ": for %s each, %s in all", excess,
                        pw_text_ns(cost, sizeof(cost), t->cost_ns));
    }
    if (t->share >= 0)
        say_percent(s, t->share);
    say_doing(s, t->cause);
}

static void say_slower(struct pw_sentence *s, const struct pw_row_c_trend *t, const char *who,
                       const char *was)
{
    char excess[32], cost[32];
    pw_text_ns(excess, sizeof(excess), t->excess_ns);
    pw_text_ns(cost, sizeof(cost), t->cost_ns);
    if (t->kind == PW_SLOWING_STEADY)
        pw_sentence_add(s,
                        "%s became slower steadily from step %" PRId64 " to %" PRId64
                        ": the last of %" PRId64 " steps took %s more than the first, %s in all",
                        who, t->first_step, t->last_step, t->steps, excess, cost);
    else
        pw_sentence_add(s,
                        "%s %s slower in steps %" PRId64 "-%" PRId64 ": by %s in each of %" PRId64
                        " steps, %s in all",
                        who, was, t->first_step, t->last_step, excess, t->steps, cost);
    if (t->share >= 0)
        say_percent(s, t->share);
    if (t->phase == PW_PHASE_OTHER)
        pw_sentence_add(s, ", most outside any phase");
    else if (t->phase > PW_PHASE_NONE && t->phase < PW_PHASE_OTHER)
        pw_sentence_add(s, ", most in %s", pw_enum_name(PW_F_PHASE, t->phase));
    say_doing(s, t->cause);
    if (t->kind == PW_SLOWING_WARM_UP)
        pw_sentence_add(s, "; runs often begin like this");
}

void pw_trends_say(const struct pw_cluster *c, const struct pw_row_c_trend *t,
                   struct pw_sentence *s)
{
    const char *who = c->nranks == 1 ? "The only rank" : "All ranks";
    if (t->kind == PW_SLOWING_PAUSES)
        say_pauses(s, t, who);
    else
        say_slower(s, t, who, c->nranks == 1 ? "was" : "were");
}

int pw_judge_all_slower(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                        struct pw_advice *advice)
{
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    const struct pw_row_c_trend *trend = pw_trends_leading(in->cluster);
    (void)rule;
    if (!trend)
        return 0;
    pw_trends_say(in->cluster, trend, &s);
    advice->saves_ns = trend->cost_ns;
    return 1;
}
