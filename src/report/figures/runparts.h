/* The wall time of a run in parts that add up to it. */
#ifndef PW_REPORT_FIGURES_RUNPARTS_H
#define PW_REPORT_FIGURES_RUNPARTS_H

#include <stddef.h>

#include "core/cluster.h"

/* Times are ns, -1 where they are not known. run = before + measured + unmeasured + between +
 * after, where before and after are known, else outside is their sum. */
struct pw_runparts {
    double run;        /* longest time of a rank */
    double before;     /* until the last rank began the first step */
    double measured;   /* in measured steps */
    double unmeasured; /* in steps that warm up or were recorded in part */
    double between;    /* between steps */
    double after;      /* since the last rank ended the last step */
    double outside;    /* before and after */
    size_t nsteps;     /* measured ones */
};

/* Of the job; the parts of each rank's run are in /part_trace (analysis/parts.h). With
 * `with_parts` they say when the first step began, which is when its last rank did, as the others
 * wait for that one, and what is behind the last step. Without, the first step begins with its
 * first rank, and a run that was recorded without a pause has a window that ends with the program:
 * what is behind the last step is known from that. The rest of what is outside steps is before
 * them: it has the launch, too, and the closing of the files.
 *
 * `walls` and `rows` have room for every row of /steps: of each measured step its duration (how
 * much longer than the one before the last rank took to end it), and its row. Where clocks are not
 * aligned only the sum of what is not in steps is known, as `outside`. */
void pw_runparts_find(const struct pw_cluster *cluster, int with_parts, double *walls, size_t *rows,
                      struct pw_runparts *out);

#endif
