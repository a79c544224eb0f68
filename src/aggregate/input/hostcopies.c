/* Finds the copies to the host inside the calls of Gloo's collectives; see hostcopies.h. Gloo's
 * calls launch the copies of a collective, and return. So the copies of one collective are those
 * that its thread launched during its call, if they have as many bytes as the rank sends. */
#include "aggregate/input/hostcopies.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/cursor.h"
#include "core/grow.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/sort.h"

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
