/* Reads a cluster file into the struct of core/cluster.h. Called by cli/results/clusterpath.c, and
 * by tests. Tool code. The file may be damaged or hostile, so the sizes and row numbers of its
 * tables are checked against each other. */
#ifndef PW_CORE_H5_CLUSTERLOAD_H
#define PW_CORE_H5_CLUSTERLOAD_H

#include "core/cluster.h"

/* Reads `path`. Returns 0; -ENOENT; -EPROTO when its format_version is newer than this program;
 * -EINVAL when it is no profwrap cluster file, when its tables do not have the same number of ranks
 * (R) or steps (S), or when a row refers to a row that does not exist. */
int pw_cluster_load(const char *path, struct pw_cluster **out);

/* The same without the tables by step and rank, which are not known until pw_cluster_load_cells()
 * reads them from the same file: most of a file of many ranks is in them. */
int pw_cluster_load_rows(const char *path, struct pw_cluster **out);
int pw_cluster_load_cells(const char *path, struct pw_cluster *cluster);

#endif
