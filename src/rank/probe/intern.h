/* The probe's tables of byte strings: contents to id, without locks. Entries are only ever added,
 * in memory of the probe's own (arena.h). The thread that adds one, or finds one that did not reach
 * the collector yet, writes it to its own ring. Called by the in-app halves of collectors. In-app.
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
    PW_INTERN_SLOTS = 1 << 16, /* a power of two; half of them are used at most */
    PW_LONGEST_NAME = 255,     /* bytes; longer ones are cut */
};

struct pw_intern_entry {
    uint64_t hash;
    uint32_t id; /* from 1, in the order of first use */
    uint32_t length;
    _Atomic int delivered;
    _Alignas(8) char bytes[]; /* [length], and a NUL */
};

struct pw_intern_table {
    /* Writes the entry to the thread's ring; false when it has no room now. */
    bool (*deliver)(struct pw_thread *thread, const struct pw_intern_entry *entry);
    const char *rest; /* what stands for all that it has no more room for; NULL: id 0 does */
    _Atomic uint32_t count;
    _Atomic(struct pw_intern_entry *) slots[PW_INTERN_SLOTS];
};

/* The id of `length` bytes; 0 when they are not in the table and it is full, or memory is short. */
uint32_t pw_intern(struct pw_intern_table *table, struct pw_thread *thread, const void *bytes,
                   size_t length);

/* A name that is not told to the collector yet, for which no ring is needed: of what is registered
 * once and used later. NULL when memory is short. */
const struct pw_intern_entry *pw_name_keep(const char *text, size_t length);

/* Its id, telling it first. NULL: 0. */
uint32_t pw_name_tell(struct pw_thread *thread, const struct pw_intern_entry *entry);

static inline uint32_t pw_name_use(struct pw_thread *thread, const struct pw_intern_entry *entry)
{
    if (__builtin_expect(entry && atomic_load_explicit(&entry->delivered, memory_order_relaxed), 1))
        return entry->id;
    return pw_name_tell(thread, entry);
}

/* How long a name is when it is cut at `most` bytes, between two characters. */
size_t pw_name_length(const char *text, size_t most);

/* Where the thread keeps what it knows of the text at this address. */
static inline struct pw_recent_name *pw_name_slot(struct pw_thread *thread, const char *text)
{
    uint64_t mixed = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15ull;
    return &thread->recent[mixed >> (64 - PW_RECENT_BITS)];
}

/* Whether it still is that text. */
static inline bool pw_name_is_recent(const struct pw_recent_name *recent, const char *text)
{
    return recent->text == text && strcmp(recent->entry->bytes, text) == 0;
}

/* Whether the 4, 8 or 16 bytes are the same. */
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

/* Whether `n` >= 4 bytes are the same, without a call: in pieces, the last of which overlaps. */
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

/* What the thread knows of the text if it still is that text, without a call; else NULL. Where the
 * text has become a shorter one, bytes behind it are read, in its page. The thread is held. */
static inline const struct pw_recent_name *pw_name_find_quickly(struct pw_thread *thread,
                                                                const char *text)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    __asm__("" : "+r"(slot)); /* one address: the compiler would work out each field's anew */
    const size_t n = slot->quick;
    return n && slot->text == text && pw_name_is_same(text, slot->entry->bytes, n) ? slot : NULL;
}

/* What the slot is to say of the text from now on, if that has been told to the collector. `kind`
 * is for who asks next: 0 says nothing. */
void pw_name_remember(struct pw_recent_name *slot, const char *text,
                      const struct pw_intern_entry *entry, uint32_t kind);

uint32_t pw_name_find_anew(struct pw_thread *thread, const char *text);

/* The id of a name that is given again and again: as pw_probe_intern(), but faster. */
static inline uint32_t pw_name_find(struct pw_thread *thread, const char *text)
{
    const struct pw_recent_name *slot = pw_name_slot(thread, text);
    if (__builtin_expect(text && pw_name_is_recent(slot, text), 1))
        return slot->entry->id;
    return pw_name_find_anew(thread, text);
}

#endif
