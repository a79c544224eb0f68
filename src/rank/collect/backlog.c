/* A queue in chunks of memory; see backlog.h. Chunks are mapped, not from malloc(), so that freed
 * chunks go back to the kernel. */
#include "rank/collect/backlog.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rank/journal/losscount.h"

enum {
    READING = -1,     /* in place of a ring number: the entry is a clock reading */
    IDLE_LOOKS = 100, /* calls of trim without a chunk in use after which spare ones are freed */
};

/* An entry. It is followed by its records, or by their place if they are to be read again. */
struct entry {
    int32_t ring;
    uint32_t n;
    uint64_t ticks; /* set for a reading */
    int64_t ns;
    bool is_written_only;
};

/* Where the records of an entry are, and what is lost if they cannot be read. */
struct place {
    int64_t at; /* offset of their block in the journal */
    struct pw_losscount count;
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
    const struct pw_journal *journal;
    struct pw_journal_reader *reader; /* of the journal; NULL: it could not be opened */
    int64_t bytes;                    /* of all records that wait */
    struct chunk *first, *last;       /* in use */
    struct chunk *spare;
    size_t chunks, most_chunks; /* number of chunks, in use and spare; its limit */
    size_t used;                /* number of chunks in use */
    uint64_t waiting;
    int idle_looks;
};

struct pw_backlog *pw_backlog_create(struct pw_intake *intake, const struct pw_journal *journal,
                                     size_t most_bytes)
{
    struct pw_backlog *b = most_bytes >= PW_BACKLOG_CHUNK ? calloc(1, sizeof(*b)) : NULL;
    if (!b)
        return NULL;
    b->intake = intake;
    b->journal = journal;
    /* Now, while there is memory. If it fails, there is no reader. */
    if (pw_journal_open_own(journal, &b->reader))
        b->reader = NULL;
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

/* Appends an entry that `size` bytes follow. No more than `most_chunks` may be in use then. */
static struct entry *append(struct pw_backlog *b, size_t size, size_t most_chunks)
{
    struct chunk *chunk = b->last;
    size += sizeof(struct entry);
    if (!chunk || CHUNK_ROOM - chunk->end < size)
        chunk = b->used < most_chunks ? append_chunk(b) : NULL;
    if (!chunk)
        return NULL;
    struct entry *entry = (struct entry *)(chunk->bytes + chunk->end);
    *entry = (struct entry){.ring = READING};
    chunk->end += size;
    b->waiting++;
    return entry;
}

static size_t size_after(const struct entry *entry)
{
    return entry->is_written_only ? sizeof(struct place) : entry->n * sizeof(struct pw_record);
}

/* Reads records again that are only in the journal. If that fails, the intake gets their number. */
static void hand_over_written(struct pw_backlog *b, const struct entry *entry)
{
    struct place place;
    struct pw_journal_block block;
    memcpy(&place, entry + 1, sizeof(place));
    const int ok = pw_journal_read_records(b->reader, place.at, &block) == 0 &&
                   block.records.ring == entry->ring && block.records.n == entry->n;
    if (ok) {
        pw_intake_records(b->intake, entry->ring, block.records.records, entry->n);
    } else {
        const struct pw_record loss = pw_losscount_record(&place.count, PW_REASON_DISK);
        pw_intake_records(b->intake, entry->ring, &loss, 1);
    }
}

/* Hands the oldest entry, which must exist, to the intake. Returns its number of records. */
static uint32_t hand_over_first(struct pw_backlog *b)
{
    struct chunk *chunk = b->first;
    const struct entry *entry = (const struct entry *)(chunk->bytes + chunk->begin);
    const uint32_t n = entry->n;
    if (entry->ring == READING)
        pw_intake_reading(b->intake, entry->ticks, entry->ns);
    else if (entry->is_written_only)
        hand_over_written(b, entry);
    else
        pw_intake_records(b->intake, entry->ring, (const struct pw_record *)(entry + 1), n);
    chunk->begin += sizeof(*entry) + size_after(entry);
    b->bytes -= (int64_t)(n * sizeof(struct pw_record));
    b->waiting--;
    if (chunk->begin == chunk->end)
        drop_first_chunk(b);
    return n;
}

static void fill(struct pw_backlog *b, struct entry *entry, int ring, uint32_t n)
{
    entry->ring = ring;
    entry->n = n;
    b->bytes += (int64_t)(n * sizeof(struct pw_record));
}

/* Number of chunks that entries with records may use. The others are for entries without them. */
static size_t chunks_for_records(const struct pw_backlog *b)
{
    const size_t others = b->most_chunks / 8 ? b->most_chunks / 8 : b->most_chunks > 1;
    return b->most_chunks - others;
}

struct pw_record *pw_backlog_add_records(struct pw_backlog *b, int ring, uint32_t n)
{
    const size_t most = b ? chunks_for_records(b) : 0;
    struct entry *entry =
        b && b->used <= most ? append(b, n * sizeof(struct pw_record), most) : NULL;
    if (!entry)
        return NULL;
    fill(b, entry, ring, n);
    return (struct pw_record *)(entry + 1);
}

/* Appends an entry with a copy of the records. When the backlog is full, the oldest entries go to
 * the intake first. */
static void add_copy(struct pw_backlog *b, int ring, const struct pw_record *records, uint32_t n)
{
    const size_t size = n * sizeof(*records);
    struct entry *entry = append(b, size, b->most_chunks);
    while (!entry && b->waiting) {
        hand_over_first(b);
        entry = append(b, size, b->most_chunks);
    }
    if (!entry) {
        pw_intake_records(b->intake, ring, records, n);
        return;
    }
    fill(b, entry, ring, n);
    memcpy(entry + 1, records, size);
}

void pw_backlog_add_written(struct pw_backlog *b, int ring, const struct pw_record *records,
                            uint32_t n)
{
    struct place place = {.at = -1};
    place.at = pw_journal_last_records(b->journal, &place.count);
    struct entry *entry =
        b->reader && place.at >= 0 ? append(b, sizeof(place), b->most_chunks) : NULL;
    if (!entry) {
        add_copy(b, ring, records, n);
        return;
    }
    fill(b, entry, ring, n);
    entry->is_written_only = true;
    memcpy(entry + 1, &place, sizeof(place));
}

int pw_backlog_add_reading(struct pw_backlog *b, uint64_t ticks, int64_t ns)
{
    if (!b || !b->waiting)
        return 0;
    struct entry *entry = append(b, 0, b->most_chunks);
    while (!entry && b->waiting) {
        hand_over_first(b);
        entry = append(b, 0, b->most_chunks);
    }
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
    return b ? b->bytes : 0;
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
    pw_journal_reader_close(b->reader);
    free(b);
}
