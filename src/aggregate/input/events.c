/* Reads /events/comm block by block for the passes of the merge; see events.h. */
#include "aggregate/input/events.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/cursor.h"
#include "core/grow.h"
#include "core/h5/h5table.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"

/* Joins the data of all rank files about the communicators of NCCL and HCCL. */

/* Flag in first_member of a row, which NCCL's communicators do not use otherwise. */
enum { SIZE_IS_FOUND = 1 };

static int by_place(const void *a, const void *b)
{
    const struct pw_comm_rank *x = a, *y = b;
    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t list_own(const struct pw_job *job, struct pw_comm_rank *out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *row = &job->inputs[i].comms[c];
            if (!pw_source_is_on_device(row->source) || row->my_rank < 0)
                continue;
            if (out)
                out[n] =
                    (struct pw_comm_rank){row->uid, row->my_rank, (int32_t)job->inputs[i].rank};
            n++;
        }
    return n;
}

static const struct pw_comm_rank *find(const struct pw_input *input, uint64_t uid, int32_t rank)
{
    const struct pw_comm_rank key = {uid, rank, -1};
    return input->ncomm_ranks
               ? bsearch(&key, input->comm_ranks, input->ncomm_ranks, sizeof(key), by_place)
               : NULL;
}

/* Sets the size of a communicator to the number of ranks with a file, which are 0 .. n-1. */
static void find_size(const struct pw_input *input, struct pw_row_comms *comm)
{
    int32_t size = 0;
    while (find(input, comm->uid, size))
        size++;
    comm->size = size;
    comm->first_member = SIZE_IS_FOUND;
}

int pw_ncclranks_make(struct pw_job *job)
{
    struct pw_comm_rank *mine = malloc(sizeof(*mine) * (list_own(job, NULL) + 1));
    int all_ok = pw_procs_all_ok(&job->procs, mine != NULL);
    if (!all_ok) {
        free(mine);
        return -ENOMEM;
    }
    void *all;
    size_t n = pw_procs_allgather(&job->procs, mine, list_own(job, mine), sizeof(*mine), &all);
    free(mine);
    job->comm_ranks = all;
    pw_sort(job->comm_ranks, n, sizeof(*job->comm_ranks), by_place);
    for (size_t i = 0; i < job->ninputs; i++) {
        struct pw_input *input = &job->inputs[i];
        input->comm_ranks = job->comm_ranks;
        input->ncomm_ranks = n;
        for (size_t c = 0; c < input->ncomms; c++) {
            if (!pw_source_is_on_device(input->comms[c].source))
                continue;
            input->comms[c].first_member = 0;
            if (input->comms[c].size == 0)
                find_size(input, &input->comms[c]);
        }
    }
    return 0;
}

static int64_t times(int64_t bytes, int32_t size)
{
    int64_t product;
    return __builtin_mul_overflow(bytes, (int64_t)size, &product) ? bytes : product;
}

/* Completes an event: the peer becomes a rank of the job (-1 when that rank has no file), and bytes
 * that depend on the size of the communicator are set. */
static void ncclranks_complete(const struct pw_input *input, struct pw_row_comm_event *event)
{
    if (!pw_source_is_on_device(event->source) || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms)
        return;
    const struct pw_row_comms *comm = &input->comms[event->comm];
    if (event->peer >= 0) {
        const struct pw_comm_rank *found = find(input, comm->uid, event->peer);
        event->peer = found ? found->world_rank : -1;
    }
    if (comm->first_member != SIZE_IS_FOUND)
        return;
    if (event->op == PW_OP_Allgather)
        event->recv_bytes = times(event->recv_bytes, comm->size);
    if (event->op == PW_OP_Reduce_scatter_block)
        event->sent_bytes = times(event->sent_bytes, comm->size);
}

/* Finds the copies to the host inside the calls of Gloo's collectives. Gloo's calls launch the
 * copies of a collective, and return. So the copies of one collective are those that its thread
 * launched during its call, if they have as many bytes as the rank sends. */

/* A collective of Gloo, with the sum and the latest end of its copies. */
struct collective {
    int64_t start, returned, end, wait_start, bytes, copied, entered;
    uint16_t thread;
};

struct collectives {
    struct collective *v;
    size_t n, capacity;
};

static int by_call(const void *a, const void *b)
{
    const struct collective *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_event(const void *a, const void *b)
{
    const struct pw_entry *x = a, *y = b;
    if (x->is_wait != y->is_wait)
        return x->is_wait < y->is_wait ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* 1 when the file can have such collectives. */
static int may_copy(const struct pw_input *input)
{
    for (size_t c = 0; c < input->ncomms; c++)
        if (input->comms[c].source == PW_SOURCE_GLOO)
            return input->memcpy_rows.rows > 0;
    return 0;
}

static int is_timed_collective(const struct pw_row_comm_event *event)
{
    return event->source == PW_SOURCE_GLOO && pw_op_info(event->op)->cls == PW_CLASS_COLL &&
           (event->flags & PW_FLAG_NONBLOCKING) && !pw_event_is_enqueued(event) &&
           event->sent_bytes > 0 && event->end >= event->start && pw_event_is_possible(event);
}

/* Reads the collectives of Gloo, sorted by thread and start. Returns 0 or -ENOMEM; damage ends the
 * list, and another pass notes it. */
static int list_collectives(const struct pw_input *input, struct collectives *list)
{
    struct pw_cursor rows;
    const struct pw_row_comm_event *event;
    int err = 0;
    if (pw_cursor_at(&rows, input, &input->event_rows, PW_TABLE_comm_event) == 0)
        while (!err && (event = pw_cursor_next(&rows))) {
            if (!is_timed_collective(event))
                continue;
            struct collective *v = pw_grow(list->v, list->n, sizeof(*v), &list->capacity);
            err = v ? 0 : -ENOMEM;
            if (err)
                continue;
            list->v = v;
            v[list->n++] = (struct collective){.start = event->start,
                                               .returned = pw_event_returned(event),
                                               .end = event->end,
                                               .wait_start = event->wait_start,
                                               .bytes = event->sent_bytes,
                                               .thread = event->thread};
        }
    pw_cursor_close(&rows);
    pw_sort(list->v, list->n, sizeof(*list->v), by_call);
    return err;
}

/* Returns the collective in whose call `thread` was at `time`, or NULL. */
static struct collective *find_call(const struct collectives *list, int32_t thread, int64_t time)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct collective *at = &list->v[middle];
        if (at->thread < thread || (at->thread == thread && at->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    struct collective *found = low ? &list->v[low - 1] : NULL;
    return found && found->thread == thread && time <= found->returned ? found : NULL;
}

static void add_copies(const struct pw_input *input, const struct collectives *list)
{
    struct pw_cursor rows;
    const struct pw_row_memcpy *copy;
    if (pw_cursor_at(&rows, input, &input->memcpy_rows, PW_TABLE_memcpy) == 0)
        while ((copy = pw_cursor_next(&rows))) {
            struct collective *of = copy->kind == PW_COPY_DTOH && pw_is_possible(copy->end)
                                        ? find_call(list, copy->thread, copy->launch)
                                        : NULL;
            if (!of)
                continue;
            of->copied = pw_sum(of->copied, copy->bytes);
            of->entered = copy->end > of->entered ? copy->end : of->entered;
        }
    pw_cursor_close(&rows);
}

/* The time from which the call that waits for the collective can wait for other ranks. */
static int64_t stands_from(const struct collective *of)
{
    return of->entered > of->wait_start ? of->entered : of->wait_start;
}

/* Keeps in one entry for each wait the earliest time of all collectives that it waits for. Returns
 * the new number of entries. */
static size_t join_waits(struct pw_entry *entries, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct pw_entry *last = kept ? &entries[kept - 1] : NULL;
        if (!last || by_event(last, &entries[i]) != 0)
            entries[kept++] = entries[i];
        else if (entries[i].entered < last->entered)
            last->entered = entries[i].entered;
    }
    return kept;
}

/* Makes the entries of the collectives whose copies are known, and of the calls that wait. Returns
 * 0 or -ENOMEM. */
static int make_entries(struct pw_input *input, struct collectives *list)
{
    size_t known = 0, n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct collective *of = &list->v[i];
        if (of->copied != of->bytes || of->entered <= of->start || of->entered > of->end)
            of->entered = 0;
        known += of->entered != 0;
    }
    struct pw_entry *entries = known ? malloc(sizeof(*entries) * 2 * list->n) : NULL;
    if (known && !entries)
        return -ENOMEM;
    for (size_t i = 0; known && i < list->n; i++) {
        const struct collective *of = &list->v[i];
        if (of->entered)
            entries[n++] = (struct pw_entry){of->start, of->entered, of->thread, 0};
        if (of->wait_start)
            entries[n++] = (struct pw_entry){of->wait_start, stands_from(of), 0, 1};
    }
    pw_sort(entries, n, sizeof(*entries), by_event);
    input->entries = entries;
    input->nentries = join_waits(entries, n);
    return 0;
}

int pw_hostcopies_find(struct pw_job *job)
{
    int err = 0;
    for (size_t i = 0; i < job->ninputs && !err; i++) {
        struct collectives list = {0};
        if (!may_copy(&job->inputs[i]))
            continue;
        err = list_collectives(&job->inputs[i], &list);
        if (!err && list.n) {
            add_copies(&job->inputs[i], &list);
            err = make_entries(&job->inputs[i], &list);
        }
        free(list.v);
    }
    return pw_procs_all_ok(&job->procs, !err) ? 0 : -ENOMEM;
}

void pw_hostcopies_complete(const struct pw_input *input, struct pw_row_comm_event *event)
{
    if (!input->nentries || event->source != PW_SOURCE_GLOO)
        return;
    const int is_wait = pw_op_info(event->op)->cls == PW_CLASS_WAIT;
    const struct pw_entry key = {event->start, 0, is_wait ? 0 : event->thread, (uint8_t)is_wait};
    const struct pw_entry *found =
        bsearch(&key, input->entries, input->nentries, sizeof(key), by_event);
    if (!found)
        return;
    event->start = found->entered < event->end ? found->entered : event->end;
    if (!is_wait) /* the call only launched the copies: none of it is communication */
        event->inside_ns = event->wait_start ? event->end - event->wait_start : 0;
}

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
            ncclranks_complete(e->input, &e->rows[i]);
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

static int is_test(uint32_t op)
{
    return op == PW_OP_Test || op == PW_OP_Testall || op == PW_OP_Testany || op == PW_OP_Testsome;
}

/* Returns the earliest start in the last block, and sets input->communicates. */
static int64_t look_over(const struct pw_events *e, struct pw_input *input)
{
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < e->n; i++) {
        start = e->rows[i].start < start ? e->rows[i].start : start;
        input->device_ops += e->rows[i].source == PW_SOURCE_DEVICE;
        input->tested += is_test(e->rows[i].op);
        input->waited += pw_op_info(e->rows[i].op)->cls == PW_CLASS_WAIT && !is_test(e->rows[i].op);
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
