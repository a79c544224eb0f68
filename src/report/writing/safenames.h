/* Makes text from files safe to print. Names in files may be hostile: terminal escapes, invalid
 * UTF-8, characters that reorder a line. Called by every report and command that shows such names.
 * Copies only: no I/O, no allocation. */
#ifndef PW_REPORT_WRITING_SAFENAMES_H
#define PW_REPORT_WRITING_SAFENAMES_H

#include <stddef.h>

/* Both functions copy at most `length` bytes of `in`, which may have no NUL, to out[size], cut at
 * the boundary of a character. Bytes that are not valid UTF-8 become '?'. They return `out`. */
const char *pw_names_utf8(char *out, size_t size, const char *in, size_t length);

/* Also replaces control, formatting and bidirectional characters by '?'. */
const char *pw_names_printable(char *out, size_t size, const char *in, size_t length);

/* Returns the number of characters in valid UTF-8. Each counts as one column. */
size_t pw_names_columns(const char *text);

/* Returns the byte at which character number `column` begins, or the length of a shorter text. */
size_t pw_names_offset(const char *text, size_t column);

#endif
