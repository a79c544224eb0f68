/* Collects the windows of recording. Writes them as rows of /windows, and the pauses of recording
 * as rows of /events/gap. Called by collect/intake.c. Tool code; writes only at the end. */
#ifndef PW_RANK_FILE_WINDOWTABLE_H
#define PW_RANK_FILE_WINDOWTABLE_H

#include "core/schedule.h"
#include "rank/file/rankfile.h"
#include "rank/ring/record.h"

struct pw_windowtable;

/* Returns NULL when memory is short. */
struct pw_windowtable *pw_windowtable_create(void);

/* Adds a PW_REC_WINDOW record: recording began or ended at `ns`. */
void pw_windowtable_change(struct pw_windowtable *table, const struct pw_record *record,
                           int64_t ns);

/* Adds a PW_REC_STEP record: its step is in the open window. A step of -1 ends the one before and
 * begins none; with PW_STEP_CANCEL the one before was none. */
void pw_windowtable_step(struct pw_windowtable *table, const struct pw_record *record);

/* To be called after the last record: writes the rows in order of time. An open window ends at
 * `end_ns`. */
void pw_windowtable_write(struct pw_windowtable *table, struct pw_rankfile *file, int64_t end_ns);

void pw_windowtable_destroy(struct pw_windowtable *table);

#endif
