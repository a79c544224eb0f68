/* Wrappers of the functions of c10d::ProcessGroupGloo, the process group of torch.distributed on
 * CPUs, and of the functions that wait for its operations. In-app code. The wrappers are called
 * because PyTorch refers to these functions by symbol, also in its virtual tables, and the loader
 * finds the preloaded probe's symbols first. So every operation is seen, whether it is begun by
 * Python, by DistributedDataParallel's reducer or by a functional collective.
 *
 * No header of PyTorch is needed. Arguments are passed on without being read, except vectors of
 * tensors, and, in a tensor, two fields whose offsets profwrap's Python module has passed
 * (profwrap_torch_v1).
 *
 * An operation has three records: the call (PW_REC_TORCH_CALL), its end (_DONE), and the program's
 * wait for it (_WAIT). They have the same number, which is assigned when PyTorch queues the
 * operation; torch_tool.c joins them.
 *
 * Exceptions of C++ pass through; see __gcc_personality_v0() below. Only for x86-64: on other
 * processors the address at which a function returns an object is in a register that C cannot pass
 * on. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "core/ops.h"
#include "rank/probe/arena.h"
#include "rank/probe/attach.h"
#include "rank/probe/probe.h"
#include "rank/probe/recording.h"
#include "rank/probe/scope.h"

/* The process groups of torch.distributed that run on Gloo: the members of each group, and the
 * number of collectives that it has begun.
 *
 * Owns the table of groups. Its key is the address of PyTorch's group object; a new object at the
 * same address replaces the entry. A group's uid is a hash of its name, its members and how often
 * this pair was made before: PyTorch requires that all members create groups in the same order, so
 * all compute the same uid. */

struct pw_torch_group {
    const void *_Atomic object; /* PyTorch's group object; NULL: free entry */
    uint32_t index;             /* number of the group in records */
    int32_t size, my_rank;
    uint64_t uid;
    const int32_t *world;         /* [size] world rank of each member; NULL: not known */
    _Atomic uint32_t collectives; /* collectives begun so far */
};

enum { GROUPS = 1 << 10 };

static struct pw_torch_group groups[GROUPS];
static _Atomic uint32_t made; /* number of indexes in use */

static _Thread_local struct {
    int32_t *world;
    int size;
    char name[32]; /* PyTorch's names are short: "0", "default_pg", a hash */
} announced __attribute__((tls_model("initial-exec")));

/* How often a (name, members) pair was made. */
static struct {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t count;
} seen[GROUPS];

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static uint32_t occurrence(uint64_t key)
{
    key |= 1;
    for (uint32_t i = 0; i < GROUPS; i++) {
        const uint32_t at = (uint32_t)((key + i) % GROUPS);
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&seen[at].key, &there, key) || there == key)
            return atomic_fetch_add(&seen[at].count, 1);
    }
    return 0;
}

static uint64_t make_uid(const char *name, const int32_t *world, int size)
{
    enum { SALT = 0x676c6f6f };
    uint64_t key = mix(SALT, (uint64_t)size);
    for (const char *c = name; *c; c++)
        key = mix(key, (unsigned char)*c);
    for (int i = 0; i < size && world; i++)
        key = mix(key, (uint64_t)(uint32_t)world[i]);
    return mix(key, occurrence(key));
}

/* Announces the name and the members (`size` world ranks) of the next group that the calling thread
 * creates. Both are copied. */
static void torch_group_announce(const char *name, const int32_t *world, int size)
{
    enum { MOST = 1 << 24 };
    if (!pw_gate->on)
        return;
    const size_t bytes = sizeof(*world) * (size_t)(size > 0 ? size : 0);
    announced.world = size > 0 && size <= MOST && world ? pw_arena_take(bytes) : NULL;
    announced.size = announced.world ? size : 0;
    if (announced.world)
        memcpy(announced.world, world, bytes);
    strncpy(announced.name, name ? name : "", sizeof(announced.name) - 1);
}

/* ---- records ---- */

static void record_group(struct pw_thread *thread, const struct pw_torch_group *group,
                         const char *name)
{
    const uint32_t id = name[0] ? pw_probe_intern(thread, name) : 0;
    const uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_TORCH_GROUP, .start = now, .end = now};
    record->def.uid = group->uid;
    record->def.comm = group->index;
    record->def.size = group->size;
    record->def.my_rank = group->my_rank;
    record->def.name = id;
    pw_probe_commit(thread);
    pw_members_record(thread, PW_REC_TORCH_MEMBERS, group->index, group->world, group->size);
}

/* ---- the table ---- */

static struct pw_torch_group *place_of(const void *object, bool is_new)
{
    const uintptr_t at = (uintptr_t)object >> 4;
    for (uintptr_t i = 0; object && i < GROUPS; i++) {
        struct pw_torch_group *group = &groups[(at + i) % GROUPS];
        const void *there = atomic_load_explicit(&group->object, memory_order_acquire);
        if (there == object || (!there && is_new))
            return group;
        if (!there)
            break;
    }
    return NULL;
}

/* Whether a group has as many members as the job has ranks, which every launcher of PyTorch sets.
 */
static bool is_whole_job(int size)
{
    const char *text = getenv("WORLD_SIZE");
    return text && strtol(text, NULL, 10) == size;
}

/* Returns all ranks of the job when the group has as many members; else NULL. */
static const int32_t *whole_job(int size)
{
    if (!is_whole_job(size))
        return NULL;
    int32_t *world = pw_arena_take(sizeof(*world) * (size_t)size);
    for (int i = 0; world && i < size; i++)
        world[i] = i;
    return world;
}

/* The program created a group of `size` members, in which this rank is `my_rank`; `object` is its
 * address. If this thread has announced a group of the same size, the name and the members are
 * those announced. Otherwise the members are all ranks of the job if the job has `size` ranks, and
 * unknown if not. */
static void torch_group_made(struct pw_thread *thread, const void *object, int my_rank, int size)
{
    static atomic_flag lock = ATOMIC_FLAG_INIT;
    const bool is_announced = announced.world && announced.size == size;
    const int32_t *world = is_announced ? announced.world : size > 0 ? whole_job(size) : NULL;
    const char *name = is_announced ? announced.name : "";
    announced.world = NULL;
    /* When two threads create groups at the same time, which PyTorch forbids, one group is not
     * stored. */
    if (atomic_flag_test_and_set(&lock))
        return;
    struct pw_torch_group *group = place_of(object, true);
    if (group) {
        group->index = atomic_fetch_add(&made, 1);
        group->size = size;
        group->my_rank = my_rank;
        group->world = world;
        group->uid = make_uid(name, world, size);
        atomic_store(&group->collectives, 0);
        atomic_store_explicit(&group->object, object, memory_order_release);
        record_group(thread, group, name);
    }
    atomic_flag_clear(&lock);
}

/* The group at `object`; NULL: it was created before the probe was loaded, or there are too many
 * groups. */
static struct pw_torch_group *torch_group_find(const void *object)
{
    return place_of(object, false);
}

/* The world rank of a rank of the group; -1: not known. */
static int32_t torch_group_world(const struct pw_torch_group *group, int64_t rank)
{
    return group->world && rank >= 0 && rank < group->size ? group->world[rank] : -1;
}

#define EXPORT __attribute__((visibility("default")))

/* ---- values from the Python module ---- */

enum { TYPES = 64 };

/* Offsets of the number of elements and of the data type in a tensor's object; 0: not known, and
 * sizes are not recorded. */
static struct {
    _Atomic int numel, type;
    uint8_t bytes[TYPES]; /* bytes of an element, by the type's number */
} layout;

/* Sets the layout. `numel` and `type` are offsets in bytes; `bytes` has the bytes of an element for
 * each of `n` types. */
static void tell_layout(int numel, int type, const unsigned char *bytes, int n)
{
    memcpy(layout.bytes, bytes, (size_t)(n < 0 ? 0 : n > TYPES ? TYPES : n));
    atomic_store_explicit(&layout.type, type, memory_order_release);
    atomic_store_explicit(&layout.numel, numel, memory_order_release);
}

struct profwrap_torch {
    size_t size;
    void (*layout)(int numel, int type, const unsigned char *bytes, int n);
    void (*group)(const char *name, const int32_t *world, int size);
};

EXPORT extern const struct profwrap_torch profwrap_torch_v1;
const struct profwrap_torch profwrap_torch_v1 = {
    .size = sizeof(struct profwrap_torch),
    .layout = tell_layout,
    .group = torch_group_announce,
};

#ifdef __x86_64__

/* ---- sizes ---- */

/* The layout of std::vector. */
struct vector {
    const char *begin, *end;
};

static int64_t tensor_bytes(const void *tensor)
{
    const int numel = atomic_load_explicit(&layout.numel, memory_order_acquire);
    const char *object = *(const char *const *)tensor;
    int64_t count;
    uint16_t type;
    if (!numel || !object)
        return -1;
    memcpy(&count, object + numel, sizeof(count));
    memcpy(&type, object + atomic_load_explicit(&layout.type, memory_order_relaxed), sizeof(type));
    return count < 0 || type >= TYPES ? -1 : count * layout.bytes[type];
}

static int64_t vector_bytes(const void *vector)
{
    const struct vector *v = vector;
    int64_t all = 0;
    for (const char *t = v->begin; t < v->end; t += sizeof(void *)) {
        const int64_t bytes = tensor_bytes(t);
        if (bytes < 0)
            return -1;
        all += bytes;
    }
    return all;
}

static int64_t list_bytes(const void *vectors)
{
    enum { VECTOR = 3 * sizeof(void *) };
    const struct vector *v = vectors;
    int64_t all = 0;
    for (const char *one = v->begin; one < v->end; one += VECTOR) {
        const int64_t bytes = vector_bytes(one);
        if (bytes < 0)
            return -1;
        all += bytes;
    }
    return all;
}

/* ---- writing ---- */

static void write(const struct pw_record *record)
{
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_TORCH);
    if (!thread)
        return;
    struct pw_record *place = pw_ring_reserve(&thread->ring, record->end, pw_record_kind(record));
    if (place) {
        *place = *record;
        pw_probe_commit(thread);
    }
    pw_probe_unlock(thread);
}

/* ---- numbers of operations ---- */

/* Operations that have not ended, by the address of PyTorch's object. A place keeps its address
 * after the end, because a later operation often has the same address. */
enum { WORKS = 1 << 13, LOOKS = 64 };

#define ALL_WORKS UINT64_MAX

static struct pw_torch_work {
    const void *_Atomic work; /* NULL: free */
    _Atomic uint64_t id;      /* number of the operation; 0: it has ended */
    /* What a thread that waits for the operation shows in its open call. */
    _Atomic uint32_t op, comm, seq;
    _Atomic int32_t peer;
} works[WORKS];

static struct pw_torch_work *wrap_place_of(const void *work, bool is_new)
{
    const uintptr_t at = (uintptr_t)work >> 5;
    for (uintptr_t i = 0; work && i < LOOKS; i++) {
        const void *there =
            atomic_load_explicit(&works[(at + i) % WORKS].work, memory_order_acquire);
        if (!there && is_new &&
            atomic_compare_exchange_strong(&works[(at + i) % WORKS].work, &there, work))
            there = work;
        if (there == work)
            return &works[(at + i) % WORKS];
        if (!there)
            break;
    }
    return NULL;
}

/* Returns the number of an operation that begins, from 1; 0: the table is full, so its end will not
 * be known. */
static uint64_t add_work(const void *work, const struct pw_record *call)
{
    static _Atomic uint64_t count;
    struct pw_torch_work *place = wrap_place_of(work, true);
    const uint64_t id = place ? atomic_fetch_add(&count, 1) + 1 : 0;
    if (place) {
        atomic_store_explicit(&place->op, call->op, memory_order_relaxed);
        atomic_store_explicit(&place->comm, call->torch_call.comm, memory_order_relaxed);
        atomic_store_explicit(&place->seq, call->torch_call.seq, memory_order_relaxed);
        atomic_store_explicit(&place->peer, call->torch_call.peer, memory_order_relaxed);
        atomic_store_explicit(&place->id, id, memory_order_release);
    }
    return id;
}

static uint64_t end_work(const void *work)
{
    struct pw_torch_work *place = wrap_place_of(work, false);
    return place ? atomic_exchange(&place->id, 0) : 0;
}

/* ---- wrappers that a thread is in ---- */

/* A wrapper that the thread is in. Calls that PyTorch makes inside it are not recorded. */
struct scope {
    struct scope *outer;
    struct pw_thread *shown; /* the thread whose open call shows this wait; else NULL */
};

static _Thread_local struct scope *innermost __attribute__((tls_model("initial-exec")));

/* Returns false when the thread is inside another wrapper, or nothing is recorded. */
static bool enter(struct scope *scope)
{
    const bool is_outermost = innermost == NULL;
    *scope = (struct scope){.outer = innermost};
    innermost = scope;
    return is_outermost && pw_gate->on;
}

static const struct scope *outermost(void)
{
    const struct scope *scope = innermost;
    while (scope && scope->outer)
        scope = scope->outer;
    return scope;
}

static void leave(const struct scope *scope)
{
    innermost = scope->outer;
    if (scope->shown)
        pw_probe_unlock(scope->shown);
}

/* The unwinder calls this for each frame of this file that has a cleanup, when an exception (or the
 * end of the thread) passes through: the thread leaves that wrapper. The cleanup itself does not
 * run, and no record is written. libgcc's function of this name, which the compiler refers to, must
 * not be used: the probe's copy of libgcc is not the one that unwinds, and its tables are not set
 * up. */
_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions,
                                         _Unwind_Exception_Class kind,
                                         struct _Unwind_Exception *exception,
                                         struct _Unwind_Context *context);

_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions,
                                         _Unwind_Exception_Class kind,
                                         struct _Unwind_Exception *exception,
                                         struct _Unwind_Context *context)
{
    (void)version, (void)kind, (void)exception, (void)context;
    if ((actions & _UA_CLEANUP_PHASE) && innermost)
        leave(innermost);
    return _URC_CONTINUE_UNWIND;
}

/* ---- operations ---- */

struct operation {
    struct scope scope;
    struct pw_record record;
    void *const *work; /* where PyTorch returns its object */
    bool is_outermost, has_returned;
};

/* The outermost operation that the thread is in. It may be stale after an exception, so it is
 * checked against `innermost`. */
static _Thread_local struct operation *current __attribute__((tls_model("initial-exec")));

static void begin(struct operation *op, uint16_t number, void *const *work)
{
    *op = (struct operation){.work = work};
    op->is_outermost = enter(&op->scope);
    if (!op->is_outermost)
        return;
    current = op;
    op->record = (struct pw_record){
        .type = PW_REC_TORCH_CALL,
        .op = number,
        .start = pw_probe_now(),
        .torch_call = {.comm = UINT32_MAX, .peer = -1, .sent_bytes = 0, .recv_bytes = 0}};
}

/* Assigns the sequence number. Also called while recording is paused, because other ranks may
 * record. */
static void name_group(struct operation *op, const void *object)
{
    struct pw_torch_group *group = op->is_outermost ? torch_group_find(object) : NULL;
    if (!group)
        return;
    op->record.torch_call.comm = group->index;
    if (pw_op_info(op->record.op)->cls == PW_CLASS_COLL)
        op->record.torch_call.seq = atomic_fetch_add(&group->collectives, 1);
}

/* Sets the peer; `rank` is a rank of the group, -1: not known. */
static void name_peer(struct operation *op, const void *object, int64_t rank)
{
    const struct pw_torch_group *group = op->is_outermost ? torch_group_find(object) : NULL;
    if (!group)
        return;
    op->record.torch_call.peer = torch_group_world(group, rank);
    if (pw_op_info(op->record.op)->cls == PW_CLASS_COLL && rank == group->my_rank)
        op->record.flags |= PW_FLAG_ROOT;
}

static void end(struct operation *op)
{
    leave(&op->scope);
    if (!op->is_outermost || !op->has_returned || op->record.torch_call.comm == UINT32_MAX)
        return;
    if (pw_op_info(op->record.op)->level > pw_recording_level())
        return;
    op->record.end = pw_probe_now();
    if (!op->record.torch_call.id) /* messages are not queued, so they get their number here */
        op->record.torch_call.id = add_work(*op->work, &op->record);
    write(&op->record);
}

/* Arguments count from 1, after the object. The fifth and sixth argument, if they exist, are on the
 * caller's stack; they are always passed on. */
typedef void *function(void *, void *, void *, void *, void *, void *, void *, void *);

#define BYTES_NO 0
#define BYTES_T1 tensor_bytes(a1)
#define BYTES_T2 tensor_bytes(a2)
#define BYTES_V1 vector_bytes(a1)
#define BYTES_V2 vector_bytes(a2)
#define BYTES_W1 list_bytes(a1)
#define BYTES_W2 list_bytes(a2)
#define PEER_NONE
#define PEER_ROOT_2 name_peer(&op, object, *(const int64_t *)a2);
#define PEER_ROOT_3 name_peer(&op, object, *(const int64_t *)a3);
#define PEER_PEER_2                            \
    name_peer(&op, object, (int)(intptr_t)a2); \
    op.record.torch_call.tag = (int)(intptr_t)a3;
#define PEER_ANY_2 op.record.torch_call.tag = (int)(intptr_t)a2;

#define GLOO_OP(name, number, sends, receives, root, symbol)                                 \
    EXPORT void *pw_gloo_##name(void *result, void *object, void *a1, void *a2, void *a3,    \
                                void *a4, void *a5, void *a6) __asm__(symbol);               \
    void *pw_gloo_##name(void *result, void *object, void *a1, void *a2, void *a3, void *a4, \
                         void *a5, void *a6)                                                 \
    {                                                                                        \
        __attribute__((cleanup(end))) struct operation op;                                   \
        function *real = (function *)pw_scope_function(symbol, __builtin_return_address(0)); \
        begin(&op, PW_OP_##number, result);                                                  \
        name_group(&op, object);                                                             \
        PEER_##root if (op.is_outermost)                                                     \
        {                                                                                    \
            op.record.torch_call.sent_bytes = BYTES_##sends;                                 \
            op.record.torch_call.recv_bytes = BYTES_##receives;                              \
        }                                                                                    \
        void *answer = real ? real(result, object, a1, a2, a3, a4, a5, a6) : result;         \
        op.has_returned = real != NULL;                                                      \
        return answer;                                                                       \
    }
#include "collectors/torch/torch_ops.def"
#undef GLOO_OP

/* ---- groups ---- */

#define GROUP_SYMBOL(c)                                                                         \
    "_ZN4c10d16ProcessGroupGlooC" c "ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_" \
    "target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE"

static void see_group(const void *object, int my_rank, int size)
{
    if (!(pw_gate->activities & PW_ACTIVITY_TORCH))
        return;
    struct pw_thread *thread = pw_recording_hold(pw_probe_thread());
    if (!thread)
        return;
    torch_group_made(thread, object, my_rank, size);
    pw_probe_unlock(thread);
}

/* A constructor that waits for other ranks: that of a group, or the connection to a store. */
struct meeting {
    struct scope scope;
    uint64_t start;
    uint32_t op;
    bool is_recorded;
};

/* Shows in the thread's open call that it creates a group (PW_OP_Init, PW_OP_Comm_create) or
 * connects to a store (PW_OP_Init_thread): the constructor waits for those that have not come. The
 * first group of all ranks is where the ranks of a job meet first, as those of MPI do in MPI_Init:
 * it is recorded, and so are the connections to stores before it. */
static void begin_meeting(struct meeting *m, uint32_t op)
{
    static _Atomic bool has_met;
    *m = (struct meeting){.start = pw_probe_now(), .op = op};
    const bool is_outermost = enter(&m->scope);
    const bool is_before = op == PW_OP_Init ? !atomic_exchange(&has_met, true)
                                            : op == PW_OP_Init_thread && !atomic_load(&has_met);
    m->is_recorded = is_outermost && is_before;
    struct pw_thread *thread = is_outermost ? pw_recording_hold_open(PW_ACTIVITY_TORCH) : NULL;
    if (!thread)
        return;
    struct pw_open_call *open = thread->call;
    atomic_store_explicit(&open->start, m->start, memory_order_relaxed);
    atomic_store_explicit(&open->handle, PW_TORCH_HANDLE, memory_order_relaxed);
    atomic_store_explicit(&open->awaited, PW_OP_None, memory_order_relaxed);
    atomic_store_explicit(&open->op, op, memory_order_release);
    m->scope.shown = thread;
}

static void leave_meeting(const struct meeting *m)
{
    leave(&m->scope);
}

static void record_meeting(const struct meeting *m)
{
    if (!m->is_recorded)
        return;
    write(&(struct pw_record){
        .type = PW_REC_TORCH_CALL,
        .op = (uint16_t)m->op,
        .start = m->start,
        .end = pw_probe_now(),
        .torch_call = {.comm = UINT32_MAX, .peer = -1, .sent_bytes = 0, .recv_bytes = 0}});
}

#define GROUP(name, symbol)                                                               \
    EXPORT void name(void *object, void *store, int my_rank, int size,                    \
                     void *options) __asm__(symbol);                                      \
    void name(void *object, void *store, int my_rank, int size, void *options)            \
    {                                                                                     \
        void (*real)(void *, void *, int, int, void *) =                                  \
            (void (*)(void *, void *, int, int, void *))pw_scope_function(                \
                symbol, __builtin_return_address(0));                                     \
        if (!real)                                                                        \
            return;                                                                       \
        struct meeting met;                                                               \
        {                                                                                 \
            __attribute__((cleanup(leave_meeting))) struct meeting meeting;               \
            begin_meeting(&meeting, is_whole_job(size) ? PW_OP_Init : PW_OP_Comm_create); \
            real(object, store, my_rank, size, options);                                  \
            met = meeting;                                                                \
        }                                                                                 \
        record_meeting(&met);                                                             \
        see_group(object, my_rank, size);                                                 \
    }
GROUP(pw_gloo_group_1, GROUP_SYMBOL("1"))
GROUP(pw_gloo_group_2, GROUP_SYMBOL("2"))

/* init_process_group first connects to the store of the job, unless torchrun provides it. The rank
 * that has the store waits there for all others, and they wait for it. `host` is an std::string. */
#define STORE_SYMBOL(c)                                                                           \
    "_ZN4c10d8TCPStoreC" c "ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_15TCPStore" \
    "OptionsE"

#define STORE(name, symbol)                                                                       \
    EXPORT void name(void *object, void *host, const void *options) __asm__(symbol);              \
    void name(void *object, void *host, const void *options)                                      \
    {                                                                                             \
        void (*real)(void *, void *, const void *) = (void (*)(                                   \
            void *, void *, const void *))pw_scope_function(symbol, __builtin_return_address(0)); \
        if (!real)                                                                                \
            return;                                                                               \
        struct meeting met;                                                                       \
        {                                                                                         \
            __attribute__((cleanup(leave_meeting))) struct meeting meeting;                       \
            begin_meeting(&meeting, PW_OP_Init_thread);                                           \
            real(object, host, options);                                                          \
            met = meeting;                                                                        \
        }                                                                                         \
        record_meeting(&met);                                                                     \
        pw_probe_count_meeting();                                                                 \
    }
STORE(pw_torch_store_1, STORE_SYMBOL("1"))
STORE(pw_torch_store_2, STORE_SYMBOL("2"))

/* ---- begin and end of an operation ---- */

#define ENQUEUE_SYMBOL                                                                     \
    "_ZN4c10d16ProcessGroupGloo7enqueueEN3c1013intrusive_ptrINS0_9AsyncWorkENS1_6detail34" \
    "intrusive_target_default_null_typeIS3_EEEE"

EXPORT void pw_gloo_enqueue(void *group, void *const *work) __asm__(ENQUEUE_SYMBOL);

/* Called before the operation is passed to its thread, because it can end before the real function
 * returns. */
void pw_gloo_enqueue(void *group, void *const *work)
{
    void (*real)(void *, void *const *) = (void (*)(void *, void *const *))pw_scope_function(
        ENQUEUE_SYMBOL, __builtin_return_address(0));
    if (current && outermost() == &current->scope)
        current->record.torch_call.id = add_work(*work, &current->record);
    if (real)
        real(group, work);
}

#define EXECUTE_SYMBOL(how)                             \
    "_ZN4c10d16ProcessGroupGloo9AsyncWork7executeE" how \
    "N3c1013intrusive_ptrIS1_NS2_6detail34intrusive_target_default_null_typeIS1_EEEE"
#define FINISH_SYMBOL "_ZN4c10d16ProcessGroupGloo9AsyncWork14finishWorkGlooEv"

/* Time at which the thread began the operation that it executes. */
static _Thread_local uint64_t executes_since __attribute__((tls_model("initial-exec")));

/* `work`: the address of a smart pointer, whether it is passed by value or by reference. */
#define EXECUTE(name, symbol)                                                         \
    EXPORT void name(void *work) __asm__(symbol);                                     \
    void name(void *work)                                                             \
    {                                                                                 \
        void (*real)(void *) =                                                        \
            (void (*)(void *))pw_scope_function(symbol, __builtin_return_address(0)); \
        executes_since = pw_probe_now();                                              \
        if (real)                                                                     \
            real(work);                                                               \
    }
EXECUTE(pw_gloo_execute, EXECUTE_SYMBOL("RK"))
EXECUTE(pw_gloo_execute_value, EXECUTE_SYMBOL(""))

static void record_done(const void *work, uint64_t start, uint64_t now)
{
    struct pw_record record = {.type = PW_REC_TORCH_DONE, .start = start, .end = now};
    record.torch_work.id = end_work(work);
    if (record.torch_work.id)
        write(&record);
}

EXPORT void pw_gloo_finish(void *work) __asm__(FINISH_SYMBOL);

/* Records the end before it calls the real function, which wakes waiting threads and may free the
 * object. */
void pw_gloo_finish(void *work)
{
    void (*real)(void *) =
        (void (*)(void *))pw_scope_function(FINISH_SYMBOL, __builtin_return_address(0));
    const uint64_t now = pw_probe_now();
    if (pw_gate->on)
        record_done(work, executes_since ? executes_since : now, now);
    if (real)
        real(work);
}

/* ---- waiting ---- */

struct wait {
    struct scope scope;
    uint64_t start, id;
    const void *work; /* NULL: a wait for all begun operations */
    bool is_outermost, is_done;
    bool is_message; /* only this wait shows when the operation ended */
};

/* Shows in the thread's open call what it waits for, for reports when the program hangs or is
 * killed here. The thread records nothing meanwhile, because it is blocked. */
static void show_wait(struct wait *wait, const struct pw_torch_work *place)
{
    struct pw_thread *thread = pw_recording_hold_open(PW_ACTIVITY_TORCH);
    if (!thread)
        return;
    struct pw_open_call *open = thread->call;
    const uint32_t op = place ? atomic_load(&place->op) : PW_OP_None;
    atomic_store_explicit(&open->start, wait->start, memory_order_relaxed);
    atomic_store_explicit(&open->peer, place ? atomic_load(&place->peer) : -1,
                          memory_order_relaxed);
    atomic_store_explicit(&open->tag, place ? (int32_t)atomic_load(&place->seq) : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&open->handle, PW_TORCH_HANDLE | (place ? atomic_load(&place->comm) : 0),
                          memory_order_relaxed);
    atomic_store_explicit(&open->awaited, op, memory_order_relaxed);
    atomic_store_explicit(&open->op, place ? PW_OP_Wait : PW_OP_Waitall, memory_order_release);
    wait->scope.shown = thread;
}

static void begin_wait(struct wait *wait, const void *work, bool is_message)
{
    *wait = (struct wait){.work = work, .is_message = is_message};
    wait->is_outermost = enter(&wait->scope);
    if (!wait->is_outermost)
        return;
    const struct pw_torch_work *place = work ? wrap_place_of(work, false) : NULL;
    wait->id = place  ? atomic_load_explicit(&place->id, memory_order_acquire)
               : work ? 0
                      : ALL_WORKS;
    wait->start = pw_probe_now();
    if (wait->id)
        show_wait(wait, place);
}

static void end_wait(struct wait *wait)
{
    leave(&wait->scope);
    if (!wait->is_outermost || !wait->id)
        return;
    const uint64_t now = pw_probe_now();
    struct pw_record record = {.type = PW_REC_TORCH_WAIT, .start = wait->start, .end = now};
    record.torch_work.id = wait->id;
    write(&record);
    if (wait->is_message && wait->is_done)
        record_done(wait->work, now, now);
}

#define WAIT_SYMBOL(of) "_ZN4c10d" of "4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"

/* A std::chrono duration in ms is passed like an integer. */
#define WAIT(name, symbol, is_message)                                                         \
    EXPORT bool name(void *work, int64_t timeout_ms) __asm__(symbol);                          \
    bool name(void *work, int64_t timeout_ms)                                                  \
    {                                                                                          \
        __attribute__((cleanup(end_wait))) struct wait wait;                                   \
        bool (*real)(void *, int64_t) =                                                        \
            (bool (*)(void *, int64_t))pw_scope_function(symbol, __builtin_return_address(0)); \
        begin_wait(&wait, work, is_message);                                                   \
        const bool answer = real && real(work, timeout_ms);                                    \
        wait.is_done = true;                                                                   \
        return answer;                                                                         \
    }
WAIT(pw_c10d_wait, WAIT_SYMBOL("4Work"), false)
WAIT(pw_gloo_wait_send, WAIT_SYMBOL("16ProcessGroupGloo8SendWork"), true)
WAIT(pw_gloo_wait_recv, WAIT_SYMBOL("16ProcessGroupGloo8RecvWork"), true)

#define FINALIZE_SYMBOL "_ZN4c10d7Reducer17finalize_backwardEv"

EXPORT void pw_c10d_finalize_backward(void *reducer) __asm__(FINALIZE_SYMBOL);

/* DistributedDataParallel waits here for all gradients, at the end of the backward pass. */
void pw_c10d_finalize_backward(void *reducer)
{
    __attribute__((cleanup(end_wait))) struct wait wait;
    void (*real)(void *) =
        (void (*)(void *))pw_scope_function(FINALIZE_SYMBOL, __builtin_return_address(0));
    begin_wait(&wait, NULL, false);
    if (real)
        real(reducer);
    wait.is_done = true;
}

#endif
