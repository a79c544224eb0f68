/* Decimal numbers as integers; see decimal.h. */
#include "import/decimal.h"

#include <errno.h>

#include "core/limits.h"

/* A number as it is written: digits with the point after `whole` of them, times 10^exponent. */
struct written {
    const char *digits, *end; /* digits and at most one point */
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

int pw_decimal_scale(const char *text, size_t length, int power, int64_t *out)
{
    struct written w;
    int64_t value = 0;
    int err = read_written(text, length, &w), round_up = 0;
    if (err)
        return err;
    const char *point = w.digits;
    while (point < w.end && *point != '.')
        point++;
    int64_t keep = (point - w.digits) + power + w.exponent; /* digits that still count */
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
