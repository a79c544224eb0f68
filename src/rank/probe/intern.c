/* The tables of byte strings, and the table of names; see intern.h. */
#include "rank/probe/intern.h"

#include <string.h>

#include "rank/probe/arena.h"

enum { MAX_LONG_TEXT = 8191 };

#define REST "(more names than are kept)"

/* FNV-1a. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

static uint32_t use(const struct pw_intern_table *table, struct pw_thread *thread,
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
    bool is_rest =
        table->rest && length == strlen(table->rest) && memcmp(bytes, table->rest, length) == 0;
    if (atomic_load(&table->count) >= PW_INTERN_SLOTS / 2 && !is_rest)
        return NULL;
    struct pw_intern_entry *entry = pw_arena_take(sizeof(*entry) + length + 1);
    if (!entry)
        return NULL;
    entry->hash = hash;
    entry->length = (uint32_t)length;
    entry->id = atomic_fetch_add(&table->count, 1) + 1;
    memcpy(entry->bytes, bytes, length);
    return entry;
}

/* Returns the entry of these bytes, and adds it when it is new; NULL when the table is full or
 * memory is short. */
static struct pw_intern_entry *find(struct pw_intern_table *table, const void *bytes, size_t length)
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
                return NULL;
            /* Release: a thread that finds the entry sees its bytes. */
            if (atomic_compare_exchange_strong(&table->slots[at], &found, fresh))
                return fresh;
        }
        if (found->hash == hash && found->length == length &&
            memcmp(found->bytes, bytes, length) == 0)
            return found;
    }
}

uint32_t pw_intern(struct pw_intern_table *table, struct pw_thread *thread, const void *bytes,
                   size_t length)
{
    struct pw_intern_entry *entry = find(table, bytes, length);
    return entry ? use(table, thread, entry) : 0;
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

static struct pw_intern_table names = {.deliver = deliver_name, .rest = REST};

size_t pw_name_length(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    if (length < most)
        return length;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length ? length : most;
}

const struct pw_intern_entry *pw_name_keep(const char *text, size_t length)
{
    const struct pw_intern_entry *entry = find(&names, text, length);
    return entry ? entry : find(&names, REST, sizeof(REST) - 1);
}

uint32_t pw_name_tell(struct pw_thread *thread, const struct pw_intern_entry *entry)
{
    return entry ? use(&names, thread, (struct pw_intern_entry *)entry) : 0;
}

static uint32_t intern_text(struct pw_thread *thread, const char *text, size_t most)
{
    size_t length = text ? pw_name_length(text, most) : 0;
    return length ? pw_name_use(thread, pw_name_keep(text, length)) : 0;
}

uint32_t pw_probe_intern(struct pw_thread *thread, const char *text)
{
    return intern_text(thread, text, PW_LONGEST_NAME);
}

/* Returns how many bytes pw_name_find_quickly() may compare at the address `text`; 0: none. That
 * function reads all of these bytes, even if the text there has become shorter. So they must be in
 * one page. */
static uint32_t quick_bytes(const char *text, const struct pw_intern_entry *entry)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)text, (void)entry;
    return 0;
#else
    enum { LEAST = 4, PAGE = 4096 };
    const uint32_t n = entry->length + 1;
    return n >= LEAST && ((uintptr_t)text & (PAGE - 1)) + n <= PAGE ? n : 0;
#endif
}

void pw_name_remember(struct pw_recent_name *slot, const char *text,
                      const struct pw_intern_entry *entry, uint32_t kind)
{
    if (atomic_load_explicit(&entry->delivered, memory_order_relaxed))
        *slot = (struct pw_recent_name){
            .text = text,
            .entry = entry,
            .name = pw_range_name(entry->id, 0, kind ? (enum pw_kind)(kind - 1) : PW_KIND_USER),
            .kind = kind,
            .quick = quick_bytes(text, entry),
        };
}

uint32_t pw_name_find_anew(struct pw_thread *thread, const char *text)
{
    size_t length = text ? pw_name_length(text, PW_LONGEST_NAME) : 0;
    const struct pw_intern_entry *entry = length ? pw_name_keep(text, length) : NULL;
    uint32_t id = pw_name_use(thread, entry);
    if (entry)
        pw_name_remember(pw_name_slot(thread, text), text, entry, 0);
    return id;
}

uint32_t pw_probe_intern_long(struct pw_thread *thread, const char *text)
{
    return intern_text(thread, text, MAX_LONG_TEXT);
}
