/* Counts by kind the records that are dropped because the journal has no room or the file has
 * reached its maximum size. Called by the drain, the backlog and the journal. Tool code; allocates
 * nothing. */
#ifndef PW_RANK_JOURNAL_LOSSCOUNT_H
#define PW_RANK_JOURNAL_LOSSCOUNT_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/ring/record.h"

struct pw_losscount {
    uint64_t by_kind[PW_LOST_KINDS], n;
    uint64_t start, end; /* ticks: end of the first and of the last of them */
};

void pw_losscount_add(struct pw_losscount *count, const struct pw_losscount *more);

/* Takes away counts that were added before; the rest begins after them. */
void pw_losscount_subtract(struct pw_losscount *count, const struct pw_losscount *less);

/* Returns the counts of what is lost with `n` >= 1 records: each record, or the loss that it
 * reports. */
struct pw_losscount pw_losscount_of(const struct pw_record *records, uint32_t n);

/* Returns the count of `n` records of which only the last is known; kinds and first time are
 * unknown. */
struct pw_losscount pw_losscount_unknown(uint64_t n, const struct pw_record *last);

/* Returns what is lost with a ringless record: the loss that it reports, or the record itself. */
struct pw_losscount pw_losscount_of_ringless(const struct pw_record *record);

/* Returns a record that reports the counts, with `reason` for /events/gap. */
struct pw_record pw_losscount_record(const struct pw_losscount *count, enum pw_reason reason);

#endif
