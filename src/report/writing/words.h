/* Words for enumerations, MPI calls and sets of ranks. Called by the reports and by report/live.
 * Writes into the caller's memory: prints nothing. */
#ifndef PW_REPORT_WRITING_WORDS_H
#define PW_REPORT_WRITING_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "analysis/parts.h"
#include "core/text.h"

/* Returns "in backward", "outside any phase" and the like; "" when not known. */
const char *pw_words_phase(int phase);

/* Writes the steps that a straggler held back: "41 of 50 steps", "21 of steps 20-40" or "step 17".
 * Returns `out`. */
const char *pw_words_steps(const struct pw_figures *figures,
                           const struct pw_row_c_straggler *straggler, char *out, size_t size);

/* Writes the time of a stretch since the start of the run, "0.8 to 2.7 s"; or its part of the run,
 * "before its first step". Returns `out`. */
const char *pw_words_stretch(const struct pw_figures *figures,
                             const struct pw_row_c_straggler *straggler, char *out, size_t size);

/* Returns what a part of the run is: "in MPI_Init", "from MPI_Init to the first step". `known`
 * tells which events separate the parts. */
const char *pw_words_part(int part, const struct pw_parts_known *known);

/* Returns "step", or "slice" when the run was divided into slices of equal length. */
const char *pw_words_step(const struct pw_cluster *cluster);

/* Returns what the steps are that are left out of all means: "warm-up steps", or "warm-up or cut
 * steps" of a job that did not end well, whose last steps were cut by its end. */
const char *pw_words_left_out(const struct pw_figures *figures);

/* Returns how the steps were found: "marks" of the program, repeated "calls", or "slices" of equal
 * length. */
const char *pw_words_found_by(const struct pw_cluster *cluster);

/* Writes what a replay changed: "rank 3 at the others' median in steps 20-40". Returns `out`. */
const char *pw_words_whatif(const struct pw_row_c_whatif *row, char *out, size_t size);

/* Writes "43.2 %", with one decimal; "n/a" for values below 0. Returns `out`. */
const char *pw_words_mfu(char *out, size_t size, double mfu);

/* "ended when rank 2 (node-a) was killed by signal 9 (Killed)", "ended in order": of an epoch.
 * Returns `out`. */
const char *pw_words_epoch_end(const struct pw_row_c_epoch *epoch, char *out, size_t size);

/* Writes which parts of a report on some steps (`report --steps`) cover only these steps, and which
 * the whole run; "" when the report covers all steps. Returns `out`. */
const char *pw_words_restriction(const struct pw_cluster *cluster, char *out, size_t size);

/* Writes "Would save up to 1.20 s (73 %). ", what the advice would save; "" when that is not known.
 * `share` is that of pw_advice_share(). Returns `out`. */
const char *pw_words_saves(const struct pw_advice *advice, double share, char *out, size_t size);

/* Adds a time in the format of pw_text_ns(). */
void pw_words_add_ns(struct pw_sentence *sentence, const char *before, int64_t ns);

/* Adds a share in the format of pw_page_percent(). */
void pw_words_add_percent(struct pw_sentence *sentence, const char *before, double share,
                          const char *after);

/* ---- MPI calls and sets of ranks ---- */

enum { PW_CALL_TEXT = 192 };

struct pw_call_words {
    uint32_t source; /* enum pw_source: whose operation it is */
    uint32_t op;
    uint32_t awaited;      /* of a completing call: the operation that it waits for; 0: not known */
    const char *comm_name; /* "": it has none */
    uint64_t comm_uid;     /* 0: not known */
    int64_t seq;           /* number of a collective; -1: none */
    int32_t peer, tag;     /* world rank and tag; -1: none */
    int64_t others;        /* operations that it waits for besides `awaited` */
};

/* Writes a call: "MPI_Wait (for MPI_Irecv from rank 3 (tag 7) on MPI_COMM_WORLD)", "MPI_Allreduce
 * #17 on MPI_COMM_WORLD", "ncclAllReduce #17 on world", "gloo wait (for gloo allreduce #17 on
 * world)". Returns `out`. */
const char *pw_call_write(const struct pw_call_words *call, char *out, size_t size);

/* Writes the name of a communicator, or a name made of its uid. Returns `out`. */
const char *pw_call_comm(const char *name, uint64_t uid, char *out, size_t size);

/* Writes "rank 3" or "ranks 0-2,4-7" for a sorted list without duplicates; ranks that do not fit
 * are only counted. Returns `out`. */
const char *pw_call_ranks(const int32_t *ranks, size_t n, char *out, size_t size);

#endif
