/* All ranks' events on one time axis, from the rank files of a merged run. Called by
 * cli/cmd_report.c. Reads the files of the run and writes to the given stream; changes no file of
 * the run. */
#ifndef PW_TIMELINE_TIMELINE_H
#define PW_TIMELINE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/cluster.h"

struct pw_timeline_options {
    const char *dir;          /* of the rank files */
    const char *cluster_file; /* merged from them */
    const char *ranks;        /* "0-3,7", as the user wrote it; "" for all */
    int only_steps;           /* from the first to the last step that is in the cluster's table */
    int64_t most_bytes;       /* of the output, about; 0: no limit */
};

/* What was written, for the messages of the command. */
struct pw_timeline_result {
    int64_t events;    /* rows written */
    int ranks, unread; /* files read; files that could not be */
    double share;      /* of the wanted time that fitted, 0..1 */
    int64_t arrows;    /* messages and collectives that were drawn as arrows */
    char problem[256]; /* with -EINVAL: why */
};

/* Writes the JSON that chrome://tracing and Perfetto read ("Trace Event Format"): a process per
 * rank, a track per thread, times in us on the cluster clock from the first event on. Blocking
 * calls, waits and ranges are complete events; nonblocking operations are async ones, and the call
 * that began them a complete one; arrows lead from a send to its receive, and from the last rank of
 * a collective to those that waited for it; memory, CPU use and queues are counters; losses are
 * instants.
 *
 * 0; -EINVAL when `ranks` is no list of ranks or names none of the run, or there are no steps
 * (result->problem says why); -ENOENT when no rank file can be read; -ENOMEM; -EIO. */
int pw_timeline_chrome(FILE *out, const struct pw_cluster *cluster,
                       const struct pw_timeline_options *options,
                       struct pw_timeline_result *result);

/* Lists of ranks as users write them: "0-3,7". */

/* Whether each of n ranks is in the list; all are in "". The caller frees it. NULL when memory is
 * short, or when the list is not valid or names a rank that does not exist: then `problem` says
 * why. */
char *pw_ranklist_parse(const char *list, size_t n, char *problem, size_t size);

#endif
