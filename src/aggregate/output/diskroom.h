/* Room on the disk for a file, taken before it is written: HDF5 1.10 and MPI-IO do not survive a
 * disk that is full, and do not say that it was. Where a file system cannot reserve room, none is
 * taken.
 */
#ifndef PW_AGGREGATE_OUTPUT_DISKROOM_H
#define PW_AGGREGATE_OUTPUT_DISKROOM_H

#include <stdint.h>

struct pw_diskroom {
    int fd;            /* of the file, open for writing; -1: reserves nothing */
    uint64_t reserved; /* bytes from its begin */
};

/* Room for the first `bytes` of the file and a little more, whose size stays. 0, -ENOSPC, -EDQUOT
 * or -EFBIG. */
int pw_diskroom_reserve(struct pw_diskroom *room, uint64_t bytes);

/* Gives back what lies behind the file's end, and closes the descriptor. */
void pw_diskroom_fini(struct pw_diskroom *room);

#endif
