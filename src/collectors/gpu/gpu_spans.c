/* Each lane's last ranges, in order of their ends; see gpu_spans.h. */
#include "collectors/gpu/gpu_spans.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 1 << 16, FIRST_ROOM = 256, MOST_ROOM = 1 << 15, MOST_SCANNED = 4096 };

struct span {
    int64_t start, end;
    uint32_t name;
};

/* The spans [first, next); number i is at index i & (room - 1). */
struct lane {
    struct span *spans;
    uint32_t room;
    uint64_t first, next;
};

struct pw_gpu_spans {
    struct lane *lanes[LANES];
};

struct pw_gpu_spans *pw_gpu_spans_create(void)
{
    return calloc(1, sizeof(struct pw_gpu_spans));
}

/* Makes room for one more span: doubles the array up to a limit, then removes the oldest span. */
static int make_room(struct lane *lane)
{
    uint32_t room = lane->room ? lane->room * 2 : FIRST_ROOM;
    if (lane->next - lane->first < lane->room)
        return 1;
    struct span *grown = room <= MOST_ROOM ? malloc(room * sizeof(*grown)) : NULL;
    if (grown) {
        for (uint64_t i = lane->first; i < lane->next; i++)
            grown[i & (room - 1)] = lane->spans[i & (lane->room - 1)];
        free(lane->spans);
        lane->spans = grown;
        lane->room = room;
    } else if (lane->room) {
        lane->first++;
    }
    return lane->room != 0;
}

void pw_gpu_spans_add(struct pw_gpu_spans *spans, uint16_t lane, int64_t start, int64_t end,
                      uint32_t name)
{
    struct lane *l = spans->lanes[lane];
    if (!l)
        l = spans->lanes[lane] = calloc(1, sizeof(*l));
    if (l && make_room(l))
        l->spans[l->next++ & (l->room - 1)] = (struct span){start, end, name};
}

/* Returns the number of the first span that ended at `time` or later. */
static uint64_t first_after(const struct lane *l, int64_t time)
{
    uint64_t low = l->first, high = l->next;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (l->spans[middle & (l->room - 1)].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An inner range ends before the range around it, so the first span that contains the time is the
 * innermost. */
int pw_gpu_spans_find(const struct pw_gpu_spans *spans, uint16_t lane, int64_t time, uint32_t *name)
{
    const struct lane *l = spans->lanes[lane];
    if (!l)
        return 0;
    uint64_t at = first_after(l, time);
    uint64_t last = l->next - at < MOST_SCANNED ? l->next : at + MOST_SCANNED;
    for (; at < last; at++) {
        const struct span *span = &l->spans[at & (l->room - 1)];
        if (span->start > time)
            continue;
        *name = span->name;
        return 1;
    }
    return 0;
}

void pw_gpu_spans_destroy(struct pw_gpu_spans *spans)
{
    if (!spans)
        return;
    for (int i = 0; i < LANES; i++)
        if (spans->lanes[i]) {
            free(spans->lanes[i]->spans);
            free(spans->lanes[i]);
        }
    free(spans);
}
