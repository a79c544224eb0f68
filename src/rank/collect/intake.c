/* Dispatches records; see intake.h. */
#include "rank/collect/intake.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/ops.h"
#include "core/tables.h"
#include "rank/clocks/tickmap.h"
#include "rank/collect/pace.h"
#include "rank/file/callstacks.h"
#include "rank/file/windowtable.h"
#include "rank/ring/segment.h"

enum { MAX_MODULES = 16 };

struct pw_intake {
    struct pw_intake_setup setup;
    struct pw_rankfile *file;
    const struct pw_module *modules;
    void *states[MAX_MODULES];
    const struct pw_module *by_type[PW_REC_TYPE_COUNT];
    void *state_by_type[PW_REC_TYPE_COUNT];
    uint64_t watched;                /* types that some module watches */
    uint32_t threads[PW_MAX_RINGS];  /* number of the thread that writes the ring */
    uint64_t last_end[PW_MAX_RINGS]; /* end of the ring's last call, ticks; 0: none */
    struct pw_tickmap ticks;
    struct pw_stacktable *stacks;   /* NULL when no call stacks are recorded */
    struct pw_windowtable *windows; /* NULL when memory is short */
    uint32_t name_base, stack_base, epoch;
    uint64_t process; /* of the last THREAD record */
    int64_t records;
    int64_t waited_ns;      /* time that the program waited for room in its rings */
    uint64_t nested;        /* calls inside other calls, which are not recorded */
    uint64_t gpu_processes; /* processes that used GPUs and were not recorded */
    uint64_t cut_stacks;    /* call stacks that lack outer frames */
    int64_t step;           /* the step that the program is in, -1 none */
    struct pw_pace pace;
    uint32_t phase_names[PW_LIVE_PHASES]; /* name ids of the process; 0: none yet */
};

static void create_states(struct pw_intake *intake)
{
    const struct pw_module *modules = intake->modules;
    for (int i = 0; modules[i].name && i < MAX_MODULES; i++) {
        if (!(modules[i].activity & intake->setup.activities)) {
            pw_debug(PW_LOG_INTAKE, 2, "%s is off: it is not in --activities", modules[i].name);
            continue;
        }
        intake->states[i] = modules[i].create(intake->file);
        if (!intake->states[i]) { /* this module's records are dropped */
            pw_debug(PW_LOG_INTAKE, 2, "%s is off: memory is short", modules[i].name);
            continue;
        }
        intake->watched |= modules[i].watches;
        for (int type = modules[i].first_type; type && type <= (int)modules[i].last_type; type++) {
            intake->by_type[type] = &modules[i];
            intake->state_by_type[type] = intake->states[i];
        }
    }
}

struct pw_intake *pw_intake_create(const struct pw_intake_setup *setup, struct pw_rankfile *file,
                                   const struct pw_module *modules)
{
    struct pw_intake *intake = calloc(1, sizeof(*intake));
    if (!intake)
        return NULL;
    intake->setup = *setup;
    intake->file = file;
    intake->modules = modules;
    intake->step = -1;
    intake->windows = pw_windowtable_create();
    intake->stacks =
        setup->stack_depth ? pw_stacktable_create(pw_rankfile_borrow_budget(file)) : NULL;
    pw_tickmap_init(&intake->ticks, setup->tick_source, &setup->test_clock);
    create_states(intake);
    return intake;
}

void pw_intake_reading(struct pw_intake *intake, uint64_t ticks, int64_t ns)
{
    pw_tickmap_add(&intake->ticks, ticks, ns);
}

static struct pw_row_gap make_gap(const struct pw_intake *intake, uint32_t thread,
                                  const struct pw_record *record, enum pw_reason reason)
{
    return (struct pw_row_gap){
        .start = pw_tickmap_ns(&intake->ticks, record->start),
        .end = pw_tickmap_ns(&intake->ticks, record->end),
        .reason = (uint8_t)reason,
        .thread = (uint16_t)thread,
    };
}

static void append_loss(struct pw_intake *intake, struct pw_row_gap gap, int kind, uint64_t lost)
{
    if (lost == 0 || lost > INT64_MAX)
        return;
    gap.kind = (uint8_t)kind;
    gap.lost = (int64_t)lost;
    pw_debug(PW_LOG_INTAKE, 2, "thread %u lost %lld records of kind %s: %s", (unsigned)gap.thread,
             (long long)gap.lost, pw_enum_name(PW_F_LOST, kind),
             pw_enum_name(PW_F_REASON, gap.reason));
    pw_rankfile_append(intake->file, PW_TABLE_gap, &gap);
    pw_rankfile_count_dropped(intake->file, gap.lost);
}

static void append_losses(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    int is_other = record->op == PW_REASON_LIMIT || record->op == PW_REASON_DISK;
    enum pw_reason reason = is_other ? (enum pw_reason)record->op : PW_REASON_RING_FULL;
    struct pw_row_gap gap = make_gap(intake, intake->threads[ring], record, reason);
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        append_loss(intake, gap, kind, record->lost.lost[kind]);
}

static void append_wait(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    struct pw_row_gap gap = make_gap(intake, intake->threads[ring], record, PW_REASON_RING_WAIT);
    gap.kind = record->op < PW_LOST_KINDS ? (uint8_t)record->op : PW_LOST_OTHER;
    pw_rankfile_append(intake->file, PW_TABLE_gap, &gap);
    intake->waited_ns += gap.end > gap.start ? gap.end - gap.start : 0;
}

/* Writes how many calls were not recorded: of threads without a ring, only that number is known. */
static void append_unrecorded(struct pw_intake *intake, const struct pw_record *record)
{
    struct pw_row_gap gap = make_gap(intake, UINT16_MAX, record, PW_REASON_NO_RING);
    append_loss(intake, gap, PW_LOST_OTHER, record->unrecorded.no_ring);
    intake->nested += record->unrecorded.nested;
    intake->gpu_processes += record->unrecorded.gpu_processes;
    intake->cut_stacks += record->unrecorded.cut_stacks;
}

/* Finds the ids of the phases' names. */
static void note_phase_name(struct pw_intake *intake, const struct pw_record *record)
{
    for (int i = 0; i < PW_LIVE_PHASES; i++) {
        const char *name = pw_enum_name(PW_F_PHASE, i + 1);
        if (record->string.offset == 0 && record->string.total == strlen(name) &&
            memcmp(record->string.bytes, name, strlen(name)) == 0)
            intake->phase_names[i] = record->string.id;
    }
}

static int phase_of(const struct pw_intake *intake, const struct pw_record *record)
{
    int phase = 0;
    if ((record->type == PW_REC_RANGE || record->type == PW_REC_NVTX) &&
        record->range.kind == PW_KIND_PHASE && record->range.name)
        for (int i = 0; i < PW_LIVE_PHASES; i++)
            phase = intake->phase_names[i] == record->range.name ? i + 1 : phase;
    return phase;
}

static void append_string(struct pw_intake *intake, const struct pw_record *record)
{
    note_phase_name(intake, record);
    const struct pw_text_piece piece = {
        .row = intake->name_base + record->string.id,
        .total = record->string.total,
        .offset = record->string.offset,
        .length = PW_STRING_PIECE,
        .bytes = record->string.bytes,
    };
    pw_rankfile_text_piece(intake->file, &piece);
}

static void show_watchers(struct pw_intake *intake, const struct pw_record *record,
                          const struct pw_origin *origin)
{
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && (intake->modules[i].watches & PW_WATCH(record->type)))
            intake->modules[i].watch(intake->states[i], record, origin);
}

static inline int64_t time_of(struct pw_intake *intake, const struct pw_record *record,
                              uint64_t time)
{
    return pw_record_is_past(record) ? pw_tickmap_shown(&intake->ticks, (int64_t)time)
                                     : pw_tickmap_next(&intake->ticks, time);
}

static inline struct pw_origin origin_of(struct pw_intake *intake, int ring,
                                         const struct pw_record *record)
{
    return (struct pw_origin){
        .thread = (uint16_t)intake->threads[ring],
        .name_base = intake->name_base,
        .stack_base = intake->stack_base,
        .epoch = intake->epoch,
        .start = time_of(intake, record, record->start),
        .end = time_of(intake, record, record->end),
    };
}

static void begin_thread(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    intake->threads[ring] = record->thread.thread;
    intake->last_end[ring] = 0;
    /* Not the first thread's record only: another thread's may come before it. */
    if (record->thread.process != intake->process) {
        intake->process = record->thread.process;
        intake->epoch++;
        memset(intake->phase_names, 0, sizeof(intake->phase_names));
        intake->name_base = pw_rankfile_texts(intake->file) - 1;
        intake->stack_base = pw_stacktable_rows(intake->stacks) - 1;
    }
    if (record->thread.tid == record->thread.pid)
        pw_rankfile_set_main_thread(intake->file, (uint16_t)record->thread.thread);
    const struct pw_origin origin = origin_of(intake, ring, record);
    if (intake->watched & PW_WATCH(PW_REC_THREAD))
        show_watchers(intake, record, &origin);
}

int pw_intake_is_before(struct pw_intake *intake, const struct pw_record *record, uint64_t ticks)
{
    return pw_record_is_past(record)
               ? time_of(intake, record, record->start) < pw_tickmap_ns(&intake->ticks, ticks)
               : record->start < ticks;
}

/* Whether the thread has left a call of the program. The end of an operation in the background is
 * none. */
static bool is_left(const struct pw_record *record)
{
    switch (record->type) {
    case PW_REC_COMM:
    case PW_REC_TORCH_CALL:
    case PW_REC_TORCH_WAIT:
    case PW_REC_MCCL_CALL:
    case PW_REC_NCCL_CALL:
        return true;
    default:
        return false;
    }
}

static void dispatch(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    if (is_left(record))
        intake->last_end[ring] = record->end;
    if (pw_record_is_step(record)) {
        intake->step = record->step.step;
        pw_windowtable_step(intake->windows, record);
    }
    const struct pw_module *module =
        record->type < PW_REC_TYPE_COUNT ? intake->by_type[record->type] : NULL;
    if (!module || !module->record)
        return;
    const struct pw_origin origin = origin_of(intake, ring, record);
    module->record(intake->state_by_type[record->type], record, &origin);
    pw_pace_record(&intake->pace, ring, record, &origin);
    const int phase = phase_of(intake, record);
    if (phase)
        pw_pace_phase(&intake->pace, ring, phase, &origin);
    if (intake->watched & PW_WATCH(record->type))
        show_watchers(intake, record, &origin);
}

/* Handles PW_REC_WINDOW, which belongs to no module. */
static void show_window(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    const struct pw_origin origin = origin_of(intake, ring, record);
    show_watchers(intake, record, &origin);
}

static void describe_call(struct pw_intake *intake, int ring, const struct pw_shown_call *call,
                          struct pw_row_open *row)
{
    *row = (struct pw_row_open){
        .start = pw_tickmap_ns(&intake->ticks, call->start),
        .op = (uint16_t)call->op,
        .comm = -1,
        .seq = -1,
        .peer = -1,
        .count = -1,
        .error_time = -1,
        .thread = (uint16_t)intake->threads[ring],
    };
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && intake->modules[i].open)
            intake->modules[i].open(intake->states[i], intake->setup.segment, call, row);
}

static void append_open_call(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    const struct pw_shown_call call = {
        .start = record->start,
        .op = record->op < PW_OP_COUNT ? record->op : PW_OP_None,
        .awaited = record->open.awaited,
        .peer = record->open.peer,
        .tag = record->open.tag,
        .handle = record->open.handle,
    };
    struct pw_row_open row;
    describe_call(intake, ring, &call, &row);
    row.seen_until = pw_tickmap_ns(&intake->ticks, record->end);
    if (row.source == PW_SOURCE_MPI && record->open.error != PW_MPI_ERROR_NONE &&
        record->open.error <= PW_MPI_ERROR_VALUE_TOO_LARGE) {
        row.error = (uint8_t)record->open.error;
        row.error_time = pw_tickmap_ns(&intake->ticks, record->open.error_time);
    }
    pw_rankfile_append(intake->file, PW_TABLE_open, &row);
}

static void handle(struct pw_intake *intake, int ring, const struct pw_record *record)
{
    switch (record->type) {
    case PW_REC_THREAD:
        begin_thread(intake, ring, record);
        break;
    case PW_REC_LOST:
        append_losses(intake, ring, record);
        break;
    case PW_REC_WAIT:
        append_wait(intake, ring, record);
        break;
    case PW_REC_UNRECORDED:
        append_unrecorded(intake, record);
        break;
    case PW_REC_WINDOW:
        pw_windowtable_change(intake->windows, record,
                              pw_tickmap_ns(&intake->ticks, record->start));
        show_window(intake, ring, record);
        break;
    case PW_REC_OPEN:
        append_open_call(intake, ring, record);
        break;
    case PW_REC_STRING:
        append_string(intake, record);
        break;
    case PW_REC_STACK:
        pw_stacktable_add(intake->stacks, intake->stack_base + record->stack, intake->name_base,
                          record);
        break;
    default:
        dispatch(intake, ring, record);
        break;
    }
}

void pw_intake_records(struct pw_intake *intake, int ring, const struct pw_record *records,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        handle(intake, ring, &records[i]);
    intake->records += n;
}

void pw_intake_sample(struct pw_intake *intake, pid_t pid)
{
    int64_t now = pw_testclock_now(&intake->setup.test_clock);
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && intake->modules[i].sample)
            intake->modules[i].sample(intake->states[i], pid, now);
}

int64_t pw_intake_queued(struct pw_intake *intake, int64_t *start)
{
    *start = -1;
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++) {
        const int64_t since = intake->states[i] && intake->modules[i].queued
                                  ? intake->modules[i].queued(intake->states[i])
                                  : -1;
        if (since > *start)
            *start = since;
    }
    const int64_t ns = pw_testclock_now(&intake->setup.test_clock) - *start;
    return *start >= 0 && ns > 0 ? ns : 0;
}

int64_t pw_intake_since(const struct pw_intake *intake, uint64_t ticks)
{
    int64_t now = pw_testclock_now(&intake->setup.test_clock);
    int64_t ns = now - pw_tickmap_ns(&intake->ticks, ticks);
    return ns > 0 ? ns : 0;
}

void pw_intake_live_thread(struct pw_intake *intake, int ring, const struct pw_shown_call *call,
                           struct pw_live_thread *thread)
{
    uint64_t since = call && call->start ? call->start : intake->last_end[ring];
    thread->thread = (uint16_t)intake->threads[ring];
    thread->since_ns = since ? pw_intake_since(intake, since) : -1;
    if (!call)
        return;
    struct pw_row_open row;
    describe_call(intake, ring, call, &row);
    thread->source = row.source;
    thread->awaited = row.awaited;
    thread->seq = row.seq;
    thread->peer = row.peer;
    thread->tag = row.tag;
    thread->comm_row = row.comm;
    thread->requests_at = call->requests_at;
    thread->requests_n = call->requests_n;
    thread->dest = (int32_t)call->signature;
    const uint32_t op = row.awaited ? row.awaited : call->op;
    if (row.source == PW_SOURCE_MPI && pw_op_info(op)->cls == PW_CLASS_COLL)
        thread->signature = call->signature;
}

void pw_intake_live(struct pw_intake *intake, struct pw_live *live)
{
    live->events = intake->records;
    live->dropped = pw_rankfile_dropped(intake->file);
    live->step = intake->step;
    pw_pace_live(&intake->pace, live);
    live->last_steps = live->wants_steps ? calloc(PW_LIVE_STEPS, sizeof(*live->last_steps)) : NULL;
    if (live->last_steps)
        live->nlast_steps = pw_pace_steps(&intake->pace, live->steps_after, live->last_steps);
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && intake->modules[i].live)
            intake->modules[i].live(intake->states[i], intake->setup.segment, live);
    pw_live_distinguish(live);
}

void pw_intake_finish(struct pw_intake *intake, int64_t end_ns)
{
    pw_stacktable_write(intake->stacks, intake->file);
    pw_windowtable_write(intake->windows, intake->file, end_ns);
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && intake->modules[i].finish)
            intake->modules[i].finish(intake->states[i], end_ns);
    pw_rankfile_overhead(intake->file, "records", (double)intake->records, "records");
    pw_rankfile_overhead(intake->file, "ring_wait", (double)intake->waited_ns, "ns");
    pw_rankfile_overhead(intake->file, "nested_calls", (double)intake->nested, "calls");
    if (intake->gpu_processes)
        pw_rankfile_overhead(intake->file, "gpu_processes", (double)intake->gpu_processes,
                             "processes");
    if (intake->cut_stacks)
        pw_rankfile_overhead(intake->file, "cut_stacks", (double)intake->cut_stacks, "stacks");
    pw_debug(PW_LOG_INTAKE, 1, "%lld records", (long long)intake->records);
}

void pw_intake_destroy(struct pw_intake *intake)
{
    if (!intake)
        return;
    for (int i = 0; intake->modules[i].name && i < MAX_MODULES; i++)
        if (intake->states[i] && intake->modules[i].destroy)
            intake->modules[i].destroy(intake->states[i]);
    pw_stacktable_destroy(intake->stacks);
    pw_windowtable_destroy(intake->windows);
    free(intake);
}
