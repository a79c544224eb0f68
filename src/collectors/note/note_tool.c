/* Turns step marks and ranges into rows; see note_tool.h. */
#include "collectors/note/note_tool.h"

#include <stdbool.h>
#include <stdlib.h>

struct state {
    struct pw_rankfile *file;
    bool in_step;
    int64_t step, step_start;
    int64_t last_end; /* of any range: where a step ends that nobody ended */
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s)
        s->file = file;
    return s;
}

static void end_step(struct state *s, int64_t end)
{
    if (!s->in_step)
        return;
    struct pw_row_step row = {
        .step = s->step,
        .start = s->step_start,
        .end = end > s->step_start ? end : s->step_start,
        .recorded = PW_RECORDED_ACTIVE,
    };
    pw_rankfile_append(s->file, PW_TABLE_step, &row);
    s->in_step = false;
}

static void begin_step(struct state *s, int64_t step, int64_t start)
{
    end_step(s, start);
    s->in_step = step >= 0;
    s->step = step;
    s->step_start = start;
}

static void append_range(struct state *s, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    struct pw_row_range row = {
        .start = origin->start,
        .end = origin->end,
        .name = pw_origin_name(origin, record->range.name),
        .kind = (uint8_t)record->range.kind,
        .thread = origin->thread,
        .depth = record->range.depth,
    };
    pw_rankfile_append(s->file, PW_TABLE_range, &row);
    if (row.end > s->last_end)
        s->last_end = row.end;
}

static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    if (record->type == PW_REC_STEP)
        begin_step(state, record->step.step, origin->start);
    else
        append_range(state, record, origin);
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    end_step(s, s->last_end > s->step_start ? s->last_end : end_ns);
}

const struct pw_collector pw_collector_note = {
    .name = "note",
    .activity = PW_ACTIVITY_NOTE,
    .first_type = PW_REC_RANGE,
    .last_type = PW_REC_STEP,
    .create = create,
    .record = record,
    .finish = finish,
    .destroy = free,
};
