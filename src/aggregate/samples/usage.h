/* The CPU, I/O and memory that a rank used, from the samples in its file (docs/metrics.md,
 * "Utilisation" and "Memory"). Called by samples.c, one rank at a time. No MPI. */
#ifndef PW_AGGREGATE_SAMPLES_USAGE_H
#define PW_AGGREGATE_SAMPLES_USAGE_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/procs.h"

/* The network cards of the hosts, from the samples in rank files: what each moved over the run, and
 * the sums of a host's cards at a time (docs/metrics.md, "Utilisation"). Only arrange() uses MPI.
 */

enum { PW_NETCARDS_MOST = 64 };

/* The rows of this process's ranks. */
struct pw_netcards {
    struct pw_row_c_netcard *rows;
    size_t n;
};

/* What all cards of the host have moved since the first sample of each; -1: there was no sample. */
struct pw_netcard_sums {
    int64_t recv_bytes, sent_bytes;
};

struct pw_netcard {
    struct pw_row_netcard first, last;
};

/* The samples of a rank, in the order of time. */
struct pw_netcard_reading {
    const struct pw_input *input;
    struct pw_cursor cursor;
    struct pw_netcard cards[PW_NETCARDS_MOST];
    size_t n;
    struct pw_row_netcard coming;
    int has_coming, is_open;
};

/* Gathers the rows of all processes on each, and keeps those of the lowest rank of each host.
 * Collective. */
void pw_netcards_arrange(struct pw_netcards *cards, const struct pw_procs *procs);

enum { PW_USAGE_DEVICES = 32 };

/* The rows of this process's ranks. */
struct pw_usages {
    struct pw_row_c_utilisation *rows;
    struct pw_row_c_utilisation_series *series;
    struct pw_row_c_memory *memory;
    size_t n, nseries, nmemory;
    struct pw_netcards cards;
};

/* Adds one rank, with at most `points` points of series. Returns 0, -ENOMEM, or another -errno when
 * a table is damaged; then the rows before the damage were added. */
int pw_usage_read(struct pw_usages *usages, const struct pw_openfile *file, size_t points);

void pw_usages_fini(struct pw_usages *usages);

#endif
