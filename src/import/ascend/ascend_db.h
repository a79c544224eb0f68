/* Profiles of Ascend's devices that are databases: ascend_pytorch_profiler_N.db,
 * ascend_mindspore_profiler_N.db and msprof_TIME.db. Their rows become the events that a
 * trace_view.json has, and are taken like these (ascend_events.c). ascend.c calls these functions;
 * they need SQLite when profwrap is built, and without it only say so. A database is never written.
 */
#ifndef PW_IMPORT_ASCEND_DB_H
#define PW_IMPORT_ASCEND_DB_H

#include "import/trace/format.h"

/* Whether the file is a database of SQLite. */
int pw_ascend_is_db(const char *path);

/* Whether the file is a database with all the pages that its head counts. */
int pw_ascend_db_is_whole(const char *path);

/* Whether profwrap was built with SQLite. */
int pw_ascend_db_can_be_read(void);

/* Opens a database for reading: NULL: it cannot be. Whether it has a table. Both are there only
 * with SQLite. */
struct sqlite3;
struct sqlite3 *pw_ascend_db_open(const char *path);
int pw_ascend_db_has_table(struct sqlite3 *db, const char *table);

/* As look() and read() of struct pw_import_format. */
int pw_ascend_db_look(const char *path, struct pw_import_head *out);
int pw_ascend_db_read(const char *path, struct pw_trace_window *window, char *problem, size_t size);

#endif
