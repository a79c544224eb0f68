/* Reads the tables of ranks, and passes their rows to a writer of Trace Event JSON or of Perfetto's
 * protobuf (writer.h). Called by timeline.c: pw_chrome_begin once, pw_chrome_rank for each rank,
 * then pw_chrome_end. Opens no file. */
#ifndef PW_TIMELINE_CHROME_H
#define PW_TIMELINE_CHROME_H

#include <stdio.h>

#include "core/cluster.h"
#include "timeline/rankview.h"
#include "timeline/writer.h"

struct pw_chrome;

/* Begins the output. Returns 0 or -ENOMEM. No function here reports write errors: the caller asks
 * ferror(out) at the end. */
int pw_chrome_begin(FILE *out, const struct pw_cluster *cluster,
                    const struct pw_chrome_window *window, struct pw_chrome **result);

/* Writes a rank: its tracks, events and counters. */
void pw_chrome_rank(struct pw_chrome *chrome, const struct pw_rankview *view);

/* What was written. ends_left_out: ends of arrows for which there was no room. */
struct pw_chrome_counts {
    int64_t events, arrows, ends_left_out;
};

/* Writes the arrows and the end of the output, sets the counts, and frees `chrome`. Returns 0 or
 * -ENOMEM. */
int pw_chrome_end(struct pw_chrome *chrome, struct pw_chrome_counts *counts);

#endif
