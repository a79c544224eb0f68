/* The end of cluster.h5: its table of contents (core/h5/h5contents.h), and a check of what was
 * written. Called by clusterfile.c only. */
#ifndef PW_AGGREGATE_OUTPUT_CLUSTEREND_H
#define PW_AGGREGATE_OUTPUT_CLUSTEREND_H

#include "aggregate/output/clusterfile.h"

/* Closes the file, on process 0. A small file gets a table of contents, if that is possible.
 * Returns 0 or -EIO. */
int pw_clusterend_close(struct pw_clusterfile *file);

/* Unpacks this process's share of the chunks of the closed file, to check that they were written
 * correctly. Returns 0, -EIO or -ENOMEM. */
int pw_clusterend_check(const struct pw_clusterfile *file);

/* Syncs the closed file to disk, and gives it its name. Returns 0 or -errno. */
int pw_clusterend_publish(const struct pw_clusterfile *file);

#endif
