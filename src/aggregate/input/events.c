/* Reads /events/comm block by block for the passes of the merge; see events.h. */
#include "aggregate/input/events.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/hostcopies.h"
#include "aggregate/input/ncclranks.h"
#include "core/h5/h5table.h"
#include "core/limits.h"
#include "core/ops.h"

struct pw_events {
    const struct pw_input *input;
    struct pw_h5_table *table;
    size_t n; /* rows of the last block that was read */
    int64_t impossible;
    struct pw_row_comm_event rows[PW_EVENT_BLOCK];
};

size_t pw_events_blocks(const struct pw_input *input)
{
    return (size_t)((input->event_rows.rows + PW_EVENT_BLOCK - 1) / PW_EVENT_BLOCK);
}

int pw_events_open(const struct pw_input *input, struct pw_events **out)
{
    struct pw_events *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->input = input;
    int err = pw_input_table(input, &input->event_rows, &e->table);
    if (err)
        free(e);
    else
        *out = e;
    return err;
}

/* Replaces rows with impossible times or sizes by rows that every pass ignores. Returns how
 * many. */
static size_t clear_impossible(struct pw_row_comm_event *rows, size_t n)
{
    size_t cleared = 0;
    for (size_t i = 0; i < n; i++)
        if (!pw_event_is_possible(&rows[i])) {
            rows[i] = (struct pw_row_comm_event){
                .start = INT64_MAX, .end = INT64_MIN, .op = PW_OP_None, .comm = -1};
            cleared++;
        }
    return cleared;
}

int pw_events_visit(struct pw_events *e, size_t block, pw_event_visitor *visit, void *context)
{
    uint64_t first = (uint64_t)block * PW_EVENT_BLOCK, left = e->input->event_rows.rows - first;
    e->n = left < PW_EVENT_BLOCK ? (size_t)left : PW_EVENT_BLOCK;
    int err = pw_h5_table_read(e->table, first, e->n, e->rows);
    pw_progress_add(e->input->progress, (int64_t)e->n);
    e->impossible += err ? 0 : (int64_t)clear_impossible(e->rows, e->n);
    for (size_t i = 0; !err && i < e->n; i++)
        if (e->rows[i].source != PW_SOURCE_MPI) {
            pw_ncclranks_complete(e->input, &e->rows[i]);
            pw_hostcopies_complete(e->input, &e->rows[i]);
        }
    for (size_t i = 0; !err && i < e->n; i++)
        if (e->rows[i].end >= e->rows[i].start)
            visit(context, e->input, &e->rows[i]);
    return err;
}

void pw_events_close(struct pw_events *e)
{
    pw_h5_table_close(e->table);
    free(e);
}

/* 1 when a rank can wait for another rank in the event: collectives, messages and one-sided
 * operations of more than one rank. */
static int reaches_others(const struct pw_input *input, const struct pw_row_comm_event *event)
{
    const struct pw_row_comms *comm =
        event->comm >= 0 && (size_t)event->comm < input->ncomms ? &input->comms[event->comm] : NULL;
    switch (pw_op_info(event->op)->cls) {
    case PW_CLASS_COLL:
    case PW_CLASS_SEND:
    case PW_CLASS_RECV:
    case PW_CLASS_RMA:
        return !comm || comm->size != 1 || comm->remote_size > 0;
    default:
        return 0;
    }
}

/* Returns the earliest start in the last block, and sets input->communicates. */
static int64_t look_over(const struct pw_events *e, struct pw_input *input)
{
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < e->n; i++) {
        start = e->rows[i].start < start ? e->rows[i].start : start;
        input->device_ops += e->rows[i].source == PW_SOURCE_DEVICE;
        if (!input->communicates)
            input->communicates = reaches_others(input, &e->rows[i]);
    }
    return start;
}

/* Turns the earliest start in each block into the earliest start in that block or after it. */
static void finish_index(int64_t *starts, size_t blocks)
{
    starts[blocks] = INT64_MAX;
    for (size_t b = blocks; b-- > 0;)
        starts[b] = starts[b] < starts[b + 1] ? starts[b] : starts[b + 1];
}

/* The first pass over the events, which also fills the index of the input. Events that cannot be
 * read do not count. Returns 0 or -errno. */
static int read_first(struct pw_input *input, pw_event_visitor *visit, void *context)
{
    size_t blocks = pw_events_blocks(input);
    int64_t *starts = malloc(sizeof(*starts) * (blocks + 1));
    struct pw_events *e = NULL;
    if (!starts || pw_start_index_init(&input->start_index, blocks)) {
        free(starts);
        return -ENOMEM;
    }
    int err = pw_events_open(input, &e);
    for (size_t b = 0; b < blocks; b++) {
        err = err ? err : pw_events_visit(e, b, visit, context);
        starts[b] = err ? INT64_MAX : look_over(e, input);
        pw_start_index_note(&input->start_index, b, err ? NULL : e->rows, err ? 0 : e->n);
    }
    finish_index(starts, blocks);
    input->impossible += e ? e->impossible : 0;
    pw_start_index_finish(&input->start_index);
    input->starts_after = starts;
    input->messages = input->start_index.before[blocks];
    if (!input->messages)
        pw_start_index_fini(&input->start_index);
    if (e)
        pw_events_close(e);
    return err;
}

int pw_events_read(struct pw_input *input, pw_event_visitor *visit, void *context)
{
    struct pw_events *e;
    if (!input->starts_after)
        return read_first(input, visit, context);
    int err = pw_events_open(input, &e);
    if (err)
        return err;
    for (size_t b = 0; b < pw_events_blocks(input) && !err; b++)
        err = pw_events_visit(e, b, visit, context);
    pw_events_close(e);
    return err;
}

int64_t pw_events_start_after(const struct pw_input *input, size_t block)
{
    return block < pw_events_blocks(input) ? input->starts_after[block] : INT64_MAX;
}
