/* Makes rank files from an OTF2 archive: of profwrap, Score-P, EZTrace and others. Called by
 * cli/commands/otf2_main.c. Reads the archive, and writes rank files into a directory that exists;
 * never changes the archive. */
#ifndef PW_OTF2_READ_H
#define PW_OTF2_READ_H

#include <stddef.h>
#include <stdint.h>

#include "archive/evtread.h"

struct pw_otf2_wish {
    const char *path; /* of the file traces.otf2 */
    const char *dir;  /* for the rank files */
    int level;        /* of compression */
};

struct pw_otf2_taken {
    struct pw_otf2_counts counts;
    int64_t ranks, locations, damaged; /* damaged: locations that were not read to their end */
    char job[32];                      /* an id of the archive */
    char problem[512];                 /* why, when it fails */
};

/* Loads the definitions; then result->job is set. Returns 0 or -errno after it has set the problem.
 * The caller closes the archive in any case. */
int pw_otf2_open(const struct pw_otf2_wish *wish, struct pw_otf2_archive *archive,
                 struct pw_otf2_taken *result);

/* Reads all ranks, one after another. Returns as pw_otf2_open(). */
int pw_otf2_take_all(struct pw_otf2_archive *archive, const struct pw_otf2_wish *wish,
                     struct pw_otf2_taken *result);

#endif
