/* An answer that is being made: a sentence, and rows up to the size of a page. Used by the
 * questions of this folder only; makes no figures. */
#ifndef PW_REPORT_ANSWERS_ANSWER_H
#define PW_REPORT_ANSWERS_ANSWER_H

#include "report/answers/answers.h"

struct pw_answer {
    const struct pw_asked *other; /* the second run of "compare" */
    json_t *object, *rows;
    int64_t from;   /* the first row of the page */
    int64_t seen;   /* rows so far, with those before and after the page */
    size_t bytes;   /* of the rows of the page */
    bool is_full;   /* the page has no room for the next row */
    bool is_failed; /* memory was short */
    const char *problem;
};

/* Sets the answer's sentence. */
__attribute__((format(printf, 2, 3))) void pw_answer_say(struct pw_answer *answer,
                                                         const char *format, ...);

/* Sets a member of the answer, unless it is null, "not known"; releases `value`. */
void pw_answer_set(struct pw_answer *answer, const char *key, json_t *value);

/* Sets what is not known and how to get it; NULL: nothing is said of it. */
void pw_answer_lack(struct pw_answer *answer, const char *reason, const char *how);

/* Returns a text as answers show it: cut, and without control and formatting characters. */
json_t *pw_answer_text(const json_t *text);

/* True when the next row that is added would be shown, so that others need not be made. */
bool pw_answer_wants(const struct pw_answer *answer);

/* Adds a row: `row` with its id first and without what is not known. Releases `row`. A row that is
 * not on the page may be NULL. */
void pw_answer_add(struct pw_answer *answer, const char *id, json_t *row);

/* Adds the rows of an array of the JSON report, whose ids are PATH/INDEX. Releases `array`. */
void pw_answer_add_report(struct pw_answer *answer, const char *path, json_t *array);

/* ---- ids: the texts that "evidence" takes ---- */

enum { PW_EVIDENCE_ID = 160, PW_ANSWER_QUOTED = 2 * 4096 };

/* The path as a word for a shell; another name where it cannot be one. Returns `out`. */
const char *pw_answer_quoted(const char *path, char out[PW_ANSWER_QUOTED]);

/* "stragglers/0": a row of a table. Returns `out`. */
const char *pw_evidence_row(char out[PW_EVIDENCE_ID], int table, size_t row);

/* "step_trace/3/1": a row of a table by step and rank, by their rows in /steps and /ranks. */
const char *pw_evidence_cell(char out[PW_EVIDENCE_ID], int table, size_t step, size_t rank);

/* "mean/step_trace/1": means over the measured steps of a rank's row; or "median/step_trace/1": of
 * these means of the other ranks, the median. */
const char *pw_evidence_mean(char out[PW_EVIDENCE_ID], const char *what, int table, size_t rank);

/* Makes the row that an id of means stands for, in the row struct of the table, c_step_trace or
 * c_phase_trace. `rank` is a row of /ranks. */
void pw_evidence_mean_row(const struct pw_figures *figures, int table, size_t rank, void *row);

/* The median over the other ranks; fields that no other rank has are -1. Returns 0 or -ENOMEM. */
int pw_evidence_median_row(const struct pw_figures *figures, int table, size_t rank, void *row);

/* Sets the value of evidence: a row, in which what is not known is missing, as in the rows of
 * answers, or a number or text of one. */
void pw_answer_set_known(struct pw_answer *answer, json_t *value);

/* Answers "evidence" for an id of "compare": row `at` of an array of the comparison, or a column of
 * it ("": all). Returns whether there is such a row; without a second run the answer has a problem.
 */
bool pw_answer_compared(const struct pw_asked *asked, const char *group, size_t at,
                        const char *column, struct pw_answer *answer);

/* Answers "evidence". */
void pw_answer_evidence(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer);

/* ---- questions that are more than a table (told.c) ---- */

typedef void pw_answer_make(const struct pw_asked *asked, json_t *arguments,
                            struct pw_answer *answer);
pw_answer_make pw_answer_verdict, pw_answer_losses, pw_answer_rank, pw_answer_step, pw_answer_phase,
    pw_answer_ledger, pw_answer_completeness, pw_answer_hang, pw_answer_compare;

/* Answers "columns" (questions.c). */
void pw_answer_columns(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer);

/* ---- a table (tablerows.c) ---- */

/* Adds the rows of a table of the cluster that pass the filters in `arguments`. */
void pw_answer_table(const struct pw_question *question, const struct pw_asked *asked,
                     json_t *arguments, struct pw_answer *answer);

#endif
