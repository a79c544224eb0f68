/* Files that other users may have put something in the place of: opened only as regular files, and
 * made under a name of their own before they get the final one. */
#ifndef PW_CORE_NEWFILE_H
#define PW_CORE_NEWFILE_H

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* A file that is being made. Its directory is open: whoever renames it meanwhile changes nothing.
 */
struct pw_newfile {
    FILE *out;
    int dir; /* -1: written in place */
    char name[NAME_MAX + 1], part[NAME_MAX + 1];
};

/* Makes a file beside `path` under a unique name, which ends in ".part". 0 or -errno. SIGHUP,
 * SIGINT and SIGTERM, where they would end the program, remove it first. `file` must stay where it
 * is until it is closed. */
int pw_newfile_open(const char *path, mode_t mode, struct pw_newfile *file);

/* The same of a path that a person has given. "/dev/stdout" and the like are the open descriptor. A
 * pipe or device there is written to as it is, unless it is another user's (-EPERM), and so is the
 * file behind a link that is root's or the user's own. Another user's link is replaced. */
int pw_newfile_open_named(const char *path, mode_t mode, struct pw_newfile *file);

/* Closes it. After `err` 0 it is on the disk and gets its final name, over a file that has it; else
 * it is removed. Returns `err`, or -errno of what failed first. */
int pw_newfile_close(struct pw_newfile *file, int err);

/* Opens a regular file for reading, and waits for no pipe. A descriptor; -EINVAL when it is no
 * regular file, or another -errno. `flags` are added, such as O_NOFOLLOW. */
int pw_open_regular(const char *path, int flags);

/* The same as a stream; NULL with errno set. */
FILE *pw_fopen_regular(const char *path);

#endif
