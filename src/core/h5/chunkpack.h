/* Makes the bytes of a chunk from rows: shuffled and compressed as HDF5's filters do it, or packed
 * where the file is not compressed. HDF5 then only stores the chunk: its conversion, shuffle and
 * zlib would take most of a collector's time, and much of a merge's. Called by the writers of rank
 * files and of the cluster file. Tool code, one thread for each packer. */
#ifndef PW_CORE_H5_CHUNKPACK_H
#define PW_CORE_H5_CHUNKPACK_H

#include <stddef.h>
#include <stdint.h>

#include "core/deflater.h"
#include "core/h5/rowform.h"

struct pw_chunkpack {
    int level;                    /* of deflate; 0: chunks have no filters */
    struct pw_deflater *deflater; /* NULL: chunks are not compressed */
    struct pw_chunk_room {
        char *bytes;
        size_t size;
    } plain, deflated; /* a chunk as the file has it, without and with deflate */
};

/* What H5Dwrite_chunk() needs. The bytes belong to the packer, until its next chunk. */
struct pw_packed_chunk {
    const char *bytes;
    size_t size;
    uint32_t skipped; /* bit i: filter i was not applied; the filters are shuffle and deflate */
};

/* When memory is short, the chunks are not compressed. */
void pw_chunkpack_init(struct pw_chunkpack *pack, int level);
void pw_chunkpack_fini(struct pw_chunkpack *pack);

/* The rows of a chunk: the first `count` are given (row structs), the others are zero. */
struct pw_chunk_rows {
    size_t chunk_rows;
    const void *rows;
    size_t count;
};

/* Packs a chunk. Returns 0 or -ENOMEM. */
int pw_chunkpack_run(struct pw_chunkpack *pack, const struct pw_row_layout *layout,
                     struct pw_chunk_rows rows, struct pw_packed_chunk *out);

/* Packs a chunk whose rows are in the form of the file already: shuffled, or packed where the file
 * is not compressed. Returns 0 or -ENOMEM. `bytes` must be valid as long as *out. */
int pw_chunkpack_deflate(struct pw_chunkpack *pack, const char *bytes, size_t size,
                         struct pw_packed_chunk *out);

#endif
