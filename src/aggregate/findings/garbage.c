/* Sums up the collections of each rank in the time of each straggler; see garbage.h. */
#include "aggregate/findings/garbage.h"

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
#include "core/text.h"

/* Limit: stragglers are examined worst first, as long as their sums fit. */
enum { MOST_ITEMS = 1 << 18 };

/* When a straggler was slow: from the first to the last of its steps, or a time of the run. */
struct when {
    int64_t has_steps, first, last; /* steps, or cluster time */
};

/* The collections of one rank in the time of one straggler. */
struct item {
    int64_t straggler, rank, ns, count;
};

/* What is asked of all processes: the times of the stragglers. */
struct asked {
    struct when when[PW_MOST_STRAGGLERS];
    unsigned long n;
};

struct span {
    int64_t from, until;
};

/* The time of a straggler on the clock of the row's rank: of steps, that of the rank's own steps,
 * which needs no common clock. Empty where the rank has none. */
static struct span span_of(const struct when *when, const struct pw_input *input)
{
    struct span span = {when->first, when->last};
    if (!when->has_steps)
        return span;
    span = (struct span){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < input->nsteps; i++) {
        const struct pw_row_step *step = &input->steps[i];
        if (step->step < when->first || step->step > when->last)
            continue;
        span.from = step->start < span.from ? step->start : span.from;
        span.until = step->end > span.until ? step->end : span.until;
    }
    return span;
}

/* The part of the row that is in the span. A group of short collections counts as if it had been
 * spread evenly over its time. */
static void add_row(struct item *item, const struct pw_row_runtime *row,
                    const struct span *row_time, const struct span *span)
{
    const int64_t from = row_time->from > span->from ? row_time->from : span->from;
    const int64_t until = row_time->until < span->until ? row_time->until : span->until;
    if (until <= from)
        return;
    const double share = (double)(until - from) / (double)(row_time->until - row_time->from);
    item->ns = pw_sum(item->ns, (int64_t)(share * (double)row->total_ns));
    item->count = pw_sum(item->count, row->generation >= 0 ? row->count : 0);
}

static int is_possible(const struct pw_row_runtime *row)
{
    return row->kind == PW_RUNTIME_GC && pw_is_possible(row->start) && pw_is_possible(row->end) &&
           row->total_ns >= 0 && row->total_ns <= row->end - row->start && row->count >= 0;
}

/* Fills the items of one rank, one for each straggler. A damaged table, which is noted elsewhere,
 * counts as far as it could be read. Returns 0 or -ENOMEM. */
static int sum_rank(const struct asked *asked, const struct pw_input *input, struct item *items)
{
    struct pw_cursor c;
    struct span spans[PW_MOST_STRAGGLERS];
    for (size_t w = 0; w < asked->n; w++) {
        items[w] = (struct item){(int64_t)w, input->rank, 0, 0};
        spans[w] = span_of(&asked->when[w], input);
    }
    int err = pw_cursor_at(&c, input, &input->runtime_rows, PW_TABLE_runtime);
    for (const struct pw_row_runtime *row; !err && (row = pw_cursor_next(&c));) {
        const struct span local = {row->start, row->end};
        const struct span cluster = {pw_input_time(input, row->start),
                                     pw_input_time(input, row->end)};
        for (size_t w = 0; w < asked->n && is_possible(row); w++)
            add_row(&items[w], row, asked->when[w].has_steps ? &local : &cluster, &spans[w]);
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err == -ENOMEM ? err : 0;
}

/* What the rank did in its collections, before what is known already. */
static void enter(struct pw_row_c_straggler *row, const struct pw_garbage *found, int64_t count)
{
    char mine[32], others[32], number[64] = "", before[sizeof(row->evidence)];
    memcpy(before, row->evidence, sizeof(before));
    pw_text_ns(mine, sizeof(mine), found->mine_ns);
    pw_text_ns(others, sizeof(others), found->others_ns);
    if (count)
        snprintf(number, sizeof(number), ", in %" PRId64 " collection%s of 1 ms or more", count,
                 count == 1 ? "" : "s");
    snprintf(row->evidence, sizeof(row->evidence),
             "collected garbage for %s%s, the other ranks' median %s%s%.110s", mine, number, others,
             before[0] ? "; " : "", before);
    row->cause = PW_CAUSE_GARBAGE_COLLECTION;
}

/* Judges the stragglers by the items of all ranks, on process 0. Returns 0 or -ENOMEM. */
static int enter_all(struct pw_findings *f, const struct pw_world *world, const struct item *items,
                     size_t n)
{
    const size_t nranks = (size_t)world->nranks;
    int64_t *ns = malloc(2 * nranks * sizeof(*ns) + 1), *scratch = ns + nranks;
    if (!ns)
        return -ENOMEM;
    for (size_t w = 0; w < f->nstragglers; w++) {
        struct pw_row_c_straggler *row = &f->stragglers[w];
        int64_t count = 0;
        for (size_t r = 0; r < nranks; r++)
            ns[r] = -1;
        for (size_t i = 0; i < n; i++) {
            if (items[i].straggler != (int64_t)w || items[i].rank < 0 ||
                items[i].rank >= world->nranks)
                continue;
            ns[items[i].rank] = items[i].ns;
            count = items[i].rank == row->rank ? items[i].count : count;
        }
        const struct pw_garbage found =
            pw_cause_garbage(ns, nranks, (size_t)row->rank, row->lost_ns, scratch);
        pw_debug(PW_LOG_VERDICT, 2, "rank %d collected garbage for %.3f ms, the others %.3f ms",
                 (int)row->rank, (double)found.mine_ns / 1e6, (double)found.others_ns / 1e6);
        if (found.share >= PW_CAUSE_LEAST_SHARE && pw_cause_may_be_garbage(row->cause))
            enter(row, &found, count);
    }
    free(ns);
    return 0;
}

static void agree(struct asked *asked, const struct pw_findings *f, const struct pw_job *job)
{
    asked->n = job->procs.process == 0 ? f->nstragglers : 0;
    asked->n = asked->n < PW_MOST_STRAGGLERS ? asked->n : PW_MOST_STRAGGLERS;
    while (asked->n && asked->n * (unsigned long)job->world.nranks > MOST_ITEMS)
        asked->n--;
    for (size_t w = 0; w < asked->n; w++) {
        const struct pw_row_c_straggler *row = &f->stragglers[w];
        asked->when[w] = row->kind == PW_STRAGGLER_STRETCH
                             ? (struct when){0, row->start, row->end}
                             : (struct when){1, row->first_step, row->last_step};
    }
    MPI_Bcast(asked, sizeof(*asked), MPI_BYTE, 0, job->procs.comm);
}

int pw_garbage_find(struct pw_findings *findings, const struct pw_job *job)
{
    struct asked asked = {.n = 0};
    void *all = NULL;
    int err = 0;
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
