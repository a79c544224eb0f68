/* Pieces of JSON, written as they come, because a timeline is too long to be built in memory first.
 * Called by chrome.c. Writes to the given stream only. */
#ifndef PW_TIMELINE_JSONOUT_H
#define PW_TIMELINE_JSONOUT_H

#include <stdint.h>
#include <stdio.h>

/* A string with its quotes. What is not UTF-8 becomes U+FFFD; control characters, quotes and
 * backslashes are escaped, and so is '<', so that the text may stand in a page. */
void pw_json_put_text(FILE *out, const char *text);

/* Nanoseconds as microseconds with three digits: no double has to hold them. */
void pw_json_put_us(FILE *out, int64_t ns);

#endif
