/* Rules about the end of a job that did not end well, and about missing evidence; see rules.h. */
#include "analysis/advice/rules.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/thresholds.h"
#include "core/text.h"

static void say_signal(const struct pw_row_c_ending *row, struct pw_sentence *s)
{
    if (row->exit_signal == SIGKILL)
        pw_sentence_add(s,
                        "Find what killed it by signal 9: the kernel, for lack of memory (its log "
                        "says so), a limit of the batch system, or a user.");
    else if (pw_ending_is_by_launcher(row))
        pw_sentence_add(s,
                        "Find what ended it by signal %" PRId32 ": a time limit or a preemption of "
                        "the batch system, or a user.",
                        row->exit_signal);
    else
        pw_sentence_add(s, "Find why it crashed: read what it wrote to its standard error (Python "
                           "adds its stack with PYTHONFAULTHANDLER=1), open a core file (ulimit "
                           "-c unlimited) in a debugger, or build the program with a sanitizer "
                           "(-fsanitize=address).");
}

static void say_next(const struct pw_row_c_ending *row, struct pw_sentence *s)
{
    switch (row->how) {
    case PW_HOW_SIGNAL:
        say_signal(row, s);
        break;
    case PW_HOW_MEMORY:
        pw_sentence_add(s, "Give the job more memory, put fewer ranks on a host, or use less: "
                           "the section Memory shows how it grew.");
        break;
    case PW_HOW_ABORT:
        pw_sentence_add(s, "Find why it called MPI_Abort: read what it wrote to its standard "
                           "error.");
        break;
    case PW_HOW_MPI_ERROR:
        pw_sentence_add(s, "Find why MPI reports this error: check the arguments of the call, and "
                           "read the message on the rank's standard error.");
        break;
    case PW_HOW_EXCEPTION:
        pw_sentence_add(s, "Find what raised the exception: the traceback is in its standard "
                           "error.");
        break;
    case PW_HOW_UNKNOWN:
        pw_sentence_add(s,
                        "Find what ended it together with its collector: the logs of its host and "
                        "of the batch system.");
        break;
    default:
        if (row->exit_code == 0)
            pw_sentence_add(s, "Let it call MPI_Finalize before it exits: launchers take such an "
                               "end for a failure.");
        else
            pw_sentence_add(s, "Find why it exited with this status: read what it wrote to its "
                               "standard error.");
        break;
    }
}

/* One signal ended all ranks: none of them was the first. */
static void say_together(const struct pw_cluster *c, const struct pw_row_c_ending *first,
                         struct pw_sentence *s)
{
    int32_t held = -1;
    for (size_t i = 0; i < c->nendings && held < 0; i++)
        held = c->endings[i].held > 0 ? c->endings[i].rank : -1;
    if (held >= 0)
        pw_sentence_add(s,
                        "See what rank %" PRId32 " did, for which others waited. With "
                        "--hang-timeout, hang.txt has its call stack. ",
                        held);
    if (first->exit_signal == SIGKILL)
        pw_sentence_add(
            s, "All ranks were killed, almost at once. If MPI wrote an error message to the "
               "standard error, it names the rank and the call that failed; else look "
               "for a limit of the batch system, or a user.");
    else
        pw_sentence_add(s, "One signal ended all ranks: look for a time limit or a preemption of "
                           "the batch system, or a user.");
}

int pw_judge_ended(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    const struct pw_row_c_ending *first = NULL;
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++) {
        if (c->endings[i].ended != PW_ENDED_FIRST)
            continue;
        first = first ? first : &c->endings[i];
        pw_advice_add_rank(advice, c->endings[i].rank);
    }
    if (!first)
        return 0;
    if (pw_ending_is_together(c->endings, c->nendings)) {
        say_together(c, first, &text);
    } else {
        if (advice->nranks == 1)
            pw_sentence_add(&text, "Rank %" PRId32 " ended first. ", first->rank);
        else
            pw_sentence_add(&text, "%" PRId64 " ranks ended first; begin with rank %" PRId32 ". ",
                            (int64_t)advice->nranks, first->rank);
        say_next(first, &text);
    }
    if (first->exit_signal > 0)
        pw_sentence_add(&evidence, "signal %" PRId32, first->exit_signal);
    else if (first->exit_code < 0)
        pw_sentence_add(&evidence, "its end was not seen");
    else
        pw_sentence_add(&evidence, "exit status %" PRId32, first->exit_code);
    return 1;
}

int pw_judge_hang(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    int64_t operations = 0;
    for (size_t i = 0; i < c->nhang; i++) {
        operations = (int64_t)c->hang[i].operation + 1;
        if (c->hang[i].operation == 0 && c->hang[i].role != PW_REACH_WAITING &&
            c->hang[i].role != PW_REACH_HELD && c->hang[i].role != PW_REACH_ENDED)
            pw_advice_add_rank(advice, c->hang[i].rank);
    }
    if (!advice->nranks)
        return 0;
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&s, "%" PRId64 " operation%s had not ended when the dumps were written",
                    operations, operations == 1 ? "" : "s");
    return 1;
}

int pw_judge_dumps(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    size_t told = 0;
    if (strcmp(c->imported, "flight") != 0 || c->nhang || c->nopen_calls)
        return 0;
    for (size_t i = 0; i < c->nrank_rows; i++)
        told += c->ranks[i].present && c->ranks[i].events > 0;
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(
        &s, "dumps of %zu of %" PRId64 " ranks have operations, none of which had not ended", told,
        c->nranks);
    return 1;
}

/* Rules about missing evidence. They save no time, but without the evidence no figure is
 * certain. */

enum { STEPS_ENOUGH = 10 };

int pw_judge_mpi_not_recorded(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    int32_t last = -1;
    pw_unrecorded_sum(c, &sum);
    pw_sentence_add(&evidence, "MPI calls of %" PRId64 " of %" PRId64 " ranks were not recorded",
                    sum.ranks, in->expected);
    for (size_t i = 0; i < c->ncompleteness; i++) {
        const enum pw_unrecorded reason = pw_unrecorded_reason_of(&c->completeness[i]);
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

int pw_judge_no_communication(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_unrecorded_sum sum;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
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

int pw_judge_spawned_not_recorded(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_verdict *v = &in->verdict;
    char wait[32], step[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence,
                    "%" PRId64 " process%s started by MPI_Comm_spawn; the ranks wait %s of each "
                    "step of %s for what was not recorded",
                    v->unrecorded.spawned, v->unrecorded.spawned == 1 ? "" : "es",
                    pw_text_ns(wait, sizeof(wait), v->partners.wait_ns),
                    pw_text_ns(step, sizeof(step), in->step_mean_ns));
    return v->partners.wait_ns > 0 && v->unrecorded.spawned > 0 && in->present == in->expected &&
           !v->unrecorded.ranks && !v->unrecorded.silent_ranks;
}

int pw_judge_ranks_missing(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%" PRId64 " of %" PRId64 " ranks left a usable file", in->present,
                    in->expected);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (!c->ranks[r].present)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->present < in->expected;
}

int pw_judge_ranks_unclosed(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%" PRId64 " file%s not closed in order", in->unclosed,
                    in->unclosed == 1 ? " was" : "s were");
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].complete != 1)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->unclosed > 0;
}

int pw_judge_events_dropped(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%" PRId64 " events are missing", in->dropped_events);
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].dropped_events > 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    return in->dropped_events > 0;
}

int pw_judge_requests_polled(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    char open[32], exposed[32];
    if (in->verdict.wanting != PW_WANTING_BLOCKING)
        return 0;
    pw_sentence_add(
        &evidence,
        "requests are open for %s of a step, of which ranks are in calls that block for %s",
        pw_text_ns(open, sizeof(open), in->mean.comm_ns),
        pw_text_ns(exposed, sizeof(exposed), in->mean.comm_exposed_ns));
    return 1;
}

int pw_judge_ring_waits(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
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

int pw_judge_no_steps(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "no step was measured");
    return in->measured == 0;
}

int pw_judge_steps_inferred(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%" PRId64 " steps were found, and none was marked", in->measured);
    return in->measured > 0 && in->cluster->steps_inferred > 0;
}

int pw_judge_few_steps(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%" PRId64 " step%s measured", in->measured,
                    in->measured == 1 ? " was" : "s were");
    return in->measured > 0 && in->measured < STEPS_ENOUGH;
}

int pw_judge_clock_coarse(const struct pw_advice_input *in, struct pw_advice *advice)
{
    char error[32], step[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "clock error up to %s, steps of %s",
                    pw_text_ns(error, sizeof(error), in->clock_error_max_ns),
                    pw_text_ns(step, sizeof(step), in->step_mean_ns));
    return in->expected > 1 && in->step_mean_ns > 0 &&
           (double)in->clock_error_max_ns > PW_CLOCK_WORTH_SAYING * (double)in->step_mean_ns;
}

int pw_judge_clocks_not_aligned(const struct pw_advice_input *in, struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].present && c->ranks[r].clock_error_ns < 0)
            pw_advice_add_rank(advice, c->ranks[r].rank);
    pw_sentence_add(&evidence, "the clock error of %zu of %" PRId64 " ranks is not known",
                    advice->nranks, in->present);
    return in->present > 1 && in->clock_error_max_ns < 0;
}

int pw_judge_profiling_costly(const struct pw_advice_input *in, struct pw_advice *advice)
{
    char cost[32], of[32];
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "%s of %s of rank time",
                    pw_text_ns(cost, sizeof(cost), in->overhead_ns),
                    pw_text_ns(of, sizeof(of), in->overhead_of_ns));
    return in->overhead_of_ns > 0 &&
           (double)in->overhead_ns > PW_PROFILING_COSTLY * (double)in->overhead_of_ns;
}

int pw_judge_one_rank(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&evidence, "one rank ran");
    return in->expected == 1;
}

int pw_judge_nccl_untimed(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_nccl_unknown unknown;
    pw_advice_nccl_unknown(in->cluster, &unknown);
    pw_sentence_add(&evidence, "%" PRId64 " NCCL operations are known only by their enqueueing",
                    unknown.untimed);
    return unknown.untimed > 0;
}

int pw_judge_nccl_unplaced(const struct pw_advice_input *in, struct pw_advice *advice)
{
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    struct pw_nccl_unknown unknown;
    pw_advice_nccl_unknown(in->cluster, &unknown);
    pw_sentence_add(&evidence,
                    "the operations of %" PRId64 " NCCL kernels in replayed graphs are unknown",
                    unknown.unplaced);
    return unknown.unplaced > 0;
}
