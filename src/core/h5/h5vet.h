/* What a dataset may be before anything of it is read: in this file, stored as profwrap stores, and
 * not larger than what is stored can hold. Called by h5reader.c only. Tool code; changes nothing in
 * the file. */
#ifndef PW_CORE_H5_H5VET_H
#define PW_CORE_H5_H5VET_H

#include <hdf5.h>
#include <stdint.h>

/* How a dataset is stored. */
struct pw_h5_storage {
    size_t element;   /* bytes of a row */
    hsize_t chunk[2]; /* rows and columns of a chunk; 0: it has none */
    int rank;
    int deflate, checksum; /* numbers of the filters; -1: not there */
};

/* Checks storage of rows of `element` bytes. 0, or -EINVAL: they would come from other files,
 * through other filters than one shuffle, deflate and fletcher32, or in chunks or elements larger
 * than any of profwrap's. */
int pw_h5_vet_storage(hid_t dataset, size_t element, struct pw_h5_storage *out);

/* Checks `dims` rows and columns, whose product does not overflow, of `row_size` bytes each in
 * memory. 0, or -EINVAL when they cannot come from the bytes that the file stores for the dataset:
 * rows that were never written, which HDF5 would make up, or more chunks than the file has room to
 * place. */
int pw_h5_vet_rows(hid_t file, hid_t dataset, const struct pw_h5_storage *storage,
                   const hsize_t dims[2], size_t row_size);

/* The chunks that hold so many rows and columns from `start` on: 0, or -EIO when one is not exactly
 * as long as a chunk is, behind whose end HDF5 would read on; -ENOMEM. */
int pw_h5_vet_chunks(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t start[2],
                     const hsize_t count[2]);

/* Checks each `stride`-th chunk, from number `first` on, of a dataset of so many rows and columns;
 * chunks are numbered along rows. The same, and -EIO when one was never written. */
int pw_h5_vet_written(hid_t dataset, const struct pw_h5_storage *storage, const hsize_t dims[2],
                      hsize_t first, hsize_t stride);

#endif
