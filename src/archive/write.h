/* Writes a merged run as an OTF2 archive, from its rank files: traces.otf2 in a directory, which
 * Vampir, Cube's tools, otf2-print and OTF2's Python reader open. Called by
 * cli/commands/otf2_main.c. Reads the files of the run, and writes only into the given directory.
 */
#ifndef PW_OTF2_WRITE_H
#define PW_OTF2_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"

struct pw_otf2_options {
    const char *dir;          /* of the rank files */
    const char *cluster_file; /* that was merged from them */
    const char *archive;      /* directory to make; it must not hold an archive */
    const char *ranks;        /* "0-3,7"; "": all */
    int only_steps;           /* write only the time of the steps in the cluster's table */
};

struct pw_otf2_result {
    int64_t events, locations;
    int ranks, unread; /* rank files that were read, and that could not be, or not to their end */
    int64_t shortened; /* intervals that were shortened because others overlapped them */
    int64_t left_out;  /* rows that OTF2 cannot hold: outside any thread, or before time 0 */
    char problem[512]; /* why, when it fails */
};

/* Returns 0, or -errno after it has set the problem. The archive is whole only then: its file
 * traces.otf2 is written last. */
int pw_otf2_write(const struct pw_cluster *cluster, const struct pw_otf2_options *options,
                  struct pw_otf2_result *result);

#endif
