/* The open ranges of a thread. All modules share one stack of ranges, so that ranges of
 * profwrap.h and of NVTX nest in one tree. The stack is in the ring's control pages, where the
 * collector can read it after the program was killed. Called by the in-app halves of annotations
 * and nvtx, between pw_probe_lock() and pw_probe_unlock(). In-app code; it takes no memory of its
 * own. */
#ifndef PW_RANK_PROBE_RANGES_H
#define PW_RANK_PROBE_RANGES_H

#include "rank/probe/intern.h"
#include "rank/probe/probe.h"

/* The key of a range. Only a call with the same key ends the range: each NVTX domain has its own
 * key, because a domain never ends the ranges of another. */
enum { PW_KEY_API = 0, PW_KEY_NVTX_FIRST = 1 };

/* The key in a stored range. */
static inline uint32_t pw_range_key(const struct pw_open_range *range)
{
    return (uint32_t)range->key & ((1 << PW_RANGE_TYPE_SHIFT) - 1);
}

/* Attributes of a range besides its name; texts are ids from pw_probe_intern(). */
struct pw_range_about {
    enum pw_kind kind;
    uint32_t domain, category, shapes, stack;
    uint32_t sequence;    /* 1 + sequence number; 0: none */
    uint8_t payload_type; /* enum pw_payload */
    int64_t payload;
};

/* ---- the words of a pw_open_range; their fields are in the record's order ---- */

static inline uint64_t pw_range_pair(uint32_t first, uint32_t second)
{
    return first | (uint64_t)second << 32;
}

static inline uint64_t pw_range_head(enum pw_record_type type, uint8_t payload_type, uint32_t stack)
{
    return (uint64_t)type | (uint64_t)payload_type << 16 | (uint64_t)stack << 32;
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields of a word are in this order");
static_assert(PW_REC_NVTX < 1 << (30 - PW_RANGE_TYPE_SHIFT), "PW_RANGE_PLAIN is above the type");

/* ---- the number of open ranges ---- */

#define PW_RANGE_IDLE ((uint64_t)1 << 32) /* adds one to the upper half of `depth` (segment.h) */

static inline uint64_t pw_range_depths(const struct pw_thread *thread)
{
    return atomic_load_explicit(&thread->ring.shared->depth, memory_order_relaxed);
}

/* Release: a reader that sees the new depth must also see the ranges. */
static inline void pw_range_set_depths(struct pw_thread *thread, uint64_t depths)
{
    atomic_store_explicit(&thread->ring.shared->depth, depths, memory_order_release);
}

/* Stores the ranges that were only counted, with start 0, like all other ranges. Returns the number
 * of open ranges. */
uint32_t pw_range_settle(struct pw_thread *thread);

/* The number of open ranges, after pw_range_settle() where needed. */
static inline uint32_t pw_range_depth(struct pw_thread *thread)
{
    const uint64_t depths = pw_range_depths(thread);
    return __builtin_expect(depths < PW_RANGE_IDLE, 1) ? (uint32_t)depths : pw_range_settle(thread);
}

/* ---- begin and end ---- */

/* Begins a range now. Returns its depth, from 0. A range of depth PW_MAX_DEPTH or more is not
 * stored; it is counted as lost when it ends. */
static inline int pw_range_begin(struct pw_thread *thread, uint32_t key, enum pw_record_type type,
                                 uint32_t name, const struct pw_range_about *about)
{
    const uint32_t depth = pw_range_depth(thread);
    if (__builtin_expect(depth < PW_MAX_DEPTH, 1)) {
        struct pw_open_range *range = &thread->ring.shared->ranges[depth];
        range->key = key;
        range->head = pw_range_head(type, about->payload_type, about->stack);
        range->name = pw_range_name(name, (int)depth, about->kind);
        range->place = pw_range_pair(about->domain, about->category);
        range->extra = pw_range_pair(about->shapes, about->sequence);
        range->allocated = thread->allocated;
        range->payload = (uint64_t)about->payload;
        range->start = pw_probe_now();
    }
    pw_range_set_depths(thread, depth + 1);
    return (int)depth;
}

/* Begins a range while recording is paused. It has start 0, so it is not recorded, even if it ends
 * after the pause. Its kind is stored, because pw_range_is_in() looks for steps. */
int pw_range_begin_paused(struct pw_thread *thread, uint32_t key, enum pw_kind kind);

/* Begins a range of kind PW_KIND_USER while recording is paused. It is only counted, so that its
 * end does not end another range. */
static inline int pw_range_begin_idle(struct pw_thread *thread, uint32_t key)
{
    if (__builtin_expect(thread->idle_key != key, 0))
        return pw_range_begin_paused(thread, key, PW_KIND_USER);
    const uint64_t depths = pw_range_depths(thread);
    pw_range_set_depths(thread, depths + PW_RANGE_IDLE);
    return (int)((uint32_t)depths + (uint32_t)(depths >> 32));
}

/* Ends the innermost range if it began while recording was paused and has this key. Returns false
 * when the innermost range is another one. */
bool pw_range_end_paused(struct pw_thread *thread, uint32_t key);

/* The same, fast when the range was only counted. */
static inline bool pw_range_end_idle(struct pw_thread *thread, uint32_t key)
{
    const uint64_t depths = pw_range_depths(thread);
    if (__builtin_expect(depths < PW_RANGE_IDLE || thread->idle_key != key, 0))
        return pw_range_end_paused(thread, key);
    pw_range_set_depths(thread, depths - PW_RANGE_IDLE);
    return true;
}

/* Fills the record *to from a range. */
static inline void pw_range_fill(const struct pw_thread *thread, const struct pw_open_range *range,
                                 uint64_t end, uint8_t flags, struct pw_record *to)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word *words = (word *)to;
    words[0] = range->start;
    words[1] = end;
    words[2] = range->head | (uint64_t)flags << 8;
    words[3] = range->name;
    words[4] = range->place;
    words[5] = range->extra;
    words[6] = thread->allocated - range->allocated;
    words[7] = range->payload;
}

/* Records a range that ends at `end` (ticks), with `flags`. Without a start it is not recorded. */
static inline void pw_range_record(struct pw_thread *thread, const struct pw_open_range *range,
                                   uint64_t end, uint8_t flags)
{
    struct pw_record *record =
        range->start ? pw_ring_reserve(&thread->ring, end, PW_LOST_RANGE) : NULL;
    if (!record)
        return;
    pw_range_fill(thread, range, end, flags, record);
    pw_probe_commit_record(thread, record);
}

/* pw_range_end() for a range that is not the innermost one, is a plain range, or is too deep to be
 * stored. */
int pw_range_end_inner(struct pw_thread *thread, uint32_t key, uint64_t end);

/* Ends the innermost range that has the key. Returns its depth; -1: there is none. */
static inline int pw_range_end(struct pw_thread *thread, uint32_t key, uint64_t end)
{
    const uint32_t depth = pw_range_depth(thread) - 1;
    struct pw_open_range *range = &thread->ring.shared->ranges[depth];
    if (__builtin_expect(depth >= PW_MAX_DEPTH || range->key != key, 0))
        return pw_range_end_inner(thread, key, end);
    /* First: if the program is killed here, the range is lost; otherwise it could appear twice. */
    pw_range_set_depths(thread, depth);
    pw_range_record(thread, range, end, 0);
    return (int)depth;
}

/* ---- the fast path ----
 *
 * For plain ranges (segment.h) on a thread that records. It makes no function call, so the compiler
 * need not save registers. All other ranges take the functions above: the slow path. */

/* Locks the calling thread's open call for the fast path. Returns NULL when the thread does not
 * record the activity, is in a call, or has a change to apply; also when the clock is not the TSC,
 * or call stacks are recorded. Unlock with pw_range_unlock(). */
static inline struct pw_open_call *pw_range_usual_call(uint32_t activity)
{
    /* The fall-through is the case without recording: a recorded range reads the clock anyway, so a
     * jump costs little there. */
    if (__builtin_expect(!(atomic_load_explicit(&pw_gate->usual, memory_order_relaxed) & activity),
                         1))
        return NULL;
    struct pw_open_call *call = pw_this_thread.call;
    uint32_t other = atomic_load_explicit(&call->op, memory_order_relaxed) |
                     atomic_load_explicit(&call->signalled, memory_order_relaxed);
    if (!call)
        __builtin_unreachable(); /* then the caller's test for NULL costs nothing */
    if (__builtin_expect(other != 0, 0))
        return NULL;
    atomic_store_explicit(&call->op, PW_CALL_PROBE, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return call;
}

static inline void pw_range_unlock(struct pw_open_call *call)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&call->op, 0, memory_order_relaxed);
}

/* pw_range_begin() on the fast path. Returns the depth; -1: the caller must take the slow path.
 * `key` is a PW_RANGE_PLAIN_KEY(), `name` a pw_range_name() of depth 0. */
static inline int pw_range_begin_usual(uint64_t key, uint64_t name)
{
    struct pw_thread *thread = &pw_this_thread;
    struct pw_ring_shared *shared = thread->ring.shared;
    const uint64_t depth = atomic_load_explicit(&shared->depth, memory_order_relaxed);
    if (__builtin_expect(depth >= PW_MAX_DEPTH, 0))
        return -1;
    struct pw_open_range *range = &shared->ranges[depth];
    __asm__("" : "+r"(range)); /* as in pw_name_find_quickly() */
    range->key = key;
    range->name = name | depth << 32;
    range->allocated = thread->allocated;
    range->start = pw_tick_read(PW_TICK_TSC);
    atomic_store_explicit(&shared->depth, depth + 1, memory_order_release);
    return (int)depth;
}

/* pw_range_end() on the fast path, for a range that pw_range_begin_usual() began with the same key.
 * Returns the depth; -1: the caller must take the slow path, for example to wake the collector. */
static inline int pw_range_end_usual(uint64_t key, enum pw_record_type type)
{
    struct pw_thread *thread = &pw_this_thread;
    struct pw_ring_shared *shared = thread->ring.shared;
    const uint64_t head = thread->ring.head;
    const uint64_t depth = atomic_load_explicit(&shared->depth, memory_order_relaxed) - 1;
    const struct pw_open_range *range = &shared->ranges[depth];
    if (__builtin_expect(depth >= PW_MAX_DEPTH || head + 1 >= thread->ring.limit, 0) ||
        __builtin_expect(range->key != key, 0))
        return -1;
    typedef uint64_t __attribute__((may_alias)) word;
    struct pw_record *record = &thread->ring.records[head & thread->ring.mask];
    word *words = (word *)record;
    const uint64_t end = pw_tick_read(PW_TICK_TSC);
    /* First: if the program is killed here, the range is lost; otherwise it could appear twice. */
    atomic_store_explicit(&shared->depth, depth, memory_order_release);
    words[0] = range->start;
    words[1] = end;
    words[2] = pw_range_head(type, PW_PAYLOAD_NONE, 0);
    words[3] = range->name;
    words[4] = key >> PW_RANGE_DOMAIN_SHIFT;
    words[5] = words[7] = 0;
    words[6] = thread->allocated - range->allocated;
    pw_ring_prefetch(record);
    thread->ring.head = head + 1;
    /* Release: as in pw_ring_commit_record(). */
    atomic_store_explicit(&shared->head, head + 1, memory_order_release);
    return (int)depth;
}

/* Whether one of the stored ranges of the thread has the kind. */
bool pw_range_is_in(const struct pw_thread *thread, enum pw_kind kind);

/* The innermost range that has the key. NULL when there is none, or more ranges are open than are
 * stored. */
struct pw_open_range *pw_range_innermost(struct pw_thread *thread, uint32_t key);

/* Ends all ranges of a thread that ends. */
void pw_range_end_all(struct pw_thread *thread);

#endif
