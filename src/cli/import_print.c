/* Says what became of imported traces: what is in the rank files, and what is not, by reason. */
#include <stdio.h>

#include "cli/cmd_import.h"
#include "core/log.h"
#include "core/text.h"

static void add_counts(struct pw_import_counts *sum, const struct pw_import_counts *one)
{
    sum->bytes += one->bytes;
    sum->events += one->events;
    sum->taken += one->taken;
    sum->collectives += one->collectives;
    sum->inferred_groups += one->inferred_groups;
    sum->lost += one->lost;
    for (int i = 0; i < PW_OMISSIONS; i++)
        sum->omitted[i] += one->omitted[i];
}

static void print_omitted(const struct pw_import_counts *sum)
{
    for (int i = 1; i < PW_OMISSIONS; i++)
        if (sum->omitted[i])
            pw_say("left out: %lld %s", (long long)sum->omitted[i],
                   pw_omission_words((enum pw_omission)i));
}

/* Ranks that recorded other steps than the first: their collectives are not numbered alike. */
static void print_steps(const struct pw_import_plan *plan, const struct pw_import_result *results)
{
    const struct pw_import_result *first = NULL;
    for (size_t i = 0; i < plan->nranks; i++) {
        const struct pw_import_result *r = &results[i];
        if (!r->done || r->err)
            continue;
        if (first && r->counts.first_step != first->counts.first_step) {
            pw_say("rank %lld recorded from step %lld on, but rank %lld from step %lld: their "
                   "collectives are matched in order, which is then wrong",
                   (long long)r->rank, (long long)r->counts.first_step, (long long)first->rank,
                   (long long)first->counts.first_step);
            return;
        }
        first = first ? first : r;
    }
}

static void print_job(const struct pw_import_plan *plan)
{
    char missing[256];
    int64_t n = pw_import_plan_missing(plan, missing, sizeof(missing));
    if (n)
        pw_say("missing: the traces of %lld of %lld ranks (%s)", (long long)n,
               (long long)plan->world_size, missing);
}

static int print_rank(const struct pw_import_result *r)
{
    if (r->err) {
        pw_error("%s", r->problem);
        return 1;
    }
    if (r->problem[0])
        pw_say("rank %lld: %s; what comes before it is taken", (long long)r->rank, r->problem);
    if (r->counts.first_malformed >= 0)
        pw_say("rank %lld: %lld events are no JSON objects, the first at byte %lld",
               (long long)r->rank, (long long)r->counts.omitted[PW_OMIT_MALFORMED],
               (long long)r->counts.first_malformed);
    if (r->counts.unfinished)
        pw_say("rank %lld: %lld operations had not ended when it was written, the first of them %s",
               (long long)r->rank, (long long)r->counts.unfinished, r->counts.first_unfinished);
    return 0;
}

int pw_import_print(const struct pw_import_plan *plan, const struct pw_import_result *results,
                    int whole)
{
    struct pw_import_counts sum = {0};
    int failed = 0;
    long long ranks = 0;
    char bytes[32];
    for (size_t i = 0; i < plan->nranks; i++) {
        if (!results[i].done) /* another process's, or its worker died */
            continue;
        failed |= print_rank(&results[i]);
        ranks += !results[i].err;
        add_counts(&sum, &results[i].counts);
    }
    pw_say("%lld rank%s: %lld events (%s of JSON), %lld taken, %lld of them NCCL operations", ranks,
           ranks == 1 ? "" : "s", (long long)sum.events,
           pw_text_bytes(bytes, sizeof(bytes), sum.bytes), (long long)sum.taken,
           (long long)sum.collectives);
    print_omitted(&sum);
    if (sum.lost)
        pw_say("lost: %lld operations, which were overwritten before they were written, as the "
               "traces tell",
               (long long)sum.lost);
    if (sum.inferred_groups)
        pw_say("inferred: %lld communicators, whose ranks the traces do not tell (they are taken "
               "to have the ranks that are here, and are named so)",
               (long long)sum.inferred_groups);
    print_steps(plan, results);
    if (whole)
        print_job(plan);
    return failed || ranks == 0;
}
