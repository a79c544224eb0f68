/* Answers what differs between two runs, and what the ids of that answer stand for. An id is
 * "compare/steps/3": an array of the JSON of `profwrap compare`, and a row of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/answers/answer.h"
#include "report/compare/compare.h"

/* Compares the two runs. Returns the comparison as JSON, NULL when memory is short; `sentence` may
 * be NULL. */
static json_t *compare(const struct pw_asked *first, const struct pw_asked *second, char *sentence,
                       size_t size, bool *is_slower)
{
    enum { THRESHOLD_PERCENT = 5 }; /* as `profwrap compare` has it */
    struct pw_comparison *comparison = NULL;
    char *json = NULL, headline[640], details[640];
    size_t length = 0;
    FILE *stream = open_memstream(&json, &length);
    int err = stream ? pw_compare(first->figures->cluster, second->figures->cluster,
                                  THRESHOLD_PERCENT / 100.0, &comparison)
                     : -ENOMEM;
    if (!err)
        err = pw_compare_json(stream, comparison);
    if (stream && fclose(stream) && !err)
        err = -ENOMEM;
    json_t *whole = err ? NULL : json_loadb(json, length, 0, NULL);
    if (whole && sentence) {
        pw_compare_headline(comparison, headline, sizeof(headline));
        pw_compare_details(comparison, details, sizeof(details));
        snprintf(sentence, size, "%s %s", headline, details);
        *is_slower = pw_compare_is_slower(comparison);
    }
    free(json);
    pw_comparison_destroy(comparison);
    return whole;
}

struct difference {
    json_t *row; /* borrowed */
    const char *group;
    size_t at; /* in the group */
};

static double size_of(const json_t *row)
{
    const double ns = json_number_value(json_object_get(row, "second_ns")) -
                      json_number_value(json_object_get(row, "first_ns"));
    return ns < 0 ? -ns : ns;
}

static int by_size(const void *a, const void *b)
{
    const struct difference *x = a, *y = b;
    const double xs = size_of(x->row), ys = size_of(y->row);
    return (xs < ys) - (xs > ys);
}

/* All rows of a comparison, those that differ most first. */
static void add_differences(const json_t *whole, struct pw_answer *answer)
{
    json_t *group, *row;
    const char *key;
    size_t i, n = 0;
    struct difference *order = NULL;
    json_object_foreach((json_t *)whole, key, group)
    {
        struct difference *larger =
            realloc(order, (n + json_array_size(group) + 1) * sizeof(*order));
        answer->is_failed |= !larger;
        order = larger ? larger : order;
        json_array_foreach(group, i, row)
        {
            if (larger && json_object_get(row, "first_ns"))
                order[n++] = (struct difference){row, key, i};
        }
    }
    if (n)
        qsort(order, n, sizeof(*order), by_size);
    for (i = 0; i < n; i++) {
        char id[PW_EVIDENCE_ID];
        snprintf(id, sizeof(id), "compare/%.64s/%zu", order[i].group, order[i].at);
        pw_answer_add(answer, id, json_incref(order[i].row));
    }
    free(order);
}

void pw_answer_compare(const struct pw_asked *asked, json_t *arguments, struct pw_answer *answer)
{
    char sentence[1300];
    bool is_slower = false;
    (void)arguments;
    if (!answer->other) {
        answer->problem = "compare needs a second run";
        return;
    }
    json_t *whole = compare(asked, answer->other, sentence, sizeof(sentence), &is_slower);
    answer->is_failed |= !whole;
    if (whole) {
        pw_answer_say(answer, "%s", sentence);
        pw_answer_set(answer, "is_slower", json_boolean(is_slower));
        add_differences(whole, answer);
    }
    json_decref(whole);
}

bool pw_answer_compared(const struct pw_asked *asked, const char *group, size_t at,
                        const char *column, struct pw_answer *answer)
{
    char first[PW_ANSWER_QUOTED], second[PW_ANSWER_QUOTED];
    if (!answer->other) {
        answer->problem = "an id of compare needs the second run, too: give the argument 'other'";
        return true;
    }
    json_t *whole = compare(asked, answer->other, NULL, 0, NULL);
    json_t *row = json_array_get(json_object_get(whole, group), at);
    json_t *value = column[0] ? json_object_get(row, column) : row;
    const bool is_known = value && !json_is_null(value);
    answer->is_failed |= !whole;
    if (is_known) {
        pw_answer_set(answer, "command",
                      json_sprintf("profwrap compare --format json %s %s | jq '.%s[%zu]'",
                                   pw_answer_quoted(asked->file, first),
                                   pw_answer_quoted(answer->other->file, second), group, at));
        pw_answer_set(answer, "how",
                      json_string("a row of the comparison of the two runs: docs/usage.md"));
        pw_answer_set_known(answer, value);
    }
    json_decref(whole);
    return is_known;
}
