/* Counts what is lost; see losscount.h. */
#include "rank/journal/losscount.h"

#include <string.h>

void pw_losscount_add(struct pw_losscount *to, const struct pw_losscount *more)
{
    if (!more->n)
        return;
    if (!to->n || more->start < to->start)
        to->start = more->start;
    if (!to->n || more->end > to->end)
        to->end = more->end;
    to->n += more->n;
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        to->by_kind[kind] += more->by_kind[kind];
}

void pw_losscount_subtract(struct pw_losscount *from, const struct pw_losscount *less)
{
    from->n -= less->n;
    from->start = less->end;
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        from->by_kind[kind] -= less->by_kind[kind];
}

static void add_reported(struct pw_losscount *t, const struct pw_record *losses, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (int kind = 0; kind < PW_LOST_KINDS; kind++)
            t->by_kind[kind] += losses[i].lost.lost[kind];
}

struct pw_losscount pw_losscount_of(const struct pw_record *records, uint32_t n)
{
    struct pw_losscount t = {.start =
                                 records[0].type == PW_REC_LOST ? records[0].start : records[0].end,
                             .end = records[n - 1].end};
    for (uint32_t i = 0, first = 0; i < n; first = i) {
        const uint8_t type = records[first].type; /* most records have that of the one before */
        while (++i < n && records[i].type == type)
            ;
        if (type == PW_REC_LOST)
            add_reported(&t, &records[first], i - first);
        else
            t.by_kind[pw_record_kind(&records[first])] += i - first;
    }
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        t.n += t.by_kind[kind];
    return t;
}

struct pw_losscount pw_losscount_unknown(uint64_t n, const struct pw_record *last)
{
    struct pw_losscount t = {.n = n, .start = last->end, .end = last->end};
    t.by_kind[PW_LOST_OTHER] = n;
    return t;
}

struct pw_losscount pw_losscount_of_ringless(const struct pw_record *record)
{
    if (record->type != PW_REC_UNRECORDED)
        return pw_losscount_of(record, 1);
    struct pw_losscount t = {
        .n = record->unrecorded.no_ring, .start = record->start, .end = record->end};
    t.by_kind[PW_LOST_OTHER] = t.n;
    return t;
}

struct pw_record pw_losscount_record(const struct pw_losscount *count, enum pw_reason reason)
{
    struct pw_record record = {
        .type = PW_REC_LOST, .op = (uint16_t)reason, .start = count->start, .end = count->end};
    memcpy(record.lost.lost, count->by_kind, sizeof(record.lost.lost));
    return record;
}
