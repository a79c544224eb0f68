/* The windows of recording as rows of /windows, and the time between them as gaps. Called by the
 * intake. Tool code; writes only at the end. */
#ifndef PW_RANK_FILE_WINDOWTABLE_H
#define PW_RANK_FILE_WINDOWTABLE_H

#include "core/schedule.h"
#include "rank/file/rankfile.h"
#include "rank/ring/record.h"

struct pw_windowtable;

/* NULL when memory is short. */
struct pw_windowtable *pw_windowtable_create(void);

/* A PW_REC_WINDOW, `ns` being its time. */
void pw_windowtable_change(struct pw_windowtable *table, const struct pw_record *record,
                           int64_t ns);

/* A step was begun in the records: -1 none. */
void pw_windowtable_step(struct pw_windowtable *table, const struct pw_record *record);

/* After the last record: writes the rows, in the order of time. A window that is open ends now. */
void pw_windowtable_write(struct pw_windowtable *table, struct pw_rankfile *file, int64_t end_ns);

void pw_windowtable_destroy(struct pw_windowtable *table);

#endif
