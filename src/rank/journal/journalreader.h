/* Reads a journal block by block, and trusts nothing in it. Called by the writer to find its last
 * whole block, by the backlog, by recovery and by `profwrap ctl snapshot`. Tool code. */
#ifndef PW_RANK_JOURNAL_JOURNALREADER_H
#define PW_RANK_JOURNAL_JOURNALREADER_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/journal/journalform.h"

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

/* The next block to read is the one at this offset: pw_journal_bytes() before it was added. */
void pw_journal_skip(struct pw_journal_reader *reader, int64_t to);

/* Bytes of the blocks read so far. */
int64_t pw_journal_read_bytes(const struct pw_journal_reader *reader);

/* `reader` may be NULL. */
void pw_journal_reader_close(struct pw_journal_reader *reader);

#endif
