/* Owns the delays: their syntax, which one applies where, and the sleep itself. */
#include "inject.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define MS_MAX 3600000.0 /* one hour */

/* Reads a number without sign from the start of *text and moves *text behind it. */
static bool take_number(const char **text, int64_t *out)
{
    if (**text < '0' || **text > '9')
        return false;

    char *end = NULL;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    if (errno)
        return false;
    *text = end;
    *out = number;
    return true;
}

static bool parse_rank(struct injection *in, const char *value)
{
    int64_t rank = 0;
    if (!take_number(&value, &rank) || *value || rank > INT32_MAX)
        return false;
    in->rank = (int)rank;
    return true;
}

static bool find_phase(struct injection *in, const char *value, const struct inject_phases *phases)
{
    for (int i = 0; i < phases->n; i++) {
        if (phases->names[i] && !strcmp(value, phases->names[i])) {
            in->phase = i;
            return true;
        }
    }
    return false;
}

static bool parse_ms(struct injection *in, const char *value)
{
    char *end = NULL;
    double ms = strtod(value, &end);
    if (end == value || *end || !(ms >= 0.0 && ms <= MS_MAX))
        return false;
    in->delay_ns = (int64_t)llround(ms * 1e6);
    return true;
}

static bool parse_steps(struct injection *in, const char *value)
{
    int64_t first = 0;
    if (!take_number(&value, &first))
        return false;

    int64_t last = first;
    if (*value == '-') {
        value++;
        if (!take_number(&value, &last))
            return false;
    }
    if (*value || last < first)
        return false;
    in->step_first = first;
    in->step_last = last;
    return true;
}

static const struct key {
    const char *name;
    bool required;
    bool (*parse)(struct injection *in, const char *value); /* NULL: find_phase() */
    const char *expects;
} keys[] = {
    {"rank", true, parse_rank, "a rank of this run"},
    {"phase", true, NULL, NULL},
    {"ms", true, parse_ms, "milliseconds from 0 to 3600000"},
    {"steps", false, parse_steps, "a step or FIRST-LAST, such as 20-40"},
};

enum { KEYS = sizeof keys / sizeof *keys };

/* Handles one "key=value"; *seen has bit k set once keys[k] was given. */
static int parse_pair(struct injection *in, char *pair, const struct inject_phases *phases,
                      unsigned *seen, char *why, size_t why_size)
{
    char *value = strchr(pair, '=');
    if (value)
        *value++ = '\0';

    for (size_t k = 0; value && k < KEYS; k++) {
        if (strcmp(pair, keys[k].name))
            continue;
        if (*seen & 1u << k) {
            snprintf(why, why_size, "%s= is given twice; repeat --inject instead", pair);
            return -EINVAL;
        }
        *seen |= 1u << k;
        if (keys[k].parse ? keys[k].parse(in, value) : find_phase(in, value, phases))
            return 0;
        snprintf(why, why_size, "%s= expects %s", pair,
                 keys[k].expects ? keys[k].expects : phases->expects);
        return -EINVAL;
    }
    snprintf(why, why_size, "'%s' is not one of rank=, phase=, ms=, steps=", pair);
    return -EINVAL;
}

static int check_complete(const struct injection *in, const struct inject_phases *phases,
                          unsigned seen, int nrank, char *why, size_t why_size)
{
    for (size_t k = 0; k < KEYS; k++) {
        if (keys[k].required && !(seen & 1u << k)) {
            snprintf(why, why_size, "%s= is missing; it expects %s", keys[k].name,
                     keys[k].expects ? keys[k].expects : phases->expects);
            return -EINVAL;
        }
    }
    if (in->rank >= nrank) {
        snprintf(why, why_size, "rank= expects a rank of this run, 0 to %d", nrank - 1);
        return -EINVAL;
    }
    return 0;
}

int inject_parse(struct inject_list *list, const char *spec, const struct inject_phases *phases,
                 int nrank, char *why, size_t why_size)
{
    if (list->count == INJECT_MAX) {
        snprintf(why, why_size, "at most %d delays can be injected", INJECT_MAX);
        return -EINVAL;
    }

    char copy[256];
    if ((size_t)snprintf(copy, sizeof copy, "%s", spec) >= sizeof copy) {
        snprintf(why, why_size, "at most %zu characters are expected", sizeof copy - 1);
        return -EINVAL;
    }

    struct injection in = {.step_first = 0, .step_last = INT64_MAX};
    unsigned seen = 0;
    char *rest = NULL;
    for (char *pair = strtok_r(copy, ",", &rest); pair; pair = strtok_r(NULL, ",", &rest)) {
        int err = parse_pair(&in, pair, phases, &seen, why, why_size);
        if (err)
            return err;
    }

    int err = check_complete(&in, phases, seen, nrank, why, why_size);
    if (!err)
        list->items[list->count++] = in;
    return err;
}

int64_t inject_delay_ns(const struct inject_list *list, int rank, int phase, int64_t step)
{
    int64_t delay_ns = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct injection *in = &list->items[i];
        if (in->rank == rank && in->phase == phase && step >= in->step_first &&
            step <= in->step_last)
            delay_ns += in->delay_ns;
    }
    return delay_ns;
}

void inject_sleep(int64_t delay_ns)
{
    if (delay_ns > 0)
        pace_until(pace_now(), delay_ns);
}
