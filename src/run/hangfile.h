/* The files in which a hang is reported: DIR/hang.txt and hang.json, hang-2.* for a second.
 * Written by the watchdog of a collector (run_watch.c); `profwrap ctl status` prints the same
 * JSON. Tool code; it reads the ranks' answers only, never their memory. */
#ifndef PW_RUN_HANGFILE_H
#define PW_RUN_HANGFILE_H

#include "rank/live/inquiry.h"

/* Finds in the answers which rank waits for which, writes the files, and prints one line on
 * standard error. A call that is open for less than `least_ns` does not count as waiting. */
void pw_hangfile_write(struct pw_inquiry *inquiry, int64_t least_ns);

/* Whether a rank waits for `least_ns` or longer in an operation on a GPU that another one has not
 * called, or has called another in its place. */
int pw_hangfile_is_held(struct pw_inquiry *inquiry, int64_t least_ns);

/* Lists the running ranks that did not answer: *silent is sorted; free() it. Returns their
 * number. */
size_t pw_hangfile_silent(const struct pw_inquiry *inquiry, int32_t **silent);

/* Returns a JSON object with the verdict (may be NULL) and all answers; NULL when memory is
 * short. */
json_t *pw_hangfile_json(const struct pw_inquiry *inquiry, json_t *verdict);

#endif
