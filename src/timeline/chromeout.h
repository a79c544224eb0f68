/* The state of a timeline that is being written, and what several of its files write. Used by
 * chrome.c and, for the numbers of tracks, by perfetto.c only. */
#ifndef PW_TIMELINE_CHROMEOUT_H
#define PW_TIMELINE_CHROMEOUT_H

#include <stdint.h>

#include "timeline/arrows.h"
#include "timeline/rankview.h"
#include "timeline/scopes.h"
#include "timeline/writer.h"

/* The first track numbers for a rank's steps, NCCL communicators, levels of scopes and GPU streams;
 * smaller numbers are the rank's threads. */
enum {
    PW_TRACK_STEPS = 1 << 16,
    PW_TRACK_NCCL = 1 << 17,
    PW_TRACK_SCOPES = 1 << 18,
    PW_TRACK_STREAMS = 1 << 20
};

/* Operators of the host, and kernels. */
enum { PW_SIDE_HOST, PW_SIDE_DEVICE, PW_SIDES };

struct pw_chrome {
    struct pw_writer *writer;
    const struct pw_cluster *cluster;
    const struct pw_row_c_collective **collectives; /* sorted by comm_uid and seq */
    struct pw_chrome_window window;
    int64_t events, asyncs, launches;
    uint64_t tracks[64]; /* streams of the current rank that have been named */
    size_t ntracks;
    struct pw_row_process before; /* the current rank's previous sample; time 0: none */
    struct pw_arrows arrows;
    struct pw_message_ends messages;
    struct pw_scopes scopes[PW_SIDES]; /* of the current rank; only with window.has_scopes */
};

int pw_chrome_is_shown(const struct pw_chrome *c, int64_t start, int64_t end);

/* A counter's value. The name that is shown is `prefix` followed by `name`. */
struct pw_chrome_counter {
    const char *prefix, *name, *unit;
    double value;
};
void pw_chrome_put_counter(struct pw_chrome *c, const struct pw_rankview *view, int64_t time,
                           struct pw_chrome_counter counter);

/* Writes a rank's GPU activities: a track for each stream, arrows from launches, and counters. */
void pw_chrome_gpu(struct pw_chrome *c, const struct pw_rankview *view);

/* Writes a lane for each level of the scopes of the rank's operators, and of its kernels. */
void pw_chrome_scopes(struct pw_chrome *c, int64_t rank);

#endif
