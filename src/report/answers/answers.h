/* Short answers to single questions about a run, for programs and people who ask one thing at a
 * time. Called by `profwrap ask` and `profwrap mcp`. The values are those of the cluster file and
 * of the JSON report, made by the same functions. Every row of an answer has an `id`; the question
 * "evidence" says which rows of the file the id stands for. Prints nothing, reads no files. */
#ifndef PW_REPORT_ANSWERS_ANSWERS_H
#define PW_REPORT_ANSWERS_ANSWERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/figures/figures.h"

/* An answer as JSON has at most this many bytes; of further rows it says from where to ask. */
enum {
    PW_ANSWER_BYTES = 8000,
    PW_ANSWER_PROBLEM = 512,
    PW_QUESTION_ARGUMENTS = 4,
    PW_QUESTION_TABLES = 8
};

struct pw_question_argument {
    const char *name; /* NULL: no more arguments */
    bool is_integer;  /* else a text */
    bool is_needed;
    const char *help;
    const char *field; /* rows whose field has this value, or this text in it; NULL: no filter */
};

/* A run that questions are about. */
struct pw_asked {
    const struct pw_figures *figures;
    const char *file; /* the cluster file, as commands name it */
};

struct pw_answer;

struct pw_question {
    const char *name; /* as the user types it */
    const char *help; /* one sentence: what the answer says */
    struct pw_question_argument arguments[PW_QUESTION_ARGUMENTS + 1];
    const char *example; /* arguments, as `profwrap ask` takes them; NULL: it needs none */

    /* Makes the answer. NULL: the rows of the first table, largest `order` first (NULL: in file
     * order). */
    void (*make)(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer);
    int tables[PW_QUESTION_TABLES]; /* whose rows the answer has, of enum pw_cluster_table_id; 0: no
                                       more. None: rows of other objects of the JSON report */
    const char *order;
};

/* The questions, and one without a name after the last. */
extern const struct pw_question pw_questions[];

/* Returns the question of that name, or NULL. */
const struct pw_question *pw_question_find(const char *name);

/* True for "compare", which needs a second run, and for "evidence", which needs it for ids of
 * "compare". */
bool pw_question_may_have_other(const struct pw_question *question);

/* Answers the question. `arguments` is an object; the argument "from" of every question is the
 * first row of the page. `other` is the second run of "compare", else NULL. Returns a new object;
 * NULL with one sentence in `problem` when the arguments are wrong or memory is short. */
json_t *pw_ask(const struct pw_question *question, const struct pw_asked *asked,
               const struct pw_asked *other, json_t *arguments, char problem[PW_ANSWER_PROBLEM]);

/* Returns the JSON Schema of the question's arguments, or NULL when memory is short. */
json_t *pw_question_schema(const struct pw_question *question);

#endif
