/* What the plugin looks at on a node before it changes a step: all of it as the job's user, never
 * as root. */
#ifndef PW_SLURM_NODE_H
#define PW_SLURM_NODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs a program as a user, with nothing of root's: ids, groups, environment, open files. Waits for
 * it, at most `patience_ms`, then kills it and what it has started. 0 when it has succeeded, else
 * -1. `variable`: NAME=VALUE for its environment, or NULL. `input`: what it reads, or -1. */
int pw_node_run(uid_t uid, gid_t gid, char *const argv[], char *variable, int input,
                int patience_ms);

/* mkdir -p, mode 0700. 0 or -errno. */
int pw_node_make_directory(const char *path);

/* Bytes that an unprivileged user may still write at `path`, or -errno. */
int64_t pw_node_free_bytes(const char *path);

/* Bytes in the files of the profiles of this job: of the directories in `root` whose name begins
 * with `prefix` and goes on with a . or -. */
int64_t pw_node_used_bytes(const char *root, const char *prefix);

/* The first line of a small file, for which no link is followed; 0 or -errno. */
int pw_node_read_line(const char *path, char *out, size_t size);

#endif
