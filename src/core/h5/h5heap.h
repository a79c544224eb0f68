/* Reads texts from the heap of an HDF5 file without the HDF5 library, which takes longer to begin
 * with a file than to read its texts. Called by h5contents.c only. Tool code; the file may be
 * damaged or hostile: what does not look as the library writes it is refused, and must then be read
 * with the library. */
#ifndef PW_CORE_H5_H5HEAP_H
#define PW_CORE_H5_H5HEAP_H

#include <stddef.h>
#include <stdint.h>

/* A dataset of texts: where its `n` references to the heap begin, and the end of the file. */
struct pw_h5_texts_place {
    uint64_t at, n, end;
};

/* Reads the texts into one malloc'ed block: the pointers and the texts. Returns 0, -EIO or
 * -ENOMEM. */
int pw_h5_heap_strings(int fd, const struct pw_h5_texts_place *place, char ***strings);

#endif
