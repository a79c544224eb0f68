/* The CPU, I/O and memory that a rank used, from the samples in its file (docs/metrics.md,
 * "Utilisation" and "Memory"). Called by samples.c, one rank at a time. No MPI. */
#ifndef PW_AGGREGATE_SAMPLES_USAGE_H
#define PW_AGGREGATE_SAMPLES_USAGE_H

#include "aggregate/input/cursor.h"
#include "aggregate/samples/netcards.h"

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
