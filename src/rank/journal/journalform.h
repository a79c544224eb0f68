/* The file format of blocks and records. Used by the writer (journal.c), the reader
 * (journalreader.c) and the encoder of records (recordcode.c) only. Any change here needs a new
 * PW_JOURNAL_VERSION. Tool code. */
#ifndef PW_RANK_JOURNAL_JOURNALFORM_H
#define PW_RANK_JOURNAL_JOURNALFORM_H

#include "rank/journal/journal.h"

/* ---- encoding of records (recordcode.c): only differences from earlier records are stored; a
 * repeated Allreduce takes about 8 bytes instead of 64 ---- */

/* The most bytes that one record can take. */
enum { PW_RECORD_CODE_MOST = 2 + 3 * 10 + 10 * 5 };

/* Encodes `n` records into `out`, which has room for n * PW_RECORD_CODE_MOST bytes. Returns the
 * bytes written. */
size_t pw_records_encode(const struct pw_record *records, size_t n, unsigned char *out);

/* Decodes `size` bytes, which are not trusted, into `n` records. Returns 0; -EBADMSG unless the
 * bytes are exactly `n` records. */
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
    uint32_t version, size; /* size of the struct, which may differ in another build */
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
    /* Bytes of the longest block. */
    PW_JOURNAL_MOST = PW_JOURNAL_MOST_RECORDS > sizeof(struct pw_block_head)
                          ? PW_JOURNAL_MOST_RECORDS
                          : sizeof(struct pw_block_head),
};

uint32_t pw_block_check(const struct pw_block_header *header, const void *payload);

/* Makes a reader, from offset `at` on, of the file that `fd`, of which it keeps a copy, has open.
 * Returns 0, -ENOMEM, or another -errno. */
int pw_journal_reader_on(int fd, int64_t at, struct pw_journal_reader **out);

#endif
