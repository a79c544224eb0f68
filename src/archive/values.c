/* Makes metrics of samples: each column of a table of samples that someone may want to see beside
 * the events is one; see rankout.h. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "archive/rankout.h"
#include "archive/values.h"
#include "core/limits.h"

const struct pw_otf2_column pw_otf2_columns[] = {
#define COLUMN(table, field, mode, unit, name)    \
    {PW_TABLE_##table,                            \
     offsetof(struct pw_row_##table, field),      \
     sizeof(((struct pw_row_##table *)0)->field), \
     OTF2_METRIC_##mode,                          \
     unit,                                        \
     name},
    PW_OTF2_COLUMNS(COLUMN)
#undef COLUMN
};
const size_t pw_otf2_ncolumns = sizeof(pw_otf2_columns) / sizeof(pw_otf2_columns[0]);

static void add_value(struct pw_otf2_rank *rank, uint32_t metric, int64_t time, int64_t number,
                      int is_real)
{
    int64_t at = pw_rankview_time(rank->view, time);
    if (at < rank->from || at >= rank->until)
        return;
    if (at < 0 || at > PW_LIMIT) {
        rank->left_out++;
        return;
    }
    const int64_t lane = pw_otf2_lane(rank, PW_OTF2_SAMPLES, 0, 0);
    const uint64_t location = pw_otf2_location_ref(rank->view->rank, (uint64_t)lane);
    size_t i = rank->first_metric; /* instances of this rank come after it */
    while (i < rank->defs->nmetrics &&
           !(rank->defs->metrics[i].is_instance && rank->defs->metrics[i].metric == metric))
        i++;
    if (i == rank->defs->nmetrics)
        pw_otf2_add_instance(rank->defs, metric, rank->group, location);
    const struct pw_otf2_record r = {
        .key = {lane, at, 0},
        .what = PW_OTF2_VALUE,
        .has = is_real ? PW_OTF2_IS_REAL : 0,
        .region = (uint32_t)i,
        .number = number,
    };
    pw_sorter_add(rank->rows, &r);
}

/* Adds the columns of a table. `prefix` is that of the metrics' names. Values below 0 are not
 * known. */
static void add_columns(struct pw_otf2_rank *rank, int table, const void *row, int64_t time,
                        const char *prefix)
{
    char name[96];
    for (size_t i = 0; i < pw_otf2_ncolumns; i++) {
        const struct pw_otf2_column *c = &pw_otf2_columns[i];
        int64_t number = 0;
        int32_t small = 0;
        if (c->table != table)
            continue;
        if (c->size == sizeof(small))
            memcpy(&small, (const char *)row + c->offset, sizeof(small));
        else
            memcpy(&number, (const char *)row + c->offset, sizeof(number));
        number += small;
        if (number < 0)
            continue;
        snprintf(name, sizeof(name), "%s%s", prefix, c->name);
        add_value(rank, pw_otf2_metric(rank->defs, name, c->unit, c->mode, OTF2_TYPE_INT64), time,
                  number, 0);
    }
}

static void take_process(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    add_columns(context, PW_TABLE_process, row, ((const struct pw_row_process *)row)->time, "");
}

static void take_host(void *context, const struct pw_rankview *view, const void *row)
{
    (void)view;
    add_columns(context, PW_TABLE_host, row, ((const struct pw_row_host *)row)->time, "");
}

static void take_gpu(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_gpu *g = row;
    char prefix[32];
    (void)view;
    snprintf(prefix, sizeof(prefix), "GPU %d ", g->device);
    add_columns(context, PW_TABLE_gpu, row, g->time, prefix);
}

static void take_queue(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_queue *q = row;
    char name[160];
    snprintf(name, sizeof(name), PW_OTF2_QUEUE "%.120s", pw_rankview_text(view, q->queue));
    add_value(
        rank,
        pw_otf2_metric(rank->defs, name, "items", OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_INT64),
        q->time, q->size, 0);
}

static void take_memory(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_memory *m = row;
    char name[64] = PW_OTF2_MEMORY "of the host";
    (void)view;
    if (m->device >= 0)
        snprintf(name, sizeof(name), PW_OTF2_MEMORY "of device %d", m->device);
    if (m->total_bytes >= 0)
        add_value(
            rank,
            pw_otf2_metric(rank->defs, name, "bytes", OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_INT64),
            m->time, m->total_bytes, 0);
}

static void take_work(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_work *w = row;
    (void)view;
    add_value(rank,
              pw_otf2_metric(rank->defs, PW_OTF2_WORK, "units", OTF2_METRIC_RELATIVE_POINT,
                             OTF2_TYPE_INT64),
              w->time, w->amount, 0);
}

static void take_flops(void *context, const struct pw_rankview *view, const void *row)
{
    struct pw_otf2_rank *rank = context;
    const struct pw_row_flops *f = row;
    int64_t bits;
    (void)view;
    memcpy(&bits, &f->flops, sizeof(bits));
    add_value(rank,
              pw_otf2_metric(rank->defs, PW_OTF2_FLOPS, "FLOP", OTF2_METRIC_RELATIVE_POINT,
                             OTF2_TYPE_DOUBLE),
              f->time, bits, 1);
}

void pw_otf2_take_samples(struct pw_otf2_rank *rank)
{
    static const struct {
        int table;
        pw_row_visitor *visit;
    } tables[] = {
        {PW_TABLE_process, take_process}, {PW_TABLE_host, take_host},
        {PW_TABLE_gpu, take_gpu},         {PW_TABLE_queue, take_queue},
        {PW_TABLE_memory, take_memory},   {PW_TABLE_work, take_work},
        {PW_TABLE_flops, take_flops},
    };
    rank->first_metric = rank->defs->nmetrics;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !rank->err; i++)
        rank->unread |= pw_rankview_read(rank->view, tables[i].table, tables[i].visit, rank) != 0;
}
