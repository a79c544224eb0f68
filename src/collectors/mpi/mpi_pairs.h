/* How many messages a rank has exchanged with each other rank on each communicator, counted from
 * the records: by the comparison with the partner's numbers, the report of a hang tells which of
 * several messages is missing. Called by mpi_tool.c. Tool code, one thread; the memory is
 * limited. */
#ifndef PW_MPI_PAIRS_H
#define PW_MPI_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
