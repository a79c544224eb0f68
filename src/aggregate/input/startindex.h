/* Where a rank's sends and receives begin among its events, by blocks of these (events.h), so that
 * those begun in a span of time are found without reading all blocks. They are ordered by when they
 * began. A send or receive that stands long after others that began later counts as begun with
 * those: so what is begun in a span is in few blocks, however long a receive was open. events.c
 * fills it in the first pass; endpoints.c, messages.c and messagesums.c ask it. Local times. No
 * I/O. */
#ifndef PW_AGGREGATE_INPUT_STARTINDEX_H
#define PW_AGGREGATE_INPUT_STARTINDEX_H

#include <stddef.h>

#include "core/tables.h"

/* So many blocks after another that was begun later, a send or receive counts as begun with that.
 */
enum { PW_START_INDEX_LATE = 16 };

struct pw_start_index {
    size_t blocks;
    int64_t *latest;   /* [blocks] the latest begin in block b or before it; INT64_MIN: none */
    int64_t *earliest; /* [blocks] the earliest in block b or after it; INT64_MAX: none */
    int64_t *before;   /* [blocks + 1] how many there are before block b */
};

/* 0 or -ENOMEM. */
int pw_start_index_init(struct pw_start_index *index, size_t blocks);

/* Notes the rows of a block, once for each block; then all are summed up. */
void pw_start_index_note(struct pw_start_index *index, size_t block,
                         const struct pw_row_comm_event *rows, size_t n);
void pw_start_index_finish(struct pw_start_index *index);

/* No send or receive of the block counts as begun before this. */
int64_t pw_start_index_floor(const struct pw_start_index *index, size_t block);

/* Blocks [*first, *end) have all that count as begun in [from, to). */
void pw_start_index_find(const struct pw_start_index *index, int64_t from, int64_t to,
                         size_t *first, size_t *end);

/* The same, with the block of what was begun last before that, and the one after. */
void pw_start_index_around(const struct pw_start_index *index, int64_t from, int64_t to,
                           size_t *first, size_t *end);

/* About how many count as begun before a time: in each block they are taken to be spread evenly. */
double pw_start_index_count(const struct pw_start_index *index, int64_t time);

void pw_start_index_fini(struct pw_start_index *index);

#endif
