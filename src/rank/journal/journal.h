/* The journal of one rank: everything that its file is made of, in the order in which it came, so
 * that the file can be made again when its collector was killed. Written by the drain and
 * rank/file, read by recovery. Tool code, one writer at a time (a lock on the file).
 *
 * It is one file of blocks, DIR/rank-NNNNN.journal, that only grows. A block carries its length and
 * a checksum; they show what a kill left of the last one, which is cut off. The collector writes a
 * block before it gives the records in it back to the application, so that at every moment each
 * record is in a ring, or in the journal, or in both; a block of records says which of its ring
 * they are, so that none is taken twice. The journal is removed when the rank's file has its name.
 *
 * Written and read by the same build on machines of one kind: numbers are in the machine's form. */
#ifndef PW_RANK_JOURNAL_JOURNAL_H
#define PW_RANK_JOURNAL_JOURNAL_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/ring/record.h"
#include "rank/ring/segment.h"
#include "rank/ring/testclock.h"
#include "rank/run/identity.h"

/* Records in a block at most, and bytes of a row. */
enum { PW_JOURNAL_BATCH = 1024, PW_JOURNAL_ROW = 512 };

/* What the rank's file says of the run, and where the rest of its records may be. */
struct pw_journal_head {
    struct pw_identity id;
    struct pw_testclock test_clock;
    int64_t start_unix_ns, start_local_ns;
    int32_t compression; /* level of deflate */
    uint32_t activities, stack_depth, tick_source;
    char clock_sync[16];
    char segment[PW_SEGMENT_NAME_SIZE];
    char command[2048];
};

/* How the program ended. */
struct pw_journal_end {
    int32_t exit_code, exit_signal;
    int64_t pid, end_unix_ns;
};

struct pw_journal;

/* Creates DIR/rank-NNNNN.journal of `head`'s rank, for this process alone. 0, -EEXIST, or -errno.
 */
int pw_journal_create(const char *dir, const struct pw_journal_head *head, struct pw_journal **out);

/* Goes on with one that its writer left, after the last whole block. 0; -ENOENT; -EBUSY when
 * another process writes it; -EBADMSG when it is none; -errno. `has_end`: whether the program's end
 * is in it. */
int pw_journal_resume(const char *dir, int rank, struct pw_journal **out, int *has_end);

/* The same of a program that has ended, though nobody saw it: `written_ns` is when its collector
 * last wrote (time of day, ns), which the journal keeps before anything else is written to it. */
int pw_journal_resume_ended(const char *dir, int rank, struct pw_journal **out, int *has_end,
                            int64_t *written_ns);

/* Each adds a block. What is added is safe from a kill of this process once pw_journal_commit() has
 * returned. All of them take NULL for no journal. */
/* 0, or the -errno for which it lacks these records. */
int pw_journal_add_records(struct pw_journal *journal, int ring, uint64_t first,
                           const struct pw_record *records, uint32_t n);
/* A record that is in no ring: a loss, a wait, or a call that was open at the end. */
void pw_journal_add_ringless(struct pw_journal *journal, int ring, const struct pw_record *record);
void pw_journal_add_reading(struct pw_journal *journal, uint64_t ticks, int64_t ns);
void pw_journal_add_row(struct pw_journal *journal, enum pw_table_id table, const void *row);
void pw_journal_add_end(struct pw_journal *journal, const struct pw_journal_end *end);
/* Adds and commits an end to a journal that lacks nothing since it was created or resumed. 0, or
 * -errno: it has neither the end nor any record apart then, so that all can be done again. */
int pw_journal_add_whole_end(struct pw_journal *journal, const struct pw_journal_end *end);

/* 0, or the -errno that ended the journal: from then on it holds what it held, and how many records
 * it lacks is written when there is room again, at the latest with the end. */
int pw_journal_commit(struct pw_journal *journal);

/* Lets other hosts see what was committed. */
void pw_journal_sync(struct pw_journal *journal);

/* Records of ring `ring` that are in the journal, from its first. */
uint64_t pw_journal_position(const struct pw_journal *journal, int ring);

/* Records that were added after it had ended. */
uint64_t pw_journal_lacking(const struct pw_journal *journal);

/* Bytes of the file. */
int64_t pw_journal_bytes(const struct pw_journal *journal);

/* Closes it; the file stays, or goes. */
void pw_journal_close(struct pw_journal *journal);
void pw_journal_remove(struct pw_journal *journal);

/* Reading. */
enum pw_journal_kind {
    PW_JOURNAL_HEAD = 1,
    PW_JOURNAL_RECORDS,
    PW_JOURNAL_APART,
    PW_JOURNAL_READING,
    PW_JOURNAL_ROW_OF,
    PW_JOURNAL_END,
    PW_JOURNAL_WRITTEN, /* when the collector last wrote, of a program that nobody saw end */
};

struct pw_journal_block {
    enum pw_journal_kind kind;
    union {
        const struct pw_journal_head *head;
        struct {
            int ring;
            uint32_t n;
            uint64_t first;
            const struct pw_record *records;
        } records; /* of PW_JOURNAL_APART, too */
        struct {
            uint64_t ticks;
            int64_t ns;
        } reading;
        struct {
            enum pw_table_id table;
            const void *row;
        } row;
        struct pw_journal_end end;
        int64_t written_ns;
    };
};

struct pw_journal_reader;

/* Opens a journal whose first block is a head. 0; -EBADMSG when it is no journal, or one of another
 * version; -ENOMEM; -errno. */
int pw_journal_open(const char *path, struct pw_journal_reader **out);

/* The next block, valid until the next call: 1; 0 at the end, or where the rest is damaged. Numbers
 * in it are within their bounds. */
int pw_journal_next(struct pw_journal_reader *reader, struct pw_journal_block *out);

/* Bytes of the blocks read so far. */
int64_t pw_journal_read_bytes(const struct pw_journal_reader *reader);

void pw_journal_reader_close(struct pw_journal_reader *reader);

#endif
