/* Chooses rows, and keeps them by rank and table; see keptrows.h. */
#include "timeline/keptrows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"

enum { MOST_SPANS = 8, MOST_BYTES = 8 << 20 };

/* The kept rows of one table of one rank. */
struct rows {
    int64_t rank;
    int table;
    size_t n, capacity;
    char *bytes;
};

struct pw_keptrows {
    int64_t spans[MOST_SPANS][2];
    size_t nspans;
    struct rows *list;
    size_t n, capacity;
    size_t bytes; /* of all kept rows */
};

struct pw_keptrows *pw_keptrows_create(const int64_t (*spans)[2], size_t n)
{
    struct pw_keptrows *kept = n <= MOST_SPANS ? calloc(1, sizeof(*kept)) : NULL;
    if (kept && n)
        memcpy(kept->spans, spans, n * sizeof(*spans));
    if (kept)
        kept->nspans = n;
    return kept;
}

void pw_keptrows_destroy(struct pw_keptrows *kept)
{
    for (size_t i = 0; kept && i < kept->n; i++)
        free(kept->list[i].bytes);
    free(kept ? kept->list : NULL);
    free(kept);
}

/* A table that is being read, and what is kept of it. */
struct reading {
    struct pw_keptrows *kept;
    const struct pw_table_visit *visit;
    struct rows rows;
    int is_incomplete; /* 1: there was no room for a row */
};

/* The same test as note() of timeline.c and pw_chrome_is_shown() have, for each span. */
static int is_shown(const struct pw_keptrows *kept, const struct pw_rankview *view,
                    int64_t local_start, int64_t local_end)
{
    const int64_t start = pw_rankview_time(view, local_start);
    const int64_t end = pw_rankview_time(view, local_end);
    int shown = 0;
    for (size_t i = 0; i < kept->nspans; i++)
        shown |= start < kept->spans[i][1] && end >= kept->spans[i][0];
    return shown && start != INT64_MIN && end >= start;
}

/* Messages count in the numbering of their stream even when they are not shown. */
static int is_needed(const struct pw_keptrows *kept, const struct pw_rankview *view, int table,
                     const void *row)
{
    const struct pw_row_comm_event *event = row;
    const struct pw_row_range *range = row;
    const struct pw_row_step *step = row;
    switch (table) {
    case PW_TABLE_comm_event:
        return event->peer >= 0 || is_shown(kept, view, event->start, event->end);
    case PW_TABLE_range:
        return is_shown(kept, view, range->start, range->end);
    case PW_TABLE_step:
        return is_shown(kept, view, step->start, step->end);
    default:
        return 1;
    }
}

/* Keeps a row. Returns 0 or -ENOMEM. */
static int keep(struct reading *reading, const void *row)
{
    struct rows *rows = &reading->rows;
    const size_t size = pw_table_borrow(rows->table)->row_size;
    if (reading->kept->bytes + (rows->n + 1) * size > MOST_BYTES)
        return -ENOMEM;
    char *bytes = pw_grow(rows->bytes, rows->n, size, &rows->capacity);
    if (!bytes)
        return -ENOMEM;
    rows->bytes = bytes;
    memcpy(rows->bytes + rows->n++ * size, row, size);
    return 0;
}

static void take_row(void *context, const struct pw_rankview *view, const void *row)
{
    struct reading *reading = context;
    if (!is_needed(reading->kept, view, reading->rows.table, row))
        return;
    if (!reading->is_incomplete && keep(reading, row))
        reading->is_incomplete = 1;
    reading->visit->visit(reading->visit->context, view, row);
}

static const struct rows *find(const struct pw_keptrows *kept, int64_t rank, int table)
{
    for (size_t i = 0; i < kept->n; i++)
        if (kept->list[i].rank == rank && kept->list[i].table == table)
            return &kept->list[i];
    return NULL;
}

/* Adds the rows of a table that was read; frees them when they are not all. */
static void add(struct pw_keptrows *kept, struct reading *reading)
{
    struct rows *list = reading->is_incomplete
                            ? NULL
                            : pw_grow(kept->list, kept->n, sizeof(*list), &kept->capacity);
    if (!list) {
        free(reading->rows.bytes);
        return;
    }
    kept->list = list;
    kept->list[kept->n++] = reading->rows;
    kept->bytes += reading->rows.n * pw_table_borrow(reading->rows.table)->row_size;
}

int pw_keptrows_read(struct pw_keptrows *kept, const struct pw_rankview *view,
                     const struct pw_table_visit *visit)
{
    const struct rows *rows = find(kept, view->rank, visit->table);
    const size_t size = pw_table_borrow(visit->table)->row_size;
    if (!rows) {
        struct reading reading = {kept, visit, {.rank = view->rank, .table = visit->table}, 0};
        const int err =
            pw_rankview_read_file(view, &(struct pw_table_visit){visit->table, take_row, &reading});
        reading.is_incomplete |= err != 0; /* a damaged table is read, and fails, each time */
        add(kept, &reading);
        return err;
    }
    for (size_t i = 0; i < rows->n; i++)
        visit->visit(visit->context, view, rows->bytes + i * size);
    return 0;
}
