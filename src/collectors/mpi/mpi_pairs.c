/* A hash table with open addressing; see mpi_pairs.h. */
#include "collectors/mpi/mpi_pairs.h"

struct pw_mpi_pair *pw_mpi_pairs_at(struct pw_mpi_pairs *pairs, uint32_t comm, int32_t peer)
{
    struct pw_mpi_pair *last = pairs->last;
    if (last && last->comm == comm + 1 && last->peer == peer)
        return last;
    const uint64_t key = (uint64_t)comm << 32 | (uint32_t)peer;
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
    while (pairs->places[at].comm &&
           (pairs->places[at].comm != comm + 1 || pairs->places[at].peer != peer))
        at = (at + 1) % PW_MPI_PAIRS;
    struct pw_mpi_pair *pair = &pairs->places[at];
    if (!pair->comm && pairs->n == PW_MPI_PAIRS_MOST) {
        pairs->is_short = true;
        return NULL;
    }
    if (!pair->comm) {
        *pair = (struct pw_mpi_pair){.comm = comm + 1, .peer = peer};
        pairs->n++;
    }
    pairs->last = pair;
    return pair;
}
