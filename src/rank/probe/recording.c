/* Opens and closes the gate; see recording.h. */
#include "rank/probe/recording.h"

#include <sched.h>

#include "core/schedule.h"

enum { UNDECIDED = -1 };

/* What marks the steps: calls of the program (profwrap.h), or names of ranges. */
enum marks { MARKED_BY_NOBODY, MARKED_BY_NAMES, MARKED_BY_PROGRAM };

/* Changed under `lock`. Only a thread that has locked the probe takes it, and holds it for a few
 * records. A signal handler that interrupts such a thread cannot lock the probe, so it cannot wait
 * for `lock`. */
static struct {
    atomic_flag lock;
    struct pw_segment_shared *segment;
    struct pw_schedule_place place;
    bool is_stopped;   /* by the program */
    int from_outside;  /* 1 start, 0 stop, or UNDECIDED */
    bool is_step_open; /* a step's begin was recorded, and its end was not */
    int64_t step;      /* the step that the program is in; -1: none */
    enum marks marks;
    uint32_t marking;  /* index of the thread whose ranges are steps */
    _Atomic int level; /* level at which MPI calls are recorded */
    bool is_mpi_up;
    enum pw_mpi_abi_id mpi_abi; /* of the library that is up */
    struct pw_recording_turns turns;
} recording = {.lock = ATOMIC_FLAG_INIT, .from_outside = UNDECIDED, .step = -1};

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&recording.lock, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&recording.lock, memory_order_release);
}

static bool is_open(void)
{
    return recording.place.state != PW_WINDOW_CLOSED;
}

/* Sets the lower half of mpi_usual; the upper half is a counter that other threads may increment at
 * the same time. */
static void set_mpi_usual(uint32_t levels)
{
    uint64_t before = atomic_load(&pw_gate->mpi_usual);
    while (!atomic_compare_exchange_weak(&pw_gate->mpi_usual, &before,
                                         (before & ~(PW_MPI_GIVEN_BACK - 1)) | levels))
        ;
}

/* When recording ends, `left_open` is reset before any call can see the closed gate. */
static void set_gate(void)
{
    bool open = is_open();
    atomic_store(&pw_gate->left_open, open ? 0 : -1);
    atomic_store(&pw_gate->paused, !open);
    atomic_store(&pw_gate->usual, open && !pw_gate->general ? pw_gate->activities : 0);
    int levels = open && recording.is_mpi_up ? 1 + recording.level : 0;
    set_mpi_usual(pw_gate->general ? 0 : (uint32_t)levels);
    atomic_store(&pw_gate->mpi[recording.mpi_abi], recording.is_mpi_up && !open ? -1 : levels);
}

/* Saves the time at which recording began or ended; replaces the oldest one. */
static void note_turn(uint64_t now)
{
    struct pw_recording_turns *turns = &recording.turns;
    if (turns->n < PW_RECORDING_TURNS)
        turns->n++;
    for (int i = turns->n - 1; i > 0; i--)
        turns->turn[i] = turns->turn[i - 1];
    turns->turn[0].since = now;
    turns->turn[0].is_open = is_open();
}

void pw_recording_read_turns(struct pw_recording_turns *out)
{
    lock();
    *out = recording.turns;
    unlock();
}

static void show_state(void)
{
    atomic_store(&recording.segment->control.state, recording.place.state);
}

static struct pw_schedule_place decide(void)
{
    const struct pw_schedule_place closed = {PW_WINDOW_CLOSED, -1}, open = {PW_WINDOW_ACTIVE, 0};
    const struct pw_schedule *schedule = &recording.segment->control.schedule;
    if (recording.from_outside != UNDECIDED)
        return recording.from_outside ? open : closed;
    if (recording.is_stopped)
        return closed;
    return pw_schedule_is_set(schedule) ? pw_schedule_at(schedule, recording.step) : open;
}

/* ---- records ---- */

static void write_step(struct pw_thread *thread, uint64_t now, int64_t step, uint8_t flags)
{
    const bool is_named = recording.marks == MARKED_BY_NAMES;
    if (!(recording.segment->activities & (is_named ? PW_ACTIVITY_NVTX : PW_ACTIVITY_ANNOTATIONS)))
        return;
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_STEP);
    if (!record)
        return;
    *record = (struct pw_record){.type = is_named ? PW_REC_NVTX_STEP : PW_REC_STEP,
                                 .flags = flags,
                                 .start = now,
                                 .end = now,
                                 .step = {.step = step}};
    pw_probe_commit(thread);
}

static void write_window(struct pw_thread *thread, uint64_t now, enum pw_opened cause,
                         unsigned flags, int64_t step)
{
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_WINDOW,
        .flags = (uint8_t)(flags | recording.place.state),
        .op = (uint16_t)cause,
        .start = now,
        .end = now,
        .window = {.step = step},
    };
    pw_probe_commit(thread);
}

/* ---- changes ---- */

/* Begins or ends recording if the rules now decide otherwise than before. */
static void begin_or_end(struct pw_thread *thread, uint64_t now, enum pw_opened cause,
                         int64_t last_step)
{
    struct pw_schedule_place before = recording.place, after = decide();
    recording.place = after;
    if (after.state == PW_WINDOW_CLOSED) {
        if (before.state != PW_WINDOW_CLOSED)
            write_window(thread, now, cause, 0, last_step);
    } else if (before.state == PW_WINDOW_CLOSED || before.cycle != after.cycle ||
               before.state > after.state) {
        write_window(thread, now, cause, PW_WINDOW_NEW, recording.step);
    } else if (before.state != after.state) {
        write_window(thread, now, cause, 0, recording.step);
    }
    if (before.state != after.state) {
        if ((before.state == PW_WINDOW_CLOSED) != (after.state == PW_WINDOW_CLOSED))
            note_turn(now);
        set_gate();
        show_state();
    }
}

/* Takes the pending changes that are for `step`, for an earlier step or for at once. Returns true
 * if there was one. */
static bool take_changes(int64_t step, enum pw_opened *cause)
{
    struct pw_control *control = &recording.segment->control;
    /* Sequentially consistent, as is the store of the step before. This thread stores its step and
     * then reads `committed`; the collector stores `committed` and then reads the step. So at least
     * one of the two sees the other's store. */
    const uint32_t committed = atomic_load(&control->committed);
    uint32_t applied = atomic_load(&control->applied);
    bool has_taken = false;
    for (; applied != committed; applied++) {
        const struct pw_change *change = &control->changes[applied % PW_CHANGES];
        int64_t from = atomic_load(&change->step);
        if (from >= 0 && step < from)
            break;
        recording.from_outside = atomic_load(&change->starts) != 0;
        *cause = (enum pw_opened)atomic_load(&change->cause);
        atomic_store(&control->applied, applied + 1);
        has_taken = true;
    }
    return has_taken;
}

/* Begins or ends recording in the middle of a step. The step's record is flagged PARTIAL. */
static void change_here(struct pw_thread *thread, uint64_t now, enum pw_opened cause)
{
    bool was_open = is_open();
    begin_or_end(thread, now, cause, recording.step);
    if (was_open == is_open() || recording.step < 0)
        return;
    if (is_open() || recording.is_step_open)
        write_step(thread, now, recording.step, PW_STEP_PARTIAL);
    recording.is_step_open |= is_open();
}

static void mark_step(struct pw_thread *thread, uint64_t now, int64_t step)
{
    struct pw_control *control = &recording.segment->control;
    enum pw_opened cause = PW_OPENED_SCHEDULE;
    const uint8_t cancel = step == PW_CANCEL_STEP ? PW_STEP_CANCEL : 0;
    int64_t before = cancel ? -1 : recording.step;
    recording.step = step < 0 ? -1 : step;
    if (step >= 0) {
        atomic_store(&control->step, step);
        atomic_fetch_add(&control->marks, 1);
        take_changes(step, &cause);
    }
    if (recording.is_step_open && decide().state == PW_WINDOW_CLOSED) {
        write_step(thread, now, -1, cancel);
        recording.is_step_open = false;
    }
    begin_or_end(thread, now, cause, before);
    if (is_open()) {
        uint8_t warmup = recording.place.state == PW_WINDOW_WARMUP ? PW_STEP_WARMUP : 0;
        write_step(thread, now, recording.step, warmup | cancel);
        recording.is_step_open = step >= 0;
    }
}

/* When steps are marked by the names of ranges, -1 is ignored: whether the current step is the last
 * one is not known. */
void pw_probe_record_step(struct pw_thread *thread, uint64_t now, int64_t step)
{
    lock();
    if (step >= 0)
        recording.marks = MARKED_BY_PROGRAM;
    if (recording.marks != MARKED_BY_NAMES)
        mark_step(thread, now, step);
    unlock();
}

void pw_probe_found_step(struct pw_thread *thread, uint64_t now, int64_t step)
{
    lock();
    if (recording.marks == MARKED_BY_NOBODY) {
        recording.marks = MARKED_BY_NAMES;
        recording.marking = thread->index;
    }
    if (recording.marks == MARKED_BY_NAMES && recording.marking == thread->index)
        mark_step(thread, now, step);
    unlock();
}

void pw_recording_switch(struct pw_thread *thread, int starts, enum pw_opened cause)
{
    lock();
    recording.is_stopped = !starts;
    change_here(thread, pw_probe_now(), cause);
    unlock();
}

void pw_recording_apply(struct pw_thread *thread)
{
    enum pw_opened cause;
    lock();
    atomic_store_explicit(&thread->call->signalled, 0, memory_order_relaxed);
    if (take_changes(-1, &cause))
        change_here(thread, pw_probe_now(), cause);
    unlock();
}

void pw_recording_set_mpi(enum pw_mpi_abi_id abi, int is_up)
{
    lock();
    recording.mpi_abi = abi;
    recording.is_mpi_up = is_up != 0;
    set_gate();
    unlock();
}

void pw_recording_use_level(int level)
{
    lock();
    recording.level = level;
    set_gate();
    unlock();
}

int pw_recording_level(void)
{
    return atomic_load_explicit(&recording.level, memory_order_relaxed);
}

void pw_recording_begin_thread(struct pw_thread *thread, uint64_t now, int first)
{
    if (first) {
        lock();
        write_window(thread, now, PW_OPENED_RUN, is_open() ? PW_WINDOW_NEW : 0, recording.step);
        show_state();
        unlock();
    }
    pw_recording_apply(thread);
}

void pw_recording_init(struct pw_segment_shared *segment)
{
    struct pw_control *control = &segment->control;
    uint32_t applied = atomic_load(&control->applied);
    recording.segment = segment;
    recording.level = (int)segment->level;
    recording.is_stopped = control->starts_paused != 0;
    /* The program image before this one (before exec) may have applied changes. */
    if (applied)
        recording.from_outside =
            atomic_load(&control->changes[(applied - 1) % PW_CHANGES].starts) != 0;
    recording.place = decide();
    note_turn(0);
    set_gate();
}
