/* The blocks at the end of the journal that the intake has not got yet: records and clock readings,
 * in the order in which they came. With it, the drain can free a record's place in the ring as soon
 * as the record is in the journal; the intake would take several times as long. What waits takes no
 * memory. Called by drain.c only. Tool code. */
#ifndef PW_RANK_COLLECT_BACKLOG_H
#define PW_RANK_COLLECT_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "rank/collect/intake.h"
#include "rank/journal/journal.h"

enum { PW_BACKLOG_SLICE = 1024 }; /* records to hand over before the rings are checked again */

struct pw_backlog {
    struct pw_intake *intake; /* NULL: nobody gets the records, and none wait */
    struct pw_journal *journal;
    struct pw_journal_reader *reader; /* at the first waiting block; NULL: nothing can wait */
    uint64_t blocks, records;         /* that wait; the blocks are of records or readings */
    struct pw_losscount count;        /* what is lost if the records cannot be read */
};

/* Begins at the end of `journal`. `intake` and `journal`, which may both be NULL, must outlive the
 * backlog. */
void pw_backlog_init(struct pw_backlog *backlog, struct pw_intake *intake,
                     struct pw_journal *journal);

/* Marks the last block of records in the journal, of `n` records, as waiting. Returns
 * false when it could not be read there; the caller must pass the records on, then. */
bool pw_backlog_add(struct pw_backlog *backlog, uint32_t n);

/* Hands over what waits, and then these records, which are in memory. If they are in the journal,
 * too, they are its last block. */
void pw_backlog_pass(struct pw_backlog *backlog, int ring, const struct pw_record *records,
                     uint32_t n);

/* Passes on a reading that was just added to the journal; it waits if other blocks do. */
void pw_backlog_pass_reading(struct pw_backlog *backlog, uint64_t ticks, int64_t ns);

/* Hands the oldest blocks to the intake, until PW_BACKLOG_SLICE records or some more are processed.
 * Records that cannot be read are counted as lost. Returns the number of records handed over. */
uint64_t pw_backlog_hand_over(struct pw_backlog *backlog);

void pw_backlog_hand_over_all(struct pw_backlog *backlog);

/* What still waits is discarded. */
void pw_backlog_fini(struct pw_backlog *backlog);

#endif
