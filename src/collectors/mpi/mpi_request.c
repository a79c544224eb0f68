/* The table behind the front: a linear hash table (Litwin, VLDB 1980), which grows by splitting one
 * bucket per insertion, so that no call of the application ever pays for a rehash. See
 * mpi_request.h. */
#include "collectors/mpi/mpi_request.h"

#include <errno.h>
#include <stdint.h>

#include "collectors/mpi/mpi_lock.h"
#include "core/ops.h"
#include "rank/probe/arena.h"
#include "rank/probe/probe.h"

enum {
    FIRST_BUCKETS = PW_REQUEST_FIRST_BUCKETS,
    SEGMENTS = PW_REQUEST_SEGMENTS,
    CHUNK_ENTRIES = 256,
    MOST_ALIKE = 4
};

static struct {
    /* Segment 0 has buckets 0 .. 1023, segment s > 0 the next 1024 << (s - 1). */
    struct pw_mpi_request **segments[SEGMENTS];
    uint32_t buckets; /* in use; 0 before the first insertion */
    uint32_t count;   /* entries */
    struct pw_mpi_request *unused;
    struct pw_mpi_request *chunk; /* entries of the newest chunk that were never used */
    uint32_t chunk_left;
    atomic_flag lock;
} table = {.lock = ATOMIC_FLAG_INIT};

struct pw_mpi_request_counts pw_mpi_request_counts;
struct pw_mpi_request pw_mpi_request_front[PW_REQUEST_FRONT];

static uint32_t hash_of(MPI_Request handle)
{
    return (uint32_t)((PW_MPI_NUMBER(handle) * 0x9e3779b97f4a7c15ull) >> 32);
}

static struct pw_mpi_request **bucket_at(uint32_t index)
{
    if (index < FIRST_BUCKETS)
        return &table.segments[0][index];
    int segment = 32 - __builtin_clz(index / FIRST_BUCKETS);
    return &table.segments[segment][index - ((uint32_t)FIRST_BUCKETS << (segment - 1))];
}

/* Returns the bucket of a handle. Buckets that are not split yet are addressed with one bit
 * less. */
static struct pw_mpi_request **bucket_of(MPI_Request handle)
{
    uint32_t full = FIRST_BUCKETS;
    while (full < table.buckets)
        full <<= 1;
    uint32_t index = hash_of(handle) & (full - 1);
    return bucket_at(index < table.buckets ? index : index & (full / 2 - 1));
}

/* Adds bucket number `buckets`: moves its entries to it from the bucket that had them. */
static void split_one(void)
{
    uint32_t fresh = table.buckets;
    if (fresh >= (uint32_t)FIRST_BUCKETS << (SEGMENTS - 2))
        return;
    int segment = 32 - __builtin_clz(fresh / FIRST_BUCKETS);
    if (!table.segments[segment])
        table.segments[segment] =
            pw_arena_take(sizeof(void *) * ((size_t)FIRST_BUCKETS << (segment - 1)));
    if (!table.segments[segment])
        return;
    uint32_t half = (uint32_t)FIRST_BUCKETS << (segment - 1);
    struct pw_mpi_request **from = bucket_at(fresh - half), **to = bucket_at(fresh);
    table.buckets++;
    while (*from) {
        struct pw_mpi_request *entry = *from;
        if ((hash_of(entry->handle) & (2 * half - 1)) == fresh) {
            *from = entry->next;
            entry->next = *to;
            *to = entry;
        } else {
            from = &entry->next;
        }
    }
}

static struct pw_mpi_request *take_entry(void)
{
    struct pw_mpi_request *entry = table.unused;
    if (entry) {
        table.unused = entry->next;
        return entry;
    }
    if (table.chunk_left == 0) {
        /* A chunk of this size is a mapping of its own, so the entries are aligned. */
        table.chunk = pw_arena_take(sizeof(*entry) * CHUNK_ENTRIES);
        table.chunk_left = table.chunk ? CHUNK_ENTRIES : 0;
    }
    return table.chunk_left ? &table.chunk[--table.chunk_left] : NULL;
}

/* A collector that reads the bucket at the same time sees by the state that the chain leads on to
 * the unused ones. */
static void put_back(struct pw_mpi_request *entry)
{
    entry->state = PW_REQUEST_UNUSED;
    /* The state is there before the link. */
    __atomic_store_n(&entry->next, table.unused, __ATOMIC_RELEASE);
    table.unused = entry;
}

static int begin_table(void)
{
    if (table.buckets == 0) {
        table.segments[0] = pw_arena_take(sizeof(void *) * FIRST_BUCKETS);
        table.buckets = table.segments[0] ? FIRST_BUCKETS : 0;
    }
    return table.buckets != 0;
}

/* Updates the two counters; `by` is 1 or -1. */
static void count_entry(const struct pw_mpi_request *entry, int by)
{
    if (pw_mpi_request_needs_status(entry->state))
        pw_mpi_request_count(&pw_mpi_request_counts.receives, by);
    if (entry->state & PW_REQUEST_PERSISTENT)
        pw_mpi_request_count(&pw_mpi_request_counts.persistents, by);
}

static struct pw_mpi_request *unlink_entry(struct pw_mpi_request **link)
{
    struct pw_mpi_request *entry = *link;
    *link = entry->next;
    table.count--;
    return entry;
}

/* Removes and returns the newest entry of the handle that began before `before`: see
 * pw_mpi_request_take(). */
static struct pw_mpi_request *take_hashed(MPI_Request handle, uint64_t before)
{
    if (table.buckets == 0)
        return NULL;
    struct pw_mpi_request **link = bucket_of(handle);
    while (*link && ((*link)->handle != handle || (*link)->record.end > before))
        link = &(*link)->next;
    return *link ? unlink_entry(link) : NULL;
}

/* Removes old entries of a handle that is used again. Only a few threads can be between the
 * completion of an operation and its removal, so older entries are of operations whose end was not
 * seen. */
static void drop_stale(MPI_Request handle)
{
    int alike = 0;
    for (struct pw_mpi_request **link = bucket_of(handle); *link; link = &(*link)->next)
        if ((*link)->handle == handle && ++alike == MOST_ALIKE) {
            struct pw_mpi_request *stale = unlink_entry(link);
            count_entry(stale, -1);
            put_back(stale);
            return;
        }
}

static void enter_hashed(struct pw_mpi_request *entry)
{
    drop_stale(entry->handle);
    struct pw_mpi_request **bucket = bucket_of(entry->handle);
    entry->next = *bucket;
    *bucket = entry;
    if (++table.count > table.buckets)
        split_one();
}

/* Removes an entry of the front whose handle is used again: the end of its operation was not
 * seen. */
static void drop_row(MPI_Request handle)
{
    struct pw_mpi_request *row = pw_mpi_request_row(handle);
    if (!(row->state & PW_REQUEST_OPEN) || row->handle != handle)
        return;
    count_entry(row, -1);
    row->state = 0;
}

struct pw_mpi_request *pw_mpi_request_add_slow(MPI_Request handle, enum pw_op_class cls,
                                               int persistent)
{
    pw_mpi_lock(&table.lock);
    drop_row(handle);
    struct pw_mpi_request *entry = begin_table() ? take_entry() : NULL;
    if (entry) {
        entry->handle = handle;
        entry->state = pw_mpi_request_state(cls, persistent);
        entry->record.end = UINT64_MAX; /* no call refers to it before the caller fills it */
        entry->id = pw_mpi_request_next_id();
        enter_hashed(entry);
        count_entry(entry, 1);
    }
    pw_mpi_unlock(&table.lock);
    return entry;
}

int pw_mpi_request_move_back(struct pw_mpi_request *row)
{
    int is_open = (row->state & PW_REQUEST_OPEN) != 0;
    pw_mpi_lock(&table.lock);
    struct pw_mpi_request *entry = is_open && begin_table() ? take_entry() : NULL;
    if (entry) {
        *entry = *row;
        entry->state &= ~(uint32_t)(PW_REQUEST_OPEN | PW_REQUEST_HELD);
        enter_hashed(entry);
        row->state = 0;
    }
    pw_mpi_unlock(&table.lock);
    return entry != NULL;
}

void pw_mpi_request_show_places(void)
{
    if (!pw_probe_home.segment)
        return;
    struct pw_request_places *places = &pw_probe_home.segment->requests;
    atomic_store(&places->handle_bytes, sizeof(MPI_Request));
    atomic_store(&places->handle_at, offsetof(struct pw_mpi_request, handle));
    atomic_store(&places->next_at, offsetof(struct pw_mpi_request, next));
    atomic_store(&places->state_at, offsetof(struct pw_mpi_request, state));
    atomic_store(&places->segments, (uintptr_t)table.segments);
    atomic_store(&places->buckets, (uintptr_t)&table.buckets);
    atomic_store(&places->front, (uintptr_t)pw_mpi_request_front);
}

int pw_mpi_request_count_open(void)
{
    int open = 0;
    pw_mpi_lock(&table.lock);
    for (int i = 0; i < PW_REQUEST_FRONT; i++)
        open += (pw_mpi_request_front[i].state & PW_REQUEST_OPEN) != 0;
    open += (int)table.count - atomic_load(&pw_mpi_request_counts.persistents);
    pw_mpi_unlock(&table.lock);
    return open;
}

uint32_t pw_mpi_request_id(void)
{
    pw_mpi_lock(&table.lock);
    uint32_t id = pw_mpi_request_next_id();
    pw_mpi_unlock(&table.lock);
    return id;
}

struct pw_mpi_request *pw_mpi_request_take_slow(MPI_Request handle, uint64_t before)
{
    pw_mpi_lock(&table.lock);
    struct pw_mpi_request *entry = take_hashed(handle, before);
    if (entry)
        count_entry(entry, -1);
    pw_mpi_unlock(&table.lock);
    return entry;
}

void pw_mpi_request_free_slow(struct pw_mpi_request *request)
{
    pw_mpi_lock(&table.lock);
    put_back(request);
    pw_mpi_unlock(&table.lock);
}

struct pw_mpi_request *pw_mpi_request_find(MPI_Request handle)
{
    if (!pw_mpi_request_persistents())
        return NULL;
    pw_mpi_lock(&table.lock);
    struct pw_mpi_request *entry = *bucket_of(handle);
    while (entry && entry->handle != handle)
        entry = entry->next;
    pw_mpi_unlock(&table.lock);
    return entry && (entry->state & PW_REQUEST_PERSISTENT) ? entry : NULL;
}
