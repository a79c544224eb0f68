/* Root's note of where a job's profiles are. The prolog makes the file, empty, in a directory in
 * which root alone can write; the plugin adds to it, as root; the hooks' user parts get it to read,
 * already open. No user can write into it, so none can fill /run or make a reader wait. */
#ifndef PW_SLURM_RECORD_H
#define PW_SLURM_RECORD_H

enum { PW_RECORD_BYTES = 65536 }; /* the most that one may have */

/* Adds a line, unless it is there or the file would get too large. 0, or -errno: without the file,
 * which is what there is without a prolog, there is nothing to add to. */
int pw_record_add(const char *path, const char *line);

/* Open for reading, or -errno. */
int pw_record_open(const char *path);

#endif
