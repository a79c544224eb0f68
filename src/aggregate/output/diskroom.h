/* Room on the disk that is reserved before the cluster file is written: on a full disk, HDF5 1.10
 * and MPI-IO crash, or do not report an error. Some file systems cannot reserve room; then none is
 * reserved. Called by clusterfile.c on process 0. No MPI. */
#ifndef PW_AGGREGATE_OUTPUT_DISKROOM_H
#define PW_AGGREGATE_OUTPUT_DISKROOM_H

#include <stddef.h>
#include <stdint.h>

struct pw_diskroom {
    int fd;            /* descriptor of the file, open for writing; -1: nothing is reserved */
    uint64_t reserved; /* bytes from the begin of the file */
};

/* Creates an empty file with a new, random name, in `part`. HDF5 would follow links and use an
 * existing file. Returns 0 or -errno. */
int pw_diskroom_make_file(const char *path, char *part, size_t size, struct pw_diskroom *room);

/* Reserves room for the first `bytes` of the file, and some more. Returns 0 or -errno when the disk
 * is full. */
int pw_diskroom_reserve(struct pw_diskroom *room, uint64_t bytes);

/* Releases the reserved room after the file's end, and closes the descriptor. */
void pw_diskroom_fini(struct pw_diskroom *room);

#endif
