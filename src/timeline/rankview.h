/* One rank's file as the timeline shows it: its tables block by block, on the cluster clock. Called
 * by timeline.c and chrome.c. Reads rank files and the cluster file through core/h5; changes none.
 */
#ifndef PW_TIMELINE_RANKVIEW_H
#define PW_TIMELINE_RANKVIEW_H

#include <limits.h>

#include "core/h5/h5table.h"
#include "core/tables.h"

struct pw_rankview {
    int64_t rank;
    char hostname[64];
    char path[PATH_MAX];
    struct pw_row_clock *knots; /* local to cluster time; none: the identity */
    size_t nknots;
    struct pw_row_comms *comms;
    size_t ncomms;
    char **strings;
    size_t nstrings;
    hid_t file;
    struct pw_h5_types *types;
};

/* The maps of the clocks that the merge made, from the cluster file. */
struct pw_clockmaps {
    struct pw_row_c_clock *clocks;
    size_t nclocks;
    struct pw_row_c_clock_knot *knots;
    size_t nknots;
};

/* 0 or -errno; a cluster file without them leaves the maps empty. */
int pw_clockmaps_load(const char *cluster_file, struct pw_clockmaps *out);
void pw_clockmaps_fini(struct pw_clockmaps *maps);

/* Opens DIR/rank-NNNNN.h5. 0, -ENOENT, -EINVAL when it is none of this run's, or -errno. The caller
 * closes it. */
int pw_rankview_open(const char *dir, int64_t rank, const struct pw_clockmaps *maps,
                     struct pw_rankview *out);
void pw_rankview_close(struct pw_rankview *view);

/* Calls `visit` for each row of a 1-D table, in file order. 0 (also when there is no such table) or
 * -errno. */
typedef void pw_row_visitor(void *context, const struct pw_rankview *view, const void *row);
int pw_rankview_read(const struct pw_rankview *view, int table, pw_row_visitor *visit,
                     void *context);

/* Cluster time of a local one. */
int64_t pw_rankview_time(const struct pw_rankview *view, int64_t local_ns);

/* The text of a row of /strings, "" when there is none. */
const char *pw_rankview_text(const struct pw_rankview *view, uint32_t row);

/* The communicator of a row of /comms, NULL when there is none. */
const struct pw_row_comms *pw_rankview_comm(const struct pw_rankview *view, int32_t row);

#endif
