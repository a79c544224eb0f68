/* What the files that write Trace Event JSON share. */
#ifndef PW_TIMELINE_CHROME_PARTS_H
#define PW_TIMELINE_CHROME_PARTS_H

#include <stdio.h>

#include "timeline/arrows.h"
#include "timeline/chrome.h"

/* The tracks of a rank beside its threads: steps, NCCL by communicator, and streams of devices. */
enum { PW_TRACK_STEPS = 1 << 16, PW_TRACK_NCCL = 1 << 17, PW_TRACK_STREAMS = 1 << 20 };

struct pw_chrome {
    FILE *out;
    const struct pw_cluster *cluster;
    const struct pw_row_c_collective **collectives; /* by communicator and number */
    int64_t from, until, base;
    int has_event;
    int64_t events, asyncs, launches;
    uint64_t tracks[64]; /* of the rank, those of streams that have a name */
    size_t ntracks;
    struct pw_row_process before; /* of the rank, the sample before; time 0: none */
    struct pw_arrows arrows;
    struct pw_message_ends messages;
};

/* Begins an event with its phase, track and time; the caller goes on behind the time and closes it.
 */
void pw_chrome_begin_event(struct pw_chrome *chrome, const char *phase, int64_t rank, int64_t track,
                           int64_t time);
void pw_chrome_put_name(struct pw_chrome *chrome, const char *prefix, const char *name);
void pw_chrome_put_duration(struct pw_chrome *chrome, int64_t ns);

/* Names a process or one of its tracks. */
void pw_chrome_put_meta(struct pw_chrome *chrome, const char *what, int64_t rank, int64_t track,
                        const char *name);
void pw_chrome_put_counter(struct pw_chrome *chrome, const struct pw_rankview *view, int64_t time,
                           const char *prefix, const char *name, const char *what, double value);
int pw_chrome_is_shown(const struct pw_chrome *chrome, int64_t start, int64_t end);

/* What the rank's GPUs did: a track for each stream, arrows from launches, counters. */
void pw_chrome_gpu(struct pw_chrome *chrome, const struct pw_rankview *view);

#endif
