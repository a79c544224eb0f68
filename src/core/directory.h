/* Which directories profwrap writes into: those in which nobody else can put a file in the place of
 * another. */
#ifndef PW_CORE_DIRECTORY_H
#define PW_CORE_DIRECTORY_H

#include <stddef.h>

/* Whether nobody but its owner, the caller, can write to the directory. 0; -EPERM when somebody
 * can, -errno when it cannot be known: then `problem` has one sentence, without a full stop.
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
