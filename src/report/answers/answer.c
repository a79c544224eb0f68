/* Builds an answer; see answer.h. */
#include "report/answers/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/writing/safenames.h"

/* Bytes of the rows of a page. The rest of PW_ANSWER_BYTES is for the sentence and what is not
 * known. TEXT_BYTES: of a text in a row; SENTENCE_BYTES and TEXT_BYTES count before non-ASCII
 * characters become escapes. */
enum { ROWS_BYTES = 5200, SENTENCE_BYTES = 1400, TEXT_BYTES = 512 };

/* Keys of texts that the profiled program chose, wholly or in parts: names and messages. */
static const char *const of_program[] = {
    "name",      "hostname",   "peer_hostname", "comm_name", "message",  "text",   "detail",
    "file",      "operator",   "shapes",        "queue",     "program",  "role",   "type",
    "filled_by", "emptied_by", "library",       "device",    "evidence", "reason", "op",
};

void pw_answer_set(struct pw_answer *answer, const char *key, json_t *value)
{
    if (json_is_null(value)) /* not known */
        json_decref(value);
    else
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

/* Notes that the texts of this key are of the profiled program. */
static void mark_key(struct pw_answer *answer, const char *key)
{
    json_t *marked = json_object_get(answer->object, "from_program"), *one;
    size_t i, n = sizeof(of_program) / sizeof(of_program[0]), k = 0;
    while (k < n && strcmp(of_program[k], key) != 0)
        k++;
    if (k == n)
        return;
    json_array_foreach(marked, i, one)
    {
        if (strcmp(json_string_value(one), key) == 0)
            return;
    }
    if (!marked)
        pw_answer_set(answer, "from_program", json_array());
    marked = json_object_get(answer->object, "from_program");
    answer->is_failed |= json_array_append_new(marked, json_string(key)) != 0;
}

json_t *pw_answer_text(const json_t *text)
{
    char shown[TEXT_BYTES + 1];
    const char *all = json_string_value(text);
    const size_t n = json_string_length(text);
    pw_names_printable(shown, sizeof(shown), all, n);
    return n < sizeof(shown) ? json_string(shown) : json_sprintf("%s...", shown);
}

/* The row with its id first, and without null, which stands for "not known". */
static json_t *shown_row(struct pw_answer *answer, const char *id, json_t *row)
{
    json_t *shown = json_object(), *value;
    const char *key;
    int bad = !shown || !row || (id && json_object_set_new(shown, "id", json_string(id)));
    json_object_foreach(row, key, value)
    {
        if (bad || json_is_null(value))
            continue;
        if (json_is_string(value))
            mark_key(answer, key);
        bad = json_is_string(value) ? json_object_set_new(shown, key, pw_answer_text(value))
                                    : json_object_set(shown, key, value);
    }
    if (!bad)
        return shown;
    json_decref(shown);
    return NULL;
}

void pw_answer_add(struct pw_answer *answer, const char *id, json_t *row)
{
    const bool wanted = pw_answer_wants(answer);
    json_t *shown = wanted ? shown_row(answer, id, row) : NULL;
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

void pw_answer_set_known(struct pw_answer *answer, json_t *value)
{
    const char *key;
    void *next;
    json_t *one;
    json_object_foreach_safe(value, next, key, one)
    {
        if (json_is_null(one))
            json_object_del(value, key);
    }
    pw_answer_set(answer, "value", json_incref(value));
}

/* The path as a word for a shell; a placeholder for one that has a quotation mark or is not UTF-8.
 */
const char *pw_answer_quoted(const char *path, char out[PW_ANSWER_QUOTED])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=,:@%";
    pw_names_utf8(out, PW_ANSWER_QUOTED, path, strlen(path));
    const bool is_utf8 = strcmp(out, path) == 0;
    if (strspn(path, plain) == strlen(path) && path[0] != '-')
        snprintf(out, PW_ANSWER_QUOTED, "%s", path);
    else if (strchr(path, '\'') || !is_utf8)
        snprintf(out, PW_ANSWER_QUOTED, "CLUSTER_FILE");
    else
        snprintf(out, PW_ANSWER_QUOTED, "'%s%s'", path[0] == '-' ? "./" : "", path);
    return out;
}
