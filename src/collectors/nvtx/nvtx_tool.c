/* Module nvtx, tool half: turns NVTX's records into rows of /events/range, /events/payload and
 * /thread_names, and of /steps when nothing else marks steps. Records are not trusted. */
#include "collectors/modules.h"

#include <stdlib.h>

#include "rank/collect/module.h"

/* Ranges of the process: one thread begins them, any may end them, and the two records come from
 * different rings, in any order.
 *
 * A begin or end whose other half has not come is kept in a hash table of fixed size with open
 * addressing. When an entry is removed, later entries of its chain are moved forward. */

struct pw_nvtx_pairs;

enum { SLOTS = 1 << 16, MOST_WAITING = SLOTS / 2 };

/* A begin, or an end that came before its begin. */
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

/* Returns NULL when memory is short. */
static struct pw_nvtx_pairs *pw_nvtx_pairs_create(struct pw_rankfile *file)
{
    struct pw_nvtx_pairs *pairs = calloc(1, sizeof(*pairs));
    if (pairs)
        pairs->file = file;
    return pairs;
}

static void pw_nvtx_pairs_destroy(struct pw_nvtx_pairs *pairs)
{
    if (pairs)
        free(pairs->slots);
    free(pairs);
}

static uint32_t home_of(uint64_t id, uint32_t epoch)
{
    return (uint32_t)(((id ^ (uint64_t)epoch << 40) * 0x9e3779b97f4a7c15ull) >> 48) & (SLOTS - 1);
}

/* Returns the slot of the range, or the free slot where it belongs. */
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
            continue; /* the free slot is before the entry's first possible place */
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

/* Process a PW_REC_NVTX_START and a PW_REC_NVTX_END; the second of the two that comes writes the
 * row. */
static void pw_nvtx_pairs_start(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                                const struct pw_origin *origin)
{
    struct half half = {.id = record->range.id,
                        .epoch = origin->epoch,
                        .is_begin = 1,
                        .row = pw_rangerow_of(record, origin)};
    half.row.alloc_bytes = 0; /* the record has the id in that place */
    half.row.flags |= PW_RANGE_PROCESS;
    take(pairs, &half);
}

static void pw_nvtx_pairs_end(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                              const struct pw_origin *origin)
{
    struct half half = {.id = record->ended.id, .epoch = origin->epoch};
    half.row.end = origin->end;
    half.row.payload_type = (uint8_t)record->op;
    half.row.payload = pw_rangerow_payload(record->op, record->ended.payload, origin);
    take(pairs, &half);
}

/* Writes rows of ranges that were not ended. Writes to /overhead how many halves did not fit into
 * the table, and how many ends had no begin. */
static void pw_nvtx_pairs_finish(struct pw_nvtx_pairs *pairs, int64_t end_ns)
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

enum { MOST_STEPS = 1 << 20 };

struct state {
    struct pw_rankfile *file;
    struct pw_nvtx_pairs *pairs;
    struct pw_steprow step;
    int64_t step_end;          /* end of the step's range; 0 not known */
    struct pw_row_step *steps; /* steps that have ended; only at the end is it known whether they
                                * are used */
    size_t nsteps, room;
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    struct pw_nvtx_pairs *pairs = s ? pw_nvtx_pairs_create(file) : NULL;
    if (!pairs) {
        free(s);
        return NULL;
    }
    s->file = file;
    s->pairs = pairs;
    return s;
}

static void keep_step(struct state *s, const struct pw_row_step *row)
{
    if (s->nsteps == s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct pw_row_step *grown =
            room <= MOST_STEPS ? realloc(s->steps, room * sizeof(*grown)) : NULL;
        if (!grown)
            return;
        s->steps = grown;
        s->room = room;
    }
    s->steps[s->nsteps++] = *row;
}

static void mark_step(struct state *s, const struct pw_record *record, int64_t start)
{
    struct pw_row_step row;
    if (pw_steprow_mark(&s->step, record, start, &row))
        keep_step(s, &row);
    s->step_end = 0;
}

/* A step ends when the next one begins (docs/metrics.md); the last one, when its range ends. */
static void append_steps(struct state *s, int64_t end_ns)
{
    struct pw_row_step last;
    if (pw_steprow_end(&s->step, s->step_end ? s->step_end : end_ns, &last))
        keep_step(s, &last);
    for (size_t i = 0; i < s->nsteps; i++)
        pw_rankfile_append(s->file, PW_TABLE_step, &s->steps[i]);
}

static void append_range(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    const struct pw_row_range row = pw_rangerow_of(record, origin);
    pw_rankfile_append(s->file, PW_TABLE_range, &row);
    if (row.kind == PW_KIND_STEP && s->step.is_in && row.sequence == s->step.row.step &&
        row.start >= s->step.row.start)
        s->step_end = row.end;
}

static void append_payload(struct state *s, const struct pw_record *record,
                           const struct pw_origin *origin)
{
    const struct pw_row_payload row = {
        .time = origin->start,
        .id = record->payload.id,
        .thread = origin->thread,
        .schema = pw_origin_name(origin, record->payload.schema),
        .field = pw_origin_name(origin, record->payload.field),
        .type = (uint8_t)record->op,
        .value = pw_rangerow_payload(record->op, record->payload.value, origin),
    };
    pw_rankfile_append(s->file, PW_TABLE_payload, &row);
}

static void append_thread_name(struct state *s, const struct pw_record *record,
                               const struct pw_origin *origin)
{
    const struct pw_row_thread_name row = {
        .time = origin->start,
        .tid = record->thread_name.tid,
        .thread = record->flags ? origin->thread : -1,
        .name = pw_origin_name(origin, record->thread_name.name),
    };
    pw_rankfile_append(s->file, PW_TABLE_thread_name, &row);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    switch (record->type) {
    case PW_REC_NVTX:
        append_range(s, record, origin);
        break;
    case PW_REC_NVTX_START:
        pw_nvtx_pairs_start(s->pairs, record, origin);
        break;
    case PW_REC_NVTX_END:
        pw_nvtx_pairs_end(s->pairs, record, origin);
        break;
    case PW_REC_NVTX_STEP:
        mark_step(s, record, origin->start);
        break;
    case PW_REC_NVTX_PAYLOAD:
        append_payload(s, record, origin);
        break;
    default:
        append_thread_name(s, record, origin);
        break;
    }
}

/* Called after the module annotations, which is before this one in the table: if it has steps,
 * these are used. */
static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    pw_nvtx_pairs_finish(s->pairs, end_ns);
    if (pw_rankfile_rows(s->file, PW_TABLE_step) == 0)
        append_steps(s, end_ns);
}

static void destroy(void *state)
{
    struct state *s = state;
    pw_nvtx_pairs_destroy(s->pairs);
    free(s->steps);
    free(s);
}

const struct pw_module pw_module_nvtx = {
    PW_MODULE_RECORDS("nvtx", PW_ACTIVITY_NVTX, PW_REC_NVTX, PW_REC_NVTX_STEP),
    PW_MODULE_FUNCTIONS(create, record, finish, destroy),
};
