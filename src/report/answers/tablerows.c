/* Answers a question with rows of a table; see answer.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster.h"
#include "report/answers/answer.h"
#include "report/writing/json_row.h"

static const struct pw_field *find_field(const struct pw_table *info, const char *name)
{
    for (size_t i = 0; name && i < info->nfields; i++)
        if (strcmp(info->fields()[i].name, name) == 0)
            return &info->fields()[i];
    return NULL;
}

static bool is_text_field(const struct pw_field *field)
{
    return field->type >= PW_F_S16 && field->type <= PW_F_S512;
}

static bool contains(const char *text, size_t size, const char *wanted)
{
    char copy[513];
    const size_t n = strnlen(text, size < sizeof(copy) ? size : sizeof(copy) - 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return strcasestr(copy, wanted) != NULL;
}

/* Whether the field has the value: a number, or a text in it, in any case. */
static bool matches(const struct pw_field *field, const char *row, const json_t *value)
{
    if (json_is_integer(value))
        return pw_field_integer(field, row) == json_integer_value(value);
    if (is_text_field(field))
        return contains(row + field->offset, field->size, json_string_value(value));
    const char *name = pw_enum_name(field->type, (int)pw_field_integer(field, row));
    return contains(name, strlen(name), json_string_value(value));
}

static bool is_chosen(const struct pw_question *question, const struct pw_table *info,
                      const char *row, json_t *arguments)
{
    bool chosen = true;
    for (const struct pw_question_argument *a = question->arguments; a->name; a++) {
        const struct pw_field *field = find_field(info, a->field);
        const json_t *value = json_object_get(arguments, a->name);
        if (field && value)
            chosen &= matches(field, row, value);
    }
    return chosen;
}

struct keyed {
    double key;
    size_t row;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->row < y->row ? -1 : 1;
}

static double key_of(const struct pw_field *field, const char *row)
{
    double value = 0;
    if (field && field->type == PW_F_F64)
        memcpy(&value, row + field->offset, sizeof(value));
    else if (field)
        value = (double)pw_field_integer(field, row);
    return isfinite(value) ? value : -1;
}

void pw_answer_table(const struct pw_question *question, const struct pw_asked *asked,
                     json_t *arguments, struct pw_answer *answer)
{
    const struct pw_table *info = pw_table_borrow(question->tables[0]);
    const struct pw_field *order = find_field(info, question->order);
    const struct pw_cluster_rows all =
        pw_cluster_rows(asked->figures->cluster, question->tables[0]);
    struct keyed *chosen = malloc((all.n + 1) * sizeof(*chosen));
    size_t n = 0;
    answer->is_failed |= !chosen;
    for (size_t i = 0; chosen && i < all.n; i++) {
        const char *row = (const char *)all.rows + i * info->row_size;
        if (is_chosen(question, info, row, arguments))
            chosen[n++] = (struct keyed){key_of(order, row), i};
    }
    if (n)
        qsort(chosen, n, sizeof(*chosen), by_key);
    for (size_t i = 0; i < n; i++) {
        const char *row = (const char *)all.rows + chosen[i].row * info->row_size;
        char id[PW_EVIDENCE_ID];
        pw_answer_add(answer, pw_evidence_row(id, question->tables[0], chosen[i].row),
                      pw_answer_wants(answer) ? pw_json_row(question->tables[0], row) : NULL);
    }
    free(chosen);
    if (!all.n)
        pw_answer_say(answer, "The run has no rows of %s.", info->path);
    else if (!n)
        pw_answer_say(answer, "None of the %zu rows of %s fits the arguments.", all.n, info->path);
    else
        pw_answer_say(answer, "%zu of %zu rows of %s.", n, all.n, info->path);
}
