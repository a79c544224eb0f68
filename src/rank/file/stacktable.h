/* The call stacks of a rank file: gathers their frames while the program runs, and writes them as
 * text when it has ended. Called by the intake. Tool code; frames come from records and are not
 * trusted. */
#ifndef PW_RANK_FILE_STACKTABLE_H
#define PW_RANK_FILE_STACKTABLE_H

#include "rank/file/rankfile.h"
#include "rank/ring/record.h"

struct pw_stacktable;

/* Creates a table; row 0 means no stack. `budget` must outlive it. Returns NULL when memory is
 * short; all functions accept NULL, as a table without rows. */
struct pw_stacktable *pw_stacktable_create(struct pw_budget *budget);
void pw_stacktable_destroy(struct pw_stacktable *table);

/* Adds the frames in `record` to stack `row`. A module of a frame is the row `name_base` + id of
 * /strings. Impossible values are ignored. */
void pw_stacktable_add(struct pw_stacktable *table, uint32_t row, uint32_t name_base,
                       const struct pw_record *record);

/* Returns the number of rows so far, at least 1. */
uint32_t pw_stacktable_rows(const struct pw_stacktable *table);

/* Finds the functions' names and writes /stacks. */
void pw_stacktable_write(const struct pw_stacktable *table, struct pw_rankfile *file);

#endif
