/* The files in which a hang is reported: DIR/hang.txt and hang.json, hang-2.* for a second.
 * Written by the watchdog of a collector (run_watch.c); `profwrap ctl status` prints the same
 * JSON. Tool code; it reads the ranks' answers only, never their memory. */
#ifndef PW_RUN_HANGFILE_H
#define PW_RUN_HANGFILE_H

#include "rank/live/inquiry.h"

/* Finds out who waits for whom among the answers, writes the files, and says one line on standard
 * error. Calls younger than `least_ns` do not count as waiting. */
void pw_hangfile_write(const struct pw_inquiry *inquiry, int64_t least_ns);

/* The running ranks that did not answer: rising, in *silent (to be freed). Their number. */
size_t pw_hangfile_silent(const struct pw_inquiry *inquiry, int32_t **silent);

/* The verdict, and all that each rank answered; NULL when memory is short. `verdict` may be NULL.
 */
json_t *pw_hangfile_json(const struct pw_inquiry *inquiry, json_t *verdict);

#endif
