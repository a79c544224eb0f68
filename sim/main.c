/* The program of `profwrap sim`: a synthetic run with declared faults, for tests, benchmarks and
 * demonstrations. Its options set the members of struct pw_sim_params. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "core/safefile.h"
#include "sim/runwrite.h"

/* How the text of an option becomes the value of its member. */
enum takes {
    WHOLE,
    BYTES,
    FLAG,
    NO_FLAG,
    MICROSECONDS,
    MILLISECONDS,
    SHARE,
    PATTERN,
    ROUTING,
    TEXT
};

struct row {
    const char *name;
    char letter;
    const char *meta; /* NULL: a flag */
    enum takes takes;
    size_t member; /* offset in struct pw_sim_params; of a text: in struct given */
    const char *help;
};

/* What the options give. `last` is -1 for all ranks. */
struct given {
    struct pw_sim_params params;
    const char *faults, *share;
    const char *dir;
    int64_t first, last;
};

static const char *const routings[] = {"uniform", "hot", "rotating", "burst"};

#define OF(name) offsetof(struct pw_sim_params, name)
static const struct row rows[] = {
    {"pattern", 'p', "NAME", PATTERN, OF(pattern),
     "data (parallel), halo (2-D exchange), hybrid (pipeline x tensor x data), ring (messages "
     "only), "
     "nested (loops), periods (of 1, 4 and 10 steps), pipeline (1F1B), moe (experts) or farm "
     "(tasks) [data]"},
    {"ranks", 'r', "N", WHOLE, OF(ranks), "ranks [8]"},
    {"steps", 's', "N", WHOLE, OF(steps), "steps [100]"},
    {"collectives", 'c', "N", WHOLE, OF(collectives), "large collectives per step [2]"},
    {"ranks-per-host", 0, "N", WHOLE, OF(ranks_per_host),
     "ranks that share a host and its clock [4]"},
    {"step-us", 0, "N", MICROSECONDS, OF(step_ns), "mean work of a step, us [10000]"},
    {"bytes", 0, "SIZE", BYTES, OF(bytes), "gradients reduced per step [4M]"},
    {"noise", 'n', "PERCENT", SHARE, OF(noise), "log-normal noise of a rank's work in a step [2]"},
    {"clock-error-ns", 0, "N", WHOLE, OF(clock_error_ns),
     "error bound of the clock knots of all hosts but the first [1000]"},
    {"pipeline", 0, "N", WHOLE, OF(pipeline), "hybrid, pipeline: its stages [2]"},
    {"tensor", 0, "N", WHOLE, OF(tensor), "hybrid: ranks of a tensor group [2]"},
    {"microbatches", 0, "N", WHOLE, OF(microbatches),
     "hybrid, pipeline: microbatches per step; moe: layers [4]"},
    {"operators", 0, "N", WHOLE, OF(operators),
     "operators in each piece of work (at most 1000), with shapes, types and memory [0]"},
    {"gpu", 0, NULL, FLAG, OF(gpu),
     "pattern data: work runs on a GPU, with NCCL collectives beside it"},
    {"queues", 0, NULL, FLAG, OF(queues), "a data pipeline of three queues, sampled in each step"},
    {"faults", 'f', "LIST", TEXT, offsetof(struct given, faults),
     "KIND:key=value,...;... with KIND slow_rank, slow_host, slow_link, starved_loader, "
     "slow_transfer, jitter, slow_operator (name=, factor=), slow_gpu, host_bound, skew, missing "
     "or "
     "truncated; quota, burners, sigstop, sigstops, freeze, disk, page_faults, blocked, stall, "
     "late_start, late_setup, late_end, checkpoint, drift, slow_all or congestion"},
    {"inner", 0, "N", WHOLE, OF(inner), "nested: inner iterations per step [10]"},
    {"message", 0, "SIZE", BYTES, OF(message), "ring, pipeline: size of each message [64K]"},
    {"eager", 0, "SIZE", BYTES, OF(eager),
     "ring: a send of more than this waits until it is received [4K]"},
    {"chunks", 0, "N", WHOLE, OF(chunks),
     "pipeline: parts of the model on each rank, 2 or more: interleaved [1]"},
    {"stage-skew", 0, "PERCENT", SHARE, OF(stage_skew),
     "pipeline: this much more work in the last stage, half of it in the first [0]"},
    {"routing", 0, "NAME", ROUTING, OF(routing),
     "moe: the expert with more tokens: uniform (none), hot (one), rotating (one after the other) "
     "or "
     "burst (one now and then) [uniform]"},
    {"hot", 0, "PERCENT", SHARE, OF(hot), "moe: how many more tokens the hot expert has [100]"},
    {"lengths", 0, "PERCENT", SHARE, OF(lengths), "sigma of the log-normal sequence lengths [0]"},
    {"overlap", 0, "PERCENT", SHARE, OF(overlap),
     "data: use Iallreduce; backward hides this share of it [0]"},
    {"host-noise", 0, "PERCENT", SHARE, OF(host_noise),
     "noise that all ranks of a host share, in each step [0]"},
    {"rack-noise", 0, "PERCENT", SHARE, OF(rack_noise),
     "noise that all ranks of a rack of 4 hosts share, in each step [0]"},
    {"bursts-ms", 0, "N", MILLISECONDS, OF(burst_ns),
     "operating system noise: in 2 % of the steps all ranks of a host lose N ms on average [0]"},
    {"gc-ms", 0, "N", MILLISECONDS, OF(gc_ns),
     "garbage collection: each rank pauses for about N ms in one of 50 steps, at its own time [0]"},
    {"tell-roles", 0, NULL, FLAG, OF(tell_roles),
     "record each rank's role, and its amount of work in each step, as profwrap.h does"},
    {"bare", 0, NULL, FLAG, OF(bare), "record MPI calls only: no steps, no phases"},
    {"os-samples", 0, NULL, FLAG, OF(os_samples),
     "samples of /proc, 10 per second; faults that show in them turn this on"},
    {"ends-ms", 0, "N", MILLISECONDS, OF(ends_ns),
     "MPI_Init and N ms before the first step, N ms and MPI_Finalize after the last [0]"},
    {"unmarked", 0, NULL, NO_FLAG, OF(steps_marked), "record no step marks"},
    {"seed", 0, "N", WHOLE, OF(seed), "the same seed, the same run [1]"},
    {"ranks-of", 0, "A-B", TEXT, offsetof(struct given, share),
     "write only these ranks' files: parts of one run can be made in parallel"},
};
#undef OF

enum { ROWS = sizeof(rows) / sizeof(rows[0]), FIRST_KEY = 256 };

static int index_of(const char *word, const char *(*name)(int), int n)
{
    int i = 0;
    while (i < n && strcmp(name(i), word) != 0)
        i++;
    return i < n ? i : -1;
}

static const char *pattern_name(int pattern)
{
    return pw_sim_pattern_name((enum pw_sim_pattern)pattern);
}

static const char *routing_name(int routing)
{
    return routings[routing];
}

/* Sets a member of type int64_t (or uint64_t). Returns whether the text is a value for it. */
static int set_whole(const struct row *row, const char *text, int64_t *member)
{
    const int64_t value =
        row->takes == BYTES || text[strspn(text, "0123456789")] == '\0' ? pw_parse_size(text) : -1;
    const int64_t unit = row->takes == MICROSECONDS   ? 1000
                         : row->takes == MILLISECONDS ? 1000000
                                                      : 1;
    *member = value * unit;
    return value >= 0 && (row->takes == BYTES || value < 1000000000);
}

/* Sets a share of a percentage: of an overlap at most 100 %, of others at most 1000 %. */
static int set_share(const struct row *row, const char *text, double *member)
{
    char *end;
    const double percent = strtod(text, &end);
    const double most = row->member == offsetof(struct pw_sim_params, overlap) ? 100 : 1000;
    *member = (percent < most ? percent : most) / 100;
    return end != text && !*end && percent >= 0;
}

static int set(const struct row *row, const char *text, struct given *given)
{
    void *member = (char *)&given->params + row->member;
    int found;
    switch (row->takes) {
    case FLAG:
    case NO_FLAG:
        *(int *)member = row->takes == FLAG;
        return 1;
    case SHARE:
        return set_share(row, text, member);
    case PATTERN:
        found = index_of(text, pattern_name, PW_SIM_PATTERNS);
        given->params.pattern = (enum pw_sim_pattern)found;
        return found >= 0;
    case ROUTING:
        found = index_of(text, routing_name, sizeof(routings) / sizeof(routings[0]));
        given->params.routing = (enum pw_sim_routing)found;
        return found >= 0;
    case TEXT:
        memcpy((char *)given + row->member, &text, sizeof(text));
        return 1;
    default:
        return set_whole(row, text, member);
    }
}

static error_t take(int key, char *text, struct argp_state *state)
{
    struct given *given = state->input;
    if (key == ARGP_KEY_ARG && !given->dir) {
        given->dir = text;
        return 0;
    }
    if (key == ARGP_KEY_ARG || key == ARGP_KEY_NO_ARGS)
        argp_error(state, "usage: profwrap sim [OPTIONS] DIR");
    for (int i = 0; i < ROWS; i++) {
        if (key != (rows[i].letter ? rows[i].letter : FIRST_KEY + i))
            continue;
        if (!set(&rows[i], text, given)) {
            pw_error("--%s is '%.64s', but takes %s: %s", rows[i].name, text, rows[i].meta,
                     rows[i].help);
            exit(argp_err_exit_status);
        }
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Parses "A-B" or one rank; NULL means all ranks. */
static int parse_share(struct given *given)
{
    const int64_t ranks = given->params.ranks;
    char *end = NULL;
    given->first = 0;
    given->last = ranks - 1;
    if (!given->share)
        return 0;
    given->first = given->last = strtoll(given->share, &end, 10);
    if (*end == '-')
        given->last = strtoll(end + 1, &end, 10);
    return *end || given->first < 0 || given->last >= ranks || given->first > given->last ? -EINVAL
                                                                                          : 0;
}

static int simulate(const struct given *given)
{
    char problem[320];
    const struct pw_sim_params *p = &given->params;
    const struct pw_sim_ranks ranks = {given->first, given->last};
    int err = pw_sim_write(given->dir, p, ranks, problem, sizeof(problem));
    if (!err && ranks.first == 0)
        err = pw_sim_write_truth(given->dir, p, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err ? 1 : 0;
}

/* Returns 0, or -EINVAL with one sentence in `problem`. */
static int complete(struct given *given, char *problem, size_t size)
{
    struct pw_sim_params *p = &given->params;
    int err = pw_sim_complete(p, problem, size);
    err = err ? err : pw_sim_parse_faults(given->faults, p, problem, size);
    if (!err && parse_share(given)) {
        snprintf(problem, size, "--ranks-of is '%.64s', but takes A-B, ranks of the run",
                 given->share);
        err = -EINVAL;
    }
    return err;
}

int main(int argc, char **argv)
{
    static char name[] = "profwrap sim";
    static struct given given = {.faults = "",
                                 .params = {.seed = 1,
                                            .ranks = 8,
                                            .steps = 100,
                                            .collectives = 2,
                                            .ranks_per_host = 4,
                                            .step_ns = 10000000,
                                            .bytes = 4 << 20,
                                            .noise = 0.02,
                                            .clock_error_ns = 1000,
                                            .pipeline = 2,
                                            .tensor = 2,
                                            .microbatches = 4,
                                            .inner = 10,
                                            .message = 64 << 10,
                                            .eager = 4 << 10,
                                            .chunks = 1,
                                            .hot = 1,
                                            .steps_marked = 1}};
    struct argp_option options[ROWS + 1] = {{0}};
    const struct argp argp = {
        .options = options,
        .parser = take,
        .args_doc = "DIR",
        .doc = "Writes the rank files of a simulated run to DIR, and the faults that "
               "it was given to DIR/truth.json."};
    char problem[4600];
    for (int i = 0; i < ROWS; i++)
        options[i] = (struct argp_option){.name = rows[i].name,
                                          .key = rows[i].letter ? rows[i].letter : FIRST_KEY + i,
                                          .arg = rows[i].meta,
                                          .doc = rows[i].help};
    argp_err_exit_status = 2;
    argv[0] = name;
    argp_parse(&argp, argc, argv, 0, NULL, &given);
    if (complete(&given, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 2;
    }
    umask(077); /* only the owner may read rank files */
    if (pw_directory_vet(given.dir, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    pw_h5_quiet();
    return simulate(&given);
}
