/* Who is missing in a job that hangs, from the operations that had not ended when dumps of all
 * ranks were written (docs/import.md): who waits in which operation, which members did not reach
 * it, and of which that is not known. The merge calls this (aggregate/input/endings.h) and writes
 * the rows to /hang. hang.h answers the same question for a job that still runs, whose ranks are
 * each in one call; here a rank has enqueued operations of several communicators. No I/O. */
#ifndef PW_ANALYSIS_MISSING_H
#define PW_ANALYSIS_MISSING_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* What there is of a rank. */
enum pw_dump { PW_DUMP_NONE, PW_DUMP_EMPTY, PW_DUMP_CUT, PW_DUMP_FULL };

/* A communicator of a rank, and how many of its collectives the rank has begun. */
struct pw_missing_comm {
    uint64_t uid;
    int64_t rank, reached;
};

/* A member of a communicator, which needs no dump. */
struct pw_missing_member {
    uint64_t uid;
    int64_t rank;
};

struct pw_missing_input {
    const struct pw_row_c_open_call *calls; /* by rank; those of a rank in the order of begin */
    size_t ncalls;
    /* [ncalls] 1: a message of which the other side has begun its part, by the number of messages
     * between the two; NULL: of none this is known. */
    const uint8_t *begun;
    struct pw_missing_comm *comms; /* sorted here by uid and rank, as the members are */
    size_t ncomms;
    struct pw_missing_member *members; /* a member may be there several times */
    size_t nmembers;
    const uint8_t *dumps; /* enum pw_dump of ranks 0 to nranks - 1 */
    size_t nranks;
};

/* Makes the rows of /hang, malloc'ed in *rows, in the order in which reports name the operations:
 * first those whose waiting ranks called different functions, or the same with different sizes or
 * types, and those that a rank did not reach that waits nowhere else; then those of which it is not
 * known whether a member reached them; then those that a rank did not reach because it waits in an
 * operation that others have ended; then those that all have reached; then those that only ranks
 * did not reach that wait in others. Returns 0 or -ENOMEM. */
int pw_missing_find(struct pw_missing_input *input, struct pw_row_c_hang **rows, size_t *n);

/* How much a rank gave to a collective. */
struct pw_missing_size {
    int64_t count;        /* elements; -1 not known */
    const char *datatype; /* at most 16 bytes; "" not known */
};

/* Whether both gave as many elements of the same type, as far as is known. */
int pw_missing_is_alike(const struct pw_missing_size *a, const struct pw_missing_size *b);

#endif
