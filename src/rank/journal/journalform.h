/* How blocks and records lie in a journal's file: for its writer (journal.c), its reader
 * (journalreader.c) and the code of records (recordcode.c) only. A change of anything here takes
 * another PW_JOURNAL_VERSION. Tool code. */
#ifndef PW_RANK_JOURNAL_JOURNALFORM_H
#define PW_RANK_JOURNAL_JOURNALFORM_H

#include "rank/journal/journal.h"

/* ---- records in few bytes: what a record shares with those before it is left out, so that an
 * Allreduce that is called again and again takes about 8 bytes of its 64 (recordcode.c) ---- */

/* The most bytes that one record can take. */
enum { PW_RECORD_CODE_MOST = 2 + 3 * 10 + 10 * 5 };

/* Encodes `n` records into `out`, which has room for n * PW_RECORD_CODE_MOST. The bytes written. */
size_t pw_records_encode(const struct pw_record *records, size_t n, unsigned char *out);

/* The `n` records that `size` bytes hold. 0, or -EBADMSG when they do not hold exactly these; the
 * bytes may be anything. */
int pw_records_decode(const unsigned char *bytes, size_t size, struct pw_record *records, size_t n);

/* ---- blocks ---- */

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
