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

struct pw_losscount pw_losscount_of(const struct pw_record *records, uint32_t n)
{
    struct pw_losscount t = {.n = n, .start = records[0].end, .end = records[n - 1].end};
    for (uint32_t i = 0, first = 0; i < n; first = i) {
        const uint8_t type = records[first].type; /* most records have that of the one before */
        while (++i < n && records[i].type == type)
            ;
        t.by_kind[pw_record_kind(&records[first])] += i - first;
    }
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
    struct pw_losscount t = {.start = record->start, .end = record->end};
    if (record->type == PW_REC_LOST)
        memcpy(t.by_kind, record->lost.lost, sizeof(t.by_kind));
    else if (record->type == PW_REC_UNRECORDED)
        t.by_kind[PW_LOST_OTHER] = record->unrecorded.no_ring;
    else
        return pw_losscount_of(record, 1);
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        t.n += t.by_kind[kind];
    return t;
}

struct pw_record pw_losscount_record(const struct pw_losscount *count, enum pw_reason reason)
{
    struct pw_record record = {
        .type = PW_REC_LOST, .op = (uint16_t)reason, .start = count->start, .end = count->end};
    memcpy(record.lost.lost, count->by_kind, sizeof(record.lost.lost));
    return record;
}
