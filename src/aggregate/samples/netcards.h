/* The network cards of the hosts, from the samples in rank files: what each moved over the run, and
 * the sums of a host's cards at a time (docs/metrics.md, "Utilisation"). Called by usage.c, one
 * rank at a time. Only arrange() uses MPI. */
#ifndef PW_AGGREGATE_SAMPLES_NETCARDS_H
#define PW_AGGREGATE_SAMPLES_NETCARDS_H

#include "aggregate/input/cursor.h"
#include "aggregate/input/procs.h"

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

/* Returns 0 or -errno; the reading must be closed in both cases. */
int pw_netcards_open(struct pw_netcard_reading *reading, const struct pw_openfile *file);
void pw_netcards_close(struct pw_netcard_reading *reading);

/* Takes the samples up to a local time, which must not be before that of the last call. */
struct pw_netcard_sums pw_netcards_advance(struct pw_netcard_reading *reading, int64_t local_ns);

/* Adds a row for each card, over [from, until) in local time; reads the samples again. Returns 0,
 * -ENOMEM, or another -errno when the table is damaged. */
int pw_netcards_add(struct pw_netcards *out, struct pw_netcard_reading *reading, int64_t from,
                    int64_t until);

/* Gathers the rows of all processes on each, and keeps those of the lowest rank of each host.
 * Collective. */
void pw_netcards_arrange(struct pw_netcards *cards, const struct pw_procs *procs);

void pw_netcards_fini(struct pw_netcards *cards);

#endif
