/* Spreads independent items of work over several cores, in threads. Used for what process 0 of a
 * merge does while the other processes wait. No file is read or written. */
#ifndef PW_AGGREGATE_INPUT_PARALLEL_H
#define PW_AGGREGATE_INPUT_PARALLEL_H

#include <stddef.h>

#include "aggregate/input/procs.h"

enum { PW_PARALLEL_MOST = 8 }; /* workers; more would need much memory for little time */

/* Lets process 0 use the cores of all processes on its host. Before that, it uses those on which it
 * may run itself. Collective. */
void pw_parallel_share_cores(const struct pw_procs *procs);

/* Returns how many workers may do n items: at most one for each core, at least 1. */
size_t pw_parallel_workers(size_t n);

/* Does an item, 0 .. n - 1. A worker, 0 .. workers - 1, does one item at a time, so what is the
 * worker's own needs no lock. */
typedef void pw_parallel_item(void *context, size_t item, size_t worker);

/* A number of items, and who does them: at most PW_PARALLEL_MOST workers. */
struct pw_parallel_work {
    size_t n, workers;
    pw_parallel_item *each;
    void *context;
};

/* Does the items in any order. The caller is worker 0; the others are threads, which have ended
 * when it returns. Where a thread cannot be started, the other workers do its items. */
void pw_parallel(const struct pw_parallel_work *work);

#endif
