/* The clocks of a run, for `profwrap run`: the agreement to synchronise over MPI, and the
 * measurements beside the program. */
#ifndef PW_RUN_RUN_CLOCKS_H
#define PW_RUN_RUN_CLOCKS_H

#include "core/options.h"
#include "rank/clocks/agree.h"
#include "rank/clocks/clockprobe.h"
#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"
#include "rank/run/identity.h"

struct pw_run_clocks {
    const struct pw_identity *id;
    const char *dir;
    int is_active; /* clocks are measured, not only inferred in the merge */
    int64_t interval_ns;
    struct pw_testclock test;
    struct pw_agreement agreement;
    struct pw_clockprobe *probe; /* NULL when this rank measures none itself */
};

/* Reads the options; a wrong PROFWRAP_TEST_CLOCK is -EINVAL and a sentence in options->problem. A
 * rank with such a clock gets a clock domain of its own. */
int pw_run_clocks_read(struct pw_run_clocks *clocks, struct pw_options *options,
                       struct pw_identity *id);

/* The output directory is there. `id` and `dir` must outlive the clocks. */
void pw_run_clocks_init(struct pw_run_clocks *clocks, const struct pw_identity *id,
                        const char *dir);

/* The program was started. */
void pw_run_clocks_begin(struct pw_run_clocks *clocks);

/* One look: decides on the synchronisation when the program asks for it, and writes what was
 * measured. 1 while the program stands in MPI_Init and waits for the decision. */
int pw_run_clocks_poll(struct pw_run_clocks *clocks, struct pw_segment_shared *segment,
                       struct pw_rankfile *file);

/* The deciding alone. */
int pw_run_clocks_decide(struct pw_run_clocks *clocks, struct pw_segment_shared *segment);

/* The program has ended. */
void pw_run_clocks_end(struct pw_run_clocks *clocks, struct pw_rankfile *file);

/* Removes what the clocks left in the output directory. */
void pw_run_clocks_fini(struct pw_run_clocks *clocks);

#endif
