/* The in-app half of profwrap.h: steps, phases and ranges become records of the calling thread. */
#include "profwrap.h"

#include "core/tables.h"
#include "rank/probe.h"

static struct pw_thread *note_thread(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !(pw_probe_borrow_segment()->activities & PW_ACTIVITY_NOTE))
        return NULL;
    return thread;
}

/* The same, to record; given back with pw_probe_let_go(). */
static struct pw_thread *note_begin(void)
{
    struct pw_thread *thread = note_thread();
    return thread && pw_probe_hold(thread) ? thread : NULL;
}

static void record_range(struct pw_thread *thread, uint64_t start, uint64_t end, uint32_t name,
                         uint16_t kind, uint16_t depth)
{
    struct pw_record *record = pw_ring_reserve(&thread->ring, end, PW_LOST_RANGE);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_RANGE,
        .start = start,
        .end = end,
        .range = {.name = name, .depth = depth, .kind = kind},
    };
    pw_probe_commit(thread);
}

static void end_phase(struct pw_thread *thread, uint64_t now)
{
    static const char *const names[] = {"",         "data",      "forward",
                                        "backward", "allreduce", "optimizer"};
    int phase = thread->phase;
    thread->phase = PROFWRAP_NO_PHASE;
    if (phase > PROFWRAP_NO_PHASE && phase <= PROFWRAP_OPTIMIZER)
        record_range(thread, thread->phase_start, now, pw_probe_intern(thread, names[phase]),
                     PW_KIND_PHASE, 0);
}

static int note_active(void)
{
    return note_thread() != NULL;
}

static void note_step(int64_t step)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    uint64_t now = pw_probe_now();
    end_phase(thread, now);
    pw_probe_record_step(thread, now, step);
    pw_probe_let_go(thread);
}

static void note_phase(int phase)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    uint64_t now = pw_probe_now();
    end_phase(thread, now);
    thread->phase = phase;
    thread->phase_start = now;
    pw_probe_let_go(thread);
}

static void note_range_push(const char *name)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    int depth = thread->depth++;
    if (depth < PW_MAX_DEPTH) {
        thread->open[depth].name = pw_probe_intern(thread, name);
        thread->open[depth].start = pw_probe_now();
    }
    pw_probe_let_go(thread);
}

static void end_range(struct pw_thread *thread)
{
    uint64_t now = pw_probe_now();
    int depth = --thread->depth;
    if (depth < PW_MAX_DEPTH)
        record_range(thread, thread->open[depth].start, now, thread->open[depth].name, PW_KIND_USER,
                     (uint16_t)depth);
    else
        pw_ring_count_loss(&thread->ring, 1, now, PW_LOST_RANGE);
}

static void note_range_pop(void)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    if (thread->depth > 0)
        end_range(thread);
    pw_probe_let_go(thread);
}

__attribute__((visibility("default"))) const struct profwrap_api profwrap_api_v1 = {
    .size = sizeof(struct profwrap_api),
    .active = note_active,
    .step = note_step,
    .phase = note_phase,
    .range_push = note_range_push,
    .range_pop = note_range_pop,
};
