/* Finds and loads a cluster file. The argument of the command is the file or its directory. Called
 * by the commands report, compare, ask and mcp, and by the programs that report executes. Tool
 * code; ends no process, writes no files. */
#ifndef PW_CLI_CLUSTERPATH_H
#define PW_CLI_CLUSTERPATH_H

#include <limits.h>
#include <stdint.h>

#include "core/cluster.h"

enum { PW_CLI_PROBLEM = 3 * PATH_MAX };

/* Loads the cluster file `given`, or the one in the directory `given`; sets `path` to its path.
 * Returns 0, or -errno with one sentence in `problem`. */
int pw_cli_open_cluster(const char *given, char path[PATH_MAX], struct pw_cluster **out,
                        char problem[PW_CLI_PROBLEM]);

/* Loads the cluster file `given`, or the one in the directory `given`; sets `path` to its path.
 * Returns 0, or -errno after one sentence on standard error. */
int pw_cli_load_cluster(const char *given, char path[PATH_MAX], struct pw_cluster **out);

/* The same for a summary: without the tables by step and rank where it can do without them. */
int pw_cli_load_for_summary(const char *given, char path[PATH_MAX], struct pw_cluster **out);

/* Returns the bytes of the cluster file that pw_cli_load_cluster() would load; 0: there is none. */
uint64_t pw_cli_cluster_size(const char *given);

/* Returns the bytes of all files in its directory, for commands that read the rank files, too. */
uint64_t pw_cli_run_size(const char *given);

/* Sets `dir` to the directory of a file. */
void pw_cli_directory_of(const char *path, char dir[PATH_MAX]);

#endif
