/* Turns NVTX's records into rows; see nvtx_tool.h. */
#include "collectors/nvtx/nvtx_tool.h"

#include <stdlib.h>

#include "collectors/nvtx/nvtx_pairs.h"
#include "rank/collect/rangerow.h"
#include "rank/collect/steprow.h"

enum { MOST_STEPS = 1 << 20 };

struct state {
    struct pw_rankfile *file;
    struct pw_nvtx_pairs *pairs;
    struct pw_steprow step;
    int64_t step_end;          /* of its range, 0 not known */
    struct pw_row_step *steps; /* that have ended: whether they count is known at the end only */
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

/* A step is over when the next one begins (docs/metrics.md); the last, when its range ends. */
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

/* After collector note, which is before us in the table: what it marked are the steps. */
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

const struct pw_collector pw_collector_nvtx = {
    .name = "nvtx",
    .activity = PW_ACTIVITY_NVTX,
    .first_type = PW_REC_NVTX,
    .last_type = PW_REC_NVTX_STEP,
    .create = create,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
