/* Compares sums of steps, operations and links; see msprof_compare.h. */
#include "import/msprof/msprof_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/text.h"
#include "import/msprof/msprof_rows.h"
#include "import/trace/stepsums.h"

/* A value of both. `room` is how far rounding may take them apart. */
struct value {
    enum pw_msprof_kind kind;
    const char *column;
    int64_t rank, step, other, theirs, ours, room;
    int is_bytes;
};

static int64_t distance(int64_t a, int64_t b)
{
    const int64_t d = pw_difference(a, b);
    return d < 0 ? (d == INT64_MIN ? INT64_MAX : -d) : d;
}

static void compare(struct pw_msprof_compared *out, const struct value *v)
{
    if (v->theirs < 0)
        return;
    out->values[v->kind]++;
    if (distance(v->theirs, v->ours) <= v->room)
        return;
    int64_t all = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++)
        all += out->different[i];
    out->different[v->kind]++;
    if (all && distance(out->worst.theirs, out->worst.ours) >= distance(v->theirs, v->ours))
        return;
    out->worst = (struct pw_msprof_difference){.rank = v->rank,
                                               .step = v->step,
                                               .other = v->other,
                                               .theirs = v->theirs,
                                               .ours = v->ours,
                                               .is_bytes = v->is_bytes};
    snprintf(out->worst.column, sizeof(out->worst.column), "%s", v->column);
}

/* ---- steps ---- */

static const struct pw_stepsum *find_step(const struct pw_stepsums *sums, int64_t step)
{
    /* a profile of one step may have no number in their file */
    if (step < 0)
        return sums->nsteps == 1 ? &sums->steps[0] : NULL;
    for (size_t i = 0; i < sums->nsteps; i++)
        if (sums->steps[i].step == step)
            return &sums->steps[i];
    return NULL;
}

static void compare_step(const struct pw_trace *trace, const struct pw_row_msprof_step *theirs,
                         struct pw_msprof_compared *out)
{
    const struct pw_stepsum *ours = find_step(trace->sums, theirs->step);
    if (!ours || ours->crossed) {
        out->unknown += !ours;
        out->crossed += ours != NULL;
        return;
    }
    const struct {
        const char *column;
        int64_t theirs, ours;
    } columns[] = {
        {"Computing", theirs->computing_ns, ours->computing_ns},
        {"Communication", theirs->comm_ns, ours->comm_ns},
        {"Communication(Not Overlapped)", theirs->exposed_ns, ours->exposed_ns},
        {"Overlapped", theirs->overlapped_ns, ours->comm_ns - ours->exposed_ns},
    };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        compare(out, &(struct value){PW_MSPROF_OF_STEPS, columns[i].column, trace->rank,
                                     theirs->step, -1, columns[i].theirs, columns[i].ours, 1, 0});
}

/* ---- operations and links: their sums, by the same readers as ours ---- */

static int64_t plus(int64_t sum, int64_t one)
{
    return one > 0 ? pw_sum(sum, one) : sum;
}

static void compare_operations(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    struct pw_stepsums theirs = {0};
    for (size_t i = 0; i < trace->msprof->ntimes; i++) {
        const struct pw_msprof_time *t = &trace->msprof->times[i];
        struct pw_hcclsum *sum =
            t->rank == trace->rank ? pw_stepsums_operations(&theirs, t->step) : NULL;
        if (!sum)
            continue;
        sum->operations++;
        sum->elapsed_ns = plus(sum->elapsed_ns, t->elapsed_ns);
        sum->transfer_ns = plus(sum->transfer_ns, t->transfer_ns);
        sum->wait_ns = plus(sum->wait_ns, t->wait_ns);
        sum->sync_ns = plus(sum->sync_ns, t->sync_ns);
    }
    for (size_t i = 0; i < theirs.noperations; i++) {
        const struct pw_hcclsum *sum = &theirs.operations[i], *ours = NULL;
        for (size_t k = 0; k < trace->sums->noperations && !ours; k++)
            if (trace->sums->operations[k].step == sum->step)
                ours = &trace->sums->operations[k];
        out->unknown += !ours;
        const struct {
            const char *column;
            int64_t theirs, ours;
        } columns[] = {
            {"Elapse Time", sum->elapsed_ns, ours ? ours->elapsed_ns : 0},
            {"Transit Time", sum->transfer_ns, ours ? ours->transfer_ns : 0},
            {"Wait Time", sum->wait_ns, ours ? ours->wait_ns : 0},
            {"Synchronization Time", sum->sync_ns, ours ? ours->sync_ns : 0},
        };
        for (size_t c = 0; ours && c < sizeof(columns) / sizeof(columns[0]); c++)
            compare(out, &(struct value){PW_MSPROF_OF_OPERATIONS, columns[c].column, trace->rank,
                                         sum->step, -1, columns[c].theirs, columns[c].ours,
                                         sum->operations, 0});
    }
    pw_stepsums_fini(&theirs);
}

static void compare_links(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    struct pw_stepsums theirs = {0};
    for (size_t i = 0; i < trace->msprof->nlinks; i++) {
        const struct pw_msprof_link *l = &trace->msprof->links[i];
        struct pw_linksum *sum =
            l->src == trace->rank ? pw_stepsums_link(&theirs, l->src, l->dst) : NULL;
        if (!sum)
            continue;
        sum->rows++;
        sum->bytes = plus(sum->bytes, l->bytes);
        sum->transfer_ns = plus(sum->transfer_ns, l->transfer_ns);
    }
    for (size_t i = 0; i < theirs.nlinks; i++) {
        const struct pw_linksum *sum = &theirs.links[i], *ours = NULL;
        for (size_t k = 0; k < trace->sums->nlinks && !ours; k++)
            if (trace->sums->links[k].src == sum->src && trace->sums->links[k].dst == sum->dst)
                ours = &trace->sums->links[k];
        out->unknown += !ours;
        if (!ours)
            continue;
        compare(out, &(struct value){PW_MSPROF_OF_LINKS, "Transit Size", trace->rank, -1, sum->dst,
                                     sum->bytes, ours->bytes, sum->rows, 1});
        compare(out, &(struct value){PW_MSPROF_OF_LINKS, "Transit Time", trace->rank, -1, sum->dst,
                                     sum->transfer_ns, ours->transfer_ns, sum->rows, 0});
    }
    pw_stepsums_fini(&theirs);
}

void pw_msprof_compare(const struct pw_trace *trace, struct pw_msprof_compared *out)
{
    const struct pw_msprof *m = trace->msprof;
    *out = (struct pw_msprof_compared){0};
    for (size_t i = 0; i < m->nsteps; i++)
        if (m->steps[i].rank == trace->rank)
            compare_step(trace, &m->steps[i].row, out);
    compare_operations(trace, out);
    compare_links(trace, out);
}

/* ---- the line ---- */

void pw_msprof_compare_add(struct pw_msprof_compared *sum, const struct pw_msprof_compared *one)
{
    int64_t before = 0, now = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++) {
        before += sum->different[i];
        now += one->different[i];
        sum->values[i] += one->values[i];
        sum->different[i] += one->different[i];
    }
    sum->crossed += one->crossed;
    sum->unknown += one->unknown;
    if (now && (!before || distance(one->worst.theirs, one->worst.ours) >
                               distance(sum->worst.theirs, sum->worst.ours)))
        sum->worst = one->worst;
}

static size_t say_value(const struct pw_msprof_difference *d, int64_t value, char *out, size_t size)
{
    const double us = 1e3, mb = 1e6;
    return (size_t)snprintf(out, size, d->is_bytes ? "%.6f MB" : "%.3f us",
                            (double)value / (d->is_bytes ? mb : us));
}

static void say_worst(const struct pw_msprof_difference *d, char *out, size_t size)
{
    char theirs[48], ours[48], by[48], where[64] = "";
    say_value(d, d->theirs, theirs, sizeof(theirs));
    say_value(d, d->ours, ours, sizeof(ours));
    say_value(d, distance(d->theirs, d->ours), by, sizeof(by));
    if (d->other >= 0)
        snprintf(where, sizeof(where), " to rank %" PRId64, d->other);
    else if (d->step >= 0)
        snprintf(where, sizeof(where), " in step %" PRId64, d->step);
    snprintf(out, size, "%s of rank %" PRId64 "%s is %s there and %s in the profiles, %s apart",
             d->column, d->rank, where, theirs, ours, by);
}

static size_t add(char *out, size_t size, size_t used, const char *words, int64_t n)
{
    return used < size ? used + (size_t)snprintf(out + used, size - used, words, n) : used;
}

const char *pw_msprof_compare_say(const struct pw_msprof_compared *sum, char *out, size_t size)
{
    static const char *const words[PW_MSPROF_KINDS] = {"%" PRId64 " times of steps",
                                                       "%" PRId64 " sums of communication",
                                                       "%" PRId64 " sums of links"};
    char worst[256];
    size_t used = 0;
    int64_t values = 0, different = 0;
    for (int i = 0; i < PW_MSPROF_KINDS; i++) {
        values += sum->values[i];
        different += sum->different[i];
    }
    if (!values) {
        used =
            add(out, size, used, "nothing of it can be compared with these profiles%.0" PRId64, 0);
    } else {
        used = add(out, size, used, different ? "of " : "agrees with the profiles in ", 0);
        for (int i = 0, n = 0; i < PW_MSPROF_KINDS; i++)
            if (sum->values[i]) {
                used = add(out, size, used, n++ ? " and " : "", 0);
                used = add(out, size, used, words[i], sum->values[i]);
            }
    }
    if (different && used < size) {
        say_worst(&sum->worst, worst, sizeof(worst));
        used += (size_t)snprintf(out + used, size - used,
                                 ", %" PRId64 " differ%s from the profiles; most: %s", different,
                                 different == 1 ? "s" : "", worst);
    }
    if (sum->crossed)
        used = add(out, size, used,
                   "; %" PRId64 " steps whose tasks cross a border are not compared, because tasks "
                   "are divided there here",
                   sum->crossed);
    if (sum->unknown)
        used =
            add(out, size, used,
                "; %" PRId64 " of its steps, sums and links are not in the profiles", sum->unknown);
    if (sum->values[PW_MSPROF_OF_STEPS])
        add(out, size, used,
            "; Free, Stage, Bubble and Preparing are defined otherwise here, and not compared", 0);
    return out;
}
