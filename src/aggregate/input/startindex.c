/* Notes the earliest and the latest start in each block, then accumulates these over the blocks;
 * see startindex.h. */
#include "aggregate/input/startindex.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "core/ops.h"

int pw_start_index_init(struct pw_start_index *b, size_t blocks)
{
    *b = (struct pw_start_index){
        .blocks = blocks,
        .latest = malloc(sizeof(*b->latest) * (blocks + 1)),
        .earliest = malloc(sizeof(*b->earliest) * (blocks + 1)),
        .before = malloc(sizeof(*b->before) * (blocks + 1)),
    };
    if (b->latest && b->earliest && b->before)
        return 0;
    pw_start_index_fini(b);
    return -ENOMEM;
}

void pw_start_index_note(struct pw_start_index *b, size_t block,
                         const struct pw_row_comm_event *rows, size_t n)
{
    int64_t earliest = INT64_MAX, latest = INT64_MIN, messages = 0;
    for (size_t i = 0; i < n; i++) {
        enum pw_op_class cls = pw_op_info(rows[i].op)->cls;
        if ((cls != PW_CLASS_SEND && cls != PW_CLASS_RECV) || rows[i].end < rows[i].start)
            continue;
        messages++;
        earliest = rows[i].start < earliest ? rows[i].start : earliest;
        latest = rows[i].start > latest ? rows[i].start : latest;
    }
    b->earliest[block] = earliest;
    b->latest[block] = latest;
    b->before[block] = messages;
}

int64_t pw_start_index_floor(const struct pw_start_index *b, size_t block)
{
    return block < PW_START_INDEX_LATE ? INT64_MIN : b->latest[block - PW_START_INDEX_LATE];
}

/* Turns the values of single blocks into those of all blocks up to, or from, each block. */
void pw_start_index_finish(struct pw_start_index *b)
{
    int64_t before = 0, after = INT64_MAX;
    for (size_t i = 0; i < b->blocks; i++) {
        int64_t here = b->before[i];
        b->before[i] = before;
        before += here;
        if (i && b->latest[i - 1] > b->latest[i])
            b->latest[i] = b->latest[i - 1];
    }
    b->before[b->blocks] = before;
    for (size_t i = b->blocks; i-- > 0; b->earliest[i] = after) {
        int64_t floor = pw_start_index_floor(b, i);
        int64_t here = b->earliest[i] > floor ? b->earliest[i] : floor;
        after = here < after ? here : after;
    }
}

void pw_start_index_find(const struct pw_start_index *b, int64_t from, int64_t to, size_t *first,
                         size_t *end)
{
    *first = pw_place_i64(b->latest, b->blocks, from);
    *end = pw_place_i64(b->earliest, b->blocks, to);
}

void pw_start_index_around(const struct pw_start_index *b, int64_t from, int64_t to, size_t *first,
                           size_t *end)
{
    pw_start_index_find(b, from, to, first, end);
    if (*first > 0)
        *first = pw_place_i64(b->latest, b->blocks, b->latest[*first - 1]);
    *end += *end < b->blocks;
}

double pw_start_index_count(const struct pw_start_index *b, int64_t time)
{
    size_t at = pw_place_i64(b->latest, b->blocks, time);
    if (at == b->blocks)
        return b->blocks ? (double)b->before[at] : 0;
    int64_t from = at ? b->latest[at - 1] : INT64_MIN;
    from = from > b->earliest[0] ? from : b->earliest[0];
    if (time <= from)
        return (double)b->before[at];
    double share = (double)((uint64_t)time - (uint64_t)from) /
                   (double)((uint64_t)b->latest[at] - (uint64_t)from);
    return (double)b->before[at] + share * (double)(b->before[at + 1] - b->before[at]);
}

void pw_start_index_fini(struct pw_start_index *b)
{
    free(b->latest);
    free(b->earliest);
    free(b->before);
    *b = (struct pw_start_index){0};
}
