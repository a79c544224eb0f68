/* Byte strings to ids in the application, see intern.h; and the table of names. */
#include "rank/intern.h"

#include <string.h>

#include "rank/arena.h"

enum { MAX_TEXT = 255, MAX_LONG_TEXT = 8191 };

/* FNV-1a. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

static uint32_t use(struct pw_intern_table *table, struct pw_thread *thread,
                    struct pw_intern_entry *entry)
{
    if (__builtin_expect(!atomic_load_explicit(&entry->delivered, memory_order_relaxed), 0))
        if (!atomic_exchange(&entry->delivered, 1) && !table->deliver(thread, entry))
            atomic_store(&entry->delivered, 0);
    return entry->id;
}

static struct pw_intern_entry *create_entry(struct pw_intern_table *table, const void *bytes,
                                            size_t length, uint64_t hash)
{
    if (atomic_load(&table->count) >= PW_INTERN_SLOTS / 2)
        return NULL;
    struct pw_intern_entry *entry = pw_arena_take(sizeof(*entry) + length);
    if (!entry)
        return NULL;
    entry->hash = hash;
    entry->length = (uint32_t)length;
    entry->id = atomic_fetch_add(&table->count, 1) + 1;
    memcpy(entry->bytes, bytes, length);
    return entry;
}

uint32_t pw_intern(struct pw_intern_table *table, struct pw_thread *thread, const void *bytes,
                   size_t length)
{
    const uint32_t mask = PW_INTERN_SLOTS - 1;
    uint64_t hash = hash_bytes(bytes, length);
    struct pw_intern_entry *fresh = NULL;
    for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        struct pw_intern_entry *found =
            atomic_load_explicit(&table->slots[at], memory_order_acquire);
        if (!found) {
            fresh = fresh ? fresh : create_entry(table, bytes, length, hash);
            if (!fresh)
                return 0;
            /* Release: whoever finds the entry sees its bytes. */
            if (atomic_compare_exchange_strong(&table->slots[at], &found, fresh))
                return use(table, thread, fresh);
        }
        if (found->hash == hash && found->length == length &&
            memcmp(found->bytes, bytes, length) == 0)
            return use(table, thread, found);
    }
}

/* ---- names ---- */

static bool deliver_name(struct pw_thread *thread, const struct pw_intern_entry *entry)
{
    uint32_t pieces = entry->length ? (entry->length + PW_STRING_PIECE - 1) / PW_STRING_PIECE : 1;
    uint64_t now = pw_probe_now();
    if (pw_ring_make_room(&thread->ring, pieces, now, PW_LOST_NAME))
        return false;
    for (uint32_t i = 0; i < pieces; i++) {
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_NAME);
        uint32_t offset = i * PW_STRING_PIECE, left = entry->length - offset;
        *record = (struct pw_record){
            .type = PW_REC_STRING,
            .start = now,
            .end = now,
            .string = {.id = entry->id, .total = entry->length, .offset = offset},
        };
        memcpy(record->string.bytes, entry->bytes + offset,
               left < PW_STRING_PIECE ? left : PW_STRING_PIECE);
        pw_probe_commit(thread);
    }
    return true;
}

static struct pw_intern_table names = {.deliver = deliver_name};

static uint32_t intern_text(struct pw_thread *thread, const char *text, size_t most)
{
    size_t length = text ? strnlen(text, most) : 0;
    return length ? pw_intern(&names, thread, text, length) : 0;
}

uint32_t pw_probe_intern(struct pw_thread *thread, const char *text)
{
    return intern_text(thread, text, MAX_TEXT);
}

uint32_t pw_probe_intern_long(struct pw_thread *thread, const char *text)
{
    return intern_text(thread, text, MAX_LONG_TEXT);
}
