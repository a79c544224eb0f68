/* Puts begins and ends together; see nvtx_pairs.h. Halves that wait for the other are kept in a
 * hash table of fixed size with open addressing; what is taken out is filled by what comes behind
 * it. */
#include "collectors/nvtx/nvtx_pairs.h"

#include <stdlib.h>

#include "rank/collect/rangerow.h"

enum { SLOTS = 1 << 16, MOST_WAITING = SLOTS / 2 };

/* The begin, or what an end says alone. */
struct half {
    uint64_t id; /* 0: free */
    uint32_t epoch;
    int is_begin;
    struct pw_row_range row;
};

struct pw_nvtx_pairs {
    struct pw_rankfile *file;
    int64_t waiting, refused;
    struct half *slots;
};

struct pw_nvtx_pairs *pw_nvtx_pairs_create(struct pw_rankfile *file)
{
    struct pw_nvtx_pairs *pairs = calloc(1, sizeof(*pairs));
    if (pairs)
        pairs->file = file;
    return pairs;
}

void pw_nvtx_pairs_destroy(struct pw_nvtx_pairs *pairs)
{
    if (pairs)
        free(pairs->slots);
    free(pairs);
}

static uint32_t home_of(uint64_t id, uint32_t epoch)
{
    return (uint32_t)(((id ^ (uint64_t)epoch << 40) * 0x9e3779b97f4a7c15ull) >> 48) & (SLOTS - 1);
}

/* Its slot, or the free one that it belongs in. */
static struct half *find(struct pw_nvtx_pairs *pairs, uint64_t id, uint32_t epoch)
{
    uint32_t at = home_of(id, epoch);
    while (pairs->slots[at].id && (pairs->slots[at].id != id || pairs->slots[at].epoch != epoch))
        at = (at + 1) & (SLOTS - 1);
    return &pairs->slots[at];
}

static void take_out(struct pw_nvtx_pairs *pairs, struct half *half)
{
    uint32_t hole = (uint32_t)(half - pairs->slots);
    for (uint32_t at = (hole + 1) & (SLOTS - 1); pairs->slots[at].id; at = (at + 1) & (SLOTS - 1)) {
        uint32_t home = home_of(pairs->slots[at].id, pairs->slots[at].epoch);
        if (((at - home) & (SLOTS - 1)) < ((at - hole) & (SLOTS - 1)))
            continue; /* the hole is before its home */
        pairs->slots[hole] = pairs->slots[at];
        hole = at;
    }
    pairs->slots[hole].id = 0;
    pairs->waiting--;
}

static int has_slots(struct pw_nvtx_pairs *pairs)
{
    if (!pairs->slots)
        pairs->slots = calloc(SLOTS, sizeof(*pairs->slots));
    return pairs->slots != NULL;
}

static void put_in(struct pw_nvtx_pairs *pairs, struct half *slot, const struct half *half)
{
    if (pairs->waiting >= MOST_WAITING) {
        pairs->refused++;
        return;
    }
    *slot = *half;
    pairs->waiting++;
}

static void append(struct pw_nvtx_pairs *pairs, struct pw_row_range *begin,
                   const struct pw_row_range *end)
{
    begin->end = end->end;
    if (begin->payload_type == PW_PAYLOAD_NONE) {
        begin->payload_type = end->payload_type;
        begin->payload = end->payload;
    }
    pw_rankfile_append(pairs->file, PW_TABLE_range, begin);
}

static void take(struct pw_nvtx_pairs *pairs, struct half *half)
{
    if (half->id == 0 || !has_slots(pairs)) {
        pairs->refused++;
        return;
    }
    struct half *other = find(pairs, half->id, half->epoch);
    if (!other->id) {
        put_in(pairs, other, half);
        return;
    }
    if (other->is_begin == half->is_begin) {
        pairs->refused++; /* ended twice */
        return;
    }
    if (half->is_begin)
        append(pairs, &half->row, &other->row);
    else
        append(pairs, &other->row, &half->row);
    take_out(pairs, other);
}

void pw_nvtx_pairs_start(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    struct half half = {.id = record->range.id,
                        .epoch = origin->epoch,
                        .is_begin = 1,
                        .row = pw_rangerow_of(record, origin)};
    half.row.alloc_bytes = 0; /* the record has the id there */
    half.row.flags |= PW_RANGE_PROCESS;
    take(pairs, &half);
}

void pw_nvtx_pairs_end(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    struct half half = {.id = record->ended.id, .epoch = origin->epoch};
    half.row.end = origin->end;
    half.row.payload_type = (uint8_t)record->op;
    half.row.payload = pw_rangerow_payload(record->op, record->ended.payload, origin);
    take(pairs, &half);
}

void pw_nvtx_pairs_finish(struct pw_nvtx_pairs *pairs, int64_t end_ns)
{
    int64_t alone = 0;
    for (uint32_t i = 0; pairs->slots && i < SLOTS; i++) {
        struct half *half = &pairs->slots[i];
        if (!half->id)
            continue;
        if (!half->is_begin) {
            alone++;
            continue;
        }
        half->row.end = end_ns > half->row.start ? end_ns : half->row.start;
        half->row.flags |= PW_RANGE_UNENDED;
        pw_rankfile_append(pairs->file, PW_TABLE_range, &half->row);
    }
    if (alone)
        pw_rankfile_overhead(pairs->file, "nvtx_ends_alone", (double)alone, "ranges");
    if (pairs->refused)
        pw_rankfile_overhead(pairs->file, "nvtx_refused", (double)pairs->refused, "ranges");
}
