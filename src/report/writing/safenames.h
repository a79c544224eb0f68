/* Text from files, made safe to show. Names in files may be hostile: terminal escapes, broken
 * UTF-8, characters that reorder a line. Called by every report and command that shows such names.
 * Copies only: no I/O, no allocation. */
#ifndef PW_REPORT_WRITING_SAFENAMES_H
#define PW_REPORT_WRITING_SAFENAMES_H

#include <stddef.h>

/* Both copy at most `length` bytes of `in`, which may lack a NUL, cut at a character's boundary to
 * `size` bytes with the NUL, and return `out`. Every byte that is no part of valid UTF-8 becomes
 * '?'. */
const char *pw_names_utf8(char *out, size_t size, const char *in, size_t length);

/* Also replaces control, formatting and bidirectional characters by '?'. */
const char *pw_names_printable(char *out, size_t size, const char *in, size_t length);

/* Characters in valid UTF-8; each is taken to be one column wide. */
size_t pw_names_columns(const char *text);

/* The byte at which character number `column` begins, or the length of the text. */
size_t pw_names_offset(const char *text, size_t column);

#endif
