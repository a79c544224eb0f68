/* Sums up the work of each kind of each rank in the time of each straggler; see runtimework.h. */
#include "aggregate/findings/runtimework.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/cursor.h"
#include "analysis/cause.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/search.h"
#include "core/text.h"

/* Limit: stragglers are examined worst first, as long as their sums fit. */
enum { MOST_ITEMS = 1 << 18 };

/* The kinds of /events/runtime, and the causes that they are. */
static const struct kind {
    int cause;
    const char *what; /* before "for 1.4 s" */
    const char *one;  /* what is counted */
    bool is_of_program;
} kinds[] = {
    [PW_RUNTIME_GC] = {PW_CAUSE_GARBAGE_COLLECTION, "collected garbage", "collection", false},
    [PW_RUNTIME_COMPILE] = {PW_CAUSE_COMPILATION, "compiled", "compilation", true},
    [PW_RUNTIME_CHECKPOINT] = {PW_CAUSE_CHECKPOINT, "wrote checkpoints", "checkpoint", true},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* The work of one rank in the time of one straggler. `count`: of rows that are no groups. */
struct item {
    int64_t straggler, rank, ns[KINDS], count[KINDS]; /* ns: -1 not known */
};

/* The times of one straggler on the clock of one rank. */
struct times {
    struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS];
    size_t n;
};

/* What is asked of all processes: when the stragglers were slow. */
struct asked {
    struct pw_runtimework_when when[PW_MOST_STRAGGLERS];
    unsigned long n;
};

int pw_runtimework_in_order(const struct pw_input *input)
{
    for (size_t i = 1; i < input->nsteps; i++)
        if (input->steps[i].step <= input->steps[i - 1].step)
            return 0;
    return 1;
}

/* The time from the first to the last of the rank's steps with these numbers. Steps are sorted by
 * time, and do not overlap; their numbers may begin again. */
static struct pw_runtimework_span span_of(int64_t first, int64_t last, const struct pw_input *input,
                                          int in_order)
{
    const struct pw_search_key key = PW_SEARCH_KEY(struct pw_row_step, step);
    struct pw_runtimework_span span = {INT64_MAX, INT64_MIN};
    size_t i = in_order ? pw_search(input->steps, input->nsteps, key, first) : 0;
    const size_t n =
        in_order ? pw_search_until(input->steps, input->nsteps, key, last) : input->nsteps;
    if (in_order && i < n)
        return (struct pw_runtimework_span){input->steps[i].start, input->steps[n - 1].end};
    for (; i < n; i++) {
        const struct pw_row_step *step = &input->steps[i];
        if (step->step < first || step->step > last)
            continue;
        span.from = step->start < span.from ? step->start : span.from;
        span.until = step->end > span.until ? step->end : span.until;
    }
    return span;
}

size_t pw_runtimework_spans(const struct pw_runtimework_when *when, const struct pw_input *input,
                            int in_order, struct pw_runtimework_span spans[PW_RUNTIMEWORK_SPANS])
{
    size_t n = 1;
    if (!when->has_steps)
        spans[0] = (struct pw_runtimework_span){when->first, when->last};
    else if (!when->is_two)
        spans[0] = span_of(when->first, when->last, input, in_order);
    else
        for (n = 0; n < 2; n++) {
            const int64_t step = n ? when->last : when->first;
            spans[n] = span_of(step, step, input, in_order);
        }
    for (size_t i = 0; i < n; i++)
        if (spans[i].until <= spans[i].from)
            return 0;
    if (n < 2 || spans[1].from >= spans[0].until || spans[0].from >= spans[1].until)
        return n;
    spans[0].from = spans[0].from < spans[1].from ? spans[0].from : spans[1].from;
    spans[0].until = spans[0].until > spans[1].until ? spans[0].until : spans[1].until;
    return 1; /* they overlap where the numbers begin again: nothing counts twice */
}

/* Adds the part of the row's time that is in the span. A group of short collections counts as if it
 * had been spread evenly over its time. Returns 1, or 0 when no part is in the span. */
static int add_time(struct item *item, const struct pw_row_runtime *row,
                    const struct pw_runtimework_span *row_time,
                    const struct pw_runtimework_span *span)
{
    const int64_t from = row_time->from > span->from ? row_time->from : span->from;
    const int64_t until = row_time->until < span->until ? row_time->until : span->until;
    if (until <= from)
        return 0;
    const double share = (double)(until - from) / (double)(row_time->until - row_time->from);
    item->ns[row->kind] = pw_sum(item->ns[row->kind], (int64_t)(share * (double)row->total_ns));
    return 1;
}

static int is_possible(const struct pw_row_runtime *row)
{
    return row->kind < KINDS && pw_is_possible(row->start) && pw_is_possible(row->end) &&
           row->total_ns >= 0 && row->total_ns <= row->end - row->start && row->count >= 0;
}

/* Adds the row to the items of the stragglers, each in its times. */
static void add_to_all(const struct asked *asked, const struct times *times,
                       const struct pw_input *input, const struct pw_row_runtime *row,
                       struct item *items)
{
    const struct pw_runtimework_span local = {row->start, row->end};
    const struct pw_runtimework_span cluster = {pw_input_time(input, row->start),
                                                pw_input_time(input, row->end)};
    for (size_t w = 0; w < asked->n; w++) {
        int is_in = 0;
        for (size_t s = 0; s < times[w].n; s++)
            is_in |= add_time(&items[w], row, asked->when[w].has_steps ? &local : &cluster,
                              &times[w].spans[s]);
        if (is_in && (row->generation >= 0 || row->kind != PW_RUNTIME_GC))
            items[w].count[row->kind] = pw_sum(items[w].count[row->kind], row->count);
    }
}

/* Fills the items of one rank, one for each straggler. A damaged table, which is noted elsewhere,
 * counts as far as it could be read. Returns 0 or -ENOMEM. */
static int sum_rank(const struct asked *asked, const struct pw_input *input, struct item *items)
{
    struct pw_cursor c;
    struct times times[PW_MOST_STRAGGLERS];
    const int in_order = pw_runtimework_in_order(input);
    for (size_t w = 0; w < asked->n; w++) {
        times[w].n = pw_runtimework_spans(&asked->when[w], input, in_order, times[w].spans);
        items[w] = (struct item){.straggler = (int64_t)w, .rank = input->rank};
        for (size_t k = 0; k < KINDS; k++)
            items[w].ns[k] = times[w].n ? 0 : -1;
    }
    int err = pw_cursor_at(&c, input, &input->runtime_rows, PW_TABLE_runtime);
    for (const struct pw_row_runtime *row; !err && (row = pw_cursor_next(&c));)
        if (is_possible(row))
            add_to_all(asked, times, input, row, items);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err == -ENOMEM ? err : 0;
}

/* What the rank did, before what is known already. */
static void enter(struct pw_row_c_straggler *row, const struct kind *kind,
                  const struct pw_runtimework *found, int64_t count)
{
    char mine[32], others[32], number[64] = "", before[sizeof(row->evidence)];
    memcpy(before, row->evidence, sizeof(before));
    pw_text_ns(mine, sizeof(mine), found->mine_ns);
    pw_text_ns(others, sizeof(others), found->others_ns);
    if (count)
        snprintf(number, sizeof(number), ", in %" PRId64 " %s%s of 1 ms or more", count, kind->one,
                 count == 1 ? "" : "s");
    snprintf(row->evidence, sizeof(row->evidence),
             "%s for %s%s, the other ranks' median %s%s%.110s", kind->what, mine, number, others,
             before[0] ? "; " : "", before);
    row->cause = (uint8_t)kind->cause;
}

/* The items of all ranks and stragglers. */
struct all {
    const struct item *items;
    size_t n, nranks;
    int64_t *ns, *scratch; /* [nranks] */
};

/* How much longer than the others a straggler did work of one kind. *count: how often it did. */
static struct pw_runtimework judge_kind(const struct all *all, size_t w,
                                        const struct pw_row_c_straggler *row, size_t kind,
                                        int64_t *count)
{
    *count = 0;
    for (size_t r = 0; r < all->nranks; r++)
        all->ns[r] = -1;
    for (size_t i = 0; i < all->n; i++) {
        const struct item *item = &all->items[i];
        if (item->straggler != (int64_t)w || item->rank < 0 || item->rank >= (int64_t)all->nranks)
            continue;
        all->ns[item->rank] = item->ns[kind];
        *count = item->rank == row->rank ? item->count[kind] : *count;
    }
    struct pw_runtimework found =
        pw_cause_runtimework(all->ns, all->nranks, (size_t)row->rank, row->lost_ns, all->scratch);
    found.is_of_program = kinds[kind].is_of_program;
    pw_debug(PW_LOG_VERDICT, 2, "rank %d %s for %.3f ms, the others %.3f ms", (int)row->rank,
             kinds[kind].what, (double)found.mine_ns / 1e6, (double)found.others_ns / 1e6);
    return found;
}

/* Enters the kind of which the straggler did most beyond the others, if that is its cause. Shares
 * do not tell: a compilation has collections inside it, and both may explain all of a small loss.
 */
static void judge(const struct all *all, size_t w, struct pw_row_c_straggler *row)
{
    struct pw_runtimework best = {.share = 0};
    int64_t best_count = 0, count;
    size_t best_kind = 0;
    for (size_t k = 0; k < KINDS; k++) {
        const struct pw_runtimework found = judge_kind(all, w, row, k, &count);
        if (found.share < PW_CAUSE_LEAST_SHARE ||
            found.mine_ns - found.others_ns <= best.mine_ns - best.others_ns)
            continue;
        best = found;
        best_count = count;
        best_kind = k;
    }
    if (best.share >= PW_CAUSE_LEAST_SHARE && pw_cause_may_be_runtimework(row->cause, &best))
        enter(row, &kinds[best_kind], &best, best_count);
}

/* Judges the stragglers by the items of all ranks, on process 0. Returns 0 or -ENOMEM. */
static int enter_all(struct pw_findings *f, const struct pw_world *world, const struct item *items,
                     size_t n)
{
    const size_t nranks = (size_t)world->nranks;
    int64_t *ns = malloc(2 * nranks * sizeof(*ns) + 1);
    if (!ns)
        return -ENOMEM;
    const struct all all = {items, n, nranks, ns, ns + nranks};
    for (size_t w = 0; w < f->nstragglers; w++)
        judge(&all, w, &f->stragglers[w]);
    free(ns);
    return 0;
}

/* Whether the straggler was slow in just two steps, its first and its last. */
static int is_two(const struct pw_row_c_straggler *row)
{
    return row->kind == PW_STRAGGLER_ONE_OFF && row->steps_hit == 2 &&
           row->first_step != row->last_step;
}

/* Whether no rank of any process did such work. */
static int is_nowhere(const struct pw_job *job)
{
    int none = 1;
    for (size_t i = 0; i < job->ninputs; i++)
        none &= !job->inputs[i].runtime_rows.rows;
    return pw_procs_all_ok(&job->procs, none);
}

static void agree(struct asked *asked, const struct pw_findings *f, const struct pw_job *job)
{
    asked->n = job->procs.process == 0 ? f->nstragglers : 0;
    asked->n = asked->n < PW_MOST_STRAGGLERS ? asked->n : PW_MOST_STRAGGLERS;
    while (asked->n && asked->n * (unsigned long)job->world.nranks > MOST_ITEMS)
        asked->n--;
    for (size_t w = 0; w < asked->n; w++) {
        const struct pw_row_c_straggler *row = &f->stragglers[w];
        asked->when[w] =
            row->kind == PW_STRAGGLER_STRETCH
                ? (struct pw_runtimework_when){.first = row->start, .last = row->end}
                : (struct pw_runtimework_when){1, row->first_step, row->last_step, is_two(row)};
    }
    pw_ex_bcast(asked, sizeof(*asked), PW_EX_BYTE, 0, job->procs.comm);
}

int pw_runtimework_find(struct pw_findings *findings, const struct pw_job *job)
{
    struct asked asked = {.n = 0};
    void *all = NULL;
    int err = 0;
    if (is_nowhere(job))
        return 0;
    agree(&asked, findings, job);
    if (!asked.n)
        return 0;
    struct item *items = malloc(sizeof(*items) * (asked.n * job->ninputs + 1));
    for (size_t i = 0; i < job->ninputs && items && !err; i++)
        err = sum_rank(&asked, &job->inputs[i], items + i * asked.n);
    err = pw_procs_worst(&job->procs, items ? err : -ENOMEM);
    if (!err) {
        const size_t n =
            pw_procs_allgather(&job->procs, items, asked.n * job->ninputs, sizeof(*items), &all);
        if (job->procs.process == 0)
            err = enter_all(findings, &job->world, all, n);
        err = pw_procs_worst(&job->procs, err);
    }
    free(items);
    free(all);
    return err;
}
