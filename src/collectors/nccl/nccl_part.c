/* Parts of operations; see nccl_part.h, and nccl_event.h for how they begin. */
#include "collectors/nccl/nccl_part.h"

#include "collectors/nccl/nccl_abi.h"
#include "collectors/nccl/nccl_event.h"
#include "core/ops.h"
#include "rank/probe/recording.h"

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

/* ---- what happens in between ---- */

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

/* ---- end ---- */

static void end_channel(struct pw_thread *thread, const struct pw_nccl_slot *slot, uint64_t now)
{
    pw_nccl_write(thread, &(struct pw_record){.type = PW_REC_NCCL_CHANNEL,
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
    pw_nccl_write(thread,
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
void pw_nccl_step_end(struct pw_nccl_slot *slot, uint64_t now)
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

void pw_nccl_part_write(struct pw_thread *thread, enum pw_nccl_kind kind,
                        const struct pw_nccl_slot *slot, uint64_t now)
{
    if (kind == PW_NCCL_IS_CHANNEL)
        end_channel(thread, slot, now);
    else if (kind == PW_NCCL_IS_PROXY)
        end_proxy(thread, slot, now);
}
