/* Running sums over steps and calls; see pace.h. Records may be anything: sums do not overflow. */
#include "rank/collect/pace.h"

/* Adds `ns` to *sum unless it is negative or the sum would overflow. */
static void add(int64_t *sum, int64_t ns)
{
    if (ns > 0 && ns < INT64_MAX - *sum)
        *sum += ns;
}

/* Returns end - start; 0 when the end is before the start, which a wrong clock or a damaged record
 * can cause. */
static int64_t between(int64_t start, int64_t end)
{
    int64_t ns;
    return __builtin_sub_overflow(end, start, &ns) || ns < 0 ? 0 : ns;
}

/* Of a nonblocking operation, counts only the call that began it: the call that completed it has a
 * record of its own. */
static int64_t inside_ns(const struct pw_record *record, const struct pw_origin *origin)
{
    int64_t ns = between(origin->start, origin->end);
    if (!(record->flags & PW_FLAG_NONBLOCKING))
        return ns;
    uint64_t ticks = record->end - record->start;
    double begun = 16.0 * record->comm.begun;
    return ticks && begun < (double)ticks ? (int64_t)(begun * (double)ns / (double)ticks) : ns;
}

static void add_call(struct pw_pace *pace, int ring, int64_t start, int64_t ns)
{
    add(&pace->mpi_ns[ring], ns);
    pw_pace_call(pace, ring, start, ns);
}

static void begin_calls(struct pw_pace *pace)
{
    pace->ncalls = 0;
    pace->mpi_at_phase_ns = pace->mpi_ns[pace->ring];
}

void pw_pace_phase(struct pw_pace *pace, int ring, int phase, const struct pw_origin *origin)
{
    if (!pace->is_in || ring != pace->ring || phase < 1 || phase > PW_LIVE_PHASES)
        return;
    int64_t inside = pace->mpi_ns[ring] - pace->mpi_at_phase_ns;
    for (int i = 0; i < pace->ncalls; i++)
        if (pace->calls[i].start < origin->start)
            inside -= pace->calls[i].ns;
    const int64_t ns = between(origin->start, origin->end);
    add(&pace->phase_ns[phase - 1], inside < ns ? ns - inside : 0);
    pace->has_phases = 1;
    begin_calls(pace);
}

static void keep_ended(struct pw_pace *pace, const struct pw_pace_step *step)
{
    struct pw_live_step *place = &pace->ended[pace->nended++ % PW_LIVE_STEPS];
    *place = (struct pw_live_step){pace->step, step->ns, step->mpi_ns, {0}};
    for (int i = 0; i < PW_LIVE_PHASES; i++)
        place->phase_ns[i] = pace->phase_ns[i] < step->ns ? pace->phase_ns[i] : step->ns;
}

size_t pw_pace_steps(const struct pw_pace *pace, int64_t after, struct pw_live_step *out)
{
    const int64_t end = pace->nended, most = end < PW_LIVE_STEPS ? end : PW_LIVE_STEPS;
    int64_t first = end;
    while (first > end - most && pace->ended[(first - 1) % PW_LIVE_STEPS].step > after &&
           (first == end || pace->ended[(first - 1) % PW_LIVE_STEPS].step <
                                pace->ended[first % PW_LIVE_STEPS].step))
        first--;
    for (int64_t i = first; i < end; i++)
        out[i - first] = pace->ended[i % PW_LIVE_STEPS];
    return (size_t)(end - first);
}

static void keep(struct pw_pace *pace, struct pw_pace_step step)
{
    struct pw_pace_step *place = &pace->last[pace->next];
    pace->sum.ns -= place->ns;
    pace->sum.mpi_ns -= place->mpi_ns;
    *place = (struct pw_pace_step){0};
    if (step.ns < INT64_MAX / PW_PACE_STEPS) /* else the step is invalid */
        *place = step;
    pace->sum.ns += place->ns;
    pace->sum.mpi_ns += place->mpi_ns;
    pace->next = (pace->next + 1) % PW_PACE_STEPS;
    pace->nlast += pace->nlast < PW_PACE_STEPS;
}

static void end_step(struct pw_pace *pace, int ring, int64_t end)
{
    if (!pace->is_in)
        return;
    struct pw_pace_step step = {.ns = between(pace->start, end)};
    pace->is_in = 0;
    pace->steps++;
    add(&pace->steps_ns, step.ns);
    if (ring == pace->ring)
        step.mpi_ns = between(pace->mpi_before_ns, pace->mpi_ns[ring]);
    if (step.mpi_ns > step.ns)
        step.mpi_ns = step.ns;
    if (pace->is_partial)
        return;
    keep(pace, step);
    keep_ended(pace, &step);
}

static void begin_step(struct pw_pace *pace, int ring, const struct pw_record *record,
                       int64_t start)
{
    const int64_t step = record->step.step;
    int is_partial = (record->flags & PW_STEP_PARTIAL) != 0;
    if (is_partial && pace->is_in && pace->step == step) {
        pace->is_partial = 1; /* the record only flags the current step */
        return;
    }
    if (record->flags & PW_STEP_CANCEL)
        pace->is_in = 0;
    end_step(pace, ring, start);
    pace->is_in = step >= 0;
    pace->is_partial = is_partial;
    pace->step = step;
    pace->start = start;
    pace->ring = ring;
    pace->mpi_before_ns = pace->mpi_ns[ring];
    for (int i = 0; i < PW_LIVE_PHASES; i++)
        pace->phase_ns[i] = 0;
    begin_calls(pace);
}

void pw_pace_other(struct pw_pace *pace, int ring, const struct pw_record *record,
                   const struct pw_origin *origin)
{
    if (record->type == PW_REC_COMM)
        add_call(pace, ring, origin->start, inside_ns(record, origin));
    else if (record->type == PW_REC_TORCH_CALL || record->type == PW_REC_TORCH_WAIT ||
             record->type == PW_REC_MCCL_CALL)
        add_call(pace, ring, origin->start, between(origin->start, origin->end));
    else if (pw_record_is_step(record))
        begin_step(pace, ring, record, origin->start);
}

void pw_pace_live(const struct pw_pace *pace, struct pw_live *live)
{
    live->steps = pace->steps;
    live->steps_ns = pace->steps_ns;
    live->mpi_ns = 0;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        add(&live->mpi_ns, pace->mpi_ns[i]);
    if (!pace->nlast)
        return;
    live->step_last_ns = pace->last[(pace->next + PW_PACE_STEPS - 1) % PW_PACE_STEPS].ns;
    live->step_mean_ns = pace->sum.ns / pace->nlast;
    live->step_mpi_ns = pace->sum.mpi_ns / pace->nlast;
}
