/* Writes single JSON values straight to a stream, because a timeline is too long to be built in
 * memory first. Called by jsonwriter.c, and by tests. Writes to the given stream only, and reports
 * no errors: the caller asks ferror. */
#ifndef PW_JSONWRITER_H
#define PW_JSONWRITER_H

#include <stdint.h>
#include <stdio.h>

/* Writes single JSON values straight to a stream, because a timeline is too long to be built in
 * memory first. Writes to the given stream only, and reports no errors: the caller asks ferror. */

/* Writes a string with its quotes. Bytes that are not UTF-8 become U+FFFD. Control characters,
 * quotes and backslashes are escaped, and so is '<', so that the text may be put into an HTML
 * page. */
void pw_json_put_text(FILE *out, const char *text);

/* Writes nanoseconds as microseconds with three decimals, exactly (a double would round long
 * times). */
void pw_json_put_us(FILE *out, int64_t ns);

#endif
