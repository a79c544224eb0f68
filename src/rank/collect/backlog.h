/* Records and clock readings that are in the journal and wait for the intake, in their order. The
 * drain puts them here, so that a ring's place is free again as soon as its records are in the
 * journal; the intake takes ten times as long for a record. Called by drain.c only. Tool code; may
 * call the intake, when there is no room. */
#ifndef PW_RANK_COLLECT_BACKLOG_H
#define PW_RANK_COLLECT_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#include "rank/collect/intake.h"

enum {
    PW_BACKLOG_CHUNK = 1 << 20, /* memory is taken and given back in chunks of so many bytes */
    PW_BACKLOG_SLICE = 1024,    /* records after which the rings are to be looked at again */
};

struct pw_backlog;

/* For at most `most_bytes`, of which none are taken yet. The caller keeps the intake alive. NULL
 * when memory is short, or no chunk fits: every function takes NULL for none. */
struct pw_backlog *pw_backlog_create(struct pw_intake *intake, size_t most_bytes);

/* A place behind all others for `n` records of ring `ring`, at most PW_JOURNAL_BATCH, which the
 * caller fills before anything else is done here. Where there is no room the oldest go to the
 * intake first. NULL when memory cannot be had: then nothing waits any more. */
struct pw_record *pw_backlog_add_records(struct pw_backlog *backlog, int ring, uint32_t n);

/* Has the reading wait behind what waits. 0 when nothing does: it can go to the intake at once. */
int pw_backlog_add_reading(struct pw_backlog *backlog, uint64_t ticks, int64_t ns);

/* Hands the oldest PW_BACKLOG_SLICE records, or some more, to the intake. The number of batches and
 * readings handed over, 0 when none waited. */
uint64_t pw_backlog_hand_over(struct pw_backlog *backlog);

void pw_backlog_hand_over_all(struct pw_backlog *backlog);

/* Batches and readings that wait, and bytes of memory taken for those that do. */
uint64_t pw_backlog_waiting(const struct pw_backlog *backlog);
int64_t pw_backlog_bytes(const struct pw_backlog *backlog);

/* To be called with every look at the rings: gives memory back that was not needed for many. */
void pw_backlog_trim(struct pw_backlog *backlog);

/* What still waits is forgotten. */
void pw_backlog_destroy(struct pw_backlog *backlog);

#endif
