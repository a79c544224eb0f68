/* Keeps the rows of rank files that timelines of some spans show, so that several timelines
 * decompress each file once. Filled by rankview.c at the first read of a table, made by cli/.
 * Memory is limited: rows for which there is no room are read from their file each time. */
#ifndef PW_TIMELINE_KEPTROWS_H
#define PW_TIMELINE_KEPTROWS_H

#include "timeline/rankview.h"

/* The rows that overlap any of n spans [from, until), ns of the cluster clock. NULL when memory is
 * short. */
struct pw_keptrows *pw_keptrows_create(const int64_t (*spans)[2], size_t n);
void pw_keptrows_destroy(struct pw_keptrows *kept);

/* Visits the rows of the view's table that timelines of the spans need, in file order; other rows
 * may be visited, too. Reads the file when the rows were not kept. Returns as
 * pw_rankview_read(). */
int pw_keptrows_read(struct pw_keptrows *kept, const struct pw_rankview *view,
                     const struct pw_table_visit *visit);

#endif
