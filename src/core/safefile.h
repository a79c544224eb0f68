/* Opens, creates and replaces files in directories where another user may have put a link or a pipe
 * under the same name, and checks whether other users can write to a directory. Called by all tool
 * code that writes files in shared directories or reads what another process left there. Never used
 * in-app. */
#ifndef PW_CORE_SAFEFILE_H
#define PW_CORE_SAFEFILE_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* Existing files are opened only if they are regular files. New files are written under a unique
 * name and then renamed. */

/* A file that is being written. Its directory is kept open, so the file stays in it even if the
 * directory is renamed meanwhile. */
struct pw_newfile {
    FILE *out;
    int dir; /* the open directory; -1: the file is written in place */
    char name[NAME_MAX + 1], part[NAME_MAX + 1];
};

/* Creates a file beside `path` under a unique name that ends in ".part". Returns 0 or -errno. When
 * SIGHUP, SIGINT or SIGTERM ends the program, the file is removed first. `file` may not move in
 * memory until it is closed. */
int pw_newfile_open(const char *path, mode_t mode, struct pw_newfile *file);

/* As pw_newfile_open(), for a path that the user has given. "/dev/stdout" and similar names mean
 * the open descriptor. A pipe or device at `path` is written to in place; -EPERM when it belongs to
 * another user. A link that belongs to root or to the user is followed, and its file is written in
 * place. A link of another user is replaced. */
int pw_newfile_open_named(const char *path, mode_t mode, struct pw_newfile *file);

/* Closes the file. When `err` is 0, syncs it to disk and renames it to its final name, replacing a
 * file of that name; otherwise removes it. Returns `err`, or -errno of the first step that
 * failed. */
int pw_newfile_close(struct pw_newfile *file, int err);

/* Opens a regular file for reading; does not block on a pipe. Returns a descriptor; -EINVAL when
 * `path` is no regular file, or another -errno. `flags` are added to those of open(), such as
 * O_NOFOLLOW. */
int pw_open_regular(const char *path, int flags);

/* As pw_open_regular(), but returns a stream; NULL with errno set on failure. */
FILE *pw_fopen_regular(const char *path);

/* Checks of directories: profwrap writes only where no other user can replace a file. */

/* Checks that the caller owns the directory and is the only user who can write to it. Returns 0;
 * -EPERM when another user can, -errno when it cannot be read. On failure `problem` has one
 * sentence, without a full stop.
 *
 * Write permission of the group counts unless the group is the owner's private one: it is the
 * owner's primary group, has the owner's name, and no other member. Such groups are usual where the
 * umask is 002 and users' own directories have mode 0775. Write permission by a POSIX ACL counts.
 * Write permission for all counts even in a sticky directory, because others can create a file
 * before profwrap does. */
int pw_directory_check(const char *dir, char *problem, size_t size);

/* Called by a command before it writes into a directory. Returns 0, or -EPERM with `problem` set
 * when others can write to it. Always 0 when PROFWRAP_TRUST_DIRECTORY is set, and when the
 * directory cannot be read: the caller meets that error when it writes. */
int pw_directory_vet(const char *dir, char *problem, size_t size);

#endif
