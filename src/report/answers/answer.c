/* Builds an answer; see answer.h. */
#include "report/answers/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the rows of a page. The rest of PW_ANSWER_BYTES is for the sentence and what is not
 * known. */
enum { ROWS_BYTES = 5200, SENTENCE_BYTES = 1400 };

void pw_answer_set(struct pw_answer *answer, const char *key, json_t *value)
{
    answer->is_failed |= json_object_set_new(answer->object, key, value) != 0;
}

void pw_answer_say(struct pw_answer *answer, const char *format, ...)
{
    char text[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* A cut may leave a part of a character behind. */
    size_t n = strlen(text);
    while (n && n + 1 == sizeof(text) && (text[n - 1] & 0x80))
        text[--n] = '\0';
    pw_answer_set(answer, "answer", json_string(text));
}

void pw_answer_lack(struct pw_answer *answer, const char *reason, const char *how)
{
    if (reason)
        pw_answer_set(answer, "not_known", json_string(reason));
    if (reason && how)
        pw_answer_set(answer, "how_to_know", json_string(how));
}

bool pw_answer_wants(const struct pw_answer *answer)
{
    return answer->seen >= answer->from && !answer->is_full;
}

/* The row with its id first, and without null, which stands for "not known". */
static json_t *shown_row(const char *id, json_t *row)
{
    json_t *shown = json_object(), *value;
    const char *key;
    int bad = !shown || !row || (id && json_object_set_new(shown, "id", json_string(id)));
    json_object_foreach(row, key, value)
    {
        if (!bad && !json_is_null(value))
            bad = json_object_set(shown, key, value);
    }
    if (!bad)
        return shown;
    json_decref(shown);
    return NULL;
}

void pw_answer_add(struct pw_answer *answer, const char *id, json_t *row)
{
    const bool wanted = pw_answer_wants(answer);
    json_t *shown = wanted ? shown_row(id, row) : NULL;
    const size_t bytes = shown ? json_dumpb(shown, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) : 0;
    json_decref(row);
    answer->seen++;
    if (wanted && !shown) {
        answer->is_failed = true;
    } else if (wanted && answer->bytes + bytes > ROWS_BYTES && json_array_size(answer->rows)) {
        answer->is_full = true;
        pw_answer_set(answer, "next_from", json_integer(answer->seen - 1));
        json_decref(shown);
    } else if (wanted) {
        answer->bytes += bytes;
        answer->is_failed |= json_array_append_new(answer->rows, shown) != 0;
    }
}

void pw_answer_add_report(struct pw_answer *answer, const char *path, json_t *array)
{
    size_t i;
    json_t *row;
    json_array_foreach(array, i, row)
    {
        char id[PW_EVIDENCE_ID];
        snprintf(id, sizeof(id), "report/%s/%zu", path, i);
        pw_answer_add(answer, id, json_incref(row));
    }
    json_decref(array);
}
