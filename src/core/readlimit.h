/* How much memory the commands that read files of unknown origin may take. cli/confine.c sets the
 * limit; all that read such files take the error text for "out of memory" from here. Tool code. */
#ifndef PW_CORE_READLIMIT_H
#define PW_CORE_READLIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Above the size of what is read, or so many times that size where this is more: the files are
 * compressed, and a long run's merge and report take up to 9 times as much. With the program's own
 * code and tables, which the limit does not count, a command stays within 512 MiB of the size of
 * small files. */
enum { PW_READLIMIT_MORE_BYTES = 448 << 20, PW_READLIMIT_TIMES = 16 };

/* For the rest of the process and its children: writable memory of at most what the above says for
 * `input_bytes`, or as PROFWRAP_READ_MEMORY says; a limit that is lower already stays. An
 * allocation of more fails. 0 or -errno. */
int pw_readlimit_set(uint64_t input_bytes);

/* Bytes of what is read: of the file `path`, or of all files in the directory. */
uint64_t pw_readlimit_size(const char *path);

/* strerror() of a negative errno, but of -ENOMEM where the limit is and what to do. */
const char *pw_readlimit_error(int err);

#endif
