/* `profwrap sim`: a synthetic run with declared faults, for tests, benchmarks and demonstrations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "core/safefile.h"
#include "sim/runwrite.h"

static enum pw_sim_pattern find_pattern(const char *name)
{
    int pattern = 0;
    while (pattern < PW_SIM_PATTERNS - 1 &&
           strcmp(pw_sim_pattern_name((enum pw_sim_pattern)pattern), name) != 0)
        pattern++;
    return (enum pw_sim_pattern)pattern;
}

/* Parses "A-B" or one rank; "" means all ranks. */
static int parse_share(const char *text, int64_t ranks, int64_t *first, int64_t *last)
{
    char *end;
    *first = 0;
    *last = ranks - 1;
    if (!*text)
        return 0;
    *first = *last = strtoll(text, &end, 10);
    if (*end == '-')
        *last = strtoll(end + 1, &end, 10);
    return *end || *first < 0 || *last >= ranks || *first > *last ? -EINVAL : 0;
}

static enum pw_sim_routing find_routing(const char *name)
{
    static const char *const names[] = {"uniform", "hot", "rotating", "burst"};
    int routing = 0;
    while (routing < PW_SIM_ROUTING_BURST && strcmp(names[routing], name) != 0)
        routing++;
    return (enum pw_sim_routing)routing;
}

/* Returns the share of a percentage. The overlap may be at most 100 %; others are limited to 1000
 * %. */
static double share(const struct pw_options *o, enum pw_option id)
{
    int64_t percent = pw_option_int(o, id), most = id == PW_OPT_SIM_OVERLAP ? 100 : 1000;
    return (double)(percent < most ? percent : most) / 100;
}

static int fill(const struct pw_options *o, struct pw_sim_params *p, char *problem, size_t size)
{
    char *end;
    *p = (struct pw_sim_params){
        .seed = (uint64_t)pw_option_int(o, PW_OPT_SIM_SEED),
        .pattern = find_pattern(o->text[PW_OPT_SIM_PATTERN]),
        .ranks = pw_option_int(o, PW_OPT_SIM_RANKS),
        .steps = pw_option_int(o, PW_OPT_SIM_STEPS),
        .collectives = pw_option_int(o, PW_OPT_SIM_COLLECTIVES),
        .ranks_per_host = pw_option_int(o, PW_OPT_SIM_RANKS_PER_HOST),
        .step_ns = 1000 * pw_option_int(o, PW_OPT_SIM_STEP_US),
        .bytes = pw_option_size(o, PW_OPT_SIM_BYTES),
        .noise = strtod(o->text[PW_OPT_SIM_NOISE], &end) / 100,
        .clock_error_ns = pw_option_int(o, PW_OPT_SIM_CLOCK_ERROR_NS),
        .pipeline = pw_option_int(o, PW_OPT_SIM_PIPELINE),
        .tensor = pw_option_int(o, PW_OPT_SIM_TENSOR),
        .microbatches = pw_option_int(o, PW_OPT_SIM_MICROBATCHES),
        .operators = pw_option_int(o, PW_OPT_SIM_OPERATORS),
        .gpu = pw_option_flag(o, PW_OPT_SIM_GPU),
        .queues = pw_option_flag(o, PW_OPT_SIM_QUEUES),
        .inner = pw_option_int(o, PW_OPT_SIM_INNER),
        .message = pw_option_size(o, PW_OPT_SIM_MESSAGE),
        .eager = pw_option_size(o, PW_OPT_SIM_EAGER),
        .bare = pw_option_flag(o, PW_OPT_SIM_BARE),
        .chunks = pw_option_int(o, PW_OPT_SIM_CHUNKS),
        .routing = find_routing(o->text[PW_OPT_SIM_ROUTING]),
        .hot = share(o, PW_OPT_SIM_HOT),
        .lengths = share(o, PW_OPT_SIM_LENGTHS),
        .stage_skew = share(o, PW_OPT_SIM_STAGE_SKEW),
        .overlap = share(o, PW_OPT_SIM_OVERLAP),
        .host_noise = share(o, PW_OPT_SIM_HOST_NOISE),
        .rack_noise = share(o, PW_OPT_SIM_RACK_NOISE),
        .burst_ns = 1000000 * pw_option_int(o, PW_OPT_SIM_BURSTS_MS),
        .gc_ns = 1000000 * pw_option_int(o, PW_OPT_SIM_GC_MS),
        .tell_roles = pw_option_flag(o, PW_OPT_SIM_TELL_ROLES),
        .os_samples = pw_option_flag(o, PW_OPT_SIM_OS_SAMPLES),
        .ends_ns = 1000000 * pw_option_int(o, PW_OPT_SIM_ENDS_MS),
        .steps_marked = !pw_option_flag(o, PW_OPT_SIM_UNMARKED),
    };
    if (*end || !(p->noise >= 0 && p->noise <= 10)) {
        snprintf(problem, size, "--noise is '%s', but takes a percentage",
                 o->text[PW_OPT_SIM_NOISE]);
        return -EINVAL;
    }
    int err = pw_sim_complete(p, problem, size);
    return err ? err : pw_sim_parse_faults(o->text[PW_OPT_SIM_FAULTS], p, problem, size);
}

static int simulate(const char *dir, const struct pw_sim_params *p, int64_t first, int64_t last)
{
    char problem[320];
    int err = pw_sim_write(dir, p, (struct pw_sim_ranks){first, last}, problem, sizeof(problem));
    if (!err && first == 0)
        err = pw_sim_write_truth(dir, p, problem, sizeof(problem));
    if (err)
        pw_error("%s", problem);
    return err ? 1 : 0;
}

int pw_cli_sim(int argc, char **argv)
{
    static struct pw_options options;
    static struct pw_sim_params params;
    char problem[4600];
    struct pw_options_end end;
    int64_t first, last;
    pw_options_init(&options);
    int err = pw_options_parse(&options, PW_CMD_SIM, argc, argv, &end);
    if (!err && end.help) {
        printf("Usage: profwrap sim [OPTIONS] DIR\n\n");
        pw_options_print_help(stdout, PW_CMD_SIM);
        return 0;
    }
    if (err || argc - end.next != 1) {
        pw_error("%s", err ? options.problem : "usage: profwrap sim [OPTIONS] DIR");
        return 2;
    }
    if (fill(&options, &params, problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 2;
    }
    if (parse_share(options.text[PW_OPT_SIM_RANKS_OF], params.ranks, &first, &last)) {
        pw_error("--ranks-of is '%s', but takes A-B, ranks of the run",
                 options.text[PW_OPT_SIM_RANKS_OF]);
        return 2;
    }
    umask(077); /* only the owner may read rank files */
    if (pw_directory_vet(argv[end.next], problem, sizeof(problem))) {
        pw_error("%s", problem);
        return 1;
    }
    pw_h5_quiet();
    return simulate(argv[end.next], &params, first, last);
}
