/* Makes the rank file of one rank of a plan: reads the rank's traces, writes their windows in order
 * of time, and removes the file again after an error. cmd_import.c calls it in several processes at
 * once, each for another rank. It uses no state outside its arguments, and prints nothing but debug
 * output. */
#ifndef PW_IMPORT_IMPORT_H
#define PW_IMPORT_IMPORT_H

#include "import/msprof/msprof.h"
#include "import/plan.h"

struct pw_import_options {
    const char *dir;            /* directory for the rank files; it must exist */
    int keep_cuda_calls, level; /* level: of deflate */
};

/* The result for a rank. */
struct pw_import_result {
    int64_t rank;
    int err; /* 0, or -errno: there is no file, and `problem` says why */
    int done;
    char problem[512]; /* with err 0: "", or a remark, such as that a trace ends early */
    struct pw_import_counts counts;
    struct pw_msprof_compared
        compared; /* with what msprof-analyze says, if it is beside profiles */
};

/* Makes the rank file of the plan's entry `at` (0 .. nranks - 1, not a rank) and sets *out.
 * `progress` is told the bytes of the rank's traces read so far; it may be NULL. */
void pw_import_rank(const struct pw_import_plan *plan, size_t at,
                    const struct pw_import_options *options,
                    const struct pw_import_progress *progress, struct pw_import_result *out);

#endif
