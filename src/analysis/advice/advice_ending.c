/* Advice about the end of a job that did not end well; see rules.h. */
#include <inttypes.h>
#include <signal.h>

#include "analysis/advice/rules.h"
#include "analysis/ending.h"

/* The longest time that a program which did nothing may have needed to fail at its start: the
 * import of a large Python package takes seconds. */
#define START_LONGEST_NS INT64_C(10000000000)

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
        pw_sentence_add(s, "Find why it crashed: read what it wrote to its standard error, open a "
                           "core file (ulimit -c unlimited) in a debugger, or build the program "
                           "with a sanitizer (-fsanitize=address).");
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
    if (first->exit_signal == SIGKILL)
        pw_sentence_add(s, "All ranks were killed at once. If MPI wrote an error message to the "
                           "standard error, it names the rank and the call that failed; else look "
                           "for a limit of the batch system, or a user.");
    else
        pw_sentence_add(s, "One signal ended all ranks: look for a time limit or a preemption of "
                           "the batch system, or a user.");
    if (held >= 0)
        pw_sentence_add(s, " See what rank %" PRId32 " did, for which others waited.", held);
}

int pw_ended_at_start(const struct pw_cluster *c)
{
    int has_first = 0;
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++)
        has_first |= c->endings[i].ended == PW_ENDED_FIRST;
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].events > 0 || c->ranks[r].dropped_events > 0 ||
            c->ranks[r].run_ns > START_LONGEST_NS)
            return 0;
    return has_first && !c->nstep_rows;
}

int pw_judge_ended(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                   struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    const struct pw_row_c_ending *first = NULL;
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    (void)rule;
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
        pw_sentence_add(&text, "Rank %" PRId32 " ended first. ", first->rank);
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

int pw_judge_hang(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                  struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    int64_t operations = 0;
    (void)rule;
    for (size_t i = 0; i < c->nhang; i++) {
        operations = (int64_t)c->hang[i].operation + 1;
        if (c->hang[i].operation == 0 && c->hang[i].role != PW_REACH_WAITING &&
            c->hang[i].role != PW_REACH_HELD)
            pw_advice_add_rank(advice, c->hang[i].rank);
    }
    if (!advice->nranks)
        return 0;
    struct pw_sentence s = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    pw_sentence_add(&s, "%" PRId64 " operation%s had not ended when the dumps were written",
                    operations, operations == 1 ? "" : "s");
    return 1;
}
