/* Reads declared faults, completes a run's parameters, and has the table of the kinds of faults;
 * see params.h. */
#include "sim/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"
#include "sim/workranges.h"

/* The usual values of cgroups' quotas and of the kernel's scheduler. */
enum { SLICE_NS = 4000000, QUOTA_NS = 100000000, SIGSTOPS_NS = 200000000, ENDS_NS = 200000000 };

static const char *const patterns[PW_SIM_PATTERNS] = {
    "data", "halo", "hybrid", "ring", "nested", "periods", "pipeline", "moe", "farm"};

const char *pw_sim_pattern_name(enum pw_sim_pattern pattern)
{
    return patterns[pattern];
}

/* Rows by enum pw_sim_fault_kind. */
static const struct pw_sim_kind kinds[PW_SIM_FAULT_KINDS] = {
    {"slow_rank", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_host", PW_SIM_ON_HOST, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_link", PW_SIM_ON_LINK, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 400, 0, 0, ""},
    {"starved_loader", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_DATA, 20, 0, 0,
     "data_starvation"},
    {"slow_transfer", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_DATA, 20, 0, 0,
     "data_starvation"},
    {"jitter", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "more_cpu_work"},
    {"slow_operator", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 0, 0, 0,
     "operator_grew"},
    {"slow_gpu", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "gpu_clocks_throttled"},
    {"host_bound", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0,
     "host_bound"},
    {"skew", PW_SIM_ON_HOST, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"missing", PW_SIM_ON_FILE, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"truncated", PW_SIM_ON_FILE, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"quota", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_QUOTA, PW_PHASE_NONE, 0, 0, 1,
     "cgroup_throttling"},
    {"burners", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_READY, PW_PHASE_NONE, 0, 0, 1,
     "cpu_contention"},
    {"sigstop", PW_SIM_ON_RANK, PW_SIM_STOPS_ONCE, PW_SIM_STOPPED, PW_PHASE_NONE, 0, 3000, 1,
     "stopped"},
    {"sigstops", PW_SIM_ON_RANK, PW_SIM_STOPS, PW_SIM_STOPPED, PW_PHASE_NONE, 0, 50, 1, "stopped"},
    {"freeze", PW_SIM_ON_HOST, PW_SIM_STOPS_ONCE, PW_SIM_FROZEN, PW_PHASE_NONE, 0, 3000, 1,
     "host_frozen"},
    {"disk", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_DISK, PW_PHASE_FORWARD, 20, 0, 1, "file_io"},
    {"page_faults", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_DISK, PW_PHASE_FORWARD, 20, 0, 1,
     "page_faults"},
    {"blocked", PW_SIM_ON_RANK, PW_SIM_ADDS, PW_SIM_SLEEPING, PW_PHASE_FORWARD, 20, 0, 1,
     "blocked_off_cpu"},
    {"stall", PW_SIM_ON_RANK, PW_SIM_ADDS_NS, PW_SIM_SLEEPING, PW_PHASE_FORWARD, 0, 2000, 1,
     "blocked_off_cpu"},
    {"late_start", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_SLEEPING, PW_PHASE_NONE, 0, 1000, 1,
     "late_start"},
    {"late_setup", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_DISK, PW_PHASE_NONE, 0, 1000, 1,
     "file_io"},
    {"late_end", PW_SIM_ON_RANK, PW_SIM_AT_ENDS, PW_SIM_DISK, PW_PHASE_NONE, 0, 1000, 1, "file_io"},
    {"checkpoint", PW_SIM_ON_ALL, PW_SIM_PAUSES, PW_SIM_DISK, PW_PHASE_NONE, 0, 100, 1, "file_io"},
    {"drift", PW_SIM_ON_ALL, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"slow_all", PW_SIM_ON_ALL, PW_SIM_ADDS, PW_SIM_RUNNING, PW_PHASE_FORWARD, 20, 0, 0, ""},
    {"congestion", PW_SIM_ON_NETWORK, PW_SIM_ELSE, PW_SIM_RUNNING, PW_PHASE_NONE, 300, 0, 0, ""},
};

const struct pw_sim_kind *pw_sim_kind_of(enum pw_sim_fault_kind kind)
{
    return &kinds[kind];
}

const char *pw_sim_scope_name(enum pw_sim_scope scope)
{
    static const char *const names[] = {"rank", "host", "link", "all", "file", "network"};
    return names[scope];
}

enum pw_sim_scope pw_sim_scope_of(const struct pw_sim_fault *f)
{
    enum pw_sim_scope scope = kinds[f->kind].scope;
    return scope == PW_SIM_ON_ALL && f->rank >= 0 ? PW_SIM_ON_RANK : scope;
}

const char *pw_sim_part_of(const struct pw_sim_fault *f)
{
    if (kinds[f->kind].how == PW_SIM_PAUSES)
        return "checkpoint";
    if (kinds[f->kind].how != PW_SIM_AT_ENDS)
        return "steps";
    return f->kind == PW_SIM_LATE_END ? "tail" : "start_up";
}

static int find_kind(const char *word)
{
    for (int kind = 0; kind < PW_SIM_FAULT_KINDS; kind++)
        if (strcmp(pw_sim_kind_of((enum pw_sim_fault_kind)kind)->name, word) == 0)
            return kind;
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

/* Milliseconds, as ns. */
static int parse_ms(const char *text, int64_t *ns)
{
    double ms;
    int err = parse_number(text, &ms);
    if (!err)
        *ns = (int64_t)(1e6 * ms);
    return err;
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
        {"error_ns", &fault->error_ns}, {"share", &fault->share},
        {"burners", &fault->burners},
    };
    const struct {
        const char *name;
        int64_t *to;
    } times[] = {
        {"ms", &fault->ns},         {"every_ms", &fault->every_ns}, {"at_ms", &fault->delay_ns},
        {"for_ms", &fault->for_ns}, {"slice_ms", &fault->slice_ns},
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(key, times[i].name) == 0)
            return parse_ms(value, times[i].to);
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
    int64_t least = pw_sim_kind_of(f->kind)->scope == PW_SIM_ON_ALL ? -1 : 0;
    return f->rank < least || f->rank >= p->ranks || f->peer < 0 || f->peer >= p->ranks ||
                   f->host < (f->kind == PW_SIM_CONGESTION ? -1 : 0) || f->host >= hosts ||
                   f->first < 0 || f->last >= p->steps || f->first > f->last || f->period < 1 ||
                   f->error_ns < 0
               ? -EINVAL
               : 0;
}

static struct pw_sim_fault usual(enum pw_sim_fault_kind kind, const struct pw_sim_params *p)
{
    const struct pw_sim_kind *row = pw_sim_kind_of(kind);
    return (struct pw_sim_fault){
        .kind = kind,
        .rank = row->scope == PW_SIM_ON_ALL ? -1 : 0,
        .host = kind == PW_SIM_CONGESTION ? -1 : 0,
        .last = p->steps - 1,
        .period = 10,
        .phase = row->phase,
        .percent = row->percent,
        .offset_ns = 20000000,
        .error_ns = 1000,
        .name = "conv2d",
        .factor = 2,
        .ns = (int64_t)(1e6 * row->ms),
        .every_ns = SIGSTOPS_NS,
        .slice_ns = SLICE_NS,
        .share = 50,
        .burners = 1,
    };
}

/* Checks the intervals of running and of stops of a fault that stops a process repeatedly. */
static int check_stops(struct pw_sim_fault *f)
{
    if (f->kind == PW_SIM_CPU_QUOTA) {
        f->every_ns = QUOTA_NS;
        f->ns = QUOTA_NS / 100 * (100 - f->share);
    } else if (f->kind == PW_SIM_BURNERS) {
        f->every_ns = f->slice_ns * (f->burners + 1);
        f->ns = f->slice_ns * f->burners;
    }
    return f->share < 1 || f->share > 99 || f->burners < 1 || f->burners > 1000 ||
                   f->slice_ns < 1000 || f->ns < 1000 || f->ns >= f->every_ns
               ? -EINVAL
               : 0;
}

static int complete_fault(struct pw_sim_fault *f, struct pw_sim_params *p, char *problem,
                          size_t size)
{
    const struct pw_sim_kind *row = pw_sim_kind_of(f->kind);
    int stops = row->how == PW_SIM_STOPS || row->how == PW_SIM_STOPS_ONCE;
    if (check_fault(f, p))
        return fail(problem, size, "there are no such ranks, hosts or steps for the fault",
                    row->name);
    if (f->kind == PW_SIM_SLOW_OPERATOR && !p->operators)
        return fail(problem, size, "--operators is needed for the fault", row->name);
    if ((f->kind == PW_SIM_SLOW_GPU || f->kind == PW_SIM_HOST_BOUND) && !p->gpu)
        return fail(problem, size, "--gpu is needed for the fault", row->name);
    if (stops && p->gpu)
        return fail(problem, size, "--gpu does not simulate the CPU, as is needed for the fault",
                    row->name);
    if (row->how == PW_SIM_STOPS && check_stops(f))
        return fail(problem, size, "between stops a process runs, for some of the time, in",
                    row->name);
    if (row->how == PW_SIM_STOPS_ONCE || row->how == PW_SIM_ADDS_NS)
        f->last = f->first;
    if (row->how == PW_SIM_AT_ENDS && !p->ends_ns)
        p->ends_ns = ENDS_NS;
    p->os_samples |= row->has_evidence;
    return 0;
}

static int parse_fault(char *text, struct pw_sim_params *p, char *problem, size_t size)
{
    char *keys = strchr(text, ':'), *rest;
    if (keys)
        *keys++ = '\0';
    int kind = find_kind(text);
    if (kind < 0)
        return fail(problem, size, "there is no kind of fault", text);
    struct pw_sim_fault fault = usual((enum pw_sim_fault_kind)kind, p);
    for (char *word = keys ? strtok_r(keys, ",", &rest) : NULL; word;
         word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (!value || set_key(&fault, word, value))
            return fail(problem, size, "a fault has an unknown key or a wrong value:", word);
    }
    int err = complete_fault(&fault, p, problem, size);
    if (!err)
        p->faults[p->nfaults++] = fault;
    return err;
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
    if (p->pattern == PW_SIM_RING && p->ranks < 2)
        return fail(problem, size, "a ring has no fewer ranks than", "2");
    if (p->pattern == PW_SIM_FARM && p->ranks < 2)
        return fail(problem, size, "a farm has no fewer ranks than", "2");
    if (p->pattern == PW_SIM_NESTED && (p->inner < 1 || p->inner > PW_SIM_MAX_INNER))
        return fail(problem, size, "--inner is from 1 to", "1000");
    if (p->overlap > 0 && (p->pattern != PW_SIM_DATA || p->gpu))
        return fail(problem, size, "without --gpu, --overlap is for --pattern", "data");
    if (p->stage_skew > 0 && p->pattern != PW_SIM_PIPELINE)
        return fail(problem, size, "--stage-skew is for --pattern", "pipeline");
    if (p->routing && p->pattern != PW_SIM_MOE)
        return fail(problem, size, "--routing is for --pattern", "moe");
    if (p->pattern == PW_SIM_MOE)
        p->microbatches = p->microbatches ? p->microbatches : 4;
    if (p->pattern != PW_SIM_HYBRID && p->pattern != PW_SIM_PIPELINE)
        return 0;
    p->chunks = p->chunks ? p->chunks : 1;
    if (p->pattern == PW_SIM_PIPELINE)
        p->tensor = 1;
    p->pipeline = p->pipeline ? p->pipeline : 2;
    p->tensor = p->tensor ? p->tensor : 2;
    p->microbatches = p->microbatches ? p->microbatches : 4;
    if (p->pattern == PW_SIM_PIPELINE && (p->chunks > 64 || p->microbatches > 4096 ||
                                          (p->chunks > 1 && p->microbatches % p->pipeline)))
        return fail(problem, size,
                    "with --chunks, of at most 64, microbatches are a multiple of the", "pipeline");
    if (p->ranks % (p->pipeline * p->tensor))
        return fail(problem, size, "the number of ranks must be a multiple of",
                    "pipeline x tensor");
    return 0;
}

struct pw_sim_clock pw_sim_clock_of(const struct pw_sim_params *p, int64_t rank)
{
    uint64_t host = (uint64_t)pw_sim_host(p, rank);
    struct pw_sim_clock clock = {0, 0, 0};
    if (host > 0) {
        clock.offset_ns = (int64_t)(pw_sim_bits(p->seed, host, 2, 1) % 100000000) - 50000000;
        clock.drift = 40e-6 * (pw_sim_uniform(pw_sim_bits(p->seed, host, 2, 2)) - 0.5);
        clock.error_ns = p->clock_error_ns;
    }
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == PW_SIM_CLOCK_SKEW && p->faults[i].host == (int64_t)host) {
            clock.offset_ns += p->faults[i].offset_ns;
            clock.error_ns = p->faults[i].error_ns;
        }
    return clock;
}
