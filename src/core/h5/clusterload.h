/* Reads a cluster file into the struct of core/cluster.h. Called by cli/clusterpath.c, and by
 * tests. Tool code; the file may be damaged or hostile, so all its tables are compared with each
 * other. */
#ifndef PW_CORE_H5_CLUSTERLOAD_H
#define PW_CORE_H5_CLUSTERLOAD_H

#include "core/cluster.h"

/* Reads `path`. 0; -ENOENT; -EINVAL when it is no profwrap cluster file or its tables disagree
 * about R, S or each other's rows; -EPROTO when its format_version is newer than this program. */
int pw_cluster_load(const char *path, struct pw_cluster **out);

#endif
