/* The first screen of every report: the headline (one sentence with the main finding; before it,
 * how a job ended that did not end well), what is missing, and the highlights. Called by the text,
 * JSON and HTML reports. Writes into the caller's memory; prints nothing. */
#ifndef PW_REPORT_CONTENT_FIRSTSCREEN_H
#define PW_REPORT_CONTENT_FIRSTSCREEN_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "core/cluster.h"
#include "core/text.h"
#include "report/writing/words.h"

enum { PW_HEADLINE_BYTES = 1280 };

/* The end of a job that did not end well, by /endings. See docs/metrics.md, "How the job ended". */

/* 1 when the job did not end well, and it is known which rank ended first. */
int pw_ending_is_bad(const struct pw_cluster *cluster);

/* Number of ranks that did not end well; 0 also when that is not known. */
int64_t pw_ending_count_bad(const struct pw_cluster *cluster);

/* "Rank 0 on vm was killed by signal 11 (Segmentation fault) in step 50, in no MPI call; ranks 1-3
 * waited for it in MPI_Allreduce #50 on MPI_COMM_WORLD, and the launcher ended them 1.3 s later
 * (signal 15)."; nothing for a job that ended well. */
void pw_ending_write(const struct pw_figures *figures, struct pw_sentence *sentence);

/* Writes the headline, cut to `size`. That of a job that did not end well begins with its end. The
 * caller must make it safe to print (page.h). */
void pw_headline_write(const struct pw_figures *figures, char *out, size_t size);

/* Writes the second line of the report: what is missing ("7 of 8 ranks are present; …"); "" when
 * nothing is. */
void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size);

/* Highlights: losses that all ranks share, and the rank that the others waited for most, when that
 * wait is too short for a straggler. See docs/metrics.md, "Highlights". */

enum { PW_HIGHLIGHTS = 10 };

struct pw_highlight {
    const char *kind; /* "late_rank", "host_late", "data_wait", "no_cpu", "all_slower",
                         "slow_network", "transfers", "waits", "mpi_init" or "mpi_finalize" */
    int32_t rank;     /* the rank with the largest part; -1: no rank stands out */
    int64_t ns;       /* time lost, summed over all ranks */
    int64_t cost_ns;  /* what it costs the job; the most expensive one is first */
    double share;     /* `ns` divided by the time of all ranks */
    double of_rank;   /* late_rank: share of `ns` that ranks waited for `rank`; other kinds:
                         share of its own time that `rank` lost; -1: no rank */
    int is_of_steps;  /* no_cpu: 1: `share` is of the steps, 0: of the run */
    int is_headline;  /* 1: the headline begins with `text`; see also pw_losses_tells() */
    char text[320];   /* one sentence */
};

/* Finds the highlights, the most expensive first. Returns how many. When no rank is named, and the
 * verdict's own loss costs less than the first one, the headline begins with the first one. */
size_t pw_highlights_find(const struct pw_figures *figures, struct pw_highlight out[PW_HIGHLIGHTS]);

/* Losses of whatever kind: what the verdict names, highlights, further stragglers and work that
 * differs by design. See docs/metrics.md, "Losses". */

enum { PW_LOSS_RANKS = 5, PW_LOSSES = PW_HIGHLIGHTS + PW_LOSS_RANKS + 2, PW_LOSSES_SHOWN = 3 };

struct pw_loss {
    const char *kind;     /* "rank", "host", "imbalance", or the kind of a highlight */
    int32_t rank;         /* the rank to blame, or with the largest part; -1: none */
    char hostname[65];    /* of kinds rank and host; "": not known */
    int64_t gain_ns;      /* wall time that the job would save at most; -1: not known */
    int64_t together_ns;  /* of the rank or host that is named first: what the job would save
                             without all stragglers at once; -1: not known, or hardly more */
    int64_t lost_ns;      /* of rank and host: their excess; of highlights as there */
    double share;         /* the number of the sentence; -1: not known */
    const char *share_of; /* what it is a share of: "steps", "run", "gpus" or "replay" */
    int is_headline;      /* enum pw_loss_place; 0: the headline does not have it */
    char text[512];       /* one sentence */
};

enum pw_loss_place {
    PW_LOSS_FIRST = 1, /* the headline is about it */
    PW_LOSS_ADDED,     /* it costs more than what the headline is about, which has it at its end */
};

/* What the order of the losses is by, ns: the gain; where that is not known, what was lost. */
int64_t pw_loss_cost(const struct pw_loss *loss);

/* Finds the losses, largest gain first; where the gain is not known, lost_ns is used. Returns how
 * many. */
size_t pw_losses_find(const struct pw_figures *figures, struct pw_loss out[PW_LOSSES]);

/* The losses that are shown below the headline, until PW_LOSSES_SHOWN are told with those that the
 * headline has. It may have more than that: then there are none. Returns how many. */
size_t pw_losses_beside(const struct pw_loss *losses, size_t n, const struct pw_loss *out[]);

/* Whether a report would contradict itself without a word about this loss: it is much of the run
 * (PW_TOLD_SHARE), and PW_TOLD_TIMES what is told. */
int pw_is_untold(const struct pw_figures *figures, int64_t ns, int64_t told_ns);

/* Whether the headline has a loss of this kind. */
int pw_losses_tells(const struct pw_loss *losses, size_t n, const char *kind);

/* What the loss that the headline is about costs, ns; 0: it names none. */
int64_t pw_losses_told(const struct pw_figures *figures, const struct pw_loss *losses, size_t n);

/* What the ranks waited for each other and transferred in all, whoever or whatever is to blame. The
 * headline says what is much more than the loss that it is about. See docs/metrics.md, "Losses". */

enum pw_total_kind { /* those before transfers are in the order of enum pw_part */
                     PW_TOTAL_INIT,
                     PW_TOTAL_SETUP,
                     PW_TOTAL_STEPS,
                     PW_TOTAL_TAIL,
                     PW_TOTAL_FINALIZE,
                     PW_TOTAL_END,
                     PW_TOTAL_TRANSFERS, /* of the measured steps, where no computation hides them
                                          */
                     PW_TOTALS,
};

struct pw_total {
    int64_t ns;      /* mean of the ranks; -1: not known */
    double share;    /* of the run */
    int is_added;    /* 1: pw_totals_say() says it */
    int is_headline; /* 1: the headline says it, there or before */
};

/* Fills in out[kind]. */
void pw_totals_find(const struct pw_figures *figures, struct pw_total out[PW_TOTALS]);

/* Whether they are so much of the run (PW_TOLD_MUCH) that "no rank held the job back" would
 * mislead: then no rank alone did. */
int pw_totals_are_much(const struct pw_figures *figures);

/* The name in report.json: "setup_wait". */
const char *pw_total_name(enum pw_total_kind kind);

/* " On average a rank waited for others for 638 ms in the steps (20 % of the run)."; nothing where
 * that is little beside what the headline is about. */
void pw_totals_say(const struct pw_figures *figures, struct pw_sentence *sentence);

/* Writes which ranks left no usable file, "ranks 2, 5-7 and 3 more"; nothing where all did. */
void pw_missing_write(const struct pw_figures *figures, struct pw_sentence *sentence);

/* The same of all ranks of which communication was not recorded. Returns their number. */
int64_t pw_unseen_write(const struct pw_figures *figures, struct pw_sentence *sentence);

/* "Rank 3 on node-a held back 8 of 20 steps by 5 ms each (20 % of a step) in data, which cost the
 * job 40 ms", or the same of its host; without a full stop. */
void pw_straggler_say(const struct pw_figures *figures, const struct pw_row_c_straggler *row,
                      struct pw_sentence *sentence);

/* pw_imbalance_write() with what sharing the work out would save; without a full stop. */
void pw_imbalance_say(const struct pw_figures *figures, const struct pw_row_c_imbalance *row,
                      struct pw_sentence *sentence);

/* What the verdict rests on: communication, steps, hosts, ranks and clocks. See docs/metrics.md,
 * "What the verdict rests on". */

enum { PW_BASES = 5 };

enum pw_mark {
    PW_MARK_SEEN,    /* in order, and a table says so */
    PW_MARK_PARTLY,  /* known, but incomplete, inferred or bad */
    PW_MARK_MISSING, /* known to be missing */
    PW_MARK_UNKNOWN, /* nothing is known about it */
};

struct pw_basis {
    const char *what; /* "communication", "steps", "hosts", "ranks" or "clocks" */
    enum pw_mark mark;
    char text[160];
};

/* Returns how many; a job of one rank has no communication and no clocks. */
size_t pw_basis_find(const struct pw_figures *figures, struct pw_basis out[PW_BASES]);

/* The name of a mark in report.json. */
const char *pw_mark_name(enum pw_mark mark);

/* Its sign in a text: "✓", "!", "✗" or "?". */
const char *pw_mark_sign(enum pw_mark mark);

/* Writes all in one line: "✓ collectives seen: MPI 300; ! steps inferred …". */
void pw_basis_write(const struct pw_figures *figures, char *out, size_t size);

/* ---- the calls in which ranks ended ---- */

/* The call in which a rank ended: of several threads, the one that was entered last. NULL: none. */
const struct pw_row_c_open_call *pw_opencall_last(const struct pw_cluster *c, int32_t rank);

/* Whether two ranks were in the same call. */
int pw_opencall_is_same(const struct pw_row_c_open_call *a, const struct pw_row_c_open_call *b);

/* Writes "MPI_Barrier #7 on MPI_COMM_WORLD". Returns `text`. */
const char *pw_opencall_write(const struct pw_row_c_open_call *call, char text[PW_CALL_TEXT]);

#endif
