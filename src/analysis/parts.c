/* Compares each rank's own time in a part with the median of the others, and computes means over
 * ranks. Sums are of type double, so that a damaged file cannot overflow an integer. See
 * parts.h. */
#include "analysis/parts.h"

#include "analysis/cause.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"

/* ---- means of the parts of the run ---- */

static const struct pw_row_c_part_trace *row_of(const struct pw_row_c_part_trace *rows,
                                                size_t nranks, enum pw_part part, size_t rank)
{
    return &rows[(size_t)(part - PW_PART_START) * nranks + rank];
}

struct pw_parts_known pw_parts_known(const struct pw_row_c_part_trace *rows, size_t nranks,
                                     int64_t init_source)
{
    struct pw_parts_known known = {init_source, 1, 1, 1, 0};
    for (size_t r = 0; rows && r < nranks; r++) {
        if (row_of(rows, nranks, PW_PART_STEPS, r)->total_ns < 0)
            continue; /* a rank without a file does not count */
        known.nranks++;
        known.has_init &= row_of(rows, nranks, PW_PART_INIT, r)->total_ns >= 0;
        known.has_steps &= row_of(rows, nranks, PW_PART_SETUP, r)->total_ns >= 0;
        known.has_finalize &= row_of(rows, nranks, PW_PART_FINALIZE, r)->total_ns >= 0;
    }
    return known;
}

struct pw_parts_known pw_parts_known_of_both(struct pw_parts_known a, struct pw_parts_known b)
{
    return (struct pw_parts_known){
        .init_source = a.init_source == b.init_source ? a.init_source : -1,
        .has_init = a.has_init && b.has_init,
        .has_steps = a.has_steps && b.has_steps,
        .has_finalize = a.has_finalize && b.has_finalize,
        .nranks = a.nranks < b.nranks ? a.nranks : b.nranks,
    };
}

/* The part into which the time of `part` is merged; `part` itself when it is known. */
static enum pw_part counts_in(const struct pw_parts_known *known, enum pw_part part)
{
    if ((part == PW_PART_START || part == PW_PART_INIT) && !known->has_init)
        part = PW_PART_SETUP;
    if ((part == PW_PART_FINALIZE || part == PW_PART_END) && !known->has_finalize)
        part = PW_PART_TAIL;
    return (part == PW_PART_SETUP || part == PW_PART_TAIL) && !known->has_steps ? PW_PART_STEPS
                                                                                : part;
}

int pw_parts_is_known(const struct pw_parts_known *known, enum pw_part part)
{
    return known->nranks && counts_in(known, part) == part;
}

struct pw_part_time pw_parts_time(const struct pw_row_c_part_trace *rows, size_t nranks,
                                  const struct pw_parts_known *known, size_t rank,
                                  enum pw_part part)
{
    struct pw_part_time time = {-1, -1};
    if (!pw_parts_is_known(known, part) || row_of(rows, nranks, PW_PART_STEPS, rank)->total_ns < 0)
        return time;
    time = (struct pw_part_time){0, 0};
    for (int from = PW_PART_START; from <= PW_PART_END; from++) {
        const struct pw_row_c_part_trace *row = row_of(rows, nranks, (enum pw_part)from, rank);
        if (counts_in(known, (enum pw_part)from) != part || row->total_ns < 0)
            continue;
        time.total_ns += (double)row->total_ns;
        time.wait_ns += row->wait_ns > 0 ? (double)row->wait_ns : 0;
    }
    return time;
}

double pw_parts_own(const struct pw_row_c_part_trace *rows, size_t nranks,
                    const struct pw_parts_known *known, size_t rank, enum pw_part part)
{
    const struct pw_part_time time = pw_parts_time(rows, nranks, known, rank, part);
    return time.total_ns > time.wait_ns ? time.total_ns - time.wait_ns : time.total_ns < 0 ? -1 : 0;
}

void pw_partmeans(const struct pw_row_c_part_trace *rows, size_t nranks,
                  const struct pw_parts_known *known, struct pw_partmean out[PW_PARTS])
{
    for (int part = PW_PART_START; part <= PW_PART_END; part++) {
        struct pw_partmean *mean = &out[part - PW_PART_START];
        *mean = (struct pw_partmean){-1, -1, -1, 0};
        if (!pw_parts_is_known(known, (enum pw_part)part))
            continue;
        double total_ns = 0, wait_ns = 0;
        for (size_t r = 0; r < nranks; r++) {
            const struct pw_part_time time =
                pw_parts_time(rows, nranks, known, r, (enum pw_part)part);
            const double own = pw_parts_own(rows, nranks, known, r, (enum pw_part)part);
            if (time.total_ns < 0)
                continue;
            total_ns += time.total_ns;
            wait_ns += time.wait_ns;
            if (own > mean->most_ns) {
                mean->most_ns = own;
                mean->most_rank = r;
            }
        }
        mean->mean_ns = total_ns / (double)known->nranks;
        mean->wait_ns = wait_ns / (double)known->nranks;
    }
}

struct pw_partmean pw_partmeans_sum(const struct pw_partmean means[PW_PARTS])
{
    struct pw_partmean sum = {0, 0, -1, 0};
    for (size_t i = 0; i < PW_PARTS; i++)
        if (means[i].mean_ns >= 0) {
            sum.mean_ns += means[i].mean_ns;
            sum.wait_ns += means[i].wait_ns;
        }
    return sum;
}

enum { MANY = 8 }; /* ranks */

static const enum pw_part parts[PW_PARTS_JUDGED] = {PW_PART_START, PW_PART_INIT,     PW_PART_SETUP,
                                                    PW_PART_TAIL,  PW_PART_FINALIZE, PW_PART_END};

static int is_outside_mpi(enum pw_part part)
{
    return part == PW_PART_START || part == PW_PART_END;
}

/* The other one of two ranks waits in calls that are recorded: so it is known which one is late. */
static int is_waited_for(enum pw_part part)
{
    return part == PW_PART_SETUP || part == PW_PART_TAIL;
}

/* Waits in these calls are not recorded: a rank that waits sleeps, or polls. */
static int is_one_call(enum pw_part part)
{
    return part == PW_PART_INIT || part == PW_PART_FINALIZE;
}

static int64_t own_of(const struct pw_row_c_part_trace *row, enum pw_part part)
{
    if (row->total_ns < 0 || is_outside_mpi(part))
        return row->total_ns < 0 ? -1 : row->total_ns - row->wait_ns;
    if (is_one_call(part))
        return row->cpu_ns < 0 ? -1
                               : row->cpu_ns + row->ready_ns + row->stopped_ns + row->frozen_ns;
    /* Without MPI_Finalize the tail ends with the run, and a rank may have ended before. */
    const int64_t gone_ns = part == PW_PART_TAIL && row->outside_ns > 0 ? row->outside_ns : 0;
    return row->total_ns - row->wait_ns - gone_ns;
}

/* The median of the others' known values; -1 when there are none. */
static int64_t median_of_others(const int64_t *values, size_t n, size_t rank, int64_t *sorted)
{
    size_t k = 0;
    for (size_t r = 0; r < n; r++)
        if (r != rank && values[r] >= 0)
            sorted[k++] = values[r];
    return k ? pw_median_i64(sorted, k) : -1;
}

/* One member of the rank's row (at `offset`) minus the median of the others'. */
static int64_t more(const struct pw_row_c_part_trace *rows, size_t nranks, size_t rank,
                    size_t offset, int64_t *scratch)
{
    int64_t *values = scratch, *sorted = scratch + nranks;
    for (size_t r = 0; r < nranks; r++)
        values[r] = *(const int64_t *)((const char *)&rows[r] + offset);
    int64_t usual = median_of_others(values, nranks, rank, sorted);
    return values[rank] < 0 || usual < 0 ? -1 : values[rank] - usual;
}

/* By the samples: the first cause in the table that explains at least half of the loss. */
static enum pw_cause cause_of(const struct pw_row_c_part_trace *rows, size_t nranks,
                              const struct pw_partloss *f, int64_t *scratch)
{
    static const struct {
        size_t offset;
        enum pw_cause cause;
    } kinds[] = {
        {offsetof(struct pw_row_c_part_trace, frozen_ns), PW_CAUSE_HOST_FROZEN},
        {offsetof(struct pw_row_c_part_trace, stopped_ns), PW_CAUSE_STOPPED},
        {offsetof(struct pw_row_c_part_trace, throttled_ns), PW_CAUSE_CGROUP_THROTTLING},
        {offsetof(struct pw_row_c_part_trace, disk_ns), PW_CAUSE_FILE_IO},
        {offsetof(struct pw_row_c_part_trace, ready_ns), PW_CAUSE_CPU_CONTENTION},
        {offsetof(struct pw_row_c_part_trace, asleep_ns), PW_CAUSE_BLOCKED_OFF_CPU},
        {offsetof(struct pw_row_c_part_trace, cpu_ns), PW_CAUSE_MORE_CPU_WORK},
    };
    const double lost_ns = (double)f->lost_ns;
    const double io = (double)more(rows, nranks, f->rank,
                                   offsetof(struct pw_row_c_part_trace, io_bytes), scratch);
    /* Files that come from memory are work for a CPU; so many bytes may also be spread over states
     * none of which explains half. */
    const enum pw_cause busy =
        io >= lost_ns / PW_CAUSE_WORK_NS_PER_BYTE ? PW_CAUSE_FILE_IO : PW_CAUSE_UNKNOWN;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const enum pw_cause cause = kinds[k].cause;
        if ((double)more(rows, nranks, f->rank, kinds[k].offset, scratch) <
            PW_PARTS_EXPLAINED * lost_ns)
            continue;
        if (cause == PW_CAUSE_BLOCKED_OFF_CPU && io >= PW_CAUSE_LEAST_IO_PER_NS * lost_ns)
            return PW_CAUSE_FILE_IO;
        return cause == PW_CAUSE_MORE_CPU_WORK && busy != PW_CAUSE_UNKNOWN ? busy : cause;
    }
    return busy;
}

/* 1 when the loss is at least twice the next largest one and unlikely by chance. A smaller loss
 * must be more unlikely. */
static int is_outlier(double lost, double next, double chance)
{
    return next <= PW_PARTS_CLEAR_NEXT &&
           ((lost >= PW_PARTS_CLEAR_SHARE && PW_PARTS_JUDGED * chance < PW_PARTS_CLEAR_CHANCE) ||
            (lost >= PW_PARTS_SHARE && PW_PARTS_JUDGED * chance < PW_PARTS_CHANCE));
}

/* 1 when the busier of two ranks in a call is the late one, and does not poll for the other: the
 * other one polls for it, or this one also slept, but not as much as between polls. */
static int is_busy_of_two(const struct pw_row_c_part_trace *rows, const struct pw_partloss *f)
{
    const struct pw_row_c_part_trace *mine = &rows[f->rank];
    const double own_ns = (double)(f->lost_ns + f->usual_ns), total_ns = (double)mine->total_ns;
    return (double)f->usual_ns >= PW_PARTS_POLLED * total_ns ||
           ((double)mine->asleep_ns >= PW_PARTS_ASLEEP * total_ns &&
            own_ns >= PW_PARTS_POLLED_AT_MOST * total_ns);
}

/* 1 when the loss is large enough, among `known` ranks; see the table in parts.h. */
static int is_enough(const struct pw_row_c_part_trace *rows, const struct pw_partloss *f,
                     double chance, size_t known, int64_t run_ns)
{
    const double lost = (double)f->lost_ns / (double)run_ns;
    const double next = (double)f->next_ns / (double)f->lost_ns;
    if (known == 2)
        return (!is_one_call(f->part) || is_busy_of_two(rows, f)) &&
               lost >= (f->part == PW_PART_START ? PW_PARTS_SHARE
                        : is_waited_for(f->part) ? PW_PARTS_WAITED_OF_TWO
                                                 : PW_PARTS_SHARE_OF_TWO);
    if (!is_one_call(f->part) &&
        (is_outlier(lost, next, chance) || lost * (1 - next) >= PW_PARTS_HELD))
        return 1;
    if (f->part == PW_PART_START || is_one_call(f->part))
        return (lost >= PW_PARTS_SHARE && next <= PW_PARTS_NEXT) ||
               (f->part == PW_PART_START && lost >= PW_PARTS_START_SHARE &&
                next <= PW_PARTS_START_NEXT);
    return known < MANY && lost >= PW_PARTS_SHARE &&
           (double)f->lost_ns >= PW_PARTS_TIMES_SPREAD * (double)f->spread_ns;
}

static size_t count_known(const int64_t *own, size_t nranks)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        n += own[r] >= 0;
    return n;
}

/* The rank with the largest known own time, without `except`; nranks: there is none. */
static size_t rank_of_most(const int64_t *own, size_t nranks, size_t except)
{
    size_t most = nranks;
    for (size_t r = 0; r < nranks; r++)
        if (r != except && own[r] >= 0 && (most == nranks || own[r] > own[most]))
            most = r;
    return most;
}

/* Compares a rank with the others, by the own times in `scratch`. Returns 1 when it is above their
 * median. */
static int compare(size_t nranks, enum pw_part part, size_t rank, int64_t *scratch,
                   struct pw_partloss *f)
{
    const int64_t *own = scratch;
    const size_t second = rank_of_most(own, nranks, rank);
    *f = (struct pw_partloss){.rank = rank, .part = part};
    if (second == nranks)
        return 0;
    f->usual_ns = median_of_others(own, nranks, rank, scratch + nranks);
    f->lost_ns = own[rank] - f->usual_ns;
    int64_t least = own[second];
    for (size_t r = 0; r < nranks; r++)
        least = r != rank && own[r] >= 0 && own[r] < least ? own[r] : least;
    f->spread_ns = own[second] - least;
    f->next_ns = own[second] > f->usual_ns ? own[second] - f->usual_ns : 0;
    return f->lost_ns > 0;
}

/* Finds the rank with the largest own time. Returns 1 when it is above the median of the others. */
static int find(size_t nranks, enum pw_part part, int64_t *scratch, struct pw_partloss *f)
{
    const size_t most = rank_of_most(scratch, nranks, nranks);
    return most < nranks && compare(nranks, part, most, scratch, f);
}

/* 1 when the own times in `scratch` show that the rank of *f held the job back. */
static int is_shown(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                    int64_t *scratch, struct pw_partloss *f)
{
    return find(nranks, f->part, scratch, f) &&
           is_enough(rows, f, pw_outlier_chance(scratch, nranks, f->rank),
                     count_known(scratch, nranks), run_ns);
}

/* The same of the two ranks with the most own time: each of them stands out where the other one is
 * left out, and the others are the majority. out[0] is the one with the larger loss. */
static int are_shown(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                     int64_t *scratch, struct pw_partloss out[2])
{
    const size_t most = rank_of_most(scratch, nranks, nranks);
    const size_t second = rank_of_most(scratch, nranks, most);
    if (count_known(scratch, nranks) < PW_PARTS_TWO_OF)
        return 0;
    const int64_t longest = scratch[most], longer = scratch[second];
    const enum pw_part part = out[0].part;
    out[1].part = part;
    scratch[second] = -1;
    const int is_first = is_shown(rows, nranks, run_ns, scratch, &out[0]);
    scratch[second] = longer;
    scratch[most] = -1;
    const int is_second = is_first && is_shown(rows, nranks, run_ns, scratch, &out[1]);
    scratch[most] = longest;
    /* Without the first one the job would wait for the second. */
    out[0].next_ns = is_second ? out[1].lost_ns : 0;
    return is_second;
}

/* 1 when a loss that was measured in another way than by own time is large enough. */
static int is_large(const struct pw_partloss *f, size_t known, int64_t run_ns)
{
    const double lost = (double)f->lost_ns / (double)run_ns;
    return lost >= (known == 2 ? PW_PARTS_SHARE_OF_TWO : PW_PARTS_SHARE) &&
           (double)f->next_ns <= PW_PARTS_NEXT * (double)f->lost_ns;
}

/* When the rank left the part, from the start of the run. */
static int64_t left_at(const struct pw_row_c_part_trace *all, size_t nranks, enum pw_part part,
                       size_t rank)
{
    int64_t at = 0;
    for (int p = PW_PART_START; p <= (int)part; p++) {
        const int64_t total_ns = all[(size_t)(p - PW_PART_START) * nranks + rank].total_ns;
        at += total_ns > 0 ? total_ns : 0;
    }
    return at;
}

/* The rank that was longest in the call and left it after the others. `all`: of all parts. */
static int find_late(const struct pw_row_c_part_trace *all, size_t nranks, enum pw_part part,
                     int64_t *scratch, struct pw_partloss *f)
{
    const struct pw_row_c_part_trace *rows = all + (size_t)(part - PW_PART_START) * nranks;
    for (size_t r = 0; r < nranks; r++)
        scratch[r] = rows[r].total_ns;
    if (!find(nranks, part, scratch, f))
        return 0;
    for (size_t r = 0; r < nranks; r++)
        scratch[r] = rows[r].total_ns < 0 ? -1 : left_at(all, nranks, part, r);
    const int64_t late_ns =
        scratch[f->rank] - median_of_others(scratch, nranks, f->rank, scratch + nranks);
    f->lost_ns = late_ns < f->lost_ns ? late_ns : f->lost_ns;
    f->evidence = PW_PART_LEFT_LATE;
    return f->lost_ns > 0;
}

static size_t count_rows(const struct pw_row_c_part_trace *rows, size_t nranks)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        n += rows[r].total_ns >= 0;
    return n;
}

/* The only rank that slept in the call, while all others polled. */
static int find_sleeper(const struct pw_row_c_part_trace *rows, size_t nranks, enum pw_part part,
                        struct pw_partloss *f)
{
    size_t least = nranks;
    int64_t polled_ns = INT64_MAX, shortest_ns = INT64_MAX;
    const size_t n = count_rows(rows, nranks);
    for (size_t r = 0; r < nranks; r++)
        if (own_of(&rows[r], part) >= 0 &&
            (least == nranks || own_of(&rows[r], part) < own_of(&rows[least], part)))
            least = r;
    for (size_t r = 0; r < nranks && least < nranks; r++) {
        const int64_t own_ns = own_of(&rows[r], part);
        if (r == least || own_ns < 0)
            continue;
        polled_ns = own_ns < polled_ns ? own_ns : polled_ns;
        shortest_ns = rows[r].total_ns < shortest_ns ? rows[r].total_ns : shortest_ns;
    }
    if (least == nranks || polled_ns == INT64_MAX)
        return 0;
    const struct pw_row_c_part_trace *mine = &rows[least];
    *f = (struct pw_partloss){.rank = least,
                              .part = part,
                              .cause = PW_CAUSE_BLOCKED_OFF_CPU,
                              .evidence = PW_PART_ASLEEP,
                              .lost_ns =
                                  mine->asleep_ns < shortest_ns ? mine->asleep_ns : shortest_ns,
                              .usual_ns = polled_ns};
    return (double)mine->asleep_ns >= PW_PARTS_SLEPT * (double)mine->total_ns &&
           (double)polled_ns >= PW_PARTS_POLLED * (double)shortest_ns &&
           (double)polled_ns >= PW_PARTS_POLLED_TIMES * (double)own_of(mine, part) &&
           (n > 2 || (double)polled_ns < PW_PARTS_POLLED_AT_MOST * (double)shortest_ns);
}

/* Finds the losses of one part. Returns how many, at most 2. */
static size_t find_in(const struct pw_row_c_part_trace *all, size_t nranks, int64_t run_ns,
                      int64_t *scratch, struct pw_partloss *out)
{
    const enum pw_part part = out->part;
    const struct pw_row_c_part_trace *rows = all + (size_t)(part - PW_PART_START) * nranks;
    const size_t known = count_rows(rows, nranks);
    if (is_one_call(part) && find_sleeper(rows, nranks, part, out) && is_large(out, known, run_ns))
        return 1;
    out->part = part;
    for (size_t r = 0; r < nranks; r++)
        scratch[r] = own_of(&rows[r], part);
    if (is_shown(rows, nranks, run_ns, scratch, out))
        return 1;
    out->part = part;
    if (!is_one_call(part) && are_shown(rows, nranks, run_ns, scratch, out))
        return 2;
    return is_one_call(part) && find_late(all, nranks, part, scratch, out) &&
           is_large(out, known, run_ns);
}

size_t pw_partloss_find(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                        int64_t *scratch, struct pw_partloss out[PW_PARTLOSSES])
{
    size_t n = 0;
    for (size_t i = 0; i < PW_PARTS_JUDGED && nranks > 1 && run_ns > 0; i++) {
        const struct pw_row_c_part_trace *of = rows + (size_t)(parts[i] - PW_PART_START) * nranks;
        struct pw_partloss found[2] = {{.part = parts[i]}};
        const size_t more = find_in(rows, nranks, run_ns, scratch, found);
        for (size_t k = 0; k < more; k++) {
            if (found[k].evidence != PW_PART_ASLEEP)
                found[k].spent = found[k].cause = cause_of(of, nranks, &found[k], scratch);
            if (parts[i] == PW_PART_START)
                found[k].cause = PW_CAUSE_LATE_START;
            out[n++] = found[k];
        }
    }
    return n;
}
