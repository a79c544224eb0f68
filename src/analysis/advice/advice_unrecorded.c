/* Counts the rows of /completeness by reason, has the text of each reason, and the rules of advice
 * about missing evidence; see advice_unrecorded.h and rules.h. */
#include "analysis/advice/advice_unrecorded.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/advice/rules.h"
#include "core/limits.h"
#include "core/text.h"

static const struct {
    const char *because, *remedy;
} words[PW_UNRECORDED_REASONS] = {
    [PW_UNRECORDED_NONE] = {"", ""},
    [PW_UNRECORDED_BYPASSED] =
        {"the program took them past preloaded libraries (dlsym on MPI's own handle as Julia and "
         "ctypes do, RTLD_DEEPBIND, or MPI inside the executable)",
         "use --audit, or make it look them up in the global scope"},
    [PW_UNRECORDED_ENVIRONMENT] =
        {"the program was started without profwrap's environment (env -i)",
         "keep LD_PRELOAD and PROFWRAP_SEGMENT in what starts it"},
    [PW_UNRECORDED_PRELOAD_REPLACED] = {"LD_PRELOAD was replaced on the way to the program",
                                        "add to it instead: LD_PRELOAD=OTHER.so:$LD_PRELOAD"},
    [PW_UNRECORDED_PRELOAD_REFUSED] = {"the loader refused to preload profwrap's library (other "
                                       "privileges, or a container without its folder)",
                                       "start profwrap inside the container, or drop the "
                                       "privileges"},
    [PW_UNRECORDED_STATIC] = {"the program is statically linked", "link it dynamically"},
    [PW_UNRECORDED_OTHER_PROCESS] = {"another process of the rank was being recorded",
                                     "put profwrap before the MPI program itself"},
    [PW_UNRECORDED_OTHER_MPI] = {"the ABI of the program's MPI library is not known",
                                 "build profwrap with it"},
    [PW_UNRECORDED_NO_MEMORY] = {"there was no shared memory to record them in",
                                 "give /dev/shm more room, or use a smaller --ring-size"},
    [PW_UNRECORDED_SPAWNED] = {"MPI_Comm_spawn started them", "start them with the job"},
};

const char *pw_unrecorded_because(enum pw_unrecorded reason)
{
    return (unsigned)reason < PW_UNRECORDED_REASONS ? words[reason].because : "";
}

const char *pw_unrecorded_remedy(enum pw_unrecorded reason)
{
    return (unsigned)reason < PW_UNRECORDED_REASONS ? words[reason].remedy : "";
}

/* Compares a text field of a file, which may have no terminating zero. */
static int is_text(const char *field, size_t size, const char *text)
{
    return strnlen(field, size) == strlen(text) && memcmp(field, text, strlen(text)) == 0;
}

/* The reason that the row's `what` names; PW_UNRECORDED_NONE when it names no reason. */
static enum pw_unrecorded reason_of(const struct pw_row_c_completeness *row)
{
    static const char before[] = "unrecorded_";
    const size_t length = sizeof(before) - 1;
    if (strncmp(row->what, before, length) != 0)
        return PW_UNRECORDED_NONE;
    for (int reason = PW_UNRECORDED_NONE + 1; reason < PW_UNRECORDED_REASONS; reason++)
        if (is_text(row->what + length, sizeof(row->what) - length,
                    pw_enum_name(PW_F_UNRECORDED, reason)))
            return (enum pw_unrecorded)reason;
    return PW_UNRECORDED_NONE;
}

void pw_unrecorded_sum(const struct pw_cluster *cluster, struct pw_unrecorded_sum *sum)
{
    int32_t counted = INT32_MIN, last[PW_UNRECORDED_REASONS];
    int64_t all_silent = 0;
    *sum = (struct pw_unrecorded_sum){.ranks = 0};
    for (int i = 0; i < PW_UNRECORDED_REASONS; i++)
        last[i] = INT32_MIN;
    /* The rows are in the order of ranks. */
    for (size_t i = 0; i < cluster->ncompleteness; i++) {
        const struct pw_row_c_completeness *row = &cluster->completeness[i];
        const enum pw_unrecorded reason = reason_of(row);
        if (is_text(row->what, sizeof(row->what), "gpu_unrecorded")) {
            sum->gpu = sum->gpu ? sum->gpu : row;
            sum->gpu_ranks++;
        }
        if (is_text(row->what, sizeof(row->what), "gpu_processes") && row->count > 0)
            sum->gpu_processes = pw_sum(sum->gpu_processes, row->count);
        if (is_text(row->what, sizeof(row->what), "no_communication"))
            *(row->rank < 0 ? &all_silent : &sum->silent_ranks) += 1;
        if (reason == PW_UNRECORDED_SPAWNED && row->count > 0 &&
            row->count < INT64_MAX - sum->spawned)
            sum->spawned += row->count;
        if (reason == PW_UNRECORDED_NONE || reason == PW_UNRECORDED_SPAWNED)
            continue;
        sum->ranks += row->rank != counted;
        sum->by_reason[reason] += row->rank != last[reason];
        counted = last[reason] = row->rank;
    }
    sum->is_silent = all_silent > 0;
}

int pw_unrecorded_is_silent(const struct pw_cluster *cluster, int32_t rank)
{
    for (size_t i = 0; i < cluster->ncompleteness; i++) {
        const struct pw_row_c_completeness *row = &cluster->completeness[i];
        if (row->rank == rank && is_text(row->what, sizeof(row->what), "no_communication"))
            return 1;
    }
    return 0;
}

int pw_unrecorded_has(const struct pw_cluster *cluster, int32_t rank)
{
    for (size_t i = 0; i < cluster->ncompleteness; i++) {
        const enum pw_unrecorded reason = reason_of(&cluster->completeness[i]);
        if (cluster->completeness[i].rank == rank && reason != PW_UNRECORDED_NONE &&
            reason != PW_UNRECORDED_SPAWNED)
            return 1;
    }
    return 0;
}

enum pw_unrecorded pw_unrecorded_most(const struct pw_unrecorded_sum *sum)
{
    int most = PW_UNRECORDED_NONE;
    for (int reason = 0; reason < PW_UNRECORDED_REASONS; reason++)
        if (sum->by_reason[reason] > sum->by_reason[most])
            most = reason;
    return (enum pw_unrecorded)most;
}

void pw_unrecorded_gpus(const struct pw_unrecorded_sum *sum, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    out[0] = '\0';
    if (sum->gpu)
        pw_sentence_add(&s, "GPU activity of %" PRId64 " rank%s was not recorded: %.*s",
                        sum->gpu_ranks, sum->gpu_ranks == 1 ? "" : "s",
                        (int)sizeof(sum->gpu->detail), sum->gpu->detail);
    if (sum->gpu_processes)
        pw_sentence_add(&s, "%sGPUs were used by %" PRId64 " child process%s that %s not recorded",
                        sum->gpu ? "; " : "", sum->gpu_processes,
                        sum->gpu_processes == 1 ? "" : "es",
                        sum->gpu_processes == 1 ? "was" : "were");
}

/* Rules about missing evidence. They save no time, but without the evidence no figure is
 * certain. */

enum { STEPS_ENOUGH = 10 };

#define CLOCK_COARSE 0.05 /* of a step */
#define COSTLY 0.02       /* of the run */

int pw_judge_mpi_not_recorded(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    int32_t last = -1;
    (void)rule;
    pw_unrecorded_sum(c, &sum);
    pw_sentence_add(&evidence, "MPI calls of %" PRId64 " of %" PRId64 " ranks were not recorded",
                    sum.ranks, in->expected);
    for (size_t i = 0; i < c->ncompleteness; i++) {
        const enum pw_unrecorded reason = reason_of(&c->completeness[i]);
        if (reason == PW_UNRECORDED_NONE || reason == PW_UNRECORDED_SPAWNED ||
            c->completeness[i].rank == last)
            continue;
        last = c->completeness[i].rank;
        pw_advice_add_rank(advice, last);
    }
    if (sum.ranks)
        pw_sentence_add(&text, "MPI calls were not recorded, because %s: %s.",
                        pw_unrecorded_because(pw_unrecorded_most(&sum)),
                        pw_unrecorded_remedy(pw_unrecorded_most(&sum)));
    return sum.ranks > 0;
}

int pw_judge_no_communication(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_unrecorded_sum(in->cluster, &sum);
    if (sum.is_silent)
        pw_sentence_add(&evidence, "%" PRId64 " ranks, and none of their collectives or messages",
                        in->expected);
    else
        pw_sentence_add(&evidence,
                        "none of the collectives and messages of %" PRId64 " of %" PRId64 " ranks",
                        sum.silent_ranks, in->expected);
    return (sum.is_silent || sum.silent_ranks) && !sum.ranks;
}

int pw_judge_ranks_missing(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                           struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " of %" PRId64 " ranks left a usable file", in->present,
                    in->expected);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (!c->ranks[r].present)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->present < in->expected;
}

int pw_judge_ranks_unclosed(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " file%s not closed in order", in->unclosed,
                    in->unclosed == 1 ? " was" : "s were");
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].complete != 1)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->unclosed > 0;
}

int pw_judge_events_dropped(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " events are missing", in->dropped_events);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].dropped_events > 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->dropped_events > 0;
}

int pw_judge_ring_waits(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                        struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    for (size_t i = 0; i < c->ncompleteness; i++) {
        const struct pw_row_c_completeness *row = &c->completeness[i];
        if (strncmp(row->what, "ring_wait", sizeof(row->what)) != 0)
            continue;
        if (!advice->nranks)
            pw_sentence_add(&evidence, "rank %" PRId32 " %.*s", row->rank, (int)sizeof(row->detail),
                            row->detail);
        pw_advice_add_rank(advice, row->rank);
    }
    return advice->nranks > 0;
}

int pw_judge_no_steps(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                      struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "no step was measured");
    return in->measured == 0;
}

int pw_judge_steps_inferred(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " steps were found, and none was marked", in->measured);
    return in->measured > 0 && in->cluster->steps_inferred > 0;
}

int pw_judge_few_steps(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                       struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%" PRId64 " step%s measured", in->measured,
                    in->measured == 1 ? " was" : "s were");
    return in->measured > 0 && in->measured < STEPS_ENOUGH;
}

int pw_judge_clock_coarse(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    char error[32], step[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "clock error up to %s, steps of %s",
                    pw_text_ns(error, sizeof(error), in->clock_error_max_ns),
                    pw_text_ns(step, sizeof(step), in->step_mean_ns));
    return in->expected > 1 && in->step_mean_ns > 0 &&
           (double)in->clock_error_max_ns > CLOCK_COARSE * (double)in->step_mean_ns;
}

int pw_judge_clocks_not_aligned(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                                struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].clock_error_ns < 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    pw_sentence_add(&evidence, "the clock error of %zu of %" PRId64 " ranks is not known",
                    advice->nranks, in->present);
    return in->present > 1 && in->clock_error_max_ns < 0;
}

int pw_judge_profiling_costly(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                              struct pw_advice *advice)
{
    char cost[32], of[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "%s of %s of rank time",
                    pw_text_ns(cost, sizeof(cost), in->overhead_ns),
                    pw_text_ns(of, sizeof(of), in->overhead_of_ns));
    return in->overhead_of_ns > 0 && (double)in->overhead_ns > COSTLY * (double)in->overhead_of_ns;
}

int pw_judge_one_rank(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                      struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
    pw_sentence_add(&evidence, "one rank ran");
    return in->expected == 1;
}

/* Returns a double, so that a damaged file cannot overflow an integer. */
static double count_nccl(const struct pw_cluster *c)
{
    double operations = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].source == PW_SOURCE_NCCL)
            operations +=
                (double)c->collective_stats[i].count * (double)c->collective_stats[i].nranks;
    return operations;
}

static double count_noted(const struct pw_cluster *c, const char *what)
{
    double n = 0;
    for (size_t i = 0; i < c->ncompleteness; i++)
        if (is_text(c->completeness[i].what, sizeof(c->completeness[i].what), what))
            n += (double)c->completeness[i].count;
    return n > 0 ? n : 0;
}

void pw_advice_nccl_unknown(const struct pw_cluster *c, struct pw_nccl_unknown *out)
{
    const double untimed = count_noted(c, "nccl_untimed"),
                 unplaced = count_noted(c, "nccl_unplaced");
    const double unmatched = count_noted(c, "waits_unknown");
    *out = (struct pw_nccl_unknown){.unmatched = unmatched < 9e18 ? (int64_t)unmatched : INT64_MAX};
    if (untimed + unplaced <= 0 || untimed + unplaced < count_nccl(c) - untimed)
        return;
    out->untimed = untimed < 9e18 ? (int64_t)untimed : INT64_MAX;
    out->unplaced = unplaced < 9e18 ? (int64_t)unplaced : INT64_MAX;
    if (untimed >= unplaced)
        out->unplaced = 0;
    else
        out->untimed = 0;
}

int pw_judge_nccl_untimed(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                          struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_nccl_unknown unknown;
    (void)rule;
    pw_advice_nccl_unknown(in->cluster, &unknown);
    pw_sentence_add(&evidence, "%" PRId64 " NCCL operations are known only by their enqueueing",
                    unknown.untimed);
    return unknown.untimed > 0;
}

int pw_judge_nccl_unplaced(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                           struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_nccl_unknown unknown;
    (void)rule;
    pw_advice_nccl_unknown(in->cluster, &unknown);
    pw_sentence_add(&evidence,
                    "the operations of %" PRId64 " NCCL kernels in replayed graphs are unknown",
                    unknown.unplaced);
    return unknown.unplaced > 0;
}
