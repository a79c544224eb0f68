/* The training text: one file, or all regular files of a directory as if joined in order of name.
 * Each rank reads and keeps only its own shard. main.c reads it, loader.c draws batches from it. */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text_shard {
    uint8_t *tokens; /* each below MODEL_VOCAB */
    size_t count;
};

/* Reads shard `rank` of `nrank`; each has at least `count_min` tokens. On failure returns a
 * negative errno with one clause in `why`, and *out is untouched. */
int text_read(const char *path, int rank, int nrank, size_t count_min, struct text_shard *out,
              char *why, size_t why_size);

void text_fini(struct text_shard *shard);

#endif
