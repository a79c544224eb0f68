/* The rank files of a directory. */
#ifndef PW_AGGREGATE_INPUT_FILELIST_H
#define PW_AGGREGATE_INPUT_FILELIST_H

#include "aggregate/input/job.h"

enum { PW_FILE_NAME = 320 };

/* Sorted names; a .part beside its finished file is left out, and noted; journals are said. NULL
 * with errno set when the directory is unreadable or memory short; the caller frees it. */
char (*pw_filelist_read(struct pw_job *job, const char *dir, size_t *count))[PW_FILE_NAME];

#endif
