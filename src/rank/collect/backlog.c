/* A queue in chunks of memory; see backlog.h. Chunks are mapped, not from malloc(), so that freed
 * chunks go back to the kernel. */
#include "rank/collect/backlog.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "rank/journal/journal.h"

enum {
    READING = -1,     /* in place of a ring number: the entry is a clock reading */
    IDLE_LOOKS = 100, /* calls of trim without a chunk in use after which spare ones are freed */
};

/* An entry; its records follow it. */
struct entry {
    int32_t ring;
    uint32_t n;
    uint64_t ticks; /* set for a reading */
    int64_t ns;
};

struct chunk {
    struct chunk *next;
    size_t begin, end; /* of the waiting entries, in bytes[] */
    _Alignas(8) unsigned char bytes[];
};

enum { CHUNK_ROOM = PW_BACKLOG_CHUNK - sizeof(struct chunk) };
static_assert(sizeof(struct entry) + PW_JOURNAL_BATCH * sizeof(struct pw_record) <= CHUNK_ROOM,
              "a chunk holds a batch");

struct pw_backlog {
    struct pw_intake *intake;
    struct chunk *first, *last; /* in use */
    struct chunk *spare;
    size_t chunks, most_chunks; /* number of chunks, in use and spare; its limit */
    size_t used;                /* number of chunks in use */
    uint64_t waiting;
    int idle_looks;
};

struct pw_backlog *pw_backlog_create(struct pw_intake *intake, size_t most_bytes)
{
    struct pw_backlog *b = most_bytes >= PW_BACKLOG_CHUNK ? calloc(1, sizeof(*b)) : NULL;
    if (!b)
        return NULL;
    b->intake = intake;
    b->most_chunks = most_bytes / PW_BACKLOG_CHUNK;
    return b;
}

static struct chunk *take_spare(struct pw_backlog *b)
{
    struct chunk *chunk = b->spare;
    if (chunk) {
        b->spare = chunk->next;
        return chunk;
    }
    if (b->chunks == b->most_chunks)
        return NULL;
    /* MAP_POPULATE: page faults would take longer than writing the journal. */
    void *map = mmap(NULL, PW_BACKLOG_CHUNK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    b->chunks++;
    return map;
}

/* NULL when there is no room for another chunk. */
static struct chunk *append_chunk(struct pw_backlog *b)
{
    struct chunk *chunk = take_spare(b);
    if (!chunk)
        return NULL;
    chunk->next = NULL;
    chunk->begin = chunk->end = 0;
    if (b->last)
        b->last->next = chunk;
    else
        b->first = chunk;
    b->last = chunk;
    b->used++;
    return chunk;
}

static void drop_first_chunk(struct pw_backlog *b)
{
    struct chunk *chunk = b->first;
    b->first = chunk->next;
    if (!b->first)
        b->last = NULL;
    chunk->next = b->spare;
    b->spare = chunk;
    b->used--;
}

static struct entry *append(struct pw_backlog *b, int ring, uint32_t n)
{
    const size_t size = sizeof(struct entry) + n * sizeof(struct pw_record);
    struct chunk *chunk = b->last;
    if (!chunk || CHUNK_ROOM - chunk->end < size)
        chunk = append_chunk(b);
    if (!chunk)
        return NULL;
    struct entry *entry = (struct entry *)(chunk->bytes + chunk->end);
    *entry = (struct entry){.ring = ring, .n = n};
    chunk->end += size;
    b->waiting++;
    return entry;
}

/* Hands the oldest entry, which must exist, to the intake. Returns its number of records. */
static uint32_t hand_over_first(struct pw_backlog *b)
{
    struct chunk *chunk = b->first;
    const struct entry *entry = (const struct entry *)(chunk->bytes + chunk->begin);
    const uint32_t n = entry->n;
    if (entry->ring == READING)
        pw_intake_reading(b->intake, entry->ticks, entry->ns);
    else
        pw_intake_records(b->intake, entry->ring, (const struct pw_record *)(entry + 1), n);
    chunk->begin += sizeof(*entry) + n * sizeof(struct pw_record);
    b->waiting--;
    if (chunk->begin == chunk->end)
        drop_first_chunk(b);
    return n;
}

static struct entry *append_in_any_case(struct pw_backlog *b, int ring, uint32_t n)
{
    struct entry *entry = append(b, ring, n);
    while (!entry && b->waiting) {
        hand_over_first(b);
        entry = append(b, ring, n);
    }
    return entry;
}

struct pw_record *pw_backlog_add_records(struct pw_backlog *b, int ring, uint32_t n)
{
    struct entry *entry = b ? append_in_any_case(b, ring, n) : NULL;
    return entry ? (struct pw_record *)(entry + 1) : NULL;
}

int pw_backlog_add_reading(struct pw_backlog *b, uint64_t ticks, int64_t ns)
{
    struct entry *entry = b && b->waiting ? append_in_any_case(b, READING, 0) : NULL;
    if (!entry)
        return 0;
    entry->ticks = ticks;
    entry->ns = ns;
    return 1;
}

uint64_t pw_backlog_hand_over(struct pw_backlog *b)
{
    uint64_t before = b ? b->waiting : 0;
    for (uint32_t records = 0; b && b->waiting && records < PW_BACKLOG_SLICE;)
        records += hand_over_first(b);
    return before - (b ? b->waiting : 0);
}

void pw_backlog_hand_over_all(struct pw_backlog *b)
{
    while (pw_backlog_hand_over(b))
        ;
}

uint64_t pw_backlog_waiting(const struct pw_backlog *b)
{
    return b ? b->waiting : 0;
}

int64_t pw_backlog_bytes(const struct pw_backlog *b)
{
    return b ? (int64_t)b->used * PW_BACKLOG_CHUNK : 0;
}

static void free_spare(struct pw_backlog *b)
{
    while (b->spare) {
        struct chunk *chunk = b->spare;
        b->spare = chunk->next;
        b->chunks--;
        munmap(chunk, PW_BACKLOG_CHUNK);
    }
}

void pw_backlog_trim(struct pw_backlog *b)
{
    if (!b || b->used > 0 || !b->spare) {
        if (b)
            b->idle_looks = 0;
        return;
    }
    if (++b->idle_looks >= IDLE_LOOKS)
        free_spare(b);
}

void pw_backlog_destroy(struct pw_backlog *b)
{
    if (!b)
        return;
    while (b->first)
        drop_first_chunk(b);
    free_spare(b);
    free(b);
}
