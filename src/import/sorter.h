/* Sorts any number of records in bounded memory: what does not fit is sorted in pieces, kept in an
 * unlinked file, and merged when it is read. trace.c, nest.c and rankwrite.c put the records of a
 * window in order with it. A sorter is filled once and then read once; records cannot be added to
 * one that is being read. */
#ifndef PW_IMPORT_SORTER_H
#define PW_IMPORT_SORTER_H

#include <stddef.h>
#include <stdint.h>

struct pw_sorter;

/* Records of `size` bytes, a multiple of 8, of which the first three int64 are the key: they rise.
 * Those of one key stay in the order in which they were added. At most `memory` bytes are held;
 * files go to `dir`. 0 or -ENOMEM. */
int pw_sorter_create(const char *dir, size_t size, size_t memory, struct pw_sorter **out);
void pw_sorter_destroy(struct pw_sorter *sorter);

/* A failure is remembered, and answered by pw_sorter_begin(). */
void pw_sorter_add(struct pw_sorter *sorter, const void *record);

int64_t pw_sorter_count(const struct pw_sorter *sorter);

/* Keeps nothing in memory until it is read. */
void pw_sorter_park(struct pw_sorter *sorter);

/* No more are added. 0, or the first error: -ENOMEM, or of the file. */
int pw_sorter_begin(struct pw_sorter *sorter);

/* The next record, good until the next call; NULL: there is none, or the file cannot be read. */
const void *pw_sorter_next(struct pw_sorter *sorter);

/* The first error since it was created. */
int pw_sorter_error(const struct pw_sorter *sorter);

#endif
