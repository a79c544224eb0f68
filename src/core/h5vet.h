/* What a dataset may be before anything of it is read: in this file, stored as profwrap stores, and
 * not larger than what is stored can hold. Called by h5reader.c. */
#ifndef PW_CORE_H5VET_H
#define PW_CORE_H5VET_H

#include <hdf5.h>
#include <stdint.h>

/* 0, or -EINVAL: its rows would come from other files, through other filters than shuffle, deflate
 * and fletcher32, or in chunks or elements larger than any of profwrap's. */
int pw_h5_vet_storage(hid_t dataset);

/* 0, or -EINVAL when `count` rows of `row_size` bytes cannot come from the bytes that the file
 * stores for the dataset: rows that nobody wrote, which HDF5 would make up. */
int pw_h5_vet_rows(hid_t file, hid_t dataset, uint64_t count, size_t row_size);

#endif
