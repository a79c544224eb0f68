/* The file format of journals: what the blocks hold, and how records are encoded. The build that
 * writes a journal also reads it, on a machine with the same byte order: structs are stored as they
 * are in memory. Any change here needs a new PW_JOURNAL_VERSION. Tool code; allocates nothing. */
#ifndef PW_RANK_JOURNAL_JOURNALFORM_H
#define PW_RANK_JOURNAL_JOURNALFORM_H

#include <stddef.h>
#include <stdint.h>

#include "rank/ring/record.h"
#include "rank/ring/segment.h"
#include "rank/ring/testclock.h"
#include "rank/run/identity.h"

/* At most this many records in a block, and bytes in a row. */
enum { PW_JOURNAL_BATCH = 1024, PW_JOURNAL_ROW = 512 };

/* The first block of a journal: the description of the run that the rank's file needs, and the name
 * of the shared memory whose rings can have records that are not in the journal. */
struct pw_journal_head {
    struct pw_identity id;
    struct pw_testclock test_clock;
    int64_t start_unix_ns, start_local_ns;
    int32_t compression; /* level of deflate of the rank's file */
    uint32_t activities, stack_depth, tick_source;
    char clock_sync[16];
    char segment[PW_SEGMENT_NAME_SIZE]; /* name of the shared memory */
    char command[2048];
};

/* How the program ended. */
struct pw_journal_end {
    int32_t exit_code, exit_signal;
    int64_t pid, end_unix_ns;
};

enum pw_journal_kind {
    PW_JOURNAL_HEAD = 1,
    PW_JOURNAL_RECORDS,
    PW_JOURNAL_RINGLESS, /* one record that is in no ring */
    PW_JOURNAL_READING,
    PW_JOURNAL_ROW_OF,
    PW_JOURNAL_END,
    PW_JOURNAL_WRITTEN, /* when the collector last wrote; see pw_journal_resume_ended() */
};

/* ---- encoding of records: only differences from earlier records are stored; a
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

enum { PW_JOURNAL_VERSION = 7 };
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

#endif
