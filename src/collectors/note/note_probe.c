/* The in-app half of profwrap.h: steps, phases and ranges become records of the calling thread. */
#include "profwrap.h"

#include <string.h>

#include "core/tables.h"
#include "rank/probe.h"
#include "rank/recording.h"
#include "rank/stack.h"

static struct pw_thread *note_thread(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !(pw_probe_borrow_segment()->activities & PW_ACTIVITY_NOTE))
        return NULL;
    return thread;
}

static inline bool is_paused(void)
{
    return atomic_load_explicit(&pw_gate->paused, memory_order_relaxed) != 0;
}

/* The calling thread where recording is paused and that is all: no order has come, and the thread
 * could be told of one. Otherwise NULL. What is called then must be cheap. */
static inline struct pw_thread *paused_thread(void)
{
    struct pw_thread *thread = &pw_this_thread;
    return is_paused() && !pw_recording_is_poked() ? thread : NULL;
}

/* The calling thread, which is to be given back with pw_probe_let_go(). */
static struct pw_thread *hold(struct pw_thread *thread)
{
    if (!thread || !pw_probe_hold(thread))
        return NULL;
    if (__builtin_expect(pw_recording_is_poked(), 0))
        pw_recording_obey(thread);
    return thread;
}

/* The same, to record; or, while that is paused, to keep what must be known when it goes on. */
static struct pw_thread *note_begin(void)
{
    return hold(note_thread());
}

/* A record of something that happened at `now`, or NULL: it is lost, and counted. */
static struct pw_record *reserve(struct pw_thread *thread, uint64_t now, enum pw_record_type type,
                                 enum pw_lost lost)
{
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, lost);
    if (record)
        *record = (struct pw_record){.type = (uint8_t)type, .start = now, .end = now};
    return record;
}

static void record_range(struct pw_thread *thread, const struct pw_open_range *range, uint64_t end,
                         int depth)
{
    struct pw_record *record = pw_ring_reserve(&thread->ring, end, PW_LOST_RANGE);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_RANGE,
        .start = range->start,
        .end = end,
        .stack = range->stack,
        .range = {.name = range->name,
                  .depth = (uint16_t)depth,
                  .kind = range->kind,
                  .category = range->category,
                  .shapes = range->shapes,
                  .alloc_bytes = (int64_t)(thread->allocated - range->allocated)},
    };
    pw_probe_commit(thread);
}

static void end_phase(struct pw_thread *thread, uint64_t now)
{
    static const char *const names[] = {"",         "data",      "forward",
                                        "backward", "allreduce", "optimizer"};
    int phase = thread->phase;
    thread->phase = PROFWRAP_NO_PHASE;
    if (phase <= PROFWRAP_NO_PHASE || phase > PROFWRAP_OPTIMIZER || !thread->phase_start)
        return;
    const struct pw_open_range range = {
        .start = thread->phase_start,
        .name = pw_probe_intern(thread, names[phase]),
        .kind = PW_KIND_PHASE,
        .allocated = thread->phase_allocated,
    };
    record_range(thread, &range, now, 0);
}

static int note_active(void)
{
    return note_thread() != NULL && !is_paused();
}

/* Whatever is recorded: a schedule goes by steps. */
static void note_step(int64_t step)
{
    struct pw_thread *thread = hold(pw_probe_thread());
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
    thread->phase_start = is_paused() ? 0 : now;
    thread->phase_allocated = thread->allocated;
    pw_probe_let_go(thread);
}

static void begin_range(struct pw_thread *thread, const char *name, const char *type,
                        const char *shapes, uint16_t kind)
{
    int depth = thread->depth++;
    if (depth >= PW_MAX_DEPTH)
        return;
    struct pw_open_range *range = &thread->open[depth];
    range->start = 0;
    if (is_paused())
        return;
    range->name = pw_probe_intern(thread, name);
    range->category = pw_probe_intern(thread, type);
    range->shapes = pw_probe_intern(thread, shapes);
    range->kind = kind;
    range->allocated = thread->allocated;
    range->stack = pw_gate->stack_depth ? pw_stack_take(thread, (int)pw_gate->stack_depth) : 0;
    range->start = pw_probe_now();
}

/* While recording is paused ranges have a depth only, so that each end finds its begin; without a
 * start they are not recorded, wherever they end. */
static inline bool begin_paused(void)
{
    struct pw_thread *thread = paused_thread();
    if (!thread)
        return false;
    int depth = thread->depth++;
    if (depth < PW_MAX_DEPTH)
        thread->open[depth].start = 0;
    return true;
}

/* A range that was begun before is recorded. */
static inline bool end_paused(void)
{
    struct pw_thread *thread = paused_thread();
    if (!thread || (thread->depth > 0 && thread->depth <= PW_MAX_DEPTH &&
                    thread->open[thread->depth - 1].start))
        return false;
    thread->depth -= thread->depth > 0;
    return true;
}

/* What is called has no frame, so that while recording is paused it costs little. */
static __attribute__((noinline)) void push_range(const char *name)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    begin_range(thread, name, NULL, NULL, PW_KIND_USER);
    pw_probe_let_go(thread);
}

static void note_range_push(const char *name)
{
    if (!begin_paused())
        push_range(name);
}

static void note_op_begin(const char *name, const char *type, const char *shapes)
{
    if (begin_paused())
        return;
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    if (type && strcmp(type, "function") == 0)
        begin_range(thread, name, NULL, shapes, PW_KIND_FUNCTION);
    else
        begin_range(thread, name, type, shapes, PW_KIND_OPERATOR);
    pw_probe_let_go(thread);
}

static void end_range(struct pw_thread *thread)
{
    uint64_t now = pw_probe_now();
    int depth = --thread->depth;
    if (depth < PW_MAX_DEPTH && thread->open[depth].start)
        record_range(thread, &thread->open[depth], now, depth);
    else if (depth >= PW_MAX_DEPTH && !is_paused())
        pw_ring_count_loss(&thread->ring, 1, now, PW_LOST_RANGE);
}

static __attribute__((noinline)) void pop_range(void)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    if (thread->depth > 0)
        end_range(thread);
    pw_probe_let_go(thread);
}

static void note_range_pop(void)
{
    if (!end_paused())
        pop_range();
}

static void note_queue(const char *name, int64_t size, int64_t capacity)
{
    if (paused_thread())
        return;
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    uint32_t id = is_paused() ? 0 : pw_probe_intern(thread, name);
    struct pw_record *record =
        is_paused() ? NULL : reserve(thread, pw_probe_now(), PW_REC_QUEUE, PW_LOST_RANGE);
    if (record) {
        record->queue.name = id;
        record->queue.size = size;
        record->queue.capacity = capacity;
        pw_probe_commit(thread);
    }
    pw_probe_let_go(thread);
}

static void note_memory(int64_t bytes_delta, int device)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    thread->allocated += (uint64_t)bytes_delta;
    struct pw_record *record = reserve(thread, pw_probe_now(), PW_REC_MEMORY, PW_LOST_RANGE);
    if (record) {
        record->memory.delta_bytes = bytes_delta;
        record->memory.device = device;
        pw_probe_commit(thread);
    }
    pw_probe_let_go(thread);
}

static void note_metadata(const char *key, const char *value)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    uint32_t key_id = pw_probe_intern(thread, key);
    uint32_t value_id = pw_probe_intern_long(thread, value);
    struct pw_record *record = reserve(thread, pw_probe_now(), PW_REC_METADATA, PW_LOST_OTHER);
    if (record) {
        record->metadata.key = key_id;
        record->metadata.value = value_id;
        pw_probe_commit(thread);
    }
    pw_probe_let_go(thread);
}

static void switch_recording(int starts)
{
    struct pw_thread *thread = hold(pw_probe_thread());
    if (!thread)
        return;
    pw_recording_switch(thread, starts, PW_OPENED_PROGRAM);
    pw_probe_let_go(thread);
}

static void note_start(void)
{
    switch_recording(1);
}

static void note_stop(void)
{
    switch_recording(0);
}

__attribute__((visibility("default"))) const struct profwrap_api profwrap_api_v1 = {
    .size = sizeof(struct profwrap_api),
    .active = note_active,
    .step = note_step,
    .phase = note_phase,
    .range_push = note_range_push,
    .range_pop = note_range_pop,
    .op_begin = note_op_begin,
    .op_end = note_range_pop,
    .queue = note_queue,
    .memory = note_memory,
    .start = note_start,
    .stop = note_stop,
    .metadata = note_metadata,
};
