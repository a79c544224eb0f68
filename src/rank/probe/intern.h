/* The probe's tables of byte strings: contents to id, without locks. Entries are only ever added,
 * in memory of the probe's own (arena.h); whoever adds one, or finds one that did not reach the
 * collector yet, writes it to its own ring. In-app code. */
#ifndef PW_RANK_PROBE_INTERN_H
#define PW_RANK_PROBE_INTERN_H

#include <stdbool.h>
#include <string.h>

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
    return &thread->recent[mixed >> 58];
}

/* Whether it still is that text. */
static inline bool pw_name_is_recent(const struct pw_recent_name *recent, const char *text)
{
    return recent->text == text && strcmp(recent->entry->bytes, text) == 0;
}

static inline uint64_t pw_name_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint32_t pw_name_half(const char *at)
{
    uint32_t half;
    memcpy(&half, at, sizeof(half));
    return half;
}

/* Its entry if it still is that text, without a call, for texts of 3 bytes or more that lie within
 * a page: where the text has become a shorter one, bytes behind it are read. NULL also when it has
 * to be asked otherwise. The slot is read once: a signal handler may change it at any time. */
static inline const struct pw_intern_entry *
pw_name_find_quickly(const struct pw_recent_name *recent, const char *text)
{
    enum { PAGE = 4096, WORD = 8, HALF = 4 };
#if !defined(__SANITIZE_ADDRESS__)
    const struct pw_intern_entry *entry =
        *(const struct pw_intern_entry *const volatile *)&recent->entry;
    if (recent->text != text || !text || !entry)
        return NULL;
    const char *known = entry->bytes;
    const size_t n = (size_t)entry->length + 1; /* with the NUL */
    if (__builtin_expect(n < HALF || ((uintptr_t)text & (PAGE - 1)) + n > PAGE, 0))
        return NULL;
    if (n < WORD)
        return pw_name_half(text) == pw_name_half(known) &&
                       pw_name_half(text + n - HALF) == pw_name_half(known + n - HALF)
                   ? entry
                   : NULL;
    for (size_t i = 0; i + WORD < n; i += WORD)
        if (pw_name_word(text + i) != pw_name_word(known + i))
            return NULL;
    return pw_name_word(text + n - WORD) == pw_name_word(known + n - WORD) ? entry : NULL;
#else
    (void)recent, (void)text;
    return NULL;
#endif
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
