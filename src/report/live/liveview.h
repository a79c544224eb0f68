/* Reports on a job that is running: the table of `profwrap ctl status`, its pace, metrics for
 * Prometheus, and what the watchdog says of a hang. Called by cli/ and run/. Asks no rank: the
 * caller gives the answers of all ranks, and the stream to write to. */
#ifndef PW_REPORT_LIVE_LIVEVIEW_H
#define PW_REPORT_LIVE_LIVEVIEW_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/hang.h"

enum { PW_LIVE_HEADLINE = 1024 };

struct pw_live_view {
    const struct pw_live *ranks; /* [n] those that answered, sorted by rank */
    size_t n;
    const int32_t *silent; /* ranks that run and did not answer, rising */
    size_t nsilent;
    const struct pw_hang *hang; /* of these ranks */
};

/* One sentence: which ranks wait for which rank, and what that rank does. */
void pw_live_headline(const struct pw_live_view *view, char *out, size_t size);

/* The ranks and their calls, the one longest in its call first. 0 or -ENOMEM. */
int pw_live_print_status(const struct pw_live_view *view, FILE *out);

/* The headline, the ranks, the collectives in which they wait, how far each has come on its
 * communicators, and call stacks. 0 or -ENOMEM. */
int pw_live_print_hang(const struct pw_live_view *view, FILE *out);

/* The verdict: headline, kind, roots, cycle, held, collectives, silent; NULL when memory is short.
 */
json_t *pw_live_hang_json(const struct pw_live_view *view);

/* Pieces of sentences about running ranks, shared by the reports on them. */

enum { PW_LIVE_RANKS_TEXT = 160, PW_LIVE_CALL_TEXT = 256 };

/* "MPI_Recv from rank 2 (tag 7) on MPI_COMM_WORLD", or "no MPI call". Returns `out`. */
const char *pw_live_call(const struct pw_live *rank, const struct pw_live_thread *thread, char *out,
                         size_t size);

/* "MPI_Allreduce #17 on MPI_COMM_WORLD". Returns `out`. */
const char *pw_live_group(const struct pw_live_view *view, const struct pw_hang_group *group,
                          char *out, size_t size);

/* "rank 3", "ranks 0-2,4", from rows of the view. Returns `out`. */
const char *pw_live_ranks(const struct pw_live_view *view, const int32_t *rows, size_t n, char *out,
                          size_t size);

/* "63.0 s", or "an unknown time". Returns `out`. */
const char *pw_live_time(int64_t ns, char *out, size_t size);

/* The name that any rank knows for a communicator; "" when none does. */
const char *pw_live_comm_name(const struct pw_live_view *view, uint64_t uid);

/* How fast the job goes: step time, the share of it inside MPI, and which ranks hold the others
 * back. */

struct pw_livepace_look {
    const char *title;
    size_t columns; /* no line is longer */
    size_t lines;   /* nor are there more; SIZE_MAX: as many as it takes */
    size_t ranks;   /* at most so many in the table */
    int is_coloured;
};

/* The rank that spends most time outside MPI comes first: the others wait for it there. 0 or
 * -ENOMEM. */
int pw_livepace_print(const struct pw_live_view *view, const struct pw_livepace_look *look,
                      FILE *out);

/* OpenMetrics text, for Prometheus and other programs that read it. */

/* One point of each metric and rank; what a rank does not know is left out. 0 or -EIO. */
int pw_openmetrics_print(const struct pw_live_view *view, FILE *out);

#endif
