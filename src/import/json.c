/* Reads single values of JSON objects; see json.h. */
#include "import/json.h"

#include <errno.h>
#include <string.h>

const struct pw_json_item *pw_json_find(const struct pw_json_object *object, int depth,
                                        const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < object->n; i++) {
        const struct pw_json_item *item = &object->items[i];
        if (item->depth == depth && item->key_length == length &&
            memcmp(item->key, key, length) == 0)
            return item;
    }
    return NULL;
}

const char *pw_json_copy(const struct pw_json_item *item, char *out, size_t size)
{
    size_t length = item ? item->length : 0;
    length = length < size ? length : size - 1;
    if (length)
        memcpy(out, item->text, length);
    out[length] = '\0';
    return out;
}

/* Reads "-12" at *at, moving it on. */
static int read_int(const char **at, const char *end, int64_t *out)
{
    const char *p = *at;
    int negative = p < end && *p == '-';
    int64_t value = 0;
    p += negative;
    const char *first = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, *p - '0', &value))
            return -EINVAL;
    if (p == first || (!negative && value == INT64_MIN))
        return -EINVAL;
    *at = p;
    *out = negative ? value : -value;
    return 0;
}

int pw_json_to_int(const struct pw_json_item *item, int64_t *out)
{
    if (!item || !item->length || (item->type != PW_JSON_NUMBER && item->type != PW_JSON_TEXT))
        return -EINVAL;
    const char *at = item->text, *end = at + item->length;
    int64_t value;
    if (read_int(&at, end, &value) || at != end)
        return -EINVAL;
    *out = value;
    return 0;
}

static const char *skip(const char *at, const char *end, const char *what)
{
    while (at < end && strchr(what, *at) && *at)
        at++;
    return at;
}

size_t pw_json_to_ints(const struct pw_json_item *item, int64_t *out, size_t max)
{
    if (!item || (item->type != PW_JSON_ARRAY && item->type != PW_JSON_TEXT))
        return 0;
    const char *end = item->text + item->length, *at = skip(item->text, end, " \t\r\n");
    if (at == end || *at != '[')
        return 0;
    size_t n = 0;
    for (at = skip(at + 1, end, " \t\r\n"); at < end && *at != ']';) {
        int64_t value;
        if (n == max || read_int(&at, end, &value))
            return 0;
        out[n++] = value;
        at = skip(at, end, " \t\r\n,");
    }
    return at < end ? n : 0;
}
