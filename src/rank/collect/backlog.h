/* A queue of records and clock readings that are in the journal and wait for the intake, in the
 * order in which they came. With this queue, the drain can free a record's place in the ring as
 * soon as the record is in the journal. The intake would take several times as long. When the
 * memory for records is used up, the queue only keeps their places in the journal, and reads them
 * again. Called by drain.c only. Tool code. */
#ifndef PW_RANK_COLLECT_BACKLOG_H
#define PW_RANK_COLLECT_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#include "rank/collect/intake.h"
#include "rank/journal/journal.h"

enum {
    PW_BACKLOG_CHUNK = 1 << 20, /* bytes of a chunk, the unit in which memory is allocated and
                                 * freed */
    PW_BACKLOG_SLICE = 1024,    /* records to hand over before the rings are checked again */
};

struct pw_backlog;

/* Creates an empty backlog of at most `most_bytes`. `intake` and `journal`, which may be NULL, must
 * outlive it. Returns NULL when memory is short, or when less than a chunk is allowed. All
 * functions accept NULL, for no backlog. */
struct pw_backlog *pw_backlog_create(struct pw_intake *intake, const struct pw_journal *journal,
                                     size_t most_bytes);

/* Appends an entry for `n` <= PW_JOURNAL_BATCH records of ring `ring` and returns it. The caller
 * must fill in the records before it calls another function of this file. Returns NULL when there
 * is no memory for them. */
struct pw_record *pw_backlog_add_records(struct pw_backlog *backlog, int ring, uint32_t n);

/* Appends an entry for records for which pw_backlog_add_records() had no memory, and which were the
 * last to be written to the journal. If they cannot be read there again, or there is no memory for
 * the entry, the oldest entries go to the intake first. */
void pw_backlog_add_written(struct pw_backlog *backlog, int ring, const struct pw_record *records,
                            uint32_t n);

/* Appends a clock reading. Returns 0 when the backlog is empty: then the caller passes the reading
 * to the intake itself. */
int pw_backlog_add_reading(struct pw_backlog *backlog, uint64_t ticks, int64_t ns);

/* Hands the oldest entries to the intake, until PW_BACKLOG_SLICE records or some more are
 * processed. Returns the number of batches and readings handed over; 0 when none waited. */
uint64_t pw_backlog_hand_over(struct pw_backlog *backlog);

void pw_backlog_hand_over_all(struct pw_backlog *backlog);

/* The first function returns the number of batches and readings that wait, the second the bytes of
 * their records. */
uint64_t pw_backlog_waiting(const struct pw_backlog *backlog);
int64_t pw_backlog_bytes(const struct pw_backlog *backlog);

/* To be called each time the rings are checked: frees memory that was not needed for many calls. */
void pw_backlog_trim(struct pw_backlog *backlog);

/* Frees the backlog; entries that still wait are discarded. */
void pw_backlog_destroy(struct pw_backlog *backlog);

#endif
