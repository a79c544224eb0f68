/* Records NCCL's events, and keeps the table of communicators; see nccl_event.h. */
#include "collectors/nccl/nccl_event.h"

#include <stddef.h>
#include <string.h>

#include "collectors/nccl/nccl_abi.h"
#include "collectors/nccl/nccl_slot.h"
#include "core/ops.h"
#include "rank/probe/attach.h"
#include "rank/probe/recording.h"

/* A table of communicators. */

enum { COMMS = 1 << 9 };

static struct pw_nccl_comm comms[COMMS];
static _Atomic uint64_t last_number;
static _Atomic uint32_t last_record;

static void fill(struct pw_nccl_comm *comm, const struct pw_nccl_comm_about *about)
{
    atomic_store(&comm->is_defined, 0);
    atomic_store(&comm->collectives, 0);
    atomic_store(&comm->captures, 0);
    for (int i = 0; i < PW_NCCL_FUNCS; i++)
        atomic_store(&comm->next[i], 0);
    atomic_store(&comm->launch_start, 0);
    atomic_store(&comm->launch_end, 0);
    atomic_store(&comm->plan_start, 0);
    atomic_store(&comm->plan_end, 0);
    comm->record = atomic_fetch_add(&last_record, 1);
    comm->size = about->size;
    comm->rank = about->rank;
    comm->nodes = about->nodes;
    comm->version = about->version;
    comm->name[0] = '\0';
    if (about->name)
        strncat(comm->name, about->name, sizeof(comm->name) - 1);
    atomic_store(&comm->uid, about->uid);
}

struct pw_nccl_comm *pw_nccl_comm_open(const struct pw_nccl_comm_about *about)
{
    for (int i = 0; i < COMMS; i++) {
        uint64_t number = atomic_fetch_add(&last_number, 1) + 1, free = 0;
        struct pw_nccl_comm *comm = &comms[number % COMMS];
        if (!atomic_compare_exchange_strong(&comm->number, &free, number))
            continue;
        fill(comm, about);
        return comm;
    }
    return NULL;
}

void *pw_nccl_comm_handle(const struct pw_nccl_comm *comm)
{
    return pw_nccl_handle(PW_NCCL_IS_COMM, atomic_load(&comm->number));
}

struct pw_nccl_comm *pw_nccl_comm_find(const void *handle)
{
    uint64_t number = pw_nccl_handle_number(handle);
    enum pw_nccl_kind kind = pw_nccl_handle_kind(handle);
    if ((kind != PW_NCCL_IS_COMM && kind != PW_NCCL_IS_LAUNCH) || !number)
        return NULL;
    struct pw_nccl_comm *comm = &comms[number % COMMS];
    return atomic_load_explicit(&comm->number, memory_order_acquire) == number ? comm : NULL;
}

void pw_nccl_comm_learn(struct pw_nccl_comm *comm, uint64_t uid, int32_t rank, const char *name)
{
    if (__builtin_expect(atomic_load_explicit(&comm->uid, memory_order_relaxed) != 0, 1))
        return;
    comm->rank = rank;
    if (name && !comm->name[0])
        strncat(comm->name, name, sizeof(comm->name) - 1);
    atomic_store(&comm->uid, uid);
}

/* Writes the communicator's record, once. The caller has locked the probe for `thread`. */
static void nccl_comm_define(struct pw_nccl_comm *comm, struct pw_thread *thread)
{
    if (__builtin_expect(atomic_load_explicit(&comm->is_defined, memory_order_relaxed), 1) ||
        !atomic_load(&comm->uid) || atomic_exchange(&comm->is_defined, 1))
        return;
    uint32_t name = comm->name[0] ? pw_probe_intern(thread, comm->name) : 0;
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_NCCL_COMM,
                                 .start = now,
                                 .end = now,
                                 .nccl_comm = {.uid = atomic_load(&comm->uid),
                                               .comm = comm->record,
                                               .size = comm->size,
                                               .my_rank = comm->rank,
                                               .nodes = comm->nodes,
                                               .name = name}};
    pw_probe_commit_record(thread, record);
}

/* Counts a collective that is called now. Returns 1 + its number on the communicator. */
static uint32_t nccl_comm_count(struct pw_nccl_comm *comm)
{
    return atomic_fetch_add_explicit(&comm->collectives, 1, memory_order_relaxed) + 1;
}

/* The same from NCCL's `number` of the task among the tasks of its function. Returns 0 when this
 * task was counted before. */
static uint32_t nccl_comm_count_func(struct pw_nccl_comm *comm, int func, uint64_t number)
{
    if (func < 0 || func >= PW_NCCL_FUNCS)
        return 0;
    if (number < atomic_load_explicit(&comm->next[func], memory_order_relaxed))
        return 0;
    atomic_store_explicit(&comm->next[func], number + 1, memory_order_relaxed);
    uint64_t sum = 0;
    for (int i = 0; i < PW_NCCL_FUNCS; i++)
        sum += atomic_load_explicit(&comm->next[i], memory_order_relaxed);
    return (uint32_t)sum;
}

/* ---- the capture method of this process ---- */

static _Atomic int best = PW_NCCL_BY_CALLS;

void pw_nccl_method_set(enum pw_nccl_method method)
{
    int before = atomic_load_explicit(&best, memory_order_relaxed);
    while ((int)method < before && !atomic_compare_exchange_weak(&best, &before, method))
        ;
}

int pw_nccl_method_is(enum pw_nccl_method method)
{
    return atomic_load_explicit(&best, memory_order_relaxed) == (int)method;
}

/* ---- the call that a thread is in ---- */

_Thread_local struct pw_nccl_current *pw_nccl_current __attribute__((tls_model("initial-exec")));

void pw_nccl_current_see(struct pw_nccl_comm *comm, bool is_call)
{
    struct pw_nccl_current *current = pw_nccl_current;
    if (!current)
        return;
    current->comm = pw_nccl_comm_handle(comm);
    current->has_events |= is_call;
}

int pw_nccl_current_peer(int func)
{
    const struct pw_nccl_current *current = pw_nccl_current;
    return current && current->request.func == func ? current->request.peer : -1;
}

static bool is_of_messages(int func)
{
    return func == PW_NCCL_ALLTOALL || func == PW_NCCL_SCATTER || func == PW_NCCL_GATHER;
}

/* The program calls a collective that NCCL reports as messages. All its messages get this handle.
 * The end of a message does not end the collective; pw_nccl_whole_end() does. */
static void *nccl_whole_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request)
{
    void *handle = pw_nccl_call_begin(comm, request);
    struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    if (slot)
        slot->is_whole = 1;
    return handle;
}

void *pw_nccl_current_collective(struct pw_nccl_comm *comm, bool is_captured, bool *is_part)
{
    struct pw_nccl_current *current = pw_nccl_current;
    *is_part = current && is_of_messages(current->request.func);
    if (!*is_part)
        return NULL;
    if (!current->has_events) {
        current->request.is_captured = is_captured;
        current->whole = nccl_whole_begin(comm, &current->request);
    }
    pw_nccl_current_see(comm, true);
    return current->whole;
}

/* ---- names ---- */

enum { NAMES = 64, ID_BITS = 16 };

/* A cache of the ids of NCCL's texts by their addresses, because the texts are constants. An entry
 * has the shifted address and the id. */
static _Atomic uint64_t known_names[NAMES];

static uint32_t intern(struct pw_thread *thread, const char *text)
{
    if (!text || !text[0])
        return 0;
    uint64_t address = (uint64_t)(uintptr_t)text << ID_BITS;
    _Atomic uint64_t *known = &known_names[((uintptr_t)text >> 2) % NAMES];
    uint64_t entry = atomic_load_explicit(known, memory_order_relaxed);
    if ((entry & ~(uint64_t)UINT16_MAX) == address && entry & UINT16_MAX)
        return entry & UINT16_MAX;
    uint32_t id = pw_probe_intern(thread, text);
    if (id <= UINT16_MAX)
        atomic_store_explicit(known, address | id, memory_order_relaxed);
    return id;
}

/* ---- writing ---- */

bool pw_nccl_is_wanted(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    return pw_gate->on && segment && (segment->activities & PW_ACTIVITY_NCCL);
}

static void write_record(struct pw_thread *thread, const struct pw_record *record)
{
    struct pw_record *place = pw_ring_reserve(&thread->ring, record->end, pw_record_kind(record));
    if (!place)
        return;
    *place = *record;
    pw_probe_commit_record(thread, place);
}

void pw_nccl_comm_announce(struct pw_nccl_comm *comm)
{
    struct pw_thread *thread =
        atomic_load(&comm->uid) ? pw_recording_hold_open(PW_ACTIVITY_NCCL) : NULL;
    if (!thread)
        return;
    nccl_comm_define(comm, thread);
    pw_probe_unlock(thread);
}

/* Nobody waits any more for what others have not called there. */
void pw_nccl_comm_close(struct pw_nccl_comm *comm)
{
    struct pw_thread *thread =
        atomic_load(&comm->is_defined) ? pw_recording_hold_open(PW_ACTIVITY_NCCL) : NULL;
    const uint64_t now = pw_probe_now();
    if (thread) {
        write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_COMM,
                                                 .flags = PW_NCCL_COMM_CLOSED,
                                                 .start = now,
                                                 .end = now,
                                                 .nccl_comm = {.uid = atomic_load(&comm->uid),
                                                               .comm = comm->record}});
        pw_probe_unlock(thread);
    }
    atomic_store(&comm->number, 0);
}

void pw_nccl_record_plugin(void)
{
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_NCCL);
    if (!thread)
        return;
    const uint64_t now = pw_probe_now();
    write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_PLUGIN, .start = now, .end = now});
    pw_probe_unlock(thread);
}

static void tell_refused(struct pw_thread *thread, uint64_t now)
{
    static _Atomic uint64_t told;
    uint64_t refused = pw_nccl_slot_refused(), before = atomic_load(&told);
    if (__builtin_expect(refused == before, 1) ||
        !atomic_compare_exchange_strong(&told, &before, refused))
        return;
    write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_REFUSED,
                                             .start = now,
                                             .end = now,
                                             .nccl_refused = {refused - before}});
}

static void write_call(struct pw_thread *thread, const struct pw_nccl_slot *slot, uint64_t end)
{
    write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_CALL,
                                             .flags = slot->flags,
                                             .op = slot->op,
                                             .start = slot->start,
                                             .end = end,
                                             .nccl_call = {.id = slot->id,
                                                           .count = slot->count,
                                                           .comm = slot->comm,
                                                           .seq = slot->seq,
                                                           .peer = slot->peer,
                                                           .datatype = slot->datatype,
                                                           .stream = slot->stream,
                                                           .element_bytes = slot->element_bytes}});
}

/* ---- begin ---- */

/* Returns the next number of an operation; consecutive from 1, so that the collector can use a
 * table. */
static uint64_t next_id(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static uint32_t shorten(const void *stream)
{
    uint64_t bits = (uint64_t)(uintptr_t)stream;
    return (uint32_t)(bits ^ bits >> 32);
}

/* Copies the request into the slot. The ids of names are set only when `thread` is not NULL. */
static void describe(struct pw_nccl_slot *slot, struct pw_nccl_comm *comm,
                     const struct pw_nccl_request *request, struct pw_thread *thread)
{
    slot->comm = comm->record;
    slot->op = pw_nccl_func_op(request->func);
    slot->count = request->count;
    slot->element_bytes = pw_nccl_type_bytes(request->datatype);
    slot->peer = request->peer;
    slot->channels = request->channels;
    slot->stream = shorten(request->stream);
    slot->flags = request->is_captured ? PW_NCCL_CALL_CAPTURED : 0;
    if (pw_nccl_func_is_rooted(request->func) && request->peer == comm->rank)
        slot->flags |= PW_NCCL_CALL_ROOT;
    if (!pw_nccl_func_is_rooted(request->func) && pw_op_info(slot->op)->cls == PW_CLASS_COLL)
        slot->peer = -1;
    nccl_comm_define(comm, thread);
    slot->datatype = intern(thread, request->datatype);
    slot->algorithm = intern(thread, request->algorithm);
    slot->protocol = intern(thread, request->protocol);
}

static bool is_collective(int func)
{
    return pw_op_info(pw_nccl_func_op(func))->cls == PW_CLASS_COLL;
}

/* Whether calls of this function are recorded. At level 0 the program's own messages are not. A
 * message that no wrapper saw is recorded, because it may be a part of a collective. */
static bool is_wanted_call(int func)
{
    return func >= 0 && (is_collective(func) || pw_recording_level() >= 1 || !pw_nccl_current);
}

/* Counts a collective even when it is not recorded here, because other ranks may record it. */
void *pw_nccl_call_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request)
{
    const bool is_coll = is_collective(request->func);
    uint32_t seq = is_coll ? nccl_comm_count(comm) : 0;
    if (atomic_load_explicit(&comm->captures, memory_order_relaxed) != request->is_captured)
        atomic_store_explicit(&comm->captures, request->is_captured, memory_order_relaxed);
    struct pw_thread *thread =
        is_wanted_call(request->func) ? pw_recording_hold_open(PW_ACTIVITY_NCCL) : NULL;
    if (!thread)
        return NULL;
    struct pw_nccl_slot *slot = pw_nccl_slot_take(PW_NCCL_IS_CALL);
    void *handle = NULL;
    if (slot) {
        describe(slot, comm, request, thread);
        slot->id = next_id();
        slot->seq = seq;
        slot->start = pw_probe_now();
        handle = pw_nccl_handle(PW_NCCL_IS_CALL, atomic_load(&slot->number));
    }
    pw_probe_unlock(thread);
    return handle;
}

static void follow_call(struct pw_nccl_slot *slot, const struct pw_nccl_slot *call)
{
    slot->id = call ? call->id : 0;
    slot->has_call = 1;
    /* A call whose event is gone was made long ago, so this task is a replay of a graph. */
    slot->is_replay = !call || call->flags & PW_NCCL_CALL_CAPTURED;
    if (call && call->is_whole)
        slot->peer = -1; /* the peer of a message is not that of the collective */
}

/* Returns the task of a collective's messages, if one was begun: all messages of a plan share
 * it. */
static void *find_part(const struct pw_nccl_slot *call)
{
    void *handle = call && call->part ? pw_nccl_handle(PW_NCCL_IS_TASK, call->part) : NULL;
    const struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    return slot && !slot->is_done ? handle : NULL;
}

/* Whether the message is not recorded: at level 0, NCCL reports all messages, but only those that
 * are parts of collectives are recorded. */
static bool is_left_out(const struct pw_nccl_request *request, const struct pw_nccl_slot *call)
{
    return request->func < 0 ||
           (!is_collective(request->func) && !call && pw_recording_level() < 1);
}

void *pw_nccl_task_begin(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         const void *call, const void *plan, bool has_calls)
{
    uint32_t seq = 0;
    struct pw_nccl_slot *above = has_calls ? pw_nccl_slot_find(call) : NULL;
    void *part = find_part(above);
    if (part)
        return part;
    if (!has_calls && is_collective(request->func))
        seq = nccl_comm_count_func(comm, request->func, request->seq);
    struct pw_thread *thread =
        is_left_out(request, above) ? NULL : pw_recording_hold_open(PW_ACTIVITY_NCCL);
    if (!thread)
        return NULL;
    struct pw_nccl_slot *slot = pw_nccl_slot_take(PW_NCCL_IS_TASK);
    void *handle = NULL;
    if (slot) {
        describe(slot, comm, request, thread);
        slot->plan = pw_nccl_handle_kind(plan) == PW_NCCL_IS_PLAN ? pw_nccl_handle_number(plan) : 0;
        slot->launch_start = atomic_load_explicit(&comm->plan_start, memory_order_relaxed);
        slot->launch_end = atomic_load_explicit(&comm->plan_end, memory_order_relaxed);
        if (has_calls) {
            follow_call(slot, above);
            if (above && above->is_whole)
                above->part = atomic_load(&slot->number);
        } else {
            slot->id = next_id();
            slot->seq = seq;
            slot->is_replay = is_collective(request->func) && !seq;
        }
        slot->start = pw_probe_now();
        handle = pw_nccl_handle(PW_NCCL_IS_TASK, atomic_load(&slot->number));
    }
    pw_probe_unlock(thread);
    return handle;
}

/* The plan's kernel is the one that was launched last. */
void *pw_nccl_plan_begin(struct pw_nccl_comm *comm)
{
    uint64_t start = atomic_exchange_explicit(&comm->launch_start, 0, memory_order_relaxed);
    uint64_t end = atomic_exchange_explicit(&comm->launch_end, 0, memory_order_relaxed);
    atomic_store_explicit(&comm->plan_start, end ? start : 0, memory_order_relaxed);
    atomic_store_explicit(&comm->plan_end, end, memory_order_relaxed);
    return pw_nccl_handle(PW_NCCL_IS_PLAN, pw_nccl_number_next());
}

void *pw_nccl_launch_begin(struct pw_nccl_comm *comm)
{
    atomic_store_explicit(&comm->launch_start, pw_probe_now(), memory_order_relaxed);
    return pw_nccl_handle(PW_NCCL_IS_LAUNCH, atomic_load(&comm->number));
}

/* ---- parts of an operation (level 2): channels of its kernel, work of proxy threads ---- */

bool pw_nccl_wants_channels(void)
{
    const struct pw_segment_shared *segment = pw_probe_borrow_segment();
    return pw_recording_level() >= PW_HIGHEST_LEVEL ||
           (segment && atomic_load_explicit(&segment->gpu_untimed, memory_order_relaxed));
}

static bool is_wanted(enum pw_nccl_kind kind)
{
    return kind == PW_NCCL_IS_CHANNEL ? pw_nccl_wants_channels()
                                      : pw_recording_level() >= PW_HIGHEST_LEVEL;
}

/* Begins an event that belongs to another recorded event and has no name. */
static struct pw_nccl_slot *begin_part(enum pw_nccl_kind kind, void **handle)
{
    if (!pw_gate->on || pw_recording_is_paused() || !is_wanted(kind))
        return NULL;
    struct pw_nccl_slot *slot = pw_nccl_slot_take(kind);
    if (!slot)
        return NULL;
    slot->start = pw_probe_now();
    *handle = pw_nccl_handle(kind, atomic_load(&slot->number));
    return slot;
}

void *pw_nccl_channel_begin(struct pw_nccl_comm *comm, const void *task, uint8_t channel,
                            uint64_t timer)
{
    void *handle = NULL;
    struct pw_nccl_slot *slot = begin_part(PW_NCCL_IS_CHANNEL, &handle);
    if (!slot)
        return NULL;
    slot->id = pw_nccl_slot_id(task);
    slot->comm = comm ? comm->record : UINT32_MAX;
    slot->op = channel;
    slot->timer = timer;
    return handle;
}

void *pw_nccl_proxy_begin(const void *task, uint8_t channel, int peer, bool sends)
{
    void *handle = NULL;
    struct pw_nccl_slot *slot = begin_part(PW_NCCL_IS_PROXY, &handle);
    if (!slot)
        return NULL;
    slot->id = pw_nccl_slot_id(task);
    slot->op = channel;
    slot->peer = peer;
    slot->is_send = sends;
    return handle;
}

void *pw_nccl_step_begin(const void *proxy)
{
    void *handle = NULL;
    struct pw_nccl_slot *above = pw_nccl_slot_find(proxy);
    struct pw_nccl_slot *slot = above ? begin_part(PW_NCCL_IS_STEP, &handle) : NULL;
    if (!slot)
        return NULL;
    slot->above = pw_nccl_handle_number(proxy);
    slot->since = slot->start;
    /* A step begins by waiting for the GPU to have something to send, or for what is received. */
    slot->state = above->is_send ? PW_NCCL_STEP_SEND_GPU_WAIT : PW_NCCL_STEP_RECV_WAIT;
    return handle;
}

static int wait_of_state(int state)
{
    switch (state) {
    case PW_NCCL_STEP_SEND_GPU_WAIT:
    case PW_NCCL_STEP_RECV_GPU_WAIT:
        return PW_NCCL_WAIT_GPU;
    case PW_NCCL_STEP_SEND_PEER_WAIT:
        return PW_NCCL_WAIT_PEER;
    case PW_NCCL_STEP_SEND_WAIT:
    case PW_NCCL_STEP_RECV_WAIT:
        return PW_NCCL_WAIT_NETWORK;
    case PW_NCCL_STEP_RECV_FLUSH_WAIT:
        return PW_NCCL_WAIT_FLUSH;
    default:
        return -1;
    }
}

static void leave_state(struct pw_nccl_slot *slot, uint64_t now)
{
    int wait = wait_of_state(slot->state);
    if (wait >= 0 && now > slot->since)
        slot->wait[wait] += now - slot->since;
    slot->since = now;
}

void pw_nccl_step_state(void *handle, int state, uint64_t bytes)
{
    struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    if (!slot || pw_nccl_handle_kind(handle) != PW_NCCL_IS_STEP || wait_of_state(state) < 0)
        return;
    leave_state(slot, pw_probe_now());
    slot->state = (uint8_t)state;
    slot->bytes = bytes ? bytes : slot->bytes;
}

void pw_nccl_channel_stopped(void *handle, uint64_t timer)
{
    struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    if (slot && pw_nccl_handle_kind(handle) == PW_NCCL_IS_CHANNEL)
        slot->timer_end = timer;
}

static void end_channel(struct pw_thread *thread, const struct pw_nccl_slot *slot, uint64_t now)
{
    write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_CHANNEL,
                                             .op = slot->op,
                                             .start = slot->start,
                                             .end = now,
                                             .nccl_channel = {.id = slot->id,
                                                              .timer_start = slot->timer,
                                                              .timer_end = slot->timer_end,
                                                              .comm = slot->comm}});
}

static uint32_t sixteenths(uint64_t ticks)
{
    return ticks >> 4 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ticks >> 4);
}

static void end_proxy(struct pw_thread *thread, const struct pw_nccl_slot *slot, uint64_t now)
{
    write_record(thread,
                 &(struct pw_record){
                     .type = PW_REC_NCCL_PROXY,
                     .flags = slot->is_send ? PW_NCCL_PROXY_SENDS : 0,
                     .op = slot->op,
                     .start = slot->start,
                     .end = now,
                     .nccl_proxy = {.id = slot->id,
                                    .bytes = (int64_t)slot->bytes,
                                    .gpu_wait = sixteenths(slot->wait[PW_NCCL_WAIT_GPU]),
                                    .peer_wait = sixteenths(slot->wait[PW_NCCL_WAIT_PEER]),
                                    .network_wait = sixteenths(slot->wait[PW_NCCL_WAIT_NETWORK]),
                                    .flush_wait = sixteenths(slot->wait[PW_NCCL_WAIT_FLUSH]),
                                    .peer = slot->peer,
                                    .steps = slot->channels}});
}

/* Adds the step's waits to the proxy's event, which ends later; both are of the same thread. */
static void end_step(struct pw_nccl_slot *slot, uint64_t now)
{
    struct pw_nccl_slot *above = pw_nccl_slot_find(pw_nccl_handle(PW_NCCL_IS_PROXY, slot->above));
    leave_state(slot, now);
    if (!above)
        return;
    for (int i = 0; i < PW_NCCL_WAITS; i++)
        above->wait[i] += slot->wait[i];
    above->bytes += slot->bytes;
    above->channels++;
}

/* ---- end ---- */

static void end_task(struct pw_thread *thread, const struct pw_nccl_slot *slot, uint64_t now)
{
    if (!slot->has_call && !slot->is_replay)
        write_call(thread, slot, now);
    const int is_launched = slot->launch_end != 0;
    const uint8_t flags = (uint8_t)((is_launched ? PW_NCCL_TASK_LAUNCHED : 0) |
                                    (slot->is_replay ? PW_NCCL_TASK_REPLAYED : 0));
    write_record(thread,
                 &(struct pw_record){.type = PW_REC_NCCL_TASK,
                                     .flags = flags,
                                     .op = slot->op,
                                     .start = is_launched ? slot->launch_start : slot->start,
                                     .end = is_launched ? slot->launch_end : now,
                                     .nccl_task = {.id = slot->id,
                                                   .plan = slot->plan,
                                                   .comm = slot->comm,
                                                   .peer = slot->peer,
                                                   .algorithm = slot->algorithm,
                                                   .protocol = slot->protocol,
                                                   .channels = slot->channels}});
}

static void write_end(struct pw_thread *thread, enum pw_nccl_kind kind,
                      const struct pw_nccl_slot *slot, uint64_t now)
{
    if (kind == PW_NCCL_IS_CALL)
        write_call(thread, slot, now);
    else if (kind == PW_NCCL_IS_TASK)
        end_task(thread, slot, now);
    else if (kind == PW_NCCL_IS_CHANNEL)
        end_channel(thread, slot, now);
    else if (kind == PW_NCCL_IS_PROXY)
        end_proxy(thread, slot, now);
    tell_refused(thread, now);
}

/* Records the launch of a captured kernel; the collector finds the calls of a graph's kernels by
 * these records. */
static void write_captured(const struct pw_nccl_comm *comm, uint64_t now)
{
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_NCCL);
    if (!thread)
        return;
    write_record(thread, &(struct pw_record){.type = PW_REC_NCCL_TASK,
                                             .flags = PW_NCCL_TASK_CAPTURED,
                                             .start = now,
                                             .end = now,
                                             .nccl_task = {.comm = comm->record, .peer = -1}});
    pw_probe_unlock(thread);
}

static void end_launch(const void *handle)
{
    struct pw_nccl_comm *comm = pw_nccl_comm_find(handle);
    const uint64_t now = pw_probe_now();
    if (comm && atomic_load_explicit(&comm->captures, memory_order_relaxed))
        write_captured(comm, now);
    else if (comm)
        atomic_store_explicit(&comm->launch_end, now, memory_order_relaxed);
}

static void end_slot(enum pw_nccl_kind kind, struct pw_nccl_slot *slot)
{
    const uint64_t now = pw_probe_now();
    struct pw_thread *thread =
        kind == PW_NCCL_IS_STEP ? NULL : pw_recording_hold_open(PW_ACTIVITY_NCCL);
    if (kind == PW_NCCL_IS_STEP)
        end_step(slot, now);
    if (thread) {
        write_end(thread, kind, slot, now);
        pw_probe_unlock(thread);
    }
    pw_nccl_slot_end(kind, slot);
}

void pw_nccl_event_end(void *handle)
{
    const enum pw_nccl_kind kind = pw_nccl_handle_kind(handle);
    if (kind == PW_NCCL_IS_LAUNCH) {
        end_launch(handle);
        return;
    }
    struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    if (slot && !slot->is_done && !slot->is_whole)
        end_slot(kind, slot);
}

void pw_nccl_whole_end(void *handle)
{
    struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    if (slot && !slot->is_done)
        end_slot(PW_NCCL_IS_CALL, slot);
}

void pw_nccl_record_call(struct pw_nccl_comm *comm, const struct pw_nccl_request *request,
                         uint64_t start, uint64_t end)
{
    uint32_t seq = is_collective(request->func) ? nccl_comm_count(comm) : 0;
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_NCCL);
    if (!thread)
        return;
    struct pw_nccl_slot slot = {.peer = -1};
    describe(&slot, comm, request, thread);
    slot.id = next_id();
    slot.seq = seq;
    slot.start = start;
    slot.flags |= PW_NCCL_CALL_ALONE;
    write_call(thread, &slot, end);
    pw_probe_unlock(thread);
}
