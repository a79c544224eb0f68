/* Bins and parts of the run: what samples say; see binsamples.h. */
#include "aggregate/steps/binsamples.h"

#include "aggregate/input/cursor.h"
#include "core/limits.h"

/* How long a state that was seen is taken for that of later pauses between two samples. */
enum { STATE_LASTS_NS = 2000000000 };

/* Samples that are so much further apart than others were not taken because the host, or the
 * container of the rank and its collector, stood still. */
enum { FROZEN_TIMES = 4, FROZEN_LEAST_NS = 300000000 };

#define MEMBER(name) offsetof(struct pw_row_c_bin_trace, name)

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How much a counter grew; -1: not known. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

/* What /proc says of a thread that is not on a processor nor ready for one. */
static size_t member_of_state(uint8_t state)
{
    return state == 'T' || state == 't' ? MEMBER(stopped_ns)
           : state == 'D'               ? MEMBER(disk_ns)
                                        : MEMBER(asleep_ns);
}

static int is_off(uint8_t state)
{
    return state == 'T' || state == 't' || state == 'D' || state == 'S';
}

struct seen {
    uint8_t state; /* off the processor, as seen last */
    int64_t at;
    int64_t shortest; /* time between two samples */
};

/* The pause of a thread between two samples, by the states that were seen at them: of those that
 * are none of a pause the last that was. A thread that was ready all the time has its wait counted
 * only when it runs again. */
static size_t pause_member(const struct pw_row_process *from, const struct pw_row_process *to,
                           int is_standing, struct seen *seen)
{
    uint8_t state = is_off(to->state) && to->state != 'S' ? to->state : from->state;
    state = is_off(state) ? state : to->state;
    if (is_off(state)) {
        seen->state = state;
        seen->at = to->time;
        return member_of_state(state);
    }
    if (is_standing && to->state == 'R')
        return MEMBER(ready_ns);
    return to->time - seen->at <= STATE_LASTS_NS ? member_of_state(seen->state) : MEMBER(asleep_ns);
}

/* Ready or running before and after, and neither in between, nor was a sample taken. */
static int is_frozen(const struct pw_row_process *from, const struct pw_row_process *to,
                     int64_t pause, const struct seen *seen)
{
    const int64_t span = to->time - from->time;
    return from->state == 'R' && to->state == 'R' && span >= FROZEN_LEAST_NS &&
           span / FROZEN_TIMES >= seen->shortest && pause >= span / 2;
}

static void take_process(struct pw_bins *s, const struct pw_row_process *from,
                         const struct pw_row_process *to, struct seen *seen)
{
    int64_t span = to->time - from->time, cpu = grown(from->main_cpu_ns, to->main_cpu_ns);
    int64_t ready = grown(from->runq_wait_ns, to->runq_wait_ns);
    int64_t read = grown(from->read_bytes, to->read_bytes);
    int64_t written = grown(from->write_bytes, to->write_bytes);
    if (read >= 0 && written >= 0)
        pw_bins_spread(s, from->time, to->time, pw_sum(read, written), MEMBER(io_bytes));
    if (from->cpu_user_ns <= to->cpu_user_ns && from->cpu_sys_ns <= to->cpu_sys_ns)
        pw_bins_spread(
            s, from->time, to->time,
            pw_sum(to->cpu_user_ns - from->cpu_user_ns, to->cpu_sys_ns - from->cpu_sys_ns),
            MEMBER(process_ns));
    struct pw_row_c_bin_trace *bin = pw_bins_at(s, to->time);
    if (bin)
        bin->processor = to->processor;
    if (cpu < 0 || ready < 0 || span <= 0)
        return;
    cpu = earlier(cpu, span);
    ready = earlier(ready, span - cpu);
    int64_t pause = span - cpu - ready;
    pw_bins_spread(s, from->time, to->time, cpu, MEMBER(cpu_ns));
    pw_bins_spread(s, from->time, to->time, ready, MEMBER(ready_ns));
    const size_t member = is_frozen(from, to, pause, seen)
                              ? MEMBER(frozen_ns)
                              : pause_member(from, to, pause >= span - span / 20, seen);
    pw_bins_spread(s, from->time, to->time, pause, member);
    seen->shortest = earlier(seen->shortest, span);
}

static int read_process(struct pw_bins *s, const struct pw_input *input)
{
    struct pw_cursor cursor;
    struct pw_row_process before = {0};
    struct seen seen = {'S', -PW_LIMIT, PW_LIMIT};
    int has_before = 0, err;
    err = pw_cursor_at(&cursor, input->path, &input->process_rows, PW_TABLE_process);
    for (const struct pw_row_process *row; !err && (row = pw_cursor_next(&cursor));) {
        /* A process that has ended has no memory any more. */
        if (!pw_is_possible(row->time) || row->rss_bytes <= 0 ||
            (has_before && row->time <= before.time))
            continue;
        if (has_before)
            take_process(s, &before, row, &seen);
        before = *row;
        has_before = 1;
    }
    err = err ? err : cursor.err;
    pw_cursor_close(&cursor);
    return err;
}

static int read_host(struct pw_bins *s, const struct pw_input *input)
{
    struct pw_cursor cursor;
    struct pw_row_host before = {0};
    int has_before = 0, err;
    err = pw_cursor_at(&cursor, input->path, &input->host_rows, PW_TABLE_host);
    for (const struct pw_row_host *row; !err && (row = pw_cursor_next(&cursor));) {
        if (!pw_is_possible(row->time) || (has_before && row->time <= before.time))
            continue;
        if (has_before)
            pw_bins_spread(s, before.time, row->time, grown(before.throttled_ns, row->throttled_ns),
                           MEMBER(throttled_ns));
        before = *row;
        has_before = 1;
    }
    err = err ? err : cursor.err;
    pw_cursor_close(&cursor);
    return err;
}

static int read_cpus(struct pw_bins *s, const struct pw_input *input)
{
    struct pw_cursor cursor;
    struct pw_row_cpus before = {0};
    int has_before = 0, err;
    err = pw_cursor_at(&cursor, input->path, &input->cpus_rows, PW_TABLE_cpus);
    for (const struct pw_row_cpus *row; !err && (row = pw_cursor_next(&cursor));) {
        if (!pw_is_possible(row->time) || row->allowed <= 0 || row->highest < row->lowest ||
            (has_before && row->time <= before.time))
            continue;
        if (has_before)
            pw_bins_spread(s, before.time, row->time, grown(before.busy_ns, row->busy_ns),
                           MEMBER(cpus_busy_ns));
        struct pw_row_c_bin_trace *bin = pw_bins_at(s, row->time);
        if (bin) {
            bin->cpu_set = row->cpu_set;
            bin->cpus = row->allowed;
            bin->cpu_lowest = row->lowest;
            bin->cpu_highest = row->highest;
        }
        before = *row;
        has_before = 1;
    }
    err = err ? err : cursor.err;
    pw_cursor_close(&cursor);
    return err;
}

/* A bin without a sample has the CPUs of the bin before it. */
static void fill_cpus(struct pw_cut *s)
{
    for (size_t i = 1; i < s->n; i++) {
        const struct pw_row_c_bin_trace *before = &s->rows[i - 1];
        struct pw_row_c_bin_trace *row = &s->rows[i];
        row->processor = row->processor < 0 ? before->processor : row->processor;
        if (row->cpus)
            continue;
        row->cpu_set = before->cpu_set;
        row->cpus = before->cpus;
        row->cpu_lowest = before->cpu_lowest;
        row->cpu_highest = before->cpu_highest;
    }
}

/* What was sampled and not seen is 0, not unknown. */
static void fill_gaps(struct pw_cut *s)
{
    int has_process = 0, has_io = 0, has_cpus = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct pw_row_c_bin_trace *row = &s->rows[i];
        has_process |= row->cpu_ns >= 0 || row->ready_ns >= 0;
        has_io |= row->io_bytes >= 0;
        has_cpus |= row->cpus > 0;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct pw_row_c_bin_trace *row = &s->rows[i];
        int64_t *counted[] = {&row->cpu_ns,  &row->ready_ns,  &row->throttled_ns, &row->stopped_ns,
                              &row->disk_ns, &row->asleep_ns, &row->frozen_ns};
        for (size_t k = 0; has_process && k < sizeof(counted) / sizeof(counted[0]); k++)
            *counted[k] = later(*counted[k], 0);
        if (has_process)
            row->process_ns = later(row->process_ns, 0);
        if (has_cpus)
            row->cpus_busy_ns = later(row->cpus_busy_ns, 0);
        if (has_io)
            row->io_bytes = later(row->io_bytes, 0);
    }
}

int pw_bins_read_samples(struct pw_bins *s, const struct pw_input *input)
{
    int process = read_process(s, input), host = read_host(s, input);
    int cpus = read_cpus(s, input);
    fill_cpus(&s->bins);
    fill_gaps(&s->bins);
    fill_gaps(&s->parts);
    return process ? process : host ? host : cpus;
}
