/* Collects windows and writes them at the end; see windowtable.h. Records of several threads may
 * come slightly out of order, so rows are sorted before they are numbered. */
#include "rank/file/windowtable.h"

#include <stdbool.h>
#include <stdlib.h>

/* The most windows in a file; all later ones are stored as one. */
enum { MOST = 1 << 20 };

struct pw_windowtable {
    struct pw_row_window *rows; /* the last one has not ended if is_open */
    size_t n, capacity;
    bool is_open, is_warmup;
    struct pw_row_window before_step; /* the open window before the latest step began */
    int64_t closed_ns;                /* begin of the pause before the first window; 0 not known */
};

struct pw_windowtable *pw_windowtable_create(void)
{
    return calloc(1, sizeof(struct pw_windowtable));
}

static struct pw_row_window *add_row(struct pw_windowtable *t)
{
    if (t->n == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 16;
        struct pw_row_window *rows =
            capacity <= MOST ? realloc(t->rows, capacity * sizeof(*rows)) : NULL;
        if (!rows)
            return t->n ? &t->rows[t->n - 1] : NULL;
        t->rows = rows;
        t->capacity = capacity;
    }
    return &t->rows[t->n++];
}

/* Widens first .. last to include `step`: step numbers may decrease. */
static void include(int64_t step, int64_t *first, int64_t *last)
{
    if (step < 0)
        return;
    *first = *first < 0 || step < *first ? step : *first;
    *last = step > *last ? step : *last;
}

static void include_step(struct pw_windowtable *t, int64_t step, bool is_warmup)
{
    struct pw_row_window *row = &t->rows[t->n - 1];
    if (is_warmup)
        include(step, &row->warmup_first_step, &row->warmup_last_step);
    else
        include(step, &row->first_step, &row->last_step);
}

static void close_window(struct pw_windowtable *t, int64_t ns)
{
    if (!t->is_open)
        return;
    struct pw_row_window *row = &t->rows[t->n - 1];
    row->end = ns > row->start ? ns : row->start;
    t->is_open = false;
}

static void open_window(struct pw_windowtable *t, const struct pw_record *record, int64_t ns)
{
    close_window(t, ns);
    struct pw_row_window *row = add_row(t);
    if (!row)
        return;
    t->is_open = true;
    *row = (struct pw_row_window){
        .first_step = -1,
        .last_step = -1,
        .warmup_first_step = -1,
        .warmup_last_step = -1,
        .start = ns,
        .end = ns,
        .cause = record->op <= PW_OPENED_SIGNAL ? (uint8_t)record->op : PW_OPENED_RUN,
    };
}

void pw_windowtable_change(struct pw_windowtable *t, const struct pw_record *record, int64_t ns)
{
    unsigned state = record->flags & PW_WINDOW_STATE;
    if (!t)
        return;
    if (state == PW_WINDOW_CLOSED) {
        if (t->is_open)
            include_step(t, record->window.step, t->is_warmup);
        else if (t->n == 0 && !t->closed_ns)
            t->closed_ns = ns;
        close_window(t, ns);
        return;
    }
    if (record->flags & PW_WINDOW_NEW || !t->is_open)
        open_window(t, record, ns);
    t->is_warmup = state == PW_WINDOW_WARMUP;
    if (t->is_open)
        include_step(t, record->window.step, t->is_warmup);
}

void pw_windowtable_step(struct pw_windowtable *t, const struct pw_record *record)
{
    if (!t || !t->is_open)
        return;
    struct pw_row_window *row = &t->rows[t->n - 1];
    if (record->flags & PW_STEP_CANCEL && t->before_step.start == row->start) {
        row->first_step = t->before_step.first_step;
        row->last_step = t->before_step.last_step;
        row->warmup_first_step = t->before_step.warmup_first_step;
        row->warmup_last_step = t->before_step.warmup_last_step;
    }
    if (record->step.step >= 0)
        t->before_step = *row;
    include_step(t, record->step.step, (record->flags & PW_STEP_WARMUP) != 0);
}

static int by_start(const void *a, const void *b)
{
    const struct pw_row_window *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void write_gap(struct pw_rankfile *file, int64_t start, int64_t end)
{
    const struct pw_row_gap gap = {
        .start = start,
        .end = end,
        .reason = PW_REASON_PAUSED,
        .kind = PW_LOST_OTHER,
        .thread = UINT16_MAX,
    };
    if (end > start)
        pw_rankfile_append(file, PW_TABLE_gap, &gap);
}

void pw_windowtable_write(struct pw_windowtable *t, struct pw_rankfile *file, int64_t end_ns)
{
    if (!t)
        return;
    bool is_open = t->is_open;
    int64_t paused_from = t->closed_ns;
    close_window(t, end_ns);
    if (t->n)
        qsort(t->rows, t->n, sizeof(*t->rows), by_start);
    for (size_t i = 0; i < t->n; i++) {
        if (paused_from)
            write_gap(file, paused_from, t->rows[i].start);
        t->rows[i].window = (int64_t)i;
        pw_rankfile_append(file, PW_TABLE_window, &t->rows[i]);
        paused_from = t->rows[i].end;
    }
    if (paused_from && !is_open)
        write_gap(file, paused_from, end_ns);
}

void pw_windowtable_destroy(struct pw_windowtable *t)
{
    if (!t)
        return;
    free(t->rows);
    free(t);
}
