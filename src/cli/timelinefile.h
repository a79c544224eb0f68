/* `profwrap report --format chrome`. */
#ifndef PW_CLI_TIMELINEFILE_H
#define PW_CLI_TIMELINEFILE_H

#include <stdio.h>

#include "core/cluster.h"
#include "core/options.h"

struct pw_cli_timeline {
    const struct pw_options *options;
    const char *cluster_file; /* beside which the rank files are */
    const char *output;       /* its name: one that ends with ".gz" is compressed */
};

/* Writes the timeline. 0; -errno when it could not be written; 1 when there is none to write: that
 * was said. */
int pw_cli_timeline_write(FILE *out, const struct pw_cluster *cluster,
                          const struct pw_cli_timeline *wanted);

#endif
