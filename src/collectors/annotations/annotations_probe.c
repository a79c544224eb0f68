/* The in-app half of profwrap.h: steps, phases and ranges become records of the calling thread. */
#include "profwrap.h"

#include <string.h>

#include "core/tables.h"
#include "rank/probe/attach.h"
#include "rank/probe/intern.h"
#include "rank/probe/ranges.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

/* Whether nothing is recorded. Tested first, so that a call that is not recorded costs only this
 * test. */
static inline bool is_closed(void)
{
    return __builtin_expect(!(pw_gate->activities & PW_ACTIVITY_ANNOTATIONS), 0);
}

static inline struct pw_thread *note_thread(void)
{
    return is_closed() ? NULL : pw_probe_thread();
}

/* Locks the thread to record, or, while recording is paused, to update the state that is needed
 * when it continues. Returns NULL when it cannot. */
static inline struct pw_thread *note_begin(void)
{
    return pw_recording_hold(note_thread());
}

/* Returns a record for an event at time `now`; NULL when it is lost, which is counted. */
static struct pw_record *reserve(struct pw_thread *thread, uint64_t now, enum pw_record_type type,
                                 enum pw_lost lost)
{
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, lost);
    if (record)
        *record = (struct pw_record){.type = (uint8_t)type, .start = now, .end = now};
    return record;
}

static void end_phase(struct pw_thread *thread, uint64_t now)
{
    struct pw_open_range *phase = &thread->ring.shared->phase;
    pw_range_record(thread, phase, now, 0);
    phase->start = 0;
}

/* Sets the start last, because a phase with a start is valid. */
static void begin_phase(struct pw_thread *thread, int number, uint64_t now)
{
    static const char *const names[] = {"",         "data",      "forward",
                                        "backward", "allreduce", "optimizer"};
    if (number <= PROFWRAP_NO_PHASE || number > PROFWRAP_OPTIMIZER)
        return;
    struct pw_open_range *phase = &thread->ring.shared->phase;
    *phase = (struct pw_open_range){
        .head = pw_range_head(PW_REC_RANGE, PW_PAYLOAD_NONE, 0),
        .name = pw_range_name(pw_probe_intern(thread, names[number]), 0, PW_KIND_PHASE),
        .allocated = thread->allocated,
    };
    atomic_signal_fence(memory_order_seq_cst);
    phase->start = pw_recording_is_paused() ? 0 : now;
}

static int note_active(void)
{
    return note_thread() != NULL && !pw_recording_is_paused();
}

_Static_assert(PROFWRAP_CANCEL_STEP == PW_CANCEL_STEP, "steps are cancelled by the same number");

/* Also called while nothing is recorded, because the schedule counts steps. */
static void note_step(int64_t step)
{
    struct pw_thread *thread = pw_recording_hold(pw_probe_thread());
    if (!thread)
        return;
    uint64_t now = pw_probe_now();
    end_phase(thread, now);
    pw_probe_record_step(thread, now, step);
    pw_probe_unlock(thread);
}

static void note_phase(int phase)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    uint64_t now = pw_probe_now();
    end_phase(thread, now);
    begin_phase(thread, phase, now);
    pw_probe_unlock(thread);
}

static uint32_t take_stack(struct pw_thread *thread)
{
    const uint32_t depth = pw_gate->stack_depth;
    return __builtin_expect(depth != 0, 0) ? pw_stack_take(thread, (int)depth) : 0;
}

static inline bool begin_paused(void)
{
    struct pw_thread *thread = pw_recording_paused_thread();
    if (thread)
        pw_range_begin_idle(thread, PW_KEY_API);
    return thread != NULL;
}

static inline bool end_paused(void)
{
    struct pw_thread *thread = pw_recording_paused_thread();
    return thread && pw_range_end_idle(thread, PW_KEY_API);
}

/* A separate function, so that the exported one needs no stack frame and is fast while nothing is
 * recorded. */
static __attribute__((noinline)) void push_range(const char *name)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    if (__builtin_expect(pw_recording_is_paused(), 0)) {
        pw_range_begin_idle(thread, PW_KEY_API);
    } else {
        const struct pw_range_about about = {.kind = PW_KIND_USER, .stack = take_stack(thread)};
        pw_range_begin(thread, PW_KEY_API, PW_REC_RANGE, pw_name_find(thread, name), &about);
    }
    pw_probe_unlock(thread);
}

static const uint64_t plain_key = PW_RANGE_PLAIN_KEY(PW_KEY_API, PW_REC_RANGE, 0);

static inline uint64_t user_range(const struct pw_recent_name *known)
{
    static_assert(PW_KIND_USER == 0, "else it had to be added");
    return (uint32_t)known->name;
}

static void note_range_push(const char *name)
{
    struct pw_open_call *call = pw_range_usual_call(PW_ACTIVITY_ANNOTATIONS);
    if (call != NULL) {
        const struct pw_recent_name *known = pw_name_find_quickly(&pw_this_thread, name);
        int level = known ? pw_range_begin_usual(plain_key, user_range(known)) : -1;
        pw_range_unlock(call);
        if (__builtin_expect(level >= 0, 1))
            return;
    }
    if (!is_closed() && !begin_paused())
        push_range(name);
}

static int is_function(const char *type)
{
    return type && strcmp(type, "function") == 0;
}

static void begin_operator(struct pw_thread *thread, const char *name, const char *type,
                           const char *shapes)
{
    const struct pw_range_about about = {
        .kind = is_function(type) ? PW_KIND_FUNCTION : PW_KIND_OPERATOR,
        .category = is_function(type) ? 0 : pw_name_find(thread, type),
        .shapes = pw_name_find(thread, shapes),
        .stack = take_stack(thread),
    };
    pw_range_begin(thread, PW_KEY_API, PW_REC_RANGE, pw_name_find(thread, name), &about);
}

static void note_op_begin(const char *name, const char *type, const char *shapes)
{
    struct pw_thread *thread = is_closed() || begin_paused() ? NULL : note_begin();
    if (!thread)
        return;
    if (pw_recording_is_paused())
        pw_range_begin_idle(thread, PW_KEY_API);
    else
        begin_operator(thread, name, type, shapes);
    pw_probe_unlock(thread);
}

static __attribute__((noinline)) void pop_range(void)
{
    struct pw_thread *thread = note_begin();
    if (!thread)
        return;
    pw_range_end(thread, PW_KEY_API, pw_probe_now());
    pw_probe_unlock(thread);
}

static void note_range_pop(void)
{
    struct pw_open_call *call = pw_range_usual_call(PW_ACTIVITY_ANNOTATIONS);
    if (call != NULL) {
        int level = pw_range_end_usual(plain_key, PW_REC_RANGE);
        pw_range_unlock(call);
        if (__builtin_expect(level >= 0, 1))
            return;
    }
    if (!is_closed() && !end_paused())
        pop_range();
}

/* Names before the record is reserved: sending a new name takes a record, too. */
static void note_op_past(const char *name, const char *type, const char *shapes, int64_t start_ns,
                         int64_t end_ns, int lane, int64_t alloc_bytes)
{
    struct pw_thread *thread = is_closed() || pw_recording_paused_thread() ? NULL : note_begin();
    if (!thread)
        return;
    const int number = pw_recording_is_paused() ? -1 : pw_probe_lane(lane);
    const uint64_t now = pw_probe_now();
    if (number >= 0 && start_ns >= 0 && end_ns >= start_ns) {
        const struct pw_record past = {
            .type = PW_REC_RANGE,
            .flags = PW_RANGE_PAST,
            .start = (uint64_t)start_ns,
            .end = (uint64_t)end_ns,
            .range = {.name = pw_name_find(thread, name),
                      .kind = is_function(type) ? PW_KIND_FUNCTION : PW_KIND_OPERATOR,
                      .lane = (uint32_t)number,
                      .category = is_function(type) ? 0 : pw_name_find(thread, type),
                      .shapes = pw_name_find(thread, shapes),
                      .alloc_bytes = alloc_bytes},
        };
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_RANGE);
        if (record) {
            *record = past;
            pw_probe_commit(thread);
        }
    } else if (!pw_recording_is_paused()) {
        pw_ring_count_loss(&thread->ring, 1, now, PW_LOST_RANGE);
    }
    pw_probe_unlock(thread);
}

static void record_mark(struct pw_thread *thread, const char *name, const char *domain)
{
    const struct pw_record mark = {
        .type = PW_REC_RANGE,
        .stack = take_stack(thread),
        .range = {.name = pw_name_find(thread, name),
                  .kind = PW_KIND_MARK,
                  .depth = (uint16_t)pw_range_depth(thread),
                  .domain = pw_name_find(thread, domain)},
    };
    const uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_RANGE);
    if (!record)
        return;
    *record = mark;
    record->start = record->end = now;
    pw_probe_commit(thread);
}

static void note_mark(const char *name, const char *domain)
{
    struct pw_thread *thread = is_closed() || pw_recording_paused_thread() ? NULL : note_begin();
    if (!thread)
        return;
    if (!pw_recording_is_paused())
        record_mark(thread, name, domain);
    pw_probe_unlock(thread);
}

/* Records a size that the queue has now, or had at `past_ns` if that is not negative. */
static void record_queue(struct pw_thread *thread, const char *name, int64_t size, int64_t capacity,
                         int64_t past_ns)
{
    uint32_t id = pw_probe_intern(thread, name);
    struct pw_record *record = reserve(thread, pw_probe_now(), PW_REC_QUEUE, PW_LOST_RANGE);
    if (!record)
        return;
    record->queue.name = id;
    record->queue.size = size;
    record->queue.capacity = capacity;
    if (past_ns >= 0) {
        record->flags = PW_RANGE_PAST;
        record->start = record->end = (uint64_t)past_ns;
    }
    pw_probe_commit(thread);
}

static void note_queue(const char *name, int64_t size, int64_t capacity)
{
    struct pw_thread *thread = pw_recording_paused_thread() ? NULL : note_begin();
    if (!thread)
        return;
    if (!pw_recording_is_paused())
        record_queue(thread, name, size, capacity, -1);
    pw_probe_unlock(thread);
}

static void note_queue_past(const char *name, int64_t size, int64_t capacity, int64_t time_ns)
{
    struct pw_thread *thread = is_closed() || pw_recording_paused_thread() ? NULL : note_begin();
    if (!thread)
        return;
    if (!pw_recording_is_paused() && time_ns >= 0)
        record_queue(thread, name, size, capacity, time_ns);
    else if (!pw_recording_is_paused())
        pw_ring_count_loss(&thread->ring, 1, pw_probe_now(), PW_LOST_RANGE);
    pw_probe_unlock(thread);
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
    pw_probe_unlock(thread);
}

/* Locks *thread and reserves a record of an amount of work. Returns NULL, and locks nothing, when
 * no record is to be written. */
static struct pw_record *amount_begin(enum pw_record_type type, struct pw_thread **thread)
{
    *thread = pw_recording_paused_thread() ? NULL : note_begin();
    if (!*thread)
        return NULL;
    struct pw_record *record =
        pw_recording_is_paused() ? NULL : reserve(*thread, pw_probe_now(), type, PW_LOST_RANGE);
    if (!record)
        pw_probe_unlock(*thread);
    return record;
}

static void amount_end(struct pw_thread *thread)
{
    pw_probe_commit(thread);
    pw_probe_unlock(thread);
}

static void note_work(int64_t amount)
{
    struct pw_thread *thread;
    struct pw_record *record = amount < 0 ? NULL : amount_begin(PW_REC_WORK, &thread);
    if (!record)
        return;
    record->work.amount = amount;
    amount_end(thread);
}

static void note_flops(double flops)
{
    struct pw_thread *thread;
    const bool is_amount = flops > 0; /* false for NaN */
    struct pw_record *record = is_amount ? amount_begin(PW_REC_FLOPS, &thread) : NULL;
    if (!record)
        return;
    record->flops.flops = flops;
    amount_end(thread);
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
    pw_probe_unlock(thread);
}

static void switch_recording(int starts)
{
    struct pw_thread *thread = pw_recording_hold(pw_probe_thread());
    if (!thread)
        return;
    pw_recording_switch(thread, starts, PW_OPENED_PROGRAM);
    pw_probe_unlock(thread);
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
    .op_past = note_op_past,
    .work = note_work,
    .flops = note_flops,
    .mark = note_mark,
    .queue_past = note_queue_past,
};
