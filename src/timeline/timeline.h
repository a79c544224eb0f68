/* Writes the events of all ranks on one time axis, from the rank files of a merged run. Called by
 * cli/commands/cmd_report.c. Reads the files of the run and writes to the given stream; changes no
 * file of the run. */
#ifndef PW_TIMELINE_TIMELINE_H
#define PW_TIMELINE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/cluster.h"

struct pw_timeline_options {
    const char *dir;          /* directory of the rank files */
    const char *cluster_file; /* the cluster file that was merged from the rank files */
    const char *ranks;        /* "0-3,7", as the user wrote it; "": all */
    int only_steps; /* show only the time from the first to the last step in the cluster's table */
    int64_t from, until; /* if until > from: show only this time, ns of the cluster clock */
    int64_t most_bytes;  /* approximate limit of the output's size; 0: none */
    int has_scopes;      /* 1: also lanes for the levels of operators' scopes */
    int is_perfetto;     /* 1: write Perfetto's protobuf; 0: JSON */
    int keeps_files;     /* 1: the first 64 files stay open between the passes: faster, but a file
                          * takes 0.6 MiB of memory */
    struct pw_keptrows *kept_rows; /* of timelines that show [from, until) and others; or NULL */
};

/* What pw_timeline_write wrote, for the command's messages. */
struct pw_timeline_result {
    int64_t events;    /* rows written */
    int ranks, unread; /* files that were read; files that could not be read */
    double share;      /* share of the estimated bytes that fitted into most_bytes, 0..1 */
    int64_t base_ns;   /* the time that the trace calls 0, cluster clock */
    int64_t arrows;    /* messages and collectives that were drawn as arrows */
    int64_t arrow_ends_left_out; /* there was no room to keep these ends of arrows */
    char problem[256];           /* with -EINVAL: why */
};

/* Writes the JSON that chrome://tracing and Perfetto read ("Trace Event Format"), or Perfetto's
 * protobuf: a process for each rank, a track for each thread, times of the cluster clock since the
 * first event.
 * Blocking calls, waits and ranges become complete events. A nonblocking operation becomes an async
 * event, and the call that began it a complete event. Arrows lead from a send to its receive, and
 * from the last rank of a collective to the ranks that waited for it. Memory, CPU use and queues
 * become counters; lost records become instants.
 *
 * Returns 0; -EINVAL when `ranks` is not a valid list of the run's ranks, or when only_steps is set
 * and the run has no steps (result->problem says which); -ENOENT when no rank file can be read;
 * -ENOMEM; -EIO. */
int pw_timeline_write(FILE *out, const struct pw_cluster *cluster,
                      const struct pw_timeline_options *options, struct pw_timeline_result *result);

/* Parses a list of ranks such as "0-3,7". Returns n flags (1: the rank is in the list; all ranks
 * are in ""), which the caller frees. Returns NULL when memory is short (`problem` is "") or when
 * the list is not valid or names a rank that does not exist (`problem` says why). */
char *pw_ranklist_parse(const char *list, size_t n, char *problem, size_t size);

#endif
