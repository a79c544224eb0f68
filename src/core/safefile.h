/* Opens, makes and replaces files where other users may have put something in their place, and
 * judges whether a directory is one in which they cannot. Called by all tool code that writes files
 * in shared directories or reads what another process left there. Never used in-app. */
#ifndef PW_CORE_SAFEFILE_H
#define PW_CORE_SAFEFILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* Files that other users may have put something in the place of: opened only as regular files, and
 * made under a name of their own before they get the final one. */

/* A file that is being made. Its directory is open: renaming it meanwhile changes nothing. */
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

/* Which directories profwrap writes into: those in which no other user can put a file in the place
 * of another. */

/* Whether only its owner, the caller, can write to the directory. 0; -EPERM when another user can,
 * -errno when it cannot be known: then `problem` has one sentence, without a full stop.
 *
 * Write permission of the group counts unless the group is the owner's private one: it is the
 * owner's primary group, has the owner's name, and no other member. So systems make users' groups
 * whose umask is 002, and there everybody's own directories have mode 0775. Entries of a POSIX ACL
 * that let others write count, and so does write permission for all, whether or not the directory
 * is sticky: a name that is not taken yet can be taken. */
int pw_directory_check(const char *dir, char *problem, size_t size);

/* For a command that is about to write into a directory, unless PROFWRAP_TRUST_DIRECTORY is set: 0,
 * or -EPERM with `problem` set when others can write to it. One that cannot be looked at is the
 * caller's to find out about. */
int pw_directory_vet(const char *dir, char *problem, size_t size);

#endif
