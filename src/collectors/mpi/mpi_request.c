/* A linear hash table (Litwin, VLDB 1980): it grows by splitting one bucket per insertion, so that
 * no call of the application ever pays for a rehash. See mpi_request.h. */
#include "collectors/mpi/mpi_request.h"

#include <errno.h>
#include <stdint.h>

#include "collectors/mpi/mpi_lock.h"
#include "core/ops.h"
#include "rank/arena.h"

enum { FIRST_BUCKETS = 1024, SEGMENTS = 20, CHUNK_ENTRIES = 256 };

static struct {
    /* Segment 0 has buckets 0 .. 1023, segment s > 0 the next 1024 << (s - 1). */
    struct pw_mpi_request **segments[SEGMENTS];
    uint32_t buckets; /* in use; 0 before the first insertion */
    uint32_t count;   /* entries */
    struct pw_mpi_request *unused;
    struct pw_mpi_request *chunk; /* entries of the newest chunk that were never used */
    uint32_t chunk_left;
    _Atomic int receives;
    atomic_flag lock;
} table = {.lock = ATOMIC_FLAG_INIT};

static uint32_t hash_of(MPI_Request handle)
{
    return (uint32_t)(((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull) >> 32);
}

static struct pw_mpi_request **bucket_at(uint32_t index)
{
    if (index < FIRST_BUCKETS)
        return &table.segments[0][index];
    int segment = 32 - __builtin_clz(index / FIRST_BUCKETS);
    return &table.segments[segment][index - ((uint32_t)FIRST_BUCKETS << (segment - 1))];
}

/* Buckets past the split point are still addressed with one bit less. */
static struct pw_mpi_request **bucket_of(MPI_Request handle)
{
    uint32_t full = FIRST_BUCKETS;
    while (full < table.buckets)
        full <<= 1;
    uint32_t index = hash_of(handle) & (full - 1);
    return bucket_at(index < table.buckets ? index : index & (full / 2 - 1));
}

/* Adds bucket number `buckets` by moving to it its share of the one that held both. */
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
        table.chunk = pw_arena_take(sizeof(*entry) * CHUNK_ENTRIES);
        table.chunk_left = table.chunk ? CHUNK_ENTRIES : 0;
    }
    return table.chunk_left ? &table.chunk[--table.chunk_left] : NULL;
}

static int begin_table(void)
{
    if (table.buckets == 0) {
        table.segments[0] = pw_arena_take(sizeof(void *) * FIRST_BUCKETS);
        table.buckets = table.segments[0] ? FIRST_BUCKETS : 0;
    }
    return table.buckets != 0;
}

static int is_receive(const struct pw_mpi_request *entry)
{
    return entry->record.op == PW_OP_Irecv;
}

int pw_mpi_request_add(const struct pw_mpi_request *request)
{
    pw_mpi_lock(&table.lock);
    struct pw_mpi_request *entry = begin_table() ? take_entry() : NULL;
    if (entry) {
        struct pw_mpi_request **bucket = bucket_of(request->handle);
        *entry = *request;
        entry->next = *bucket;
        *bucket = entry;
        if (++table.count > table.buckets)
            split_one();
        if (is_receive(entry))
            atomic_fetch_add_explicit(&table.receives, 1, memory_order_relaxed);
    }
    pw_mpi_unlock(&table.lock);
    return entry ? 0 : -ENOMEM;
}

struct pw_mpi_request *pw_mpi_request_take(MPI_Request handle)
{
    if (table.buckets == 0)
        return NULL;
    pw_mpi_lock(&table.lock);
    struct pw_mpi_request **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    struct pw_mpi_request *entry = *link;
    if (entry) {
        *link = entry->next;
        table.count--;
        if (is_receive(entry))
            atomic_fetch_sub_explicit(&table.receives, 1, memory_order_relaxed);
    }
    pw_mpi_unlock(&table.lock);
    return entry;
}

void pw_mpi_request_free(struct pw_mpi_request *request)
{
    pw_mpi_lock(&table.lock);
    request->next = table.unused;
    table.unused = request;
    pw_mpi_unlock(&table.lock);
}

int pw_mpi_request_receives(void)
{
    return atomic_load_explicit(&table.receives, memory_order_relaxed) > 0;
}
