/* The journal of one rank has all data of the rank's file, in the order in which the collector got
 * them. When the collector is killed, recovery makes the rank's file from the journal. Written by
 * the drain and rank/file; read by the backlog, by recovery and by `profwrap ctl snapshot`. Tool
 * code. A lock on the file allows one writer at a time.
 *
 * The journal is one file, DIR/rank-NNNNN.journal, to which blocks are appended. Each block has its
 * length and a checksum. When a kill interrupts the writing of the last block, the length and the
 * checksum show that the block is incomplete, and the next writer cuts it off. The collector writes
 * records to the journal before it frees their places in the ring. So each record is always in a
 * ring, in the journal, or in both. A block of records has the number of its ring and the position
 * of its first record in that ring, so that no record is read twice. The journal is removed when
 * the rank's file has its final name.
 *
 * A *ringless* record is one that was in no ring: a loss, a wait, a call or a range that was open
 * at the end, or what is salvaged from shared memory. What is stored is in journalform.h. */
#ifndef PW_RANK_JOURNAL_JOURNAL_H
#define PW_RANK_JOURNAL_JOURNAL_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/journal/journalform.h"
#include "rank/journal/losscount.h"

struct pw_journal;

/* Creates DIR/rank-NNNNN.journal for the rank in `head`, and locks it. Returns 0, -EEXIST, or
 * another -errno. */
int pw_journal_create(const char *dir, const struct pw_journal_head *head, struct pw_journal **out);

/* Opens and locks the journal of an earlier writer; new blocks go after its last whole block.
 * *has_end tells whether the program's end is in the journal. Returns 0, -ENOENT, -EBUSY when
 * another process writes the journal, -EBADMSG when the file is not a journal, or another -errno.
 */
int pw_journal_resume(const char *dir, int rank, struct pw_journal **out, int *has_end);

/* As pw_journal_resume(), for a program that ended while no collector ran. When the journal has no
 * end, *written_ns is the time of day (ns) of the collector's last write. This time is the file's
 * modification time, and is saved as a block before anything else is written. */
int pw_journal_resume_ended(const char *dir, int rank, struct pw_journal **out, int *has_end,
                            int64_t *written_ns);

/* ---- adding blocks: each function pw_journal_add_...() adds one. The block survives a kill of
 * this process once pw_journal_commit() has returned. `journal` may be NULL
 * (pw_journal_add_whole_end() excepted): then nothing is done. ---- */

/* Adds and commits records of ring `ring`; the first one is record number `first` of that ring.
 * Returns 0, or -errno when the journal could not take them; pw_journal_lacking() counts them then.
 */
int pw_journal_add_records(struct pw_journal *journal, int ring, uint64_t first,
                           const struct pw_record *records, uint32_t n);

void pw_journal_add_ringless(struct pw_journal *journal, int ring, const struct pw_record *record);
void pw_journal_add_reading(struct pw_journal *journal, uint64_t ticks, int64_t ns);
void pw_journal_add_row(struct pw_journal *journal, enum pw_table_id table, const void *row);
void pw_journal_add_end(struct pw_journal *journal, const struct pw_journal_end *end);
/* Adds and commits the program's end, but only if no write has failed since the journal was created
 * or resumed. Returns 0, or the -errno of the failed write. After an error, the end and all
 * ringless records that were added since the journal was created or resumed are cut off again, with
 * what follows them. So a later writer can add them again. */
int pw_journal_add_whole_end(struct pw_journal *journal, const struct pw_journal_end *end);

/* Writes the added blocks to the file. Returns 0, or the -errno of the first failed write. After
 * such a failure the journal takes no more records and counts those that it lacks; the count is
 * written with the end. */
int pw_journal_commit(struct pw_journal *journal);

/* Commits, and flushes the file to the file system's server, so that other hosts can read it. */
void pw_journal_sync(struct pw_journal *journal);

/* Returns the number of the next record of ring `ring` to add: 1 + the number of the last one that
 * was added; 0 when none was added. */
uint64_t pw_journal_position(const struct pw_journal *journal, int ring);

/* Returns the counts of the records that pw_journal_add_records() wrote last. */
struct pw_losscount pw_journal_last_count(const struct pw_journal *journal);

/* Number of records that were added and that the journal lacks because a write failed. */
uint64_t pw_journal_lacking(const struct pw_journal *journal);

/* Size of the file in bytes, with the blocks that are not committed yet. */
int64_t pw_journal_bytes(const struct pw_journal *journal);

/* Commits and closes the journal; the file stays. */
void pw_journal_close(struct pw_journal *journal);

/* Deletes the file and closes the journal. */
void pw_journal_remove(struct pw_journal *journal);

/* ---- reading, block by block: nothing in the file is trusted ---- */

struct pw_journal_block {
    enum pw_journal_kind kind;
    union {
        const struct pw_journal_head *head;
        struct {
            int ring;
            uint32_t n;
            uint64_t first;
            const struct pw_record *records;
        } records; /* also of PW_JOURNAL_RINGLESS, with n 1 */
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

/* Opens a journal for reading. Returns 0, -EBADMSG when the first block is not a head of this
 * version, -ENOMEM, or another -errno. */
int pw_journal_open(const char *path, struct pw_journal_reader **out);

/* Reads the next block into *out, which is valid until the next call. Returns 1, or 0 at the end of
 * the file or at the first damaged block. Rings, tables and numbers of records in *out are within
 * their bounds. */
int pw_journal_next(struct pw_journal_reader *reader, struct pw_journal_block *out);

/* Opens a reader of a journal that this process writes, which begins at its end. Blocks can be read
 * once they are committed. Returns 0, -EINVAL without a journal, or -errno as pw_journal_open(). */
int pw_journal_follow(const struct pw_journal *journal, struct pw_journal_reader **out);

/* The next block to read is the one at this offset: pw_journal_bytes() before it was added. */
void pw_journal_skip(struct pw_journal_reader *reader, int64_t to);

/* Bytes of the blocks read so far. */
int64_t pw_journal_read_bytes(const struct pw_journal_reader *reader);

/* `reader` may be NULL. */
void pw_journal_reader_close(struct pw_journal_reader *reader);

#endif
