/* Changes to a rank or cluster file that random changes of its bytes would hardly ever make. Each
 * takes a writable open file, and does nothing if it is not applicable. */
#ifndef PW_FUZZ_EDITS_H
#define PW_FUZZ_EDITS_H

#include <hdf5.h>

#include "dice.h"

typedef void edit(hid_t file, struct dice *dice);

/* edit_rows.c: what is in the tables. */
edit edit_value, edit_copy_row, edit_column, edit_texts, edit_raw_chunk;

/* edit_shapes.c: extents, types, layouts and filters. */
edit edit_extent, edit_replace, edit_type;

/* edit_links.c: attributes and links. */
edit edit_attribute, edit_link, edit_remove;

/* The path of a dataset that profwrap reads, whether or not the file has it. */
const char *pick_path(struct dice *dice);

/* Opens some dataset of the file that profwrap reads; negative: none was found. */
hid_t pick_dataset(hid_t file, struct dice *dice);

/* 1 when HDF5 can read all of the dataset without reading what is no part of it: it need not be
 * tried for a crash here. */
int is_readable(hid_t dataset);

#endif
