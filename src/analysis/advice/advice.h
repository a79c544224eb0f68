/* Advice: what the user can do about the measured losses. Called by aggregate/findings, which
 * stores the advice in the cluster file, and through analysis/figures by all reports. Reads the
 * tables of a cluster and writes text into the caller's memory: no I/O, no allocation.
 *
 * Advice is a table of rules (advice_table.c), each with a condition, the evidence for it, one
 * concrete next action, and what that would save. docs/advice.md has a section for each, under the
 * rule's name. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_H
#define PW_ANALYSIS_ADVICE_ADVICE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/advice/verdict.h"
#include "core/text.h"

struct pw_advice_rule;

enum { PW_ADVICE_MAX = 64, PW_ADVICE_RANKS = 8 };

struct pw_advice {
    const char *rule;
    const struct pw_advice_rule *of; /* its row of the table; NULL: nothing stands out */
    int64_t saves_ns; /* time saved in the measured steps if only this advice is followed; -1: not
                         known */
    char text[512], evidence[256];
    int32_t ranks[PW_ADVICE_RANKS]; /* ranks that the advice is about, worst first; only the first
                                       of nranks */
    size_t nranks;
};

/* Writes the advice that applies, and returns how many: at least 1. First comes the advice about
 * the end of a job that did not end well; then that about what the verdict names, or about the
 * evidence that it lacks; then that about ranks without a CPU, which explains other losses; then
 * what saves most. */
size_t pw_advice_collect(const struct pw_advice_input *input,
                         struct pw_advice advice[PW_ADVICE_MAX]);

/* saves_ns as a share of the measured steps; -1: not known, or more is saved than they took. */
double pw_advice_share(const struct pw_advice_input *input, const struct pw_advice *advice);

/* Number of valid entries in `ranks`. */
size_t pw_advice_listed(const struct pw_advice *advice);

/* The advice as a row of the cluster file. */
struct pw_row_c_advice pw_advice_row(const struct pw_advice_input *input,
                                     const struct pw_advice *advice);

/* For the judges of rules, which write advice. */
void pw_advice_set_text(char *out, size_t size, const char *text);
void pw_advice_add_rank(struct pw_advice *advice, int32_t rank);

/* "3, 5 and 12 more". */
void pw_advice_write_ranks(const struct pw_advice *advice, struct pw_sentence *sentence);

#endif
