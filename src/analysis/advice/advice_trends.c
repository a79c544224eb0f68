/* Which trend leads, and how it reads; see advice_trends.h. */
#include "analysis/advice/advice_trends.h"

#include <inttypes.h>

#include "analysis/advice/rules.h"
#include "core/text.h"

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
        /* Beside other processes on one CPU all ranks are slower that may run there. */
        const int is_bound = row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0;
        const int is_same = (worst->kind == PW_SLOWING_PAUSES || is_bound) &&
                            row->first_step >= 0 && row->first_step <= worst->last_step &&
                            row->last_step >= worst->first_step;
        /* All ranks stand still in a call that one of them does not finish. */
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
