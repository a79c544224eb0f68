/* Reads one rank's file for the timeline: its tables in blocks, and its times converted to the
 * cluster clock. Called by timeline.c and chrome.c. Reads rank files and the cluster file through
 * core/h5; changes none. */
#ifndef PW_TIMELINE_RANKVIEW_H
#define PW_TIMELINE_RANKVIEW_H

#include "core/h5/h5file.h"
#include "core/tables.h"

struct pw_rankview {
    int64_t rank;
    char hostname[64];
    struct pw_row_clock *knots; /* from local to cluster time; without knots both are equal */
    size_t nknots;
    struct pw_row_comms *comms;
    size_t ncomms;
    char **strings;
    size_t nstrings;
    int64_t main_thread; /* -1: not known */
    struct pw_row_thread_name *thread_names;
    size_t nthread_names;
    struct pw_h5_file *file;
    struct pw_h5_types *types;
    struct pw_keptrows *kept_rows; /* of the caller, who may set it; else NULL */
};

/* The clock maps of all ranks, which the merge computed and stored in the cluster file. */
struct pw_clockmaps {
    struct pw_row_c_clock *clocks;
    size_t nclocks;
    struct pw_row_c_clock_knot *knots;
    size_t nknots;
};

/* Reads the clock maps. Returns 0 or -errno; a cluster file that has no maps gives 0 and empty
 * maps. */
int pw_clockmaps_load(const char *cluster_file, struct pw_clockmaps *out);
void pw_clockmaps_fini(struct pw_clockmaps *maps);

/* Opens DIR/rank-NNNNN.h5. Returns 0 (the caller closes the view), -ENOENT, -EINVAL when it is not
 * the file of this rank, or another -errno. */
int pw_rankview_open(const char *dir, int64_t rank, const struct pw_clockmaps *maps,
                     struct pw_rankview *out);
void pw_rankview_close(struct pw_rankview *view);

/* Calls `visit` for each row of a 1-D table, in file order; with view->kept_rows, rows may be left
 * out that are in none of its spans. Returns 0 or -errno; a missing table gives 0 and no calls. */
typedef void pw_row_visitor(void *context, const struct pw_rankview *view, const void *row);
int pw_rankview_read(const struct pw_rankview *view, int table, pw_row_visitor *visit,
                     void *context);

/* The same for every row, from the file. */
struct pw_table_visit {
    int table;
    pw_row_visitor *visit;
    void *context;
};
int pw_rankview_read_file(const struct pw_rankview *view, const struct pw_table_visit *visit);

/* Converts a time of the rank's clock to the cluster clock, both ns. Returns INT64_MIN for a time
 * that no clock can have. */
int64_t pw_rankview_time(const struct pw_rankview *view, int64_t local_ns);

/* Returns the text in a row of /strings, or "" when the row does not exist. */
const char *pw_rankview_text(const struct pw_rankview *view, uint32_t row);

/* Writes the name of a thread: the one that the program gave it last, whether it is the main
 * thread, or else its number. */
void pw_rankview_thread_name(const struct pw_rankview *view, int64_t thread, char *out,
                             size_t size);

/* Returns a row of /comms, or NULL when the row does not exist. */
const struct pw_row_comms *pw_rankview_comm(const struct pw_rankview *view, int32_t row);

/* ---- rows that are kept ---- */

/* Keeps the rows of rank files that timelines of some spans show, so that several timelines
 * decompress each file once. Filled at the first read of a table, made by cli/. Memory is limited:
 * rows for which there is no room are read from their file each time. */

/* The rows that overlap any of n spans [from, until), ns of the cluster clock. NULL when memory is
 * short. */
struct pw_keptrows *pw_keptrows_create(const int64_t (*spans)[2], size_t n);
void pw_keptrows_destroy(struct pw_keptrows *kept);

#endif
