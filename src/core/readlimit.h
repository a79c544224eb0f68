/* Limits the memory of commands that read files of unknown origin. cli/confine.c sets the limit.
 * All code that reads such files takes its error text for "out of memory" from here. Tool code;
 * never used in-app. */
#ifndef PW_CORE_READLIMIT_H
#define PW_CORE_READLIMIT_H

#include <stddef.h>
#include <stdint.h>

/* The limit is the size of the input plus PW_READLIMIT_MORE_BYTES, or the size times
 * PW_READLIMIT_TIMES, whichever is more. The files are compressed; merge and report of a long run
 * take up to 9 times their size. For small files, a command takes at most 512 MiB more than their
 * size, with the program's own code and tables, which the limit does not count. */
enum { PW_READLIMIT_MORE_BYTES = 448 << 20, PW_READLIMIT_TIMES = 16 };

/* The least limit, whatever PROFWRAP_READ_MEMORY says. With less, HDF5 may crash where it should
 * report that memory is short. */
enum { PW_READLIMIT_LEAST_BYTES = 8 << 20 };

/* Limits the writable memory of the process and its children from now on: by the above rule for
 * `input_bytes`, or to PROFWRAP_READ_MEMORY if that is set. A lower limit that is already there
 * stays. An allocation beyond the limit fails. Returns 0 or -errno. */
int pw_readlimit_set(uint64_t input_bytes);

/* Returns the bytes of the file `path`, or of all files in the directory `path`. */
uint64_t pw_readlimit_size(const char *path);

/* Returns strerror() of a negative errno; for -ENOMEM, a text that names the limit and how to raise
 * it. The text is valid until the next call. */
const char *pw_readlimit_error(int err);

/* The same with what to do next (core/remedy.h), for a message that ends a command. */
const char *pw_readlimit_remedy(int err);

#endif
