/* The probe's name table: text to id, without locks. Entries are only ever added, in memory of the
 * probe's own (arena.h); whoever adds one, or finds one that did not reach the collector yet,
 * writes its text to its own ring. */
#include <stdbool.h>
#include <string.h>

#include "rank/arena.h"
#include "rank/probe.h"

enum {
    TABLE_SLOTS = 1 << 16, /* a power of two */
    MAX_NAMES = TABLE_SLOTS / 2,
    MAX_TEXT = 255,
};

struct entry {
    uint64_t hash;
    uint32_t id;
    uint32_t length;
    _Atomic int delivered;
    char text[];
};

static struct {
    _Atomic(struct entry *) slots[TABLE_SLOTS];
    _Atomic uint32_t count;
} names;

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
    return hash;
}

static bool deliver(struct pw_thread *thread, struct entry *entry)
{
    uint32_t pieces = entry->length ? (entry->length + PW_STRING_PIECE - 1) / PW_STRING_PIECE : 1;
    uint64_t now = pw_probe_now();
    if (pw_ring_make_room(&thread->ring, pieces, now))
        return false;
    for (uint32_t i = 0; i < pieces; i++) {
        struct pw_record *record = pw_ring_reserve(&thread->ring, now);
        uint32_t offset = i * PW_STRING_PIECE, left = entry->length - offset;
        *record = (struct pw_record){
            .type = PW_REC_STRING,
            .start = now,
            .end = now,
            .string = {.id = entry->id, .total = entry->length, .offset = offset},
        };
        memcpy(record->string.bytes, entry->text + offset,
               left < PW_STRING_PIECE ? left : PW_STRING_PIECE);
        pw_probe_commit(thread);
    }
    return true;
}

static uint32_t use(struct pw_thread *thread, struct entry *entry)
{
    if (__builtin_expect(!atomic_load_explicit(&entry->delivered, memory_order_relaxed), 0))
        if (!atomic_exchange(&entry->delivered, 1) && !deliver(thread, entry))
            atomic_store(&entry->delivered, 0);
    return entry->id;
}

static struct entry *create_entry(const char *text, size_t length, uint64_t hash)
{
    if (atomic_load(&names.count) >= MAX_NAMES)
        return NULL;
    struct entry *entry = pw_arena_take(sizeof(*entry) + length);
    if (!entry)
        return NULL;
    entry->hash = hash;
    entry->length = (uint32_t)length;
    entry->id = atomic_fetch_add(&names.count, 1) + 1;
    memcpy(entry->text, text, length);
    return entry;
}

uint32_t pw_probe_intern(struct pw_thread *thread, const char *text)
{
    size_t length = text ? strnlen(text, MAX_TEXT) : 0;
    if (length == 0)
        return 0;
    uint64_t hash = hash_text(text, length);
    struct entry *fresh = NULL;
    for (uint32_t at = (uint32_t)hash & (TABLE_SLOTS - 1);; at = (at + 1) & (TABLE_SLOTS - 1)) {
        struct entry *found = atomic_load_explicit(&names.slots[at], memory_order_acquire);
        if (!found) {
            fresh = fresh ? fresh : create_entry(text, length, hash);
            if (!fresh)
                return 0;
            /* Release: whoever finds the entry sees its text. */
            if (atomic_compare_exchange_strong(&names.slots[at], &found, fresh))
                return use(thread, fresh);
        }
        if (found->hash == hash && found->length == length &&
            memcmp(found->text, text, length) == 0)
            return use(thread, found);
    }
}
