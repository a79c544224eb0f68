/* An index of the blocks of events (events.h) by the start times of their sends and receives. It
 * finds the blocks with the messages that started in a span of time. Events are in the file in the
 * order of their ends, so a receive that was open for long is many blocks after events that started
 * later. Such a receive does not count with its own start, but as started together with messages
 * PW_START_INDEX_LATE blocks before it. So a span of time is always in few blocks. events.c fills
 * the index in the first pass; endpoints.c, messages.c and messagesums.c search it. Times are
 * local. No I/O. */
#ifndef PW_AGGREGATE_INPUT_STARTINDEX_H
#define PW_AGGREGATE_INPUT_STARTINDEX_H

#include <stddef.h>

#include "core/tables.h"

/* A message in block b counts as started no earlier than the latest start of all messages up to
 * block b - PW_START_INDEX_LATE. */
enum { PW_START_INDEX_LATE = 16 };

struct pw_start_index {
    size_t blocks;
    int64_t *latest;   /* [blocks] the latest start in block b or before it; INT64_MIN: none */
    int64_t *earliest; /* [blocks] the earliest start in block b or after it, as it counts;
                          INT64_MAX: none */
    int64_t *before;   /* [blocks + 1] number of sends and receives before block b */
};

/* Returns 0 or -ENOMEM. */
int pw_start_index_init(struct pw_start_index *index, size_t blocks);

/* _note() is called once for each block, with its rows; then _finish() once. */
void pw_start_index_note(struct pw_start_index *index, size_t block,
                         const struct pw_row_comm_event *rows, size_t n);
void pw_start_index_finish(struct pw_start_index *index);

/* Returns the earliest start that a send or receive of the block can count with. */
int64_t pw_start_index_floor(const struct pw_start_index *index, size_t block);

/* Finds the blocks [*first, *end) that contain all messages that count as started in [from, to). */
void pw_start_index_find(const struct pw_start_index *index, int64_t from, int64_t to,
                         size_t *first, size_t *end);

/* The same, and additionally the block with the last start before `from`, and the block after the
 * last. */
void pw_start_index_around(const struct pw_start_index *index, int64_t from, int64_t to,
                           size_t *first, size_t *end);

/* Returns about how many messages count as started before `time`, as if starts were spread evenly
 * in each block. */
double pw_start_index_count(const struct pw_start_index *index, int64_t time);

void pw_start_index_fini(struct pw_start_index *index);

#endif
