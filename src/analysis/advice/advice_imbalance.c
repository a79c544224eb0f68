/* Words for imbalances, and the rule about them; see advice_imbalance.h. */
#include "analysis/advice/advice_imbalance.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "core/text.h"

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

static void write_times(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    char work[32], others[32];
    pw_sentence_add(s, "%.2f times the work of the others in a step (%s, others %s)", row->ratio,
                    pw_text_ns(work, sizeof(work), row->work_ns),
                    pw_text_ns(others, sizeof(others), row->others_ns));
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
        pw_sentence_add(&text, "%s", pw_advice_text_of(in, rule));
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
