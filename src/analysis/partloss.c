/* Losses before the first step and after the last; see partloss.h. */
#include "analysis/partloss.h"

#include "analysis/cause.h"
#include "analysis/statistics.h"

#define SURE_SHARE 0.03 /* of the run ... */
#define SURE_NEXT 0.2   /* ... with the next at that of it */
#define START_SHARE 0.015
#define START_NEXT 0.05
#define SURE_CHANCE 0.01 /* of being that far above the others in any part */
#define CLEAR_SHARE 0.01
#define CLEAR_CHANCE 0.001
#define CLEAR_NEXT 0.5
#define SHARE_OF_TWO 0.10
#define TIMES_SPREAD 5 /* of few ranks' times: their next may be near by chance */
#define ASLEEP 0.1     /* of MPI_Init */
#define MOSTLY 0.5     /* of the loss: then that is its cause */

enum { MANY = 8 }; /* ranks */

static const enum pw_part parts[PW_PARTLOSSES] = {PW_PART_START, PW_PART_INIT, PW_PART_SETUP,
                                                  PW_PART_TAIL, PW_PART_END};

static int is_outside_mpi(enum pw_part part)
{
    return part == PW_PART_START || part == PW_PART_END;
}

static int64_t own_of(const struct pw_row_c_part_trace *row, enum pw_part part)
{
    if (row->total_ns < 0 || is_outside_mpi(part))
        return row->total_ns;
    /* In MPI_Init who is early sleeps, or looks again and again. */
    if (part == PW_PART_INIT)
        return row->cpu_ns < 0 ? -1
                               : row->cpu_ns + row->ready_ns + row->stopped_ns + row->frozen_ns;
    return row->total_ns - row->wait_ns;
}

/* Of the known values of the others; -1 when there are none. */
static int64_t median_of_others(const int64_t *values, size_t n, size_t rank, int64_t *sorted)
{
    size_t k = 0;
    for (size_t r = 0; r < n; r++)
        if (r != rank && values[r] >= 0)
            sorted[k++] = values[r];
    return k ? pw_median_i64(sorted, k) : -1;
}

/* How much more one member of a rank's row is than the median of the others'. */
static int64_t more(const struct pw_row_c_part_trace *rows, size_t nranks, size_t rank,
                    size_t offset, int64_t *values, int64_t *sorted)
{
    for (size_t r = 0; r < nranks; r++)
        values[r] = *(const int64_t *)((const char *)&rows[r] + offset);
    int64_t usual = median_of_others(values, nranks, rank, sorted);
    return values[rank] < 0 || usual < 0 ? -1 : values[rank] - usual;
}

/* What the samples say of most of the loss. */
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
    if (f->part == PW_PART_START)
        return PW_CAUSE_LATE_START;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if ((double)more(rows, nranks, f->rank, kinds[k].offset, scratch, scratch + nranks) >=
            MOSTLY * (double)f->lost_ns) {
            const int64_t io =
                more(rows, nranks, f->rank, offsetof(struct pw_row_c_part_trace, io_bytes), scratch,
                     scratch + nranks);
            const int is_io = (double)io >= PW_CAUSE_LEAST_IO_PER_NS * (double)f->lost_ns;
            return kinds[k].cause == PW_CAUSE_BLOCKED_OFF_CPU && is_io ? PW_CAUSE_FILE_IO
                                                                       : kinds[k].cause;
        }
    return PW_CAUSE_UNKNOWN;
}

/* Too far above the others to be one of them; the more so the less it costs. */
static int is_outlier(double lost, double next, double chance)
{
    return next <= CLEAR_NEXT && ((lost >= CLEAR_SHARE && PW_PARTLOSSES * chance < CLEAR_CHANCE) ||
                                  (lost >= SURE_SHARE && PW_PARTLOSSES * chance < SURE_CHANCE));
}

/* Of `known` ranks; of two nobody says which is usual, nor that who waits in MPI_Init sleeps,
 * unless the rank did so, too. */
static int is_enough(const struct pw_row_c_part_trace *rows, const struct pw_partloss *f,
                     double chance, size_t known, int64_t run_ns)
{
    const struct pw_row_c_part_trace *mine = &rows[f->rank];
    const double lost = (double)f->lost_ns / (double)run_ns;
    const double next = (double)f->next_ns / (double)f->lost_ns;
    if (known == 2)
        return (f->part != PW_PART_INIT ||
                (double)mine->asleep_ns >= ASLEEP * (double)mine->total_ns) &&
               lost >= (f->part == PW_PART_START ? SURE_SHARE : SHARE_OF_TWO);
    if (f->part != PW_PART_INIT && is_outlier(lost, next, chance))
        return 1;
    if (f->part == PW_PART_START || f->part == PW_PART_INIT)
        return (lost >= SURE_SHARE && next <= SURE_NEXT) ||
               (f->part == PW_PART_START && lost >= START_SHARE && next <= START_NEXT);
    return known < MANY && lost >= SURE_SHARE &&
           (double)f->lost_ns >= TIMES_SPREAD * (double)f->spread_ns;
}

/* The rank with most own time in the part. */
static int find(const struct pw_row_c_part_trace *rows, size_t nranks, enum pw_part part,
                int64_t *scratch, struct pw_partloss *f)
{
    int64_t *own = scratch, *sorted = scratch + nranks;
    size_t most = 0, second = nranks;
    for (size_t r = 0; r < nranks; r++)
        own[r] = own_of(&rows[r], part);
    for (size_t r = 1; r < nranks; r++)
        most = own[r] > own[most] ? r : most;
    for (size_t r = 0; r < nranks; r++)
        if (r != most && (second == nranks || own[r] > own[second]))
            second = r;
    *f = (struct pw_partloss){.rank = most, .part = part};
    f->usual_ns = median_of_others(own, nranks, most, sorted);
    if (f->usual_ns < 0)
        return 0;
    f->lost_ns = own[most] - f->usual_ns;
    int64_t least = own[second];
    for (size_t r = 0; r < nranks; r++)
        least = r != most && own[r] >= 0 && own[r] < least ? own[r] : least;
    f->spread_ns = own[second] - least;
    f->next_ns = own[second] > f->usual_ns ? own[second] - f->usual_ns : 0;
    return f->lost_ns > 0;
}

static size_t count_known(const struct pw_row_c_part_trace *rows, size_t nranks)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        n += rows[r].total_ns >= 0;
    return n;
}

size_t pw_partloss_find(const struct pw_row_c_part_trace *rows, size_t nranks, int64_t run_ns,
                        int64_t *scratch, struct pw_partloss out[PW_PARTLOSSES])
{
    size_t n = 0;
    for (size_t i = 0; i < PW_PARTLOSSES && nranks > 1 && run_ns > 0; i++) {
        const struct pw_row_c_part_trace *of = rows + (size_t)(parts[i] - PW_PART_START) * nranks;
        struct pw_partloss *f = &out[n];
        if (!find(of, nranks, parts[i], scratch, f))
            continue;
        const double chance = pw_outlier_chance(scratch, nranks, f->rank);
        if (!is_enough(of, f, chance, count_known(of, nranks), run_ns))
            continue;
        f->cause = cause_of(of, nranks, f, scratch);
        n++;
    }
    return n;
}
