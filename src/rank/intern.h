/* The probe's tables of byte strings: contents to id, without locks. Entries are only ever added,
 * in memory of the probe's own (arena.h); whoever adds one, or finds one that did not reach the
 * collector yet, writes it to its own ring. In-app code. */
#ifndef PW_RANK_INTERN_H
#define PW_RANK_INTERN_H

#include <stdbool.h>

#include "rank/probe.h"

enum { PW_INTERN_SLOTS = 1 << 16 }; /* a power of two; half of them are used at most */

struct pw_intern_entry {
    uint64_t hash;
    uint32_t id; /* from 1, in the order of first use */
    uint32_t length;
    _Atomic int delivered;
    _Alignas(8) char bytes[]; /* [length] */
};

struct pw_intern_table {
    /* Writes the entry to the thread's ring; false when it has no room now. */
    bool (*deliver)(struct pw_thread *thread, const struct pw_intern_entry *entry);
    _Atomic uint32_t count;
    _Atomic(struct pw_intern_entry *) slots[PW_INTERN_SLOTS];
};

/* The id of `length` bytes; 0 when they are not in the table and it is full, or memory is short. */
uint32_t pw_intern(struct pw_intern_table *table, struct pw_thread *thread, const void *bytes,
                   size_t length);

#endif
