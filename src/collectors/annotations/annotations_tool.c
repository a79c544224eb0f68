/* Module annotations, tool half: turns the records of profwrap.h's functions into rows of /steps
 * and /events/range. Records are not trusted. */
#include "collectors/modules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rank/collect/module.h"

enum { HOST = -1, MOST_DEVICES = 64, MOST_COSTS = 8 };

/* The Python module reports its own cost as metadata: the key is this prefix and a name, the value
 * "NUMBER UNIT". */
static const char cost_key[] = "profwrap.overhead.";

/* Key and value as rows of /strings. A later value replaces an earlier one. */
struct cost {
    uint32_t key, value;
};

struct state {
    struct pw_rankfile *file;
    struct pw_steprow step;
    uint64_t allocated[MOST_DEVICES - HOST]; /* bytes, modulo 2^64 */
    int64_t last_end; /* end of the last range; used for a step that was not ended */
    struct cost costs[MOST_COSTS];
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s)
        s->file = file;
    return s;
}

static void mark_step(struct state *s, const struct pw_record *record, int64_t start)
{
    struct pw_row_step row;
    if (pw_steprow_mark(&s->step, record, start, &row))
        pw_rankfile_append(s->file, PW_TABLE_step, &row);
}

static void append_range(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    const struct pw_row_range row = pw_rangerow_of(record, origin);
    pw_rankfile_append(s->file, PW_TABLE_range, &row);
    if (row.end > s->last_end)
        s->last_end = row.end;
}

static void append_queue(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    const struct pw_row_queue row = {
        .time = origin->start,
        .queue = pw_origin_name(origin, record->queue.name),
        .thread = origin->thread,
        .size = record->queue.size,
        .capacity = record->queue.capacity,
    };
    pw_rankfile_append(s->file, PW_TABLE_queue, &row);
}

static void append_memory(struct state *s, const struct pw_record *record,
                          const struct pw_origin *origin)
{
    int device = record->memory.device < HOST ? HOST : record->memory.device;
    struct pw_row_memory row = {
        .time = origin->start,
        .device = device,
        .thread = origin->thread,
        .delta_bytes = record->memory.delta_bytes,
        .total_bytes = -1,
    };
    if (device < MOST_DEVICES) {
        s->allocated[device - HOST] += (uint64_t)row.delta_bytes;
        row.total_bytes = (int64_t)s->allocated[device - HOST];
    }
    pw_rankfile_append(s->file, PW_TABLE_memory, &row);
}

static void append_work(struct state *s, const struct pw_record *record,
                        const struct pw_origin *origin)
{
    const struct pw_row_work row = {
        .time = origin->start,
        .thread = origin->thread,
        .amount = record->work.amount,
    };
    pw_rankfile_append(s->file, PW_TABLE_work, &row);
}

static void append_flops(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    const struct pw_row_flops row = {
        .time = origin->start,
        .thread = origin->thread,
        .flops = record->flops.flops,
    };
    pw_rankfile_append(s->file, PW_TABLE_flops, &row);
}

/* Records are not trusted: a sum of more than the whole span is none. */
static void append_runtime(struct state *s, const struct pw_record *record,
                           const struct pw_origin *origin)
{
    const int64_t span_ns = origin->end - origin->start;
    if (record->op > PW_RUNTIME_CHECKPOINT || span_ns < 0 || record->runtime.total_ns < 0 ||
        record->runtime.total_ns > span_ns || record->runtime.count > INT64_MAX)
        return;
    const struct pw_row_runtime row = {
        .start = origin->start,
        .end = origin->end,
        .kind = (uint8_t)record->op,
        .thread = origin->thread,
        .count = (int64_t)record->runtime.count,
        .total_ns = record->runtime.total_ns,
        .generation = record->runtime.generation,
        .collected = record->runtime.collected,
    };
    pw_rankfile_append(s->file, PW_TABLE_runtime, &row);
}

/* Returns 1, and keeps the value, when the key has the prefix of a cost. */
static int keep_cost(struct state *s, uint32_t key, uint32_t value)
{
    int i = 0;
    if (strncmp(pw_rankfile_borrow_text(s->file, key), cost_key, sizeof(cost_key) - 1) != 0)
        return 0;
    while (i < MOST_COSTS - 1 && s->costs[i].key && s->costs[i].key != key)
        i++;
    s->costs[i] = (struct cost){key, value};
    return 1;
}

static void state_costs(const struct state *s)
{
    for (int i = 0; i < MOST_COSTS && s->costs[i].key; i++) {
        const char *name = pw_rankfile_borrow_text(s->file, s->costs[i].key);
        char *unit;
        const double value = strtod(pw_rankfile_borrow_text(s->file, s->costs[i].value), &unit);
        if (*unit == ' ' && isfinite(value))
            pw_rankfile_overhead(s->file, name + sizeof(cost_key) - 1, value, unit + 1);
    }
}

static void append_metadata(struct state *s, const struct pw_record *record,
                            const struct pw_origin *origin)
{
    const struct pw_row_metadata row = {
        .time = origin->start,
        .key = pw_origin_name(origin, record->metadata.key),
        .value = pw_origin_name(origin, record->metadata.value),
    };
    if (!keep_cost(s, row.key, row.value))
        pw_rankfile_append(s->file, PW_TABLE_metadata, &row);
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    switch (record->type) {
    case PW_REC_STEP:
        mark_step(state, record, origin->start);
        break;
    case PW_REC_QUEUE:
        append_queue(state, record, origin);
        break;
    case PW_REC_MEMORY:
        append_memory(state, record, origin);
        break;
    case PW_REC_WORK:
        append_work(state, record, origin);
        break;
    case PW_REC_FLOPS:
        append_flops(state, record, origin);
        break;
    case PW_REC_RUNTIME:
        append_runtime(state, record, origin);
        break;
    case PW_REC_METADATA:
        append_metadata(state, record, origin);
        break;
    default:
        append_range(state, record, origin);
        break;
    }
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    struct pw_row_step row;
    if (pw_steprow_end(&s->step, s->last_end > s->step.row.start ? s->last_end : end_ns, &row))
        pw_rankfile_append(s->file, PW_TABLE_step, &row);
    state_costs(s);
}

const struct pw_module pw_module_annotations = {
    PW_MODULE_RECORDS("annotations", PW_ACTIVITY_ANNOTATIONS, PW_REC_RANGE, PW_REC_METADATA),
    PW_MODULE_FUNCTIONS(create, record, finish, free),
};
