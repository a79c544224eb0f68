/* Reads the open requests of a running program from its memory: those that its threads wait for,
 * and those for sends. Called by mpi_tool.c when somebody asks what a rank does. Tool code. The
 * program runs meanwhile, and its memory may hold anything. Where the system does not permit a
 * parent to read the memory of its child, nothing is known of the requests. */
#ifndef PW_MPI_OPEN_H
#define PW_MPI_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/live.h"
#include "rank/ring/segment.h"

/* How many messages a rank has exchanged with each other rank on each communicator, counted from
 * the records: by the comparison with the partner's numbers, the report of a hang tells which of
 * several messages is missing. */

enum { PW_MPI_PAIRS = 4096, PW_MPI_PAIRS_MOST = 3072 };

struct pw_mpi_pair {
    uint32_t comm; /* 1 + index of the communicator; 0: the place is free */
    int32_t peer;  /* world rank */
    int64_t sent, received;
    int64_t sending; /* open requests for sends, at the last inquiry */
};

struct pw_mpi_pairs {
    struct pw_mpi_pair *last; /* the one that was used last */
    struct pw_mpi_pair places[PW_MPI_PAIRS];
    size_t n;
    bool is_short; /* some messages are not counted */
};

/* Returns the numbers for the peer on the communicator, which are 0 at first; NULL, and is_short,
 * when there are too many. */
struct pw_mpi_pair *pw_mpi_pairs_at(struct pw_mpi_pairs *pairs, uint32_t comm, int32_t peer);

/* Returns the uid of the process's communicator `index`; 0: not known. */
struct pw_mpi_uids {
    const void *state;
    uint64_t (*of)(const void *state, uint32_t index);
};

/* Adds to *live the requests that its threads wait for, and the numbers of messages. `pairs` has
 * communicators by their index in the process; its `sending` is set here. */
void pw_mpi_open_add(const struct pw_segment_shared *segment, struct pw_mpi_pairs *pairs,
                     const struct pw_mpi_uids *uids, struct pw_live *live);

#endif
