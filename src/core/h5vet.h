/* What a dataset may be before anything of it is read: in this file, stored as profwrap stores, and
 * not larger than what is stored can hold. Called by h5reader.c. */
#ifndef PW_CORE_H5VET_H
#define PW_CORE_H5VET_H

#include <hdf5.h>
#include <stdint.h>

/* How a dataset is stored. */
struct pw_h5_storage {
    size_t element;   /* bytes of a row */
    hsize_t chunk[2]; /* rows and columns of a chunk; 0: it has none */
    int rank;
    int deflate, checksum; /* numbers of the filters; -1: not there */
};

/* Of rows of `element` bytes. 0, or -EINVAL: they would come from other files, through other
 * filters than one shuffle, deflate and fletcher32, or in chunks or elements larger than any of
 * profwrap's. */
int pw_h5_vet_storage(hid_t dataset, size_t element, struct pw_h5_storage *out);

/* 0, or -EINVAL when `count` rows of `row_size` bytes cannot come from the bytes that the file
 * stores for the dataset: rows that nobody wrote, which HDF5 would make up. */
int pw_h5_vet_rows(hid_t file, hid_t dataset, uint64_t count, size_t row_size);

/* The chunks that hold `rows` rows from `first` on, of `width` columns: 0, or -EIO when one is not
 * exactly as long as a chunk is, behind whose end HDF5 would read on; -ENOMEM. */
int pw_h5_vet_chunks(hid_t dataset, const struct pw_h5_storage *storage, hsize_t first,
                     hsize_t rows, hsize_t width);

#endif
