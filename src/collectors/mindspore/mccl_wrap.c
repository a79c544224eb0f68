/* Wrappers of MindSpore's collectives on CPUs (MCCL, over TCP). In-app code. libmindspore_cpu.so
 * calls the functions of libmindspore_cluster.so by symbol, and the loader finds the symbols of the
 * preloaded probe first. So every operation is recorded: of graphs and of single operators in
 * PyNative mode, in every thread.
 *
 * An operation blocks its thread until it is done. Meanwhile it is the thread's open call.
 * Arguments are passed on without being read, except the group's first three members (struct
 * group_info).
 *
 * Exceptions of C++ pass through. The thread then stays locked, with the operation as its open
 * call, until its next operation unlocks it (`held`). */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"
#include "rank/probe/arena.h"
#include "rank/probe/attach.h"
#include "rank/probe/probe.h"
#include "rank/probe/ranges.h"
#include "rank/probe/recording.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- groups of ranks ----
 *
 * A group is identified by its members, because each call of the library has the list of members. A
 * table of fixed size has them by a hash of their members, which is the communicator's uid: each
 * member computes the same one. Memory comes from the arena. */

struct group {
    _Atomic uint64_t uid; /* 0: free entry */
    uint32_t index;       /* number of the group in records */
    int32_t size, my_rank;
    const int32_t *world;         /* [size] world rank of each member; NULL: not known */
    _Atomic uint32_t collectives; /* collectives begun so far */
    _Atomic uint32_t is_ready;    /* 1: what is above may be read */
    _Atomic uint32_t is_told;     /* 1: its records are in a ring */
};

enum { GROUPS = 1 << 10, MOST_MEMBERS = 1 << 24 };

static struct group groups[GROUPS];
static _Atomic uint32_t made; /* indexes that were given */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static uint64_t uid_of(const uint32_t *world, uint32_t size)
{
    enum { SALT = 0x6d63636c };
    uint64_t uid = mix(SALT, size);
    for (uint32_t i = 0; i < size; i++)
        uid = mix(uid, world[i]);
    return uid | 1;
}

static int32_t place_in(const uint32_t *world, uint32_t size, uint32_t mine)
{
    for (uint32_t i = 0; i < size; i++)
        if (world[i] == mine)
            return (int32_t)i;
    return -1;
}

static void fill(struct group *group, const uint32_t *world, uint32_t size, uint32_t mine)
{
    int32_t *copy = pw_arena_take(sizeof(*copy) * size);
    if (copy)
        memcpy(copy, world, sizeof(*copy) * size); /* the same bits: ranks are below 2^31 */
    group->world = copy;
    group->size = (int32_t)size;
    group->my_rank = place_in(world, size, mine);
    group->index = atomic_fetch_add(&made, 1);
    atomic_store_explicit(&group->is_ready, 1, memory_order_release);
}

/* The group with these members, of which `mine` is this rank's; NULL: there are too many, or
 * `world` cannot be a list of ranks. */
static struct group *group_find(const uint32_t *world, uint32_t size, uint32_t mine)
{
    if (!world || size < 1 || size > MOST_MEMBERS)
        return NULL;
    const uint64_t uid = uid_of(world, size);
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct group *group = &groups[(uid + i) % GROUPS];
        uint64_t there = atomic_load_explicit(&group->uid, memory_order_acquire);
        if (!there && atomic_compare_exchange_strong(&group->uid, &there, uid)) {
            fill(group, world, size, mine);
            return group;
        }
        if (there == uid) /* another thread may be filling it at this instant */
            return atomic_load_explicit(&group->is_ready, memory_order_acquire) ? group : NULL;
    }
    return NULL;
}

/* Records the group, once. The thread has locked the probe. */
static void group_tell(struct pw_thread *thread, struct group *group)
{
    if (atomic_exchange(&group->is_told, 1))
        return;
    const uint32_t name = pw_probe_intern(thread, "mccl");
    const uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_MCCL_GROUP, .start = now, .end = now};
    record->def.uid = atomic_load(&group->uid);
    record->def.comm = group->index;
    record->def.size = group->size;
    record->def.my_rank = group->my_rank;
    record->def.name = name;
    pw_probe_commit(thread);
    pw_members_record(thread, PW_REC_MCCL_MEMBERS, group->index, group->world, group->size);
}

/* ---- calls ---- */

/* The beginning of MindSpore's CommunicationGroupInfo; `begin` and `end` are a std::vector's. */
struct group_info {
    uint32_t size, global_rank;
    const uint32_t *begin, *end;
};

struct call {
    struct pw_thread *thread; /* NULL: not recorded */
    struct group *group;
    struct pw_record record;
};

/* When the first operation of a group began after watch(), in ticks; 0: none. */
static _Atomic uint64_t first_begin;

/* What an exception left locked. */
static _Thread_local struct pw_thread *held __attribute__((tls_model("initial-exec")));

static struct group *group_of(const struct group_info *info)
{
    const ptrdiff_t members = info ? info->end - info->begin : 0;
    if (!info || members < 1 || (uint64_t)members != info->size)
        return NULL; /* a version with another layout */
    return group_find(info->begin, info->size, info->global_rank);
}

static int32_t world_rank(const struct group *group, int64_t rank)
{
    return group && group->world && rank >= 0 && rank < group->size ? group->world[rank] : -1;
}

static void show(const struct call *call)
{
    struct pw_open_call *open = call->thread->call;
    atomic_store_explicit(&open->start, call->record.start, memory_order_relaxed);
    atomic_store_explicit(&open->peer, call->record.torch_call.peer, memory_order_relaxed);
    atomic_store_explicit(&open->tag, (int32_t)call->record.torch_call.seq, memory_order_relaxed);
    atomic_store_explicit(&open->handle, PW_MCCL_HANDLE | call->record.torch_call.comm,
                          memory_order_relaxed);
    atomic_store_explicit(&open->op, call->record.op, memory_order_release);
}

/* Locks the calling thread's probe and shows the call; call->thread stays NULL if nothing is
 * recorded. */
static void open_call(struct call *call, const struct pw_record *record)
{
    call->thread = pw_recording_hold_open(PW_ACTIVITY_MINDSPORE);
    if (!call->thread)
        return;
    held = call->thread;
    call->record = *record;
    call->record.type = PW_REC_MCCL_CALL;
    call->record.start = pw_probe_now();
    show(call);
}

static void unlock(struct pw_thread *thread)
{
    held = NULL;
    pw_probe_unlock(thread);
}

/* `peer`: rank in the group of the root or the partner; -1: none. `bytes`: of one rank's part. */
static void begin(struct call *call, uint16_t op, int64_t peer, const struct group_info *info)
{
    *call = (struct call){.group = NULL};
    if (held)
        unlock(held);
    if (!pw_gate->on || !(pw_gate->activities & PW_ACTIVITY_MINDSPORE))
        return;
    struct group *group = call->group = group_of(info);
    const bool is_collective = pw_op_info(op)->cls == PW_CLASS_COLL;
    /* Numbered even while recording is paused, because the other ranks may record. */
    const uint32_t seq = group && is_collective ? atomic_fetch_add(&group->collectives, 1) : 0;
    if (pw_op_info(op)->level > pw_recording_level())
        return;
    struct pw_record record = {.op = op,
                               .torch_call = {.comm = group ? group->index : UINT32_MAX,
                                              .seq = seq,
                                              .peer = world_rank(group, peer)}};
    if (group && is_collective && peer == group->my_rank)
        record.flags |= PW_FLAG_ROOT;
    open_call(call, &record);
    uint64_t none = 0;
    if (call->thread && is_collective)
        atomic_compare_exchange_strong(&first_begin, &none, call->record.start);
}

/* Sets the bytes that this rank sent and received, as for the MPI function of the same name.
 * `part`: the bytes that one rank contributes or gets. */
static void set_bytes(struct call *call, int64_t part)
{
    struct pw_record *record = &call->record;
    const int64_t size = call->group ? call->group->size : 0;
    const int64_t all = size > 0 && part >= 0 && part <= INT64_MAX / size ? part * size : -1;
    const bool is_root = (record->flags & PW_FLAG_ROOT) != 0;
    int64_t sent = part, received = part;
    if (record->op == PW_OP_Allgather)
        received = all;
    else if (record->op == PW_OP_Gather)
        received = is_root ? all : 0;
    else if (record->op == PW_OP_Scatter)
        sent = is_root ? all : 0;
    else if (record->op == PW_OP_Bcast)
        *(is_root ? &received : &sent) = 0;
    else if (record->op == PW_OP_Send)
        received = 0;
    else if (record->op == PW_OP_Recv)
        sent = 0;
    record->torch_call.sent_bytes = sent;
    record->torch_call.recv_bytes = received;
}

static void end(struct call *call, size_t count, size_t size, bool is_done)
{
    struct pw_thread *thread = call->thread;
    if (!thread)
        return;
    call->record.end = pw_probe_now();
    set_bytes(call, count > INT64_MAX / size ? -1 : (int64_t)(count * size));
    if (!is_done)
        call->record.flags |= PW_FLAG_ERROR;
    if (call->group)
        group_tell(thread, call->group);
    struct pw_record *place =
        pw_ring_reserve(&thread->ring, call->record.end, pw_record_kind(&call->record));
    if (place) {
        *place = call->record;
        pw_probe_commit(thread);
    }
    unlock(thread);
}

/* ---- init() ---- */

/* mindspore.communication.init() waits in Initialize() for all workers of the job, if msrun or the
 * user gave them roles (MS_ROLE). The first call is recorded, as MPI_Init is. Without roles, it may
 * call MPI_Init itself, which is recorded then, and must not be inside a call that is. */
static void begin_init(struct call *call)
{
    static _Atomic bool has_begun;
    *call = (struct call){.group = NULL};
    if (held)
        unlock(held);
    if (!atomic_exchange(&has_begun, true) && getenv("MS_ROLE") && pw_gate->on &&
        (pw_gate->activities & PW_ACTIVITY_MINDSPORE))
        open_call(call, &(struct pw_record){.op = PW_OP_Init,
                                            .torch_call = {.comm = UINT32_MAX, .peer = -1}});
}

static void end_init(struct call *call, bool is_done)
{
    end(call, 0, 1, is_done);
    if (is_done)
        pw_probe_count_meeting();
}

#define INIT_SYMBOL "_ZN9mindspore11distributed10InitializeEv"
/* With a store of the program's own: (int64_t time-out, uint32_t, uint32_t, std::shared_ptr, const
 * std::string &). */
#define INIT_BY_STORE_SYMBOL                     \
    "_ZN9mindspore11distributed10InitializeEljj" \
    "St10shared_ptrINS0_7cluster14TCPStoreClientEERKSs"

EXPORT bool pw_mindspore_init(void) __asm__(INIT_SYMBOL);

bool pw_mindspore_init(void)
{
    bool (*real)(void) =
        (bool (*)(void))pw_scope_function(INIT_SYMBOL, __builtin_return_address(0));
    struct call call;
    begin_init(&call);
    const bool is_done = real && real();
    end_init(&call, is_done);
    return is_done;
}

EXPORT bool pw_mindspore_init_by_store(int64_t time_out, uint32_t a, uint32_t b, void *store,
                                       const void *text) __asm__(INIT_BY_STORE_SYMBOL);

bool pw_mindspore_init_by_store(int64_t time_out, uint32_t a, uint32_t b, void *store,
                                const void *text)
{
    bool (*real)(int64_t, uint32_t, uint32_t, void *, const void *) =
        (bool (*)(int64_t, uint32_t, uint32_t, void *, const void *))pw_scope_function(
            INIT_BY_STORE_SYMBOL, __builtin_return_address(0));
    struct call call;
    begin_init(&call);
    const bool is_done = real && real(time_out, a, b, store, text);
    end_init(&call, is_done);
    return is_done;
}

/* ---- the phase of computing that averaging gradients waits for ---- */

static void watch(void)
{
    atomic_store(&first_begin, 0);
}

static void split(const char *name)
{
    const uint64_t begin = atomic_load(&first_begin);
    if (!begin || !pw_gate->on)
        return;
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_ANNOTATIONS);
    if (!thread)
        return;
    struct pw_open_range *phase = &thread->ring.shared->phase;
    if (phase->start && phase->start < begin) {
        struct pw_open_range before = *phase;
        before.name = pw_range_name(pw_probe_intern(thread, name), 0, PW_KIND_PHASE);
        phase->start = begin;
        pw_range_record(thread, &before, begin, 0);
    }
    pw_probe_unlock(thread);
}

/* For the module profwrap (python/profwrap/_mindspore.py). MindSpore computes in other threads:
 * a call that averages gradients first waits until they are computed. */
struct profwrap_mccl {
    size_t size;
    void (*watch)(void); /* such a call begins */
    /* It ends. If an operation of a group has begun meanwhile, the calling thread's open phase
     * begins with that operation; until then it was the phase `name`. */
    void (*split)(const char *name);
};

EXPORT extern const struct profwrap_mccl profwrap_mccl_v1;
const struct profwrap_mccl profwrap_mccl_v1 = {
    .size = sizeof(struct profwrap_mccl),
    .watch = watch,
    .split = split,
};

/* ---- the functions ---- */

#define SYMBOL(name, code, arguments)                                          \
    "_ZN9mindspore2fl6server17CollectiveOpsImpl" name "I" code "EEb" arguments \
    "RKSt10shared_ptrINS_2ps4core12AbstractNodeEERKNS1_22CommunicationGroupInfoE"

#define PARAMETERS_REDUCE void *object, const void *in, void *out, size_t count, int how,
#define PARAMETERS_GATHER void *object, const void *in, void *out, size_t count,
#define PARAMETERS_ROOTED void *object, const void *in, void *out, size_t count, uint32_t peer,
#define PARAMETERS_SEND void *object, const void *in, size_t count, uint32_t peer,
#define PARAMETERS_RECV void *object, void *out, size_t count, uint32_t peer,
#define ARGUMENTS_REDUCE object, in, out, count, how,
#define ARGUMENTS_GATHER object, in, out, count,
#define ARGUMENTS_ROOTED object, in, out, count, peer,
#define ARGUMENTS_SEND object, in, count, peer,
#define ARGUMENTS_RECV object, out, count, peer,
#define PEER_REDUCE -1
#define PEER_GATHER -1
#define PEER_ROOTED peer
#define PEER_SEND peer
#define PEER_RECV peer

#define WRAP(id, bytes, operation, shape, symbol)                                  \
    EXPORT bool id(PARAMETERS_##shape const void *node,                            \
                   const struct group_info *info) __asm__(symbol);                 \
    bool id(PARAMETERS_##shape const void *node, const struct group_info *info)    \
    {                                                                              \
        bool (*real)(PARAMETERS_##shape const void *, const struct group_info *) = \
            (bool (*)(PARAMETERS_##shape const void *, const struct group_info *)) \
                pw_scope_function(symbol, __builtin_return_address(0));            \
        struct call call;                                                          \
        begin(&call, PW_OP_##operation, PEER_##shape, info);                       \
        const bool is_done = real && real(ARGUMENTS_##shape node, info);           \
        end(&call, count, bytes, is_done);                                         \
        return is_done;                                                            \
    }

/* All possible types of elements. Each version of MindSpore has some of them for each operation. */
#define TYPES(F, id, operation, shape, name, arguments)                             \
    F(id##_int8, 1, operation, shape, SYMBOL(name, "a", arguments))                 \
    F(id##_uint8, 1, operation, shape, SYMBOL(name, "h", arguments))                \
    F(id##_int16, 2, operation, shape, SYMBOL(name, "s", arguments))                \
    F(id##_uint16, 2, operation, shape, SYMBOL(name, "t", arguments))               \
    F(id##_int32, 4, operation, shape, SYMBOL(name, "i", arguments))                \
    F(id##_uint32, 4, operation, shape, SYMBOL(name, "j", arguments))               \
    F(id##_int64, 8, operation, shape, SYMBOL(name, "l", arguments))                \
    F(id##_uint64, 8, operation, shape, SYMBOL(name, "m", arguments))               \
    F(id##_float16, 2, operation, shape, SYMBOL(name, "NS_7Float16E", arguments))   \
    F(id##_bfloat16, 2, operation, shape, SYMBOL(name, "NS_8BFloat16E", arguments)) \
    F(id##_float32, 4, operation, shape, SYMBOL(name, "f", arguments))              \
    F(id##_float64, 8, operation, shape, SYMBOL(name, "d", arguments))

#define MCCL_OP(id, operation, shape, name, arguments) \
    TYPES(WRAP, pw_mccl_##id, operation, shape, name, arguments)
#include "collectors/mindspore/mccl_ops.def"
#undef MCCL_OP
