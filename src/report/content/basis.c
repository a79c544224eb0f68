/* Writes what the verdict rests on, each with a mark; see firstscreen.h. A thing is marked as seen
 * only where a table says so. */
#include "report/content/firstscreen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/content/hang.h"
#include "report/writing/page.h"

static const char *const stacks[] = {
    [PW_SOURCE_MPI] = "MPI",
    [PW_SOURCE_NCCL] = "NCCL",
    [PW_SOURCE_GLOO] = "gloo",
    [PW_SOURCE_HCCL] = "HCCL",
    [PW_SOURCE_MCCL] = "MCCL",
    [PW_SOURCE_ONECCL] = "oneCCL",
    [PW_SOURCE_DEVICE] = "kernels of communication",
};
enum { STACKS = sizeof(stacks) / sizeof(stacks[0]) };

/* "collectives seen: MPI 3000, NCCL 40". Returns 0 when there are none. */
static int write_collectives(const struct pw_cluster *c, struct pw_sentence *s)
{
    int64_t count[STACKS] = {0};
    int n = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].source < STACKS && c->collective_stats[i].count > 0)
            count[c->collective_stats[i].source] =
                pw_sum(count[c->collective_stats[i].source], c->collective_stats[i].count);
    for (int i = 0; i < STACKS; i++) {
        if (!count[i])
            continue;
        pw_sentence_add(s, "%s%s %" PRId64, n ? ", " : "collectives seen: ", stacks[i], count[i]);
        n++;
    }
    return n;
}

static void judge_communication(const struct pw_figures *f, const struct pw_verdict *v,
                                struct pw_basis *out)
{
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    out->what = "communication";
    out->mark = PW_MARK_PARTLY;
    if (v->unrecorded.is_silent) {
        out->mark = PW_MARK_MISSING;
        pw_sentence_add(&s, "no communication seen");
    } else if (v->unrecorded.ranks) {
        pw_sentence_add(&s, "MPI calls of %" PRId64 " of %" PRId64 " ranks not seen",
                        v->unrecorded.ranks, f->expected);
    } else if (v->unrecorded.silent_ranks) {
        pw_sentence_add(&s, "communication of %" PRId64 " of %" PRId64 " ranks not seen",
                        v->unrecorded.silent_ranks, f->expected);
    } else if (v->nccl.unmatched) {
        pw_sentence_add(&s, "communication seen, waits in it not known");
    } else if (v->nccl.untimed || v->nccl.unplaced) {
        pw_sentence_add(&s, "times of NCCL's operations not known");
    } else if (write_collectives(f->cluster, &s)) {
        out->mark = PW_MARK_SEEN;
    } else if (f->cluster->np2p) {
        out->mark = PW_MARK_SEEN;
        pw_sentence_add(&s, "messages of %zu pairs of ranks seen", f->cluster->np2p);
    } else {
        out->mark = PW_MARK_UNKNOWN;
        pw_sentence_add(&s, "collectives not known");
    }
}

static void judge_steps(const struct pw_figures *f, struct pw_basis *out)
{
    const int64_t inferred = f->cluster->steps_inferred;
    out->what = "steps";
    out->mark = !f->measured    ? PW_MARK_MISSING
                : inferred < 0  ? PW_MARK_UNKNOWN
                : inferred == 0 ? PW_MARK_SEEN
                                : PW_MARK_PARTLY;
    snprintf(out->text, sizeof(out->text), "%s",
             !f->measured    ? "no steps known"
             : inferred < 0  ? "steps, not known how they were found"
             : inferred == 0 ? "steps marked"
             : inferred == 1 ? "steps inferred from repeated calls"
                             : "slices of equal length instead of steps");
}

/* For how many ranks it is known how long they were ready to run without a CPU. */
static int64_t count_known_loads(const struct pw_cluster *c)
{
    int64_t known = 0;
    for (size_t r = 0; r < c->nrank_rows; r++) {
        int has = 0;
        for (size_t part = 0; c->part_trace && part < PW_PART_END; part++)
            has |= c->part_trace[part * c->nrank_rows + r].ready_ns >= 0 &&
                   c->part_trace[part * c->nrank_rows + r].total_ns > 0;
        known += has;
    }
    return known;
}

static void judge_hosts(const struct pw_figures *f, struct pw_basis *out)
{
    const struct pw_nocpu found = pw_nocpu_find(f->cluster);
    const struct pw_oversubscribed crowded = pw_oversubscribed_find(f->cluster);
    const int64_t known = count_known_loads(f->cluster);
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    char percent[32];
    out->what = "hosts";
    out->mark = PW_MARK_PARTLY;
    if (found.worst >= 0) {
        pw_sentence_add(&s, "%s: ranks without a CPU for %s%s",
                        found.is_quota ? "CPU quota used up" : "hosts overloaded",
                        pw_page_percent(percent, sizeof(percent), found.share),
                        found.where == PW_NOCPU_STEPS ? " of the steps" : "");
    } else if (crowded.worst) {
        pw_sentence_add(&s, "%zu of %zu ranks of %.64s wait for a CPU", crowded.waiting,
                        crowded.ranks, crowded.worst->hostname);
    } else if (known == 0) {
        out->mark = PW_MARK_UNKNOWN;
        pw_sentence_add(&s, "load of the hosts not known");
    } else if (known < f->present) {
        pw_sentence_add(&s, "load of the hosts known for %" PRId64 " of %" PRId64 " ranks only",
                        known, f->present);
    } else {
        out->mark = PW_MARK_SEEN;
        pw_sentence_add(&s, "hosts not overloaded");
    }
}

/* "all 4 ranks; the dump of rank 2 has no operations": in a dump of a rank there may be none. */
static void judge_dumps(const struct pw_figures *f, struct pw_basis *out)
{
    const size_t used = strlen(out->text);
    struct pw_sentence s = {out->text, sizeof(out->text), used};
    int32_t rank = -1;
    size_t empty = 0;
    for (size_t r = 0; r < f->nranks; r++)
        if (f->cluster->ranks[r].present && !f->cluster->ranks[r].events) {
            rank = rank < 0 ? f->cluster->ranks[r].rank : rank;
            empty++;
        }
    if (!empty)
        return;
    out->mark = out->mark == PW_MARK_SEEN ? PW_MARK_PARTLY : out->mark;
    if (empty == 1)
        pw_sentence_add(&s, ", but the dump of rank %" PRId32 " has no operations", rank);
    else
        pw_sentence_add(&s, ", but the dumps of %zu ranks, such as %" PRId32 ", have no operations",
                        empty, rank);
}

static void judge_ranks(const struct pw_figures *f, struct pw_basis *out)
{
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    out->what = "ranks";
    out->mark = f->present < f->expected ? PW_MARK_MISSING : PW_MARK_PARTLY;
    if (f->present < f->expected) {
        pw_sentence_add(&s, "%" PRId64 " of %" PRId64 " ranks missing: ", f->expected - f->present,
                        f->expected);
        pw_missing_write(f, &s);
    } else if (f->cluster->snapshot > 0)
        pw_sentence_add(&s, "all ranks, still running");
    else if (f->unclosed)
        pw_sentence_add(&s, "%" PRId64 " of %" PRId64 " ranks not closed in order", f->unclosed,
                        f->expected);
    else if (pw_ending_is_bad(f->cluster))
        pw_sentence_add(&s, "%" PRId64 " of %" PRId64 " ranks did not end well",
                        pw_ending_count_bad(f->cluster), f->expected);
    else if (f->dropped_events > 0)
        pw_sentence_add(&s, "%" PRId64 " events dropped", f->dropped_events);
    else {
        out->mark = PW_MARK_SEEN;
        pw_sentence_add(&s, f->expected == 1 ? "the rank is complete" : "all %" PRId64 " ranks",
                        f->expected);
    }
}

static void judge_clocks(const struct pw_figures *f, const struct pw_verdict *v,
                         struct pw_basis *out)
{
    const struct pw_cluster *c = f->cluster;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    char time[32];
    const int64_t error_ns = f->clock_error_max_ns;
    const int is_coarse =
        (f->step_mean_ns > 0 && (double)error_ns > PW_CLOCK_COARSE * (double)f->step_mean_ns) ||
        (v->kind == PW_VERDICT_HELD_BACK && !c->stragglers[0].without_clocks &&
         pw_figures_is_unresolved(f, c->stragglers[0].excess_ns));
    out->what = "clocks";
    out->mark = error_ns < 0 ? PW_MARK_UNKNOWN : is_coarse ? PW_MARK_PARTLY : PW_MARK_SEEN;
    if (error_ns < 0)
        pw_sentence_add(&s, "clock error not known");
    else if (error_ns == 0)
        pw_sentence_add(&s, "one clock");
    else
        pw_sentence_add(&s, "clock error up to %s%s", pw_text_ns(time, sizeof(time), error_ns),
                        !is_coarse ? ""
                        : c->steps_inferred || !f->measured
                            ? ", too much to compare ranks"
                            : ": ranks compared by their time outside communication");
}

size_t pw_basis_find(const struct pw_figures *f, struct pw_basis out[PW_BASES])
{
    const struct pw_verdict v = pw_figures_advice(f).verdict;
    const int is_alone = f->expected == 1; /* no communication, and nothing to align */
    size_t n = 0;
    if (pw_hang_is_of_dumps(f->cluster)) { /* which are not asked how long something took */
        judge_ranks(f, &out[n]);
        judge_dumps(f, &out[n++]);
        return n;
    }
    if (!is_alone)
        judge_communication(f, &v, &out[n++]);
    judge_steps(f, &out[n++]);
    judge_hosts(f, &out[n++]);
    judge_ranks(f, &out[n++]);
    if (!is_alone)
        judge_clocks(f, &v, &out[n++]);
    return n;
}

const char *pw_mark_name(enum pw_mark mark)
{
    static const char *const names[] = {
        [PW_MARK_SEEN] = "seen",
        [PW_MARK_PARTLY] = "partly",
        [PW_MARK_MISSING] = "missing",
        [PW_MARK_UNKNOWN] = "unknown",
    };
    return names[mark];
}

const char *pw_mark_sign(enum pw_mark mark)
{
    static const char *const signs[] = {
        [PW_MARK_SEEN] = "✓",
        [PW_MARK_PARTLY] = "!",
        [PW_MARK_MISSING] = "✗",
        [PW_MARK_UNKNOWN] = "?",
    };
    return signs[mark];
}

void pw_basis_write(const struct pw_figures *f, char *out, size_t size)
{
    struct pw_basis found[PW_BASES];
    struct pw_sentence s = pw_sentence_on(out, size);
    for (size_t i = 0, n = pw_basis_find(f, found); i < n; i++)
        pw_sentence_add(&s, "%s%s %s", i ? "; " : "", pw_mark_sign(found[i].mark), found[i].text);
}
