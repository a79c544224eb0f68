/* Opens a rank file, finds its clock, and visits its tables in blocks; see rankview.h. */
#include "timeline/rankview.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clockmap.h"
#include "core/grow.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5table.h"
#include "core/h5/h5types.h"
#include "core/limits.h"

enum { BLOCK = 1024, LONGEST_ROW = 1024 };

int pw_clockmaps_load(const char *cluster_file, struct pw_clockmaps *out)
{
    hid_t file;
    void *clocks = NULL, *knots = NULL;
    *out = (struct pw_clockmaps){0};
    int err = pw_h5_open(cluster_file, &file);
    if (err)
        return err;
    if (pw_h5_read_all(file, PW_TABLE_c_clock, &clocks, &out->nclocks) == 0 &&
        pw_h5_read_all(file, PW_TABLE_c_clock_knot, &knots, &out->nknots) == 0) {
        out->clocks = clocks;
        out->knots = knots;
    } else {
        free(clocks);
        out->nclocks = out->nknots = 0;
    }
    pw_h5_close(file);
    return 0;
}

void pw_clockmaps_fini(struct pw_clockmaps *maps)
{
    free(maps->clocks);
    free(maps->knots);
    *maps = (struct pw_clockmaps){0};
}

/* Sets view->knots: the merged knots of the rank's clock domain, or, when there are none, the knots
 * that the rank measured itself. Domain 0 needs none: its clock is the cluster clock. */
static void find_knots(struct pw_rankview *view, const struct pw_clockmaps *maps)
{
    int32_t domain = -1;
    for (size_t i = 0; i < maps->nclocks; i++)
        if (maps->clocks[i].rank == view->rank)
            domain = maps->clocks[i].domain;
    view->knots = maps->nknots ? calloc(maps->nknots, sizeof(*view->knots)) : NULL;
    for (size_t i = 0; view->knots && domain >= 0 && i < maps->nknots; i++) {
        const struct pw_row_c_clock_knot *knot = &maps->knots[i];
        if (knot->domain == domain)
            view->knots[view->nknots++] =
                (struct pw_row_clock){knot->local_ns, knot->offset_ns, knot->error_ns};
    }
    if (view->nknots == 0 && domain != 0) {
        void *own = NULL;
        free(view->knots);
        if (pw_h5_file_read_all(view->file, PW_TABLE_clock, &own, &view->nknots))
            view->nknots = 0;
        view->knots = own;
    }
    if (!pw_clock_is_valid(view->knots, view->nknots))
        view->nknots = 0;
}

int pw_rankview_open(const char *dir, int64_t rank, const struct pw_clockmaps *maps,
                     struct pw_rankview *out)
{
    char path[PATH_MAX];
    int64_t told = -1;
    void *comms = NULL, *names = NULL;
    *out = (struct pw_rankview){.rank = rank, .main_thread = -1};
    if (snprintf(path, sizeof(path), "%s/rank-%05d.h5", dir, (int)rank) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    if (!(out->types = pw_h5_types_create()))
        return -ENOMEM;
    int err = pw_h5_file_open(out->types, path, &out->file);
    if (err) {
        pw_h5_types_destroy(out->types);
        return err;
    }
    err = pw_h5_file_check(out->file, PW_FORMAT_RANK);
    if (!err && (pw_h5_file_int(out->file, "rank", &told) || told != rank))
        err = -EINVAL;
    if (!err && pw_h5_file_text(out->file, "hostname", out->hostname, sizeof(out->hostname)))
        out->hostname[0] = '\0';
    if (!err && pw_h5_file_read_all(out->file, PW_TABLE_comms, &comms, &out->ncomms))
        out->ncomms = 0;
    out->comms = comms;
    if (!err && pw_h5_file_read_all(out->file, PW_TABLE_thread_name, &names, &out->nthread_names))
        out->nthread_names = 0;
    out->thread_names = names;
    if (!err && pw_h5_file_int(out->file, "main_thread", &out->main_thread))
        out->main_thread = -1;
    if (!err && pw_h5_file_strings(out->file, &out->strings, &out->nstrings))
        out->nstrings = 0;
    if (err)
        pw_rankview_close(out);
    else
        find_knots(out, maps);
    return err;
}

void pw_rankview_close(struct pw_rankview *view)
{
    pw_h5_file_close(view->file);
    pw_h5_types_destroy(view->types);
    free(view->strings);
    free(view->comms);
    free(view->thread_names);
    free(view->knots);
}

static int keptrows_read(struct pw_keptrows *kept, const struct pw_rankview *view,
                         const struct pw_table_visit *visit);

int pw_rankview_read(const struct pw_rankview *view, int table, pw_row_visitor *visit,
                     void *context)
{
    const struct pw_table_visit all = {table, visit, context};
    const int is_long =
        table == PW_TABLE_comm_event || table == PW_TABLE_range || table == PW_TABLE_step;
    return is_long && view->kept_rows ? keptrows_read(view->kept_rows, view, &all)
                                      : pw_rankview_read_file(view, &all);
}

int pw_rankview_read_file(const struct pw_rankview *view, const struct pw_table_visit *visit)
{
    const size_t row_size = pw_table_borrow(visit->table)->row_size;
    struct pw_h5_place place;
    struct pw_h5_table *rows = NULL;
    int err = pw_h5_file_place(view->file, visit->table, &place);
    if (err)
        return err;
    if (place.rows == 0 || row_size > LONGEST_ROW) {
        pw_h5_place_fini(&place);
        return row_size > LONGEST_ROW ? -E2BIG : 0;
    }
    err = pw_h5_file_table(view->file, &place, &rows);
    char *block = err ? NULL : calloc(BLOCK, row_size);
    if (!err && !block)
        err = -ENOMEM;
    for (uint64_t first = 0; !err && first < place.rows; first += BLOCK) {
        size_t n = place.rows - first < BLOCK ? (size_t)(place.rows - first) : BLOCK;
        err = pw_h5_table_read(rows, first, n, block);
        for (size_t i = 0; !err && i < n; i++)
            visit->visit(visit->context, view, block + i * row_size);
    }
    if (rows)
        pw_h5_table_close(rows);
    free(block);
    pw_h5_place_fini(&place);
    return err;
}

int64_t pw_rankview_time(const struct pw_rankview *view, int64_t local_ns)
{
    if (!pw_is_possible(local_ns))
        return INT64_MIN;
    return pw_clock_to_cluster(view->knots, view->nknots, local_ns);
}

const char *pw_rankview_text(const struct pw_rankview *view, uint32_t row)
{
    return row < view->nstrings ? view->strings[row] : "";
}

void pw_rankview_thread_name(const struct pw_rankview *view, int64_t thread, char *out, size_t size)
{
    const char *name = "";
    for (size_t i = view->nthread_names; i > 0 && !name[0]; i--)
        if (view->thread_names[i - 1].thread == thread)
            name = pw_rankview_text(view, view->thread_names[i - 1].name);
    if (thread == view->main_thread && name[0])
        snprintf(out, size, "%.96s, main thread (rank %" PRId64 ")", name, view->rank);
    else if (thread == view->main_thread)
        snprintf(out, size, "main thread (rank %" PRId64 ")", view->rank);
    else if (name[0])
        snprintf(out, size, "%.96s", name);
    else
        snprintf(out, size, "thread %" PRId64, thread);
}

const struct pw_row_comms *pw_rankview_comm(const struct pw_rankview *view, int32_t row)
{
    return row >= 0 && (size_t)row < view->ncomms ? &view->comms[row] : NULL;
}

/* ---- rows that are kept ---- */

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

/* Visits the rows of the view's table that timelines of the spans need, in file order; other rows
 * may be visited, too. Reads the file when the rows were not kept. Returns as
 * pw_rankview_read(). */
static int keptrows_read(struct pw_keptrows *kept, const struct pw_rankview *view,
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
