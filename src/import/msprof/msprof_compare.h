/* Whether the sums of imported profiles are those that msprof-analyze computed of them. import.c
 * compares each rank when its events are written; cmd_import.c adds up the results and prints one
 * line. Where definitions differ (docs/import.md), nothing is compared. */
#ifndef PW_IMPORT_MSPROFCOMPARE_H
#define PW_IMPORT_MSPROFCOMPARE_H

#include "import/trace/trace.h"

/* What was compared. */
enum pw_msprof_kind {
    PW_MSPROF_OF_STEPS,
    PW_MSPROF_OF_OPERATIONS,
    PW_MSPROF_OF_LINKS,
    PW_MSPROF_KINDS
};

/* The largest difference. */
struct pw_msprof_difference {
    int64_t rank, step, other; /* step -1: none; other: where the link ends, -1: no link */
    char column[32];           /* as msprof-analyze calls it */
    int64_t theirs, ours;      /* ns, or bytes */
    int is_bytes;
};

struct pw_msprof_compared {
    int64_t values[PW_MSPROF_KINDS], different[PW_MSPROF_KINDS];
    int64_t crossed; /* steps that are not compared, because tasks cross their borders */
    int64_t unknown; /* of theirs: steps, sums and links that the imported profiles do not have */
    struct pw_msprof_difference worst;
};

/* Compares the rank of a trace whose windows are written. */
void pw_msprof_compare(const struct pw_trace *trace, struct pw_msprof_compared *out);

/* Adds the result of another rank. */
void pw_msprof_compare_add(struct pw_msprof_compared *sum, const struct pw_msprof_compared *one);

/* Writes the line, without what it is about. Returns `out`. */
const char *pw_msprof_compare_say(const struct pw_msprof_compared *sum, char *out, size_t size);

#endif
