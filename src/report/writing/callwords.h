/* MPI calls and sets of ranks as people say them. */
#ifndef PW_REPORT_WRITING_CALLWORDS_H
#define PW_REPORT_WRITING_CALLWORDS_H

#include <stddef.h>
#include <stdint.h>

enum { PW_CALL_TEXT = 192 };

struct pw_call_words {
    uint32_t op;
    uint32_t awaited;      /* of a completion call: what it waits for; 0 not known */
    const char *comm_name; /* "" when it has none */
    uint64_t comm_uid;     /* 0 not known */
    int64_t seq;           /* of a collective; -1 none */
    int32_t peer, tag;     /* world rank, -1 */
};

/* "MPI_Wait (for MPI_Irecv from rank 3 (tag 7) on MPI_COMM_WORLD)", "MPI_Allreduce #17 on
 * MPI_COMM_WORLD", "MPI_Recv from rank 3 (tag 7) on MPI_COMM_WORLD". Returns `out`. */
const char *pw_call_write(const struct pw_call_words *call, char *out, size_t size);

/* The name of a communicator, or one made of its uid. Returns `out`. */
const char *pw_call_comm(const char *name, uint64_t uid, char *out, size_t size);

/* "rank 3", "ranks 0-2,4-7": of a sorted list without doubles; the rest is counted where they do
 * not fit. Returns `out`. */
const char *pw_call_ranks(const int32_t *ranks, size_t n, char *out, size_t size);

#endif
