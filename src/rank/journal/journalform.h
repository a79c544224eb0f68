/* How the blocks of a journal lie in its file: for its writer and its reader only. */
#ifndef PW_RANK_JOURNAL_JOURNALFORM_H
#define PW_RANK_JOURNAL_JOURNALFORM_H

#include "rank/journal/journal.h"
#include "rank/journal/recordcode.h"

enum { PW_JOURNAL_VERSION = 6 };
#define PW_JOURNAL_MAGIC 0x4a575031u /* "1PWJ" */

struct pw_block_header {
    uint32_t magic;
    uint32_t length; /* bytes that follow */
    uint32_t kind;   /* enum pw_journal_kind */
    uint32_t check;  /* CRC-32 of this header, with 0 here, and of what follows */
};

struct pw_block_head {
    uint32_t version, size; /* of the struct: another build's may differ */
    struct pw_journal_head head;
};

struct pw_block_records {
    uint64_t first;
    uint32_t ring, n;
    /* encoded records follow */
};

struct pw_block_row {
    uint32_t table, size;
    /* the row's struct follows */
};

enum {
    PW_JOURNAL_MOST_RECORDS =
        sizeof(struct pw_block_records) + PW_JOURNAL_BATCH * PW_RECORD_CODE_MOST,
    /* No block is longer. */
    PW_JOURNAL_MOST = PW_JOURNAL_MOST_RECORDS > sizeof(struct pw_block_head)
                          ? PW_JOURNAL_MOST_RECORDS
                          : sizeof(struct pw_block_head),
};

uint32_t pw_block_check(const struct pw_block_header *header, const void *payload);

#endif
