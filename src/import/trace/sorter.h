/* Sorts any number of records in bounded memory: records that do not fit are sorted in parts,
 * written to an unlinked file, and merged while they are read. trace.c, nest.c and rankwrite.c sort
 * the records of a window with it. A sorter is filled once and then read, once or
 * several times; after pw_sorter_begin() no records may be added. */
#ifndef PW_IMPORT_SORTER_H
#define PW_IMPORT_SORTER_H

#include <stddef.h>
#include <stdint.h>

struct pw_sorter;

/* Creates a sorter of records of `size` bytes, a multiple of 8. A record begins with its key, three
 * int64; records are returned by rising keys, and those with equal keys in the order in which they
 * were added. Uses about `memory` bytes, and a file in `dir`. Returns 0 or -ENOMEM. */
int pw_sorter_create(const char *dir, size_t size, size_t memory, struct pw_sorter **out);
void pw_sorter_destroy(struct pw_sorter *sorter);

/* Adds a copy of the record. pw_sorter_begin() returns the error if this fails. */
void pw_sorter_add(struct pw_sorter *sorter, const void *record);

int64_t pw_sorter_count(const struct pw_sorter *sorter);

/* Moves all records to the file, to free memory until the sorter is read. */
void pw_sorter_park(struct pw_sorter *sorter);

/* Ends the adding of records and sorts. Returns 0 or the first error so far: -ENOMEM, or the file's
 * -errno. */
int pw_sorter_begin(struct pw_sorter *sorter);

/* Returns the next record, valid until the next call; NULL at the end or when the file cannot be
 * read. */
const void *pw_sorter_next(struct pw_sorter *sorter);

/* Begins the reading anew, after pw_sorter_begin(). Returns 0 or the first error so far. */
int pw_sorter_rewind(struct pw_sorter *sorter);

/* Returns the first error since the sorter was created, or 0. */
int pw_sorter_error(const struct pw_sorter *sorter);

#endif
