/* The prefetching loader: a thread that prepares batches ahead of use, in a bounded queue. */
#ifndef TRAIN_LOADER_H
#define TRAIN_LOADER_H

#include <stdint.h>

#include "inject.h"
#include "model.h"
#include "text.h"

struct loader;

/* What is pointed to must outlive the loader. */
struct loader_config {
    const struct text_shard *shard;
    const struct inject_list *inject;
    int rank;
    int64_t steps;
    size_t batch;
    uint64_t seed;
};

/* Starts the thread. 0, or a negative errno with *out untouched. */
int loader_open(const struct loader_config *config, struct loader **out);

/* Waits for the batch of `step`; to be called for 0, 1, 2 ... in order. The batch is valid until
 * loader_release(). */
const struct model_batch *loader_borrow(struct loader *loader, int64_t step);
void loader_release(struct loader *loader);

/* Stops the thread, whatever it is doing, and frees all batches. NULL is fine. */
void loader_close(struct loader *loader);

#endif
