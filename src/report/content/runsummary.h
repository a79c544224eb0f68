/* The summary of a run: what a person needs first when the run has ended. It is made once, from the
 * same functions as the sections of a report. formats/text_summary.c prints it, and
 * formats/json_report.c writes it as fields. Writes into the caller's memory; prints nothing. */
#ifndef PW_REPORT_CONTENT_RUNSUMMARY_H
#define PW_REPORT_CONTENT_RUNSUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "report/content/firstscreen.h"

enum { PW_RUNPARTS = 7, PW_RUNSUMMARY_LOSSES = 2 };

/* A part of a step or of the run. The letter stands for it in a bar. */
struct pw_runpart {
    const char *name;
    char letter;
    int64_t mean_ns; /* mean of the ranks */
    int64_t rank_ns; /* of the rank in struct pw_runtime; -1: there is none */
};

/* Where the time of a step goes, or that of the run when no steps are known. The parts add up to
 * the total. */
struct pw_runtime {
    const char *of;    /* "step", "slice" or "run"; NULL: not known, and the rest is not set */
    int64_t ranks;     /* the mean is of so many */
    int64_t mean_ns;   /* of a step or of the run */
    int32_t rank;      /* the rank beside the mean; -1: none */
    int is_named;      /* 1: it held the job back; 0: it has most own work, 1 % above the mean */
    int64_t rank_ns;   /* the same as mean_ns, of this rank */
    int64_t hidden_ns; /* communication that other work hides, mean; -1: not known */
    int64_t rank_hidden_ns;
    size_t nparts;
    struct pw_runpart parts[PW_RUNPARTS];
};

struct pw_runsummary {
    int is_bad_end; /* 1: the headline begins with how the job ended */
    char headline[PW_HEADLINE_BYTES];
    char missing[PW_HEADLINE_BYTES];             /* what is missing of the job; "": nothing */
    struct pw_loss losses[PW_RUNSUMMARY_LOSSES]; /* beside the headline */
    size_t nlosses;
    struct pw_runtime time;
    struct pw_advice advice; /* the first; its rule is "none" when nothing stands out */
    double advice_share;     /* what it would save, as a share of the measured steps; -1 */
    size_t further_advice;   /* how much more advice there is */
    struct pw_basis cautions[PW_BASES]; /* not in order, and not in `missing` */
    size_t ncautions;
};

/* True when some phase took time in the measured steps. */
int pw_phases_are_known(const struct pw_figures *figures);

/* True when the summary of the cluster, whose other tables are loaded, cannot be made without those
 * by step and rank: where the file lacks their means, and for advice that looks at some steps only.
 */
int pw_runsummary_needs_cells(const struct pw_cluster *cluster);

void pw_runsummary_make(const struct pw_figures *figures, struct pw_runsummary *out);

#endif
