/* Reads declared faults and completes a run's parameters; see params.h. */
#include "sim/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/operators.h"

static const char *const patterns[PW_SIM_PATTERNS] = {"data", "halo", "hybrid"};

static const char *const kinds[PW_SIM_FAULT_KINDS] = {
    "slow_rank",     "slow_host", "slow_link",  "starved_loader", "slow_transfer", "jitter",
    "slow_operator", "slow_gpu",  "host_bound", "skew",           "missing",       "truncated",
};

const char *pw_sim_pattern_name(enum pw_sim_pattern pattern)
{
    return patterns[pattern];
}

const char *pw_sim_fault_name(enum pw_sim_fault_kind kind)
{
    return kinds[kind];
}

static int find_word(const char *const *words, int n, const char *word)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static int find_phase(const char *word)
{
    for (int phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++)
        if (phase != PW_PHASE_ALLREDUCE && strcmp(pw_enum_name(PW_F_PHASE, phase), word) == 0)
            return phase;
    return -1;
}

static int fail(char *problem, size_t size, const char *text, const char *word)
{
    snprintf(problem, size, "%s '%s'", text, word);
    return -EINVAL;
}

static int parse_whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end == text || *end || errno ? -EINVAL : 0;
}

/* "10-20", or "7" for one step. */
static int parse_steps(const char *text, struct pw_sim_fault *fault)
{
    char copy[64];
    snprintf(copy, sizeof(copy), "%s", text);
    char *dash = strchr(copy, '-');
    if (dash)
        *dash = '\0';
    if (parse_whole(copy, &fault->first))
        return -EINVAL;
    fault->last = fault->first;
    return dash ? parse_whole(dash + 1, &fault->last) : 0;
}

static int parse_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end == text || *end || !(*value >= 0 && *value <= 1e6) ? -EINVAL : 0;
}

static int set_key(struct pw_sim_fault *fault, const char *key, const char *value)
{
    const struct {
        const char *name;
        int64_t *to;
    } whole[] = {
        {"rank", &fault->rank},         {"from", &fault->rank},
        {"to", &fault->peer},           {"host", &fault->host},
        {"period", &fault->period},     {"offset_ns", &fault->offset_ns},
        {"error_ns", &fault->error_ns},
    };
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (strcmp(key, whole[i].name) == 0)
            return parse_whole(value, whole[i].to);
    if (strcmp(key, "percent") == 0)
        return parse_number(value, &fault->percent);
    if (strcmp(key, "factor") == 0)
        return parse_number(value, &fault->factor);
    if (strcmp(key, "name") == 0) {
        snprintf(fault->name, sizeof(fault->name), "%s", value);
        fault->phase = pw_sim_operator_phase(fault->name);
        return fault->phase == PW_PHASE_NONE ? -EINVAL : 0;
    }
    if (strcmp(key, "steps") == 0)
        return parse_steps(value, fault);
    int phase = strcmp(key, "phase") == 0 ? find_phase(value) : -1;
    if (phase < 0)
        return -EINVAL;
    fault->phase = (enum pw_phase)phase;
    return 0;
}

static int check_fault(const struct pw_sim_fault *f, const struct pw_sim_params *p)
{
    int64_t hosts = (p->ranks + p->ranks_per_host - 1) / p->ranks_per_host;
    return f->rank < 0 || f->rank >= p->ranks || f->peer < 0 || f->peer >= p->ranks ||
                   f->host < 0 || f->host >= hosts || f->first < 0 || f->last >= p->steps ||
                   f->first > f->last || f->period < 1 || f->error_ns < 0
               ? -EINVAL
               : 0;
}

static int parse_fault(char *text, struct pw_sim_params *p, char *problem, size_t size)
{
    char *keys = strchr(text, ':'), *rest;
    if (keys)
        *keys++ = '\0';
    int kind = find_word(kinds, PW_SIM_FAULT_KINDS, text);
    if (kind < 0)
        return fail(problem, size, "there is no kind of fault", text);
    struct pw_sim_fault fault = {
        .kind = (enum pw_sim_fault_kind)kind,
        .last = p->steps - 1,
        .period = 10,
        .phase = kind == PW_SIM_STARVED_LOADER || kind == PW_SIM_SLOW_TRANSFER ? PW_PHASE_DATA
                                                                               : PW_PHASE_FORWARD,
        .percent = kind == PW_SIM_SLOW_LINK       ? 400
                   : kind == PW_SIM_SLOW_OPERATOR ? 0
                                                  : 20,
        .offset_ns = 20000000,
        .error_ns = 1000,
        .name = "conv2d",
        .factor = 2,
    };
    for (char *word = keys ? strtok_r(keys, ",", &rest) : NULL; word;
         word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (!value || set_key(&fault, word, value))
            return fail(problem, size, "a fault has an unknown key or a wrong value:", word);
    }
    if (check_fault(&fault, p))
        return fail(problem, size, "the ranks, hosts or steps do not exist of the fault", text);
    if (kind == PW_SIM_SLOW_OPERATOR && !p->operators)
        return fail(problem, size, "without --operators there are none for the fault", text);
    if ((kind == PW_SIM_SLOW_GPU || kind == PW_SIM_HOST_BOUND) && !p->gpu)
        return fail(problem, size, "without --gpu there are none for the fault", text);
    p->faults[p->nfaults++] = fault;
    return 0;
}

int pw_sim_parse_faults(const char *text, struct pw_sim_params *p, char *problem, size_t size)
{
    char *copy = strdup(text), *rest = NULL;
    int err = copy ? 0 : -ENOMEM;
    for (char *one = copy ? strtok_r(copy, ";", &rest) : NULL; one && !err;
         one = strtok_r(NULL, ";", &rest))
        err = p->nfaults == PW_SIM_FAULTS ? fail(problem, size, "there are too many faults at", one)
                                          : parse_fault(one, p, problem, size);
    free(copy);
    return err;
}

int pw_sim_complete(struct pw_sim_params *p, char *problem, size_t size)
{
    if (p->ranks < 1 || p->ranks > PW_SIM_MAX_RANKS || p->steps < 1 || p->ranks_per_host < 1)
        return fail(problem, size, "ranks, steps and ranks per host are at least", "1");
    if (p->operators > PW_SIM_MAX_OPERATORS)
        return fail(problem, size, "a piece of work has no more operators than", "1000");
    if (p->gpu && (p->pattern != PW_SIM_DATA || p->operators))
        return fail(problem, size, "--gpu is for --pattern data, without", "--operators");
    if (p->pattern != PW_SIM_HYBRID)
        return 0;
    p->pipeline = p->pipeline ? p->pipeline : 2;
    p->tensor = p->tensor ? p->tensor : 2;
    p->microbatches = p->microbatches ? p->microbatches : 4;
    if (p->ranks % (p->pipeline * p->tensor))
        return fail(problem, size, "the number of ranks must be a multiple of",
                    "pipeline x tensor");
    return 0;
}
