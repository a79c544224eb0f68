/* Lock-free tables that give each byte string (a name or a call stack) an id. Entries are never
 * removed; their memory is from arena.h. The first thread that uses an entry writes its bytes to
 * its ring, so that the collector knows what the id means; if the ring has no room, the next thread
 * that uses the entry tries again. Called by the in-app halves of modules. In-app.
 */
#ifndef PW_RANK_PROBE_INTERN_H
#define PW_RANK_PROBE_INTERN_H

#include <stdbool.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "rank/probe/probe.h"

enum {
    PW_INTERN_SLOTS = 1 << 16, /* a power of two; at most half of them are used */
    PW_LONGEST_NAME = 255,     /* bytes; longer ones are cut */
};

struct pw_intern_entry {
    uint64_t hash;
    uint32_t id; /* from 1, in the order of first use */
    uint32_t length;
    _Atomic int delivered;
    _Alignas(8) char bytes[]; /* `length` bytes and a NUL */
};

struct pw_intern_table {
    /* Writes the entry to the thread's ring; returns false when the ring has no room now. */
    bool (*deliver)(struct pw_thread *thread, const struct pw_intern_entry *entry);
    const char *rest; /* the string whose id all new strings get when the table is full; NULL: id
                       * 0 */
    _Atomic uint32_t count;
    _Atomic(struct pw_intern_entry *) slots[PW_INTERN_SLOTS];
};

/* Returns the id of `length` bytes. Adds them if they are new, and sends them to the collector when
 * it does not have them yet. 0 when the table is full or memory is short. */
uint32_t pw_intern(struct pw_intern_table *table, struct pw_thread *thread, const void *bytes,
                   size_t length);

/* Returns the entry of a name without sending it to the collector, so no ring is needed. For names
 * that are registered once and used later (NVTX). NULL when memory is short. */
const struct pw_intern_entry *pw_name_keep(const char *text, size_t length);

/* Sends the name to the collector and returns its id; 0 when `entry` is NULL. pw_name_use() is
 * faster for names that were already sent. */
uint32_t pw_name_tell(struct pw_thread *thread, const struct pw_intern_entry *entry);

static inline uint32_t pw_name_use(struct pw_thread *thread, const struct pw_intern_entry *entry)
{
    if (__builtin_expect(entry && atomic_load_explicit(&entry->delivered, memory_order_relaxed), 1))
        return entry->id;
    return pw_name_tell(thread, entry);
}

/* Returns the length of a name that is cut after at most `most` bytes, not inside a UTF-8
 * character. */
size_t pw_name_length(const char *text, size_t most);

/* Returns the slot of the thread's cache for the text at this address. */
static inline struct pw_recent_name *pw_name_slot(struct pw_thread *thread, const char *text)
{
    uint64_t mixed = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15ull;
    return &thread->recent[mixed >> (64 - PW_RECENT_BITS)];
}

/* Whether the slot is for this address and the text there is still the cached one. */
static inline bool pw_name_is_recent(const struct pw_recent_name *recent, const char *text)
{
    return recent->text == text && strcmp(recent->entry->bytes, text) == 0;
}

/* Whether 4, 8 or 16 bytes are equal. */
static inline bool pw_name_is_same_4(const char *a, const char *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x == y;
}

static inline bool pw_name_is_same_8(const char *a, const char *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x == y;
}

static inline bool pw_name_is_same_16(const char *a, const char *b)
{
#if defined(__SSE2__)
    const __m128i x = _mm_loadu_si128((const __m128i *)a), y = _mm_loadu_si128((const __m128i *)b);
    return _mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) == 0xffff;
#else
    return pw_name_is_same_8(a, b) && pw_name_is_same_8(a + 8, b + 8);
#endif
}

/* Whether `n` >= 4 bytes are equal. Makes no function call: compares pieces of 4, 8 or 16 bytes, of
 * which the last overlaps the one before. */
static inline bool pw_name_is_same(const char *a, const char *b, size_t n)
{
    enum { PAIR = 16, WORD = 8, HALF = 4 };
    if (n >= PAIR) {
        for (size_t at = 0; at + PAIR < n; at += PAIR)
            if (!pw_name_is_same_16(a + at, b + at))
                return false;
        return pw_name_is_same_16(a + n - PAIR, b + n - PAIR);
    }
    if (n >= WORD)
        return pw_name_is_same_8(a, b) && pw_name_is_same_8(a + n - WORD, b + n - WORD);
    return pw_name_is_same_4(a, b) && pw_name_is_same_4(a + n - HALF, b + n - HALF);
}

/* Returns the cache slot of the text, or NULL when the cached text is another one; makes no
 * function call. If the text has become shorter, bytes after its end are read, but none of the next
 * page. The caller has locked the probe. */
static inline const struct pw_recent_name *pw_name_find_quickly(struct pw_thread *thread,
                                                                const char *text)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    __asm__(""
            : "+r"(slot)); /* keeps the address in one register: the compiler would compute it
                            * again for each field */
    const size_t n = slot->quick;
    return n && slot->text == text && pw_name_is_same(text, slot->entry->bytes, n) ? slot : NULL;
}

/* Stores the text in the cache slot if the collector already has the entry. `kind` is stored with
 * it (pw_recent_name.kind); 0: not known. */
void pw_name_remember(struct pw_recent_name *slot, const char *text,
                      const struct pw_intern_entry *entry, uint32_t kind);

uint32_t pw_name_find_anew(struct pw_thread *thread, const char *text);

/* As pw_probe_intern(), but faster for a text that the thread has used recently. */
static inline uint32_t pw_name_find(struct pw_thread *thread, const char *text)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    if (__builtin_expect(text && pw_name_is_recent(slot, text), 1))
        return slot->entry->id;
    return pw_name_find_anew(thread, text);
}

#endif
