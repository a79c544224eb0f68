/* Profiles of Ascend's devices that are databases: ascend_pytorch_profiler_N.db,
 * ascend_mindspore_profiler_N.db and msprof_TIME.db. Their rows become the events that a
 * trace_view.json has, and are taken like these (ascend_take.c). ascend.c calls these functions;
 * they need SQLite when profwrap is built, and without it only say so. A database is never written.
 */
#ifndef PW_IMPORT_ASCEND_DB_H
#define PW_IMPORT_ASCEND_DB_H

#include "import/format.h"

/* Whether the file is a database of SQLite. */
int pw_ascend_is_db(const char *path);

/* As look() and read() of struct pw_import_format. */
int pw_ascend_db_look(const char *path, struct pw_import_head *out);
int pw_ascend_db_read(const char *path, struct pw_trace_window *window, char *problem, size_t size);

/* Writes the tables of any database and their numbers of rows, "StepTraceTime (12 rows), ...". "":
 * the file is no database, is damaged, or cannot be read without SQLite. */
void pw_ascend_db_list(const char *path, char *out, size_t size);

#endif
