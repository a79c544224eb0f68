/* Finds and loads the cluster file that a word of the command line means: a file, or a directory's.
 * Called by the commands report and compare. Tool code: prints one sentence when it cannot. */
#ifndef PW_CLI_CLUSTERPATH_H
#define PW_CLI_CLUSTERPATH_H

#include <limits.h>
#include <stdint.h>

#include "core/cluster.h"

/* Loads a cluster file, or the one in a directory, whose path is then `path`. 0, or -errno after
 * one sentence on standard error. */
int pw_cli_load_cluster(const char *given, char path[PATH_MAX], struct pw_cluster **out);

/* Bytes of the cluster file that pw_cli_load_cluster() would load; 0 where there is none. */
uint64_t pw_cli_cluster_size(const char *given);

#endif
