/* Checks a dataset before any of it is read: its data is in this file, it is stored as profwrap
 * stores tables, and it does not claim more rows than the stored bytes can hold. Called by
 * h5reader.c only. Tool code; does not change the file. */
#ifndef PW_CORE_H5_H5VET_H
#define PW_CORE_H5_H5VET_H

#include <hdf5.h>
#include <stdint.h>

/* How a dataset is stored. */
struct pw_h5_storage {
    size_t element;   /* bytes of a row, as stored */
    hsize_t chunk[2]; /* rows and columns of a chunk; 0: not chunked */
    int rank;
    int shuffle, deflate, checksum; /* numbers of these filters; -1: not used */
};

/* A part of a dataset: some rows and columns of it. */
struct pw_h5_piece {
    hsize_t start[2], count[2];
};

/* Checks how rows of `element` bytes are stored. Returns 0; -EINVAL when data is in another file,
 * when there are filters other than one shuffle, one deflate and one fletcher32, or when chunks or
 * elements are larger than profwrap writes. */
int pw_h5_vet_storage(hid_t dataset, size_t element, struct pw_h5_storage *out);

/* Checks the number of rows and columns, `dims`. The caller has checked that their product does not
 * overflow. An element takes `row_size` bytes in memory. Returns 0, or -EINVAL in two cases: the
 * bytes that the file stores for the dataset cannot hold so many elements (HDF5 would fill rows
 * that were never written with zeros); or there are more chunks than the file can have addresses
 * for. */
int pw_h5_vet_rows(hid_t file, hid_t dataset, const struct pw_h5_storage *storage,
                   const hsize_t dims[2], size_t row_size);

/* Checks the chunks that hold `count` rows and columns from `start` on. Returns 0; -EIO when one
 * does not decompress to exactly the size of a chunk, because HDF5 would read beyond the end of a
 * shorter one; -ENOMEM. */
int pw_h5_vet_chunks(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t start[2],
                     const hsize_t count[2]);

/* A chunk that was decompressed to be checked. */
struct pw_h5_unpacked {
    hsize_t at[2];     /* its first row and column */
    const char *bytes; /* valid during the call */
    int is_shuffled;
};

typedef void pw_h5_chunk_visitor(void *context, const struct pw_h5_unpacked *chunk);

/* The same, and calls `visit` for each chunk whose rows are known from the check: its filters are
 * deflate, after a shuffle if any, and no checksum; a chunk may skip any of them. Returns 0 when
 * all chunks were visited, 1 when all are good but not all were visited, or -errno. */
int pw_h5_vet_visit(hid_t dataset, const struct pw_h5_storage *storage,
                    const struct pw_h5_piece *piece, pw_h5_chunk_visitor *visit, void *context);

/* Checks each `stride`-th chunk, from number `first` on, of a dataset of `dims` rows and columns;
 * chunks are numbered row by row. Returns the same as pw_h5_vet_chunks(), and -EIO when a chunk was
 * never written. */
int pw_h5_vet_written(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t dims[2],
                      hsize_t first, hsize_t stride);

#endif
