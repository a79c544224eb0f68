/* Records in few bytes, for the journal: what a record shares with those before it is left out. An
 * Allreduce that is called again and again takes about 8 bytes of its 64. */
#ifndef PW_RANK_JOURNAL_RECORDCODE_H
#define PW_RANK_JOURNAL_RECORDCODE_H

#include <stddef.h>
#include <stdint.h>

#include "rank/ring/record.h"

/* The most bytes that one record can take. */
enum { PW_RECORD_CODE_MOST = 2 + 3 * 10 + 10 * 5 };

/* Encodes `n` records into `out`, which has room for n * PW_RECORD_CODE_MOST. The bytes written. */
size_t pw_records_encode(const struct pw_record *records, size_t n, unsigned char *out);

/* The `n` records that `size` bytes hold. 0, or -EBADMSG when they do not hold exactly these; the
 * bytes may be anything. */
int pw_records_decode(const unsigned char *bytes, size_t size, struct pw_record *records, size_t n);

#endif
