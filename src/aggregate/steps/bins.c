/* Distributes the times of events and samples over the bins that they overlap; see bins.h. */
#include "aggregate/steps/bins.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/cursor.h"
#include "core/limits.h"

/* Finds what a thread did in a pause. */

/* A sampled state explains pauses between later samples for this time. */
enum { STATE_LASTS_NS = 2000000000 };

/* If the time between two samples is this many times the usual one, the host, or the container of
 * the rank and its collector, may have been frozen. */
enum { FROZEN_TIMES = 4, FROZEN_LEAST_NS = 300000000 };

#define MEMBER(name) offsetof(struct pw_row_c_bin_trace, name)

/* Returns the member for a state in /proc of a thread that is off the CPU. */
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

int pw_pause_is_long(const struct pw_row_process *from, const struct pw_row_process *to,
                     int64_t pause, const struct pw_pause_seen *seen)
{
    const int64_t span = to->time - from->time;
    return from->state == 'R' && to->state == 'R' && span >= FROZEN_LEAST_NS &&
           span / FROZEN_TIMES >= seen->shortest && pause >= span / 2;
}

size_t pw_pause_member(const struct pw_row_process *from, const struct pw_row_process *to,
                       int is_standing, struct pw_pause_seen *seen)
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

int64_t pw_pause_end(struct pw_pause_held *held, int64_t surplus_ns)
{
    const int64_t most_ns = held->ns, ready_ns = surplus_ns - held->stood_ns;
    *held = (struct pw_pause_held){0};
    return ready_ns <= 0 ? 0 : ready_ns < most_ns ? ready_ns : most_ns;
}

/* ---- samples: how long the rank was on a CPU, ready for one, or off the CPU, and why ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the span that contains `time`, or the nearest one. */
static size_t find(struct pw_cut *s, int64_t time)
{
    size_t i = s->near;
    while (i + 1 < s->n && s->edges[i + 1] <= time)
        i++;
    while (i > 0 && s->edges[i] > time)
        i--;
    return s->near = i;
}

/* Returns the row of the bin that contains a local time; NULL outside the run. */
static struct pw_row_c_bin_trace *bin_at(struct pw_bins *s, int64_t time)
{
    if (!s->bins.n || time < s->bins.edges[0] || time >= s->bins.edges[s->bins.n])
        return NULL;
    return &s->bins.rows[find(&s->bins, time)];
}

/* Adds `amount`, spread evenly over start..end, to a member of the rows. */
static void spread_in(struct pw_cut *s, int64_t start, int64_t end, int64_t amount, size_t offset)
{
    if (end <= start || amount <= 0)
        return;
    for (size_t i = find(s, start); i < s->n && s->edges[i] < end; i++) {
        int64_t part = earlier(end, s->edges[i + 1]) - later(start, s->edges[i]);
        int64_t *value = (int64_t *)((char *)&s->rows[i] + offset);
        if (part > 0)
            *value = pw_sum(later(*value, 0),
                            (int64_t)((double)amount * ((double)part / (double)(end - start))));
    }
}

/* Adds `amount`, spread evenly over start..end, to a member of the rows. */
static void spread(struct pw_bins *s, int64_t start, int64_t end, int64_t amount, size_t offset)
{
    spread_in(&s->bins, start, end, amount, offset);
    spread_in(&s->parts, start, end, amount, offset);
}

/* How much a counter grew; -1: not known. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

/* Adds a pause that was held, by what the kernel counted when the thread ran again. */
static void settle(struct pw_bins *s, struct pw_pause_held *held, int64_t surplus_ns)
{
    const struct pw_pause_held was = *held;
    const int64_t ready = pw_pause_end(held, surplus_ns);
    spread(s, was.from, was.to, ready, MEMBER(ready_ns));
    spread(s, was.from, was.to, was.ns - ready, MEMBER(frozen_ns));
}

static void take_process(struct pw_bins *s, const struct pw_row_process *from,
                         const struct pw_row_process *to, struct pw_pause_seen *seen)
{
    int64_t span = to->time - from->time, cpu = grown(from->main_cpu_ns, to->main_cpu_ns);
    int64_t ready = grown(from->runq_wait_ns, to->runq_wait_ns);
    int64_t read = grown(from->main_read_bytes, to->main_read_bytes);
    int64_t written = grown(from->main_write_bytes, to->main_write_bytes);
    /* What the rank reads from a child process through a pipe is no file. */
    if (read >= 0 && written >= 0 && to->child_faults <= from->child_faults)
        spread(s, from->time, to->time, pw_sum(read, written), MEMBER(io_bytes));
    if (from->cpu_user_ns <= to->cpu_user_ns && from->cpu_sys_ns <= to->cpu_sys_ns)
        spread(s, from->time, to->time,
               pw_sum(to->cpu_user_ns - from->cpu_user_ns, to->cpu_sys_ns - from->cpu_sys_ns),
               MEMBER(process_ns));
    struct pw_row_c_bin_trace *bin = bin_at(s, to->time);
    if (bin)
        bin->processor = to->processor;
    if (cpu < 0 || ready < 0 || span <= 0)
        return;
    if (cpu > 0 || ready > 0)
        settle(s, &seen->held, pw_sum(cpu, ready) - span);
    cpu = earlier(cpu, span);
    ready = earlier(ready, span - cpu);
    int64_t pause = span - cpu - ready;
    spread(s, from->time, to->time, cpu, MEMBER(cpu_ns));
    spread(s, from->time, to->time, ready, MEMBER(ready_ns));
    if (pw_pause_is_long(from, to, pause, seen)) {
        settle(s, &seen->held, 0);
        seen->held = (struct pw_pause_held){from->time, to->time, pause, 0};
    } else {
        const size_t member = pw_pause_member(from, to, pause >= span - span / 20, seen);
        spread(s, from->time, to->time, pause, member);
        seen->held.stood_ns += member == MEMBER(ready_ns) ? pause : 0;
    }
    seen->shortest = earlier(seen->shortest, span);
}

static int read_process(struct pw_bins *s, const struct pw_input *input)
{
    struct pw_cursor cursor;
    struct pw_row_process before = {0};
    struct pw_pause_seen seen = {.state = 'S', .at = -PW_LIMIT, .shortest = PW_LIMIT};
    int has_before = 0, err;
    err = pw_cursor_at(&cursor, input, &input->process_rows, PW_TABLE_process);
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
    settle(s, &seen.held, 0);
    err = err ? err : cursor.err;
    pw_cursor_close(&cursor);
    return err;
}

static int read_host(struct pw_bins *s, const struct pw_input *input)
{
    struct pw_cursor cursor;
    struct pw_row_host before = {0};
    int has_before = 0, err;
    err = pw_cursor_at(&cursor, input, &input->host_rows, PW_TABLE_host);
    for (const struct pw_row_host *row; !err && (row = pw_cursor_next(&cursor));) {
        if (!pw_is_possible(row->time) || (has_before && row->time <= before.time))
            continue;
        if (has_before)
            spread(s, before.time, row->time, grown(before.throttled_ns, row->throttled_ns),
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
    err = pw_cursor_at(&cursor, input, &input->cpus_rows, PW_TABLE_cpus);
    for (const struct pw_row_cpus *row; !err && (row = pw_cursor_next(&cursor));) {
        if (!pw_is_possible(row->time) || row->allowed <= 0 || row->highest < row->lowest ||
            (has_before && row->time <= before.time))
            continue;
        if (has_before)
            spread(s, before.time, row->time, grown(before.busy_ns, row->busy_ns),
                   MEMBER(cpus_busy_ns));
        struct pw_row_c_bin_trace *bin = bin_at(s, row->time);
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

/* A bin without a sample gets the CPUs of the bin before it. */
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

/* Sets unknown members to 0 when the rank has samples of them in other bins. */
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

/* Adds the samples to the rows. Returns 0, or -errno when the samples are damaged. */
static int pw_bins_read_samples(struct pw_bins *s, const struct pw_input *input)
{
    int process = read_process(s, input), host = read_host(s, input);
    int cpus = read_cpus(s, input);
    fill_cpus(&s->bins);
    fill_gaps(&s->bins);
    fill_gaps(&s->parts);
    return process ? process : host ? host : cpus;
}

/* A shorter bin would have no sample of its own (--sample-hz is 10). MOST_CELLS: the rows of all
 * ranks are in the memory of one process, some 180 bytes each. */
enum { LEAST_BIN_NS = 100000000, MOST_BINS = 512, LEAST_BINS = 3, MOST_CELLS = 1 << 19 };

/* The first and the last known local time of the rank; INT64_MAX: not known. */
static int64_t known_from(const struct pw_input *input)
{
    return earlier(input->sampled_from, input->begin_ns);
}

static int64_t known_until(const struct pw_input *input)
{
    int64_t sampled = input->sampled_until, last = input->event_rows.rows ? input->last_ns : 0;
    return sampled == INT64_MAX ? input->event_rows.rows ? last : INT64_MAX : later(sampled, last);
}

struct extent {
    int64_t before_start; /* negated, as all members are reduced by maximum */
    int64_t end, last_init, last_finalize, unaligned;
    int64_t lacks_init, lacks_finalize, init_source, before_init_source;
    /* largest, and negated smallest, of the sources of init_ns, and of the first and last steps */
    int64_t first_step, before_first_step, last_step, before_last_step;
};

static const struct extent no_extent = {
    .before_start = INT64_MIN,
    .end = INT64_MIN,
    .last_init = INT64_MIN,
    .init_source = INT64_MIN,
    .before_init_source = INT64_MIN,
    .last_finalize = INT64_MIN,
    .first_step = INT64_MIN,
    .before_first_step = INT64_MIN,
    .last_step = INT64_MIN,
    .before_last_step = INT64_MIN,
};

static void join(struct extent *all, const struct extent *e)
{
    all->before_start = later(all->before_start, e->before_start);
    all->end = later(all->end, e->end);
    all->last_init = later(all->last_init, e->last_init);
    all->last_finalize = later(all->last_finalize, e->last_finalize);
    all->unaligned |= e->unaligned;
    all->lacks_init |= e->lacks_init;
    all->lacks_finalize |= e->lacks_finalize;
    all->init_source = later(all->init_source, e->init_source);
    all->before_init_source = later(all->before_init_source, e->before_init_source);
    all->first_step = later(all->first_step, e->first_step);
    all->before_first_step = later(all->before_first_step, e->before_first_step);
    all->last_step = later(all->last_step, e->last_step);
    all->before_last_step = later(all->before_last_step, e->before_last_step);
}

/* `ended_ns`: what came after the first end of a job that did not end well is no part of the run.
 */
static struct extent extent_of(const struct pw_input *input, int64_t ended_ns)
{
    struct extent e = no_extent;
    e.unaligned = !input->aligned;
    e.lacks_init = input->init_ns == INT64_MAX;
    e.lacks_finalize = input->finalize_ns == INT64_MAX;
    e.first_step = input->nsteps ? input->steps[0].step : -1;
    e.last_step = input->nsteps ? input->steps[input->nsteps - 1].step : -1;
    e.before_first_step = -e.first_step;
    e.before_last_step = -e.last_step;
    if (known_from(input) != INT64_MAX)
        e.before_start = -pw_input_time(input, known_from(input));
    if (known_until(input) != INT64_MAX)
        e.end = earlier(pw_input_time(input, known_until(input)), ended_ns);
    if (input->init_ns != INT64_MAX) {
        e.last_init = pw_input_time(input, input->init_ns);
        e.init_source = input->init_source;
        e.before_init_source = -input->init_source;
    }
    if (input->finalize_ns != INT64_MAX)
        e.last_finalize = pw_input_time(input, input->finalize_ns);
    return e;
}

void pw_bins_choose(struct pw_job *job)
{
    struct extent all = no_extent;
    for (size_t i = 0; i < job->ninputs; i++) {
        struct extent e = extent_of(&job->inputs[i], job->world.ended_ns);
        join(&all, &e);
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, &all, sizeof(all) / sizeof(int64_t), PW_EX_INT64_T, PW_EX_MAX,
                    job->procs.comm);
    job->world.bins = (struct pw_binning){
        .last_init_ns = INT64_MIN, .last_finalize_ns = INT64_MIN, .init_source = -1};
    if (all.unaligned || all.before_start == INT64_MIN || all.end <= -all.before_start)
        return;
    const int64_t span = all.end + all.before_start, cells = MOST_CELLS / job->world.nranks;
    int64_t n = earlier(earlier(span / LEAST_BIN_NS, MOST_BINS), cells);
    job->world.bins.last_init_ns = all.last_init;
    job->world.bins.last_finalize_ns = all.last_finalize;
    job->world.bins.start_ns = -all.before_start;
    job->world.bins.end_ns = all.end;
    const int has_init = all.init_source >= 0 && all.init_source == -all.before_init_source;
    job->world.bins.init_source = has_init ? (int)all.init_source : -1;
    job->world.bins.is_start_known = !all.lacks_init;
    job->world.bins.is_end_known = !all.lacks_finalize;
    /* Without MPI_Init and MPI_Finalize, as with gloo, these parts begin and end with the run,
     * which traces of other profilers, copies of a running job and killed ranks may cut. */
    const int is_whole =
        !job->world.imported[0] && !job->world.is_snapshot && job->world.ended_ns == INT64_MAX;
    const int has_start = !all.lacks_init || (is_whole && all.last_init == INT64_MIN);
    const int has_end = !all.lacks_finalize || (is_whole && all.last_finalize == INT64_MIN);
    job->world.bins.is_setup_known = has_start && all.first_step == -all.before_first_step;
    job->world.bins.is_tail_known = has_end && all.last_step == -all.before_last_step;
    if (n < LEAST_BINS)
        return;
    job->world.bins.n = (size_t)n;
    job->world.bins.bin_ns = (span + n - 1) / n;
}

static int64_t wait_until(const struct pw_input *input, int64_t last, int64_t entered)
{
    if (last == INT64_MIN || entered == INT64_MAX || !input->aligned)
        return INT64_MIN;
    return pw_input_local(input, last, entered);
}

int64_t pw_bins_last_init(const struct pw_world *world, const struct pw_input *input)
{
    return wait_until(input, world->bins.last_init_ns, input->init_ns);
}

int64_t pw_bins_last_finalize(const struct pw_world *world, const struct pw_input *input)
{
    return wait_until(input, world->bins.last_finalize_ns, input->finalize_ns);
}

/* The time from MPI_Init to MPI_Finalize; without these, the known time of the rank. */
static struct pw_interval inside_mpi(const struct pw_input *input)
{
    struct pw_interval span = {known_from(input), known_until(input)};
    if (input->init_ns != INT64_MAX)
        span.start = input->init_ns;
    if (input->finalized_ns != INT64_MAX)
        span.end = input->finalized_ns;
    return span;
}

static void clear(struct pw_cut *cut)
{
    for (size_t i = 0; i < cut->n; i++)
        cut->rows[i] = (struct pw_row_c_bin_trace){.cpu_ns = -1,
                                                   .ready_ns = -1,
                                                   .throttled_ns = -1,
                                                   .stopped_ns = -1,
                                                   .disk_ns = -1,
                                                   .asleep_ns = -1,
                                                   .io_bytes = -1,
                                                   .frozen_ns = -1,
                                                   .process_ns = -1,
                                                   .cpus_busy_ns = -1,
                                                   .processor = -1};
}

static int64_t near_start(const struct pw_world *world, const struct pw_input *input)
{
    int64_t near = known_from(input);
    return near == INT64_MAX ? world->bins.start_ns : near;
}

static int has_steps(const struct pw_world *world, const struct pw_input *input)
{
    return input->nsteps > 0 && world->steps_inferred <= 1; /* slices do not count as steps */
}

/* Returns the local end of the set-up: the start of the first step. But when all ranks are cut at
 * one rank's times, the set-up of others reaches into the first step. Then it is the rank's first
 * operation if the cut is at the first communication (PW_CUT_FIRST), else the end of the first
 * step. */
static int64_t setup_end(const struct pw_world *world, const struct pw_input *input)
{
    const struct pw_row_step *first = &input->steps[0];
    if (world->steps_cut == PW_CUT_FIRST && input->begun_ns != INT64_MAX)
        return input->begun_ns;
    return world->steps_cut && input->nsteps > 1 ? first->end : first->start;
}

/* Sets the edges of the parts. When the event between two parts is unknown, both edges are equal;
 * see is_part_known(). */
static void begin_parts(struct pw_bins *s, const struct pw_input *input)
{
    const struct pw_job *job = s->job;
    if (job->world.bins.end_ns <= job->world.bins.start_ns)
        return;
    const int has_init = input->init_ns != INT64_MAX, has_end = input->finalize_ns != INT64_MAX;
    int64_t *e = s->part_edges,
            start = pw_input_local(input, job->world.bins.start_ns, near_start(&job->world, input));
    e[0] = start;
    e[1] = has_init ? input->init_ns : start;
    e[2] = has_init ? input->first_ns : start;
    e[7] = pw_input_local(input, job->world.bins.end_ns, start);
    e[6] = has_end ? inside_mpi(input).end : e[7];
    e[5] = has_end ? input->finalize_ns : e[7];
    e[3] = has_steps(&job->world, input) ? setup_end(&job->world, input) : e[2];
    e[4] = has_steps(&job->world, input) ? input->steps[input->nsteps - 1].end : e[5];
    for (size_t i = 1; i <= PW_RUN_PARTS; i++)
        e[i] = earlier(later(e[i], e[i - 1]), later(e[7], start));
    s->parts = (struct pw_cut){e, s->part_rows, PW_RUN_PARTS, 0};
    clear(&s->parts);
}

int pw_bins_begin(struct pw_bins *s, const struct pw_job *job, const struct pw_input *input,
                  struct pw_row_c_bin_trace *rows)
{
    *s = (struct pw_bins){.job = job, .bins = {.rows = rows, .n = job->world.bins.n}};
    begin_parts(s, input);
    if (!s->bins.n)
        return 0;
    s->bins.edges = malloc(sizeof(*s->bins.edges) * (s->bins.n + 1));
    if (!s->bins.edges)
        return -ENOMEM;
    int64_t near = near_start(&job->world, input);
    for (size_t i = 0; i <= s->bins.n; i++) {
        near = pw_input_local(input, job->world.bins.start_ns + (int64_t)i * job->world.bins.bin_ns,
                              near);
        s->bins.edges[i] = i ? later(near, s->bins.edges[i - 1]) : near;
    }
    clear(&s->bins);
    return 0;
}

void pw_bins_fini(struct pw_bins *s)
{
    free(s->bins.edges);
    *s = (struct pw_bins){0};
}

void pw_bins_add_inside(struct pw_bins *s, int64_t start, int64_t end)
{
    spread(s, start, end, end - start, offsetof(struct pw_row_c_bin_trace, inside_ns));
}

void pw_bins_add_received(struct pw_bins *s, int64_t time)
{
    struct pw_row_c_bin_trace *bin = bin_at(s, time);
    if (bin)
        s->received[bin - s->bins.rows]++;
}

/* The member of a row for a phase. */
static int64_t *phase_member(struct pw_row_c_bin_trace *row, enum pw_phase phase)
{
    switch (phase) {
    case PW_PHASE_DATA:
        return &row->data_ns;
    case PW_PHASE_FORWARD:
        return &row->forward_ns;
    case PW_PHASE_BACKWARD:
        return &row->backward_ns;
    case PW_PHASE_ALLREDUCE:
        return &row->allreduce_ns;
    default:
        return &row->optimizer_ns;
    }
}

void pw_bins_add_phase(struct pw_bins *bins, enum pw_phase phase, struct pw_interval range,
                       struct pw_spans *wait)
{
    struct pw_cut *s = &bins->bins;
    if (!s->n || range.end <= range.start)
        return;
    for (size_t i = find(s, range.start); i < s->n && s->edges[i] < range.end; i++) {
        const struct pw_interval part = {later(range.start, s->edges[i]),
                                         earlier(range.end, s->edges[i + 1])};
        int64_t *own = phase_member(&s->rows[i], phase);
        if (part.end > part.start)
            *own = pw_sum(*own, part.end - part.start - pw_spans_within(wait, part));
    }
}

static void fill(struct pw_cut *s, struct pw_interval mpi, struct pw_spans *wait)
{
    for (size_t i = 0; i < s->n; i++) {
        struct pw_row_c_bin_trace *row = &s->rows[i];
        const struct pw_interval window = {s->edges[i], s->edges[i + 1]};
        const int64_t length = window.end - window.start;
        int64_t part = earlier(window.end, mpi.end) - later(window.start, mpi.start);
        row->outside_ns = length - later(part, 0);
        row->wait_ns = earlier(pw_spans_within(wait, window), length - row->outside_ns);
        row->inside_ns = later(
            0, earlier(row->inside_ns - row->wait_ns, length - row->outside_ns - row->wait_ns));
    }
}

/* 1 when the part is known. Without MPI_Init, the part setup begins with the run; without
 * MPI_Finalize, the tail ends with it; without steps, both are in the part steps. */
static int is_part_known(const struct pw_world *world, const struct pw_input *input,
                         enum pw_part part)
{
    switch (part) {
    case PW_PART_START:
    case PW_PART_INIT:
        return input->init_ns != INT64_MAX;
    case PW_PART_SETUP:
    case PW_PART_TAIL:
        return has_steps(world, input);
    case PW_PART_FINALIZE:
    case PW_PART_END:
        return input->finalize_ns != INT64_MAX;
    default:
        return 1;
    }
}

/* How much of the part after MPI_Finalize the rank's program had ended, which is a wait for the
 * last rank to end; 0 when its end is not known. */
static int64_t gone_within(const struct pw_input *input, struct pw_interval end)
{
    if (input->ending.time < 0)
        return 0;
    const int64_t ended = pw_input_time(input, input->ending.time);
    return end.end - later(end.start, earlier(ended, end.end));
}

static void copy_parts(const struct pw_bins *s, const struct pw_input *input,
                       struct pw_row_c_part_trace *to)
{
    const struct pw_cut *from = &s->parts;
    for (size_t i = 0; i < from->n; i++) {
        const struct pw_row_c_bin_trace *row = &from->rows[i];
        if (!is_part_known(&s->job->world, input, (enum pw_part)(PW_PART_START + i)))
            continue;
        to[i] = (struct pw_row_c_part_trace){from->edges[i + 1] - from->edges[i],
                                             row->outside_ns,
                                             row->wait_ns,
                                             row->inside_ns,
                                             row->cpu_ns,
                                             row->ready_ns,
                                             row->throttled_ns,
                                             row->stopped_ns,
                                             row->disk_ns,
                                             row->asleep_ns,
                                             row->io_bytes,
                                             row->frozen_ns};
        if (PW_PART_START + i == PW_PART_END)
            to[i].wait_ns =
                gone_within(input, (struct pw_interval){from->edges[i], from->edges[i + 1]});
    }
}

int pw_bins_finish(struct pw_bins *s, const struct pw_input *input, struct pw_spans *wait,
                   struct pw_row_c_part_trace *parts)
{
    if (!s->parts.n)
        return 0;
    fill(&s->bins, inside_mpi(input), wait);
    fill(&s->parts, inside_mpi(input), wait);
    int err = pw_bins_read_samples(s, input);
    copy_parts(s, input, parts);
    return err;
}
