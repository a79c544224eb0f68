/* Makes the rank file of one rank of a plan: reads its traces, writes their windows in order of
 * time, and removes a file that is not whole. cmd_import.c calls it, for several ranks at once in
 * as many processes: it uses no state outside its arguments, and prints diagnostics only. */
#ifndef PW_IMPORT_IMPORT_H
#define PW_IMPORT_IMPORT_H

#include "import/plan.h"

struct pw_import_options {
    const char *dir;            /* of the rank files; it is there */
    int keep_cuda_calls, level; /* level: deflate's */
};

/* What came of a rank. */
struct pw_import_result {
    int64_t rank;
    int err; /* 0, or why there is no file, with a sentence in `problem` */
    int done;
    char problem[512]; /* with err 0: a remark, such as that a trace ends early; "" none */
    struct pw_import_counts counts;
};

/* Makes the file of the plan's rank number `at` (not its rank). `progress` gets the bytes read so
 * far. */
void pw_import_rank(const struct pw_import_plan *plan, size_t at,
                    const struct pw_import_options *options,
                    const struct pw_import_progress *progress, struct pw_import_result *out);

#endif
