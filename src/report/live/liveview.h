/* Reports on a job that is running: the table of `profwrap ctl status`, and what the watchdog says
 * of a hang. */
#ifndef PW_REPORT_LIVE_LIVEVIEW_H
#define PW_REPORT_LIVE_LIVEVIEW_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/hang.h"

enum { PW_LIVE_HEADLINE = 1024 };

struct pw_live_view {
    const struct pw_live *ranks; /* [n] those that answered, sorted by rank */
    size_t n;
    const int32_t *silent; /* ranks that run and did not answer, rising */
    size_t nsilent;
    const struct pw_hang *hang; /* of these ranks */
};

/* One sentence: who waits for whom, and what that one does. */
void pw_live_headline(const struct pw_live_view *view, char *out, size_t size);

/* The ranks and their calls, the one longest in its call first. 0 or -ENOMEM. */
int pw_live_print_status(const struct pw_live_view *view, FILE *out);

/* The headline, the ranks, the collectives in which they wait, how far each has come on its
 * communicators, and call stacks. 0 or -ENOMEM. */
int pw_live_print_hang(const struct pw_live_view *view, FILE *out);

/* The verdict: headline, kind, roots, cycle, held, collectives, silent; NULL when memory is short.
 */
json_t *pw_live_hang_json(const struct pw_live_view *view);

#endif
