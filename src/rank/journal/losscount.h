/* Counts records that are not kept, by kind: when the journal has no room, or the file has reached
 * its maximum. Called by the drain and the journal. Tool code; allocates nothing. */
#ifndef PW_RANK_JOURNAL_LOSSCOUNT_H
#define PW_RANK_JOURNAL_LOSSCOUNT_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/ring/record.h"

struct pw_losscount {
    uint64_t by_kind[PW_LOST_KINDS], n;
    uint64_t start, end; /* ticks: when the first and the last of them ended */
};

void pw_losscount_add(struct pw_losscount *count, const struct pw_losscount *more);

/* Counts `n` records, at least one. */
struct pw_losscount pw_losscount_of(const struct pw_record *records, uint32_t n);

/* Counts `n` records of which only the last is known: kinds and begin are not. */
struct pw_losscount pw_losscount_unknown(uint64_t n, const struct pw_record *last);

/* What is lost with a record that is in no ring: a loss that it tells of, or itself. */
struct pw_losscount pw_losscount_of_ringless(const struct pw_record *record);

/* The record that says it; `reason` is what /events/gap will have. */
struct pw_record pw_losscount_record(const struct pw_losscount *count, enum pw_reason reason);

#endif
