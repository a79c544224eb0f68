/* Finds members of parsed JSON objects, and reads single values. Numbers are scaled as decimal
 * digits, never as doubles. See jsonobject.h. */
#include "import/parsers/jsonobject.h"

#include <errno.h>
#include <string.h>

#include "core/limits.h"

/* The parts of a number's text: the digits, and the exponent of 10. */
struct written {
    const char *digits, *end; /* digits with at most one point among them */
    int64_t exponent;
    int negative;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int read_exponent(const char *at, const char *end, int64_t *out)
{
    enum { MOST = 10000 };
    int negative = 0;
    if (at < end && (*at == '-' || *at == '+'))
        negative = *at++ == '-';
    if (at == end)
        return -EINVAL;
    for (*out = 0; at < end && is_digit(*at); at++)
        *out = *out < MOST ? *out * 10 + (*at - '0') : MOST;
    *out = negative ? -*out : *out;
    return at == end ? 0 : -EINVAL;
}

static int read_written(const char *text, size_t length, struct written *out)
{
    const char *at = text, *end = text + length;
    int points = 0, digits = 0;
    *out = (struct written){0};
    if (at < end && *at == '-') {
        out->negative = 1;
        at++;
    }
    out->digits = at;
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        points += *at == '.';
        digits += *at != '.';
    }
    out->end = at;
    if (!digits || points > 1)
        return -EINVAL;
    if (at < end && (*at == 'e' || *at == 'E'))
        return read_exponent(at + 1, end, &out->exponent);
    return at == end ? 0 : -EINVAL;
}

/* Scales what most traces have: at most 17 digits, of which at most `power` follow a point.
 * Returns 0, or -EINVAL for all else. */
static int scale_plain(const char *text, size_t length, int power, int64_t *out)
{
    enum { MOST_DIGITS = 17 };
    static const int64_t powers[] = {1, 10, 100, 1000};
    const char *at = text, *const end = text + length, *point = NULL;
    int64_t value = 0;
    if (!length || length > MOST_DIGITS || power < 0 || power > 3)
        return -EINVAL;
    for (; at < end; at++) {
        if (is_digit(*at))
            value = value * 10 + (*at - '0');
        else if (*at == '.' && !point)
            point = at;
        else
            return -EINVAL;
    }
    const int64_t decimals = point ? end - point - 1 : 0;
    if (decimals > power || (point && length == 1))
        return -EINVAL;
    value *= powers[power - decimals];
    if (value > PW_LIMIT)
        return -EINVAL;
    *out = value;
    return 0;
}

int pw_decimal_scale(const char *text, size_t length, int power, int64_t *out)
{
    struct written w;
    if (scale_plain(text, length, power, out) == 0)
        return 0;
    int64_t value = 0;
    int err = read_written(text, length, &w), round_up = 0;
    if (err)
        return err;
    const char *point = w.digits;
    while (point < w.end && *point != '.')
        point++;
    int64_t keep = (point - w.digits) + power + w.exponent; /* digits that are still to be used */
    for (const char *p = w.digits; p < w.end; p++) {
        if (*p == '.')
            continue;
        if (keep-- <= 0) {
            round_up = keep == -1 && *p >= '5';
            break;
        }
        if (value > PW_LIMIT / 10)
            return -ERANGE;
        value = value * 10 + (*p - '0');
    }
    for (; keep > 0 && value; keep--) {
        if (value > PW_LIMIT / 10)
            return -ERANGE;
        value *= 10;
    }
    value += round_up;
    *out = w.negative ? -value : value;
    return 0;
}

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

const struct pw_json_item *pw_json_find_in(const struct pw_json_object *object,
                                           const struct pw_json_item *parent, const char *key)
{
    size_t length = strlen(key);
    const struct pw_json_item *end = object->items + object->n;
    for (const struct pw_json_item *item = parent ? parent + 1 : end;
         item < end && item->depth > parent->depth; item++)
        if (item->key_length == length && memcmp(item->key, key, length) == 0)
            return item;
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

/* Reads an integer such as "-12" at *at and moves *at past it. */
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

int64_t pw_json_count_elements(const struct pw_json_item *dims)
{
    int64_t sum = 0, product = 1, number = -1;
    int depth = 0, empty = 1, is_known = 0;
    if (!dims || dims->type != PW_JSON_ARRAY)
        return -1;
    for (const char *at = dims->text, *end = at + dims->length; at < end; at++) {
        if (*at >= '0' && *at <= '9') {
            number = number < 0 ? 0 : number;
            if (number > PW_LIMIT / 10)
                return -1;
            number = number * 10 + (*at - '0');
            continue;
        }
        if (number >= 0) {
            if (__builtin_mul_overflow(product, number, &product) || product > PW_LIMIT)
                return -1;
            number = -1;
            empty = 0;
            is_known = 1;
        }
        depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
        if (*at == ']' && !empty) {
            sum = pw_sum(sum, product);
            product = 1;
            empty = 1;
        }
    }
    return depth == 0 && is_known ? sum : -1;
}

size_t pw_json_first_text(const struct pw_json_item *types, const char **out)
{
    const char *end = types->text + types->length;
    const char *open = memchr(types->text, '"', types->length);
    const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
    *out = open ? open + 1 : "";
    return close ? (size_t)(close - open - 1) : 0;
}
