/* Reads --schedule; see schedule.h. */
#include "core/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The largest number in a schedule: sums of four of them cannot overflow. */
#define MOST ((int64_t)1000000000000)

struct key {
    const char *name;
    int64_t *value;
    bool seen;
};

static int complain(char *problem, size_t size, const char *text, const char *what)
{
    snprintf(problem, size,
             "--schedule: '%.64s' %s; it takes skip_first=N,wait=N,warmup=N,active=N,repeat=N",
             text, what);
    return -EINVAL;
}

/* Returns the whole number in `text`; -1 when it is none or above MOST. */
static int64_t read_number(const char *text, size_t length)
{
    int64_t value = 0;
    if (length == 0)
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
        if (value > MOST)
            return -1;
    }
    return value;
}

static struct key *find_key(struct key *keys, size_t n, const char *text, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(keys[i].name) == length && strncmp(keys[i].name, text, length) == 0)
            return &keys[i];
    return NULL;
}

/* Reads one "key=value" of `length` characters. Returns NULL, or what is wrong with it. */
static const char *read_one(const char *text, size_t length, struct key *keys, size_t n)
{
    const char *equals = memchr(text, '=', length);
    if (!equals)
        return "is no key=value";
    size_t name = (size_t)(equals - text);
    struct key *key = find_key(keys, n, text, name);
    if (!key)
        return "has an unknown key";
    if (key->seen)
        return "is given twice";
    key->seen = true;
    *key->value = read_number(equals + 1, length - name - 1);
    return *key->value < 0 ? "is no whole number from 0 to 1000000000000" : NULL;
}

int pw_schedule_parse(const char *text, struct pw_schedule *out, char *problem, size_t size)
{
    struct pw_schedule s = {0};
    struct key keys[] = {{"skip_first", &s.skip_first, false},
                         {"wait", &s.wait, false},
                         {"warmup", &s.warmup, false},
                         {"active", &s.active, false},
                         {"repeat", &s.repeat, false}};
    for (const char *at = text; *text; at++) {
        char word[65];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", length < 64 ? (int)length : 64, at);
        const char *wrong = read_one(at, length, keys, sizeof(keys) / sizeof(keys[0]));
        if (wrong)
            return complain(problem, size, word, wrong);
        at += length;
        if (!*at)
            break;
    }
    if (*text && s.active == 0)
        return complain(problem, size, text, "records nothing: active must be at least 1");
    *out = s;
    return 0;
}
