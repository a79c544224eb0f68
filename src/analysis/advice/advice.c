/* What is done with one advice: its ranks, its share and its row of the cluster file; see
 * advice.h. */
#include "analysis/advice/advice.h"

#include <inttypes.h>

void pw_advice_set_text(char *out, size_t size, const char *text)
{
    struct pw_sentence s = {out, size, 0};
    pw_sentence_add(&s, "%s", text);
}

size_t pw_advice_listed(const struct pw_advice *advice)
{
    return advice->nranks < PW_ADVICE_RANKS ? advice->nranks : PW_ADVICE_RANKS;
}

double pw_advice_share(const struct pw_advice_input *input, const struct pw_advice *advice)
{
    double steps_ns = (double)input->step_mean_ns * (double)input->measured;
    if (input->cluster->restricted_to[0])
        return -1; /* a saving is of the whole run: it is no share of the measured steps */
    /* More than all steps is saved outside of them. */
    return advice->saves_ns < 0 || !(steps_ns >= (double)advice->saves_ns) || steps_ns <= 0
               ? -1
               : (double)advice->saves_ns / steps_ns;
}

struct pw_row_c_advice pw_advice_row(const struct pw_advice_input *input,
                                     const struct pw_advice *advice)
{
    struct pw_row_c_advice row = {
        .saves_ns = advice->saves_ns,
        .share = pw_advice_share(input, advice),
    };
    struct pw_sentence ranks = pw_sentence_on(row.ranks, sizeof(row.ranks));
    struct pw_sentence docs = pw_sentence_on(row.docs, sizeof(row.docs));
    pw_advice_set_text(row.rule, sizeof(row.rule), advice->rule);
    pw_advice_write_ranks(advice, &ranks);
    pw_advice_set_text(row.text, sizeof(row.text), advice->text);
    pw_advice_set_text(row.evidence, sizeof(row.evidence), advice->evidence);
    pw_sentence_add(&docs, "docs/advice.md#%s", advice->rule);
    return row;
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
