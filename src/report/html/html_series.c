/* Collectives, the matrix of messages and the series of ranks, as lists of numbers with three
 * digits; see html_series.h. */
#include "report/html/html_series.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tables.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"

/* Sorts by waiting, longest first; equal ones in file order. */
static int compare_waits(const void *a, const void *b)
{
    const struct pw_row_c_collective *const *x = a, *const *y = b;
    if ((*x)->wait_ns != (*y)->wait_ns)
        return (*x)->wait_ns > (*y)->wait_ns ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

static json_t *op(const struct pw_row_c_collective *row)
{
    return json_string(pw_enum_name(PW_F_OP, row->op));
}

static json_t *comm(const struct pw_row_c_collective *row)
{
    return json_sprintf("0x%" PRIx64, row->comm_uid);
}

static json_t *seq(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->seq);
}

static json_t *step(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->step);
}

static json_t *bytes(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->bytes);
}

static json_t *nranks(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->nranks);
}

static json_t *last_rank(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->last_rank);
}

static json_t *wait(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->wait_ns);
}

static json_t *transfer(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->transfer_ns);
}

/* Returns the bus bandwidth; null for an instance that some of its ranks did not record. */
static json_t *busbw(const struct pw_row_c_collective *row)
{
    return pw_json_real(row->complete && row->busbw > 0 ? row->busbw : -1);
}

static const struct column {
    const char *name;
    json_t *(*make)(const struct pw_row_c_collective *row);
} columns[] = {
    {"op", op},
    {"comm", comm},
    {"seq", seq},
    {"step", step},
    {"bytes", bytes},
    {"nranks", nranks},
    {"wait_ns", wait},
    {"busbw", busbw},
    {"last_rank", last_rank},
    {"transfer_ns", transfer},
};

static json_t *make_column(const struct column *column, const struct pw_row_c_collective **rows,
                           size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, column->make(rows[i]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

json_t *pw_html_collectives(const struct pw_figures *figures)
{
    const struct pw_cluster *c = figures->cluster;
    size_t n = c->ncollectives < PW_HTML_COLLECTIVES ? c->ncollectives : PW_HTML_COLLECTIVES;
    const struct pw_row_c_collective **rows = malloc((c->ncollectives + 1) * sizeof(*rows));
    json_t *object = rows ? json_object() : NULL;
    int bad = json_object_set_new(object, "total", json_integer((json_int_t)c->ncollectives));
    for (size_t i = 0; i < c->ncollectives && !bad; i++)
        rows[i] = &c->collectives[i];
    if (!bad)
        qsort(rows, c->ncollectives, sizeof(struct pw_row_c_collective *), compare_waits);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !bad; i++)
        bad = json_object_set_new(object, columns[i].name, make_column(&columns[i], rows, n));
    free(rows);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

json_t *pw_html_collective_stats(const struct pw_figures *figures)
{
    return pw_json_collectives_most(figures, PW_HTML_COLLECTIVE_STATS);
}

json_t *pw_html_collective_totals(const struct pw_figures *figures)
{
    const struct pw_cluster *c = figures->cluster;
    double best = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].busbw_max > best)
            best = c->collective_stats[i].busbw_max;
    return json_pack("{s:I, s:o}", "rows", (json_int_t)c->ncollective_stats, "busbw_max",
                     pw_json_real(best));
}

/* ---- messages ---- */

/* The rows and columns of the matrix: single ranks, hosts, or blocks of ranks, so that there are
 * few enough to see. */
struct sides {
    const char *scope;
    size_t *of_rank; /* [row of /ranks] index of the side that the rank belongs to */
    size_t count, block;
    size_t *first; /* [count] first row of /ranks of each side */
};

struct cell {
    int64_t messages, bytes, late_sender, late_receiver, transfer;
};

static int by_hosts(const struct pw_figures *f, struct sides *s)
{
    const struct pw_row_c_rank *ranks = f->cluster->ranks;
    s->count = 0;
    for (size_t r = 0; r < f->nranks; r++) {
        size_t h = 0;
        while (h < s->count &&
               strncmp(ranks[s->first[h]].hostname, ranks[r].hostname, sizeof(pw_type_S64)) != 0)
            h++;
        if (h == PW_TRAFFIC_SIDE)
            return 0;
        if (h == s->count)
            s->first[s->count++] = r;
        s->of_rank[r] = h;
    }
    return s->count > 1;
}

static int sides_init(const struct pw_figures *f, struct sides *s)
{
    *s = (struct sides){.scope = "hosts", .block = 1};
    s->of_rank = calloc(f->nranks + 1, sizeof(*s->of_rank));
    s->first = calloc(PW_TRAFFIC_SIDE + 1, sizeof(*s->first));
    if (!s->of_rank || !s->first)
        return -1;
    if (f->nranks > PW_TRAFFIC_SIDE && by_hosts(f, s))
        return 0;
    s->block = (f->nranks + PW_TRAFFIC_SIDE - 1) / PW_TRAFFIC_SIDE;
    s->block = s->block ? s->block : 1;
    s->scope = s->block > 1 ? "blocks" : "ranks";
    s->count = (f->nranks + s->block - 1) / s->block;
    for (size_t r = 0; r < f->nranks; r++)
        s->of_rank[r] = r / s->block;
    for (size_t i = 0; i < s->count; i++)
        s->first[i] = i * s->block;
    return 0;
}

static void sides_fini(struct sides *s)
{
    free(s->of_rank);
    free(s->first);
}

static json_t *side_names(const struct pw_figures *f, const struct sides *s)
{
    const struct pw_row_c_rank *ranks = f->cluster->ranks;
    json_t *names = json_array();
    for (size_t i = 0; i < s->count; i++) {
        char name[96];
        size_t last =
            s->first[i] + s->block - 1 < f->nranks ? s->first[i] + s->block - 1 : f->nranks - 1;
        if (s->scope[0] == 'h')
            snprintf(name, sizeof(name), "%.64s", ranks[s->first[i]].hostname);
        else if (s->block > 1)
            snprintf(name, sizeof(name), "%" PRId32 "-%" PRId32, ranks[s->first[i]].rank,
                     ranks[last].rank);
        else
            snprintf(name, sizeof(name), "%" PRId32, ranks[s->first[i]].rank);
        json_t *text = pw_json_text(name, sizeof(name));
        json_array_append_new(names, json_is_null(text) ? json_string("?") : text);
    }
    return names;
}

static void add_known(int64_t *sum, int64_t value)
{
    *sum += value < 0 ? 0 : value > INT64_MAX - *sum ? INT64_MAX - *sum : value;
}

/* Returns a table with the row of /ranks of each world rank below *n, or -1, for fast lookups:
 * there may be millions of pairs. */
static int64_t *rows_by_rank(const struct pw_figures *f, size_t *n)
{
    *n = 0;
    for (size_t r = 0; r < f->nranks; r++)
        if (f->cluster->ranks[r].rank >= 0 && (size_t)f->cluster->ranks[r].rank >= *n)
            *n = (size_t)f->cluster->ranks[r].rank + 1;
    if (*n > 2 * f->nranks + 1024) /* the file is damaged */
        *n = 2 * f->nranks + 1024;
    int64_t *rows = malloc((*n + 1) * sizeof(*rows));
    for (size_t i = 0; rows && i < *n; i++)
        rows[i] = -1;
    for (size_t r = 0; rows && r < f->nranks; r++)
        if (f->cluster->ranks[r].rank >= 0 && (size_t)f->cluster->ranks[r].rank < *n)
            rows[f->cluster->ranks[r].rank] = (int64_t)r;
    return rows;
}

static struct cell *sum_cells(const struct pw_figures *f, const struct sides *s)
{
    size_t n;
    int64_t *rows = rows_by_rank(f, &n);
    struct cell *cells = calloc(s->count * s->count + 1, sizeof(*cells));
    for (size_t i = 0; rows && cells && i < f->cluster->np2p; i++) {
        const struct pw_row_c_p2p *pair = &f->cluster->p2p[i];
        if (pair->src < 0 || pair->dst < 0 || (size_t)pair->src >= n || (size_t)pair->dst >= n ||
            rows[pair->src] < 0 || rows[pair->dst] < 0)
            continue;
        struct cell *cell =
            &cells[s->of_rank[rows[pair->src]] * s->count + s->of_rank[rows[pair->dst]]];
        add_known(&cell->messages, pair->messages);
        add_known(&cell->bytes, pair->bytes);
        add_known(&cell->late_sender, pair->late_sender_ns);
        add_known(&cell->late_receiver, pair->late_receiver_ns);
        add_known(&cell->transfer, pair->transfer_ns);
    }
    if (!rows) {
        free(cells);
        cells = NULL;
    }
    free(rows);
    return cells;
}

static json_t *cells_json(const struct cell *cells, size_t side)
{
    static const char *const names[] = {
        "src", "dst", "messages", "bytes", "late_sender_ns", "late_receiver_ns", "transfer_ns"};
    enum { COLUMNS = sizeof(names) / sizeof(names[0]) };
    json_t *object = json_object(), *arrays[COLUMNS];
    int bad = !object;
    for (int c = 0; c < COLUMNS; c++)
        bad |= json_object_set_new(object, names[c], arrays[c] = json_array());
    for (size_t i = 0; i < side * side && !bad; i++) {
        const int64_t values[COLUMNS] = {
            (int64_t)(i / side),  (int64_t)(i % side),    cells[i].messages, cells[i].bytes,
            cells[i].late_sender, cells[i].late_receiver, cells[i].transfer};
        for (int c = 0; c < COLUMNS && cells[i].messages; c++)
            bad |= json_array_append_new(arrays[c], json_integer(values[c]));
    }
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *largest_pairs(const struct pw_figures *f)
{
    size_t *order = NULL;
    json_t *array = json_array();
    int bad = pw_figures_order_p2p(f, &order);
    for (size_t i = 0; i < f->cluster->np2p && i < PW_TRAFFIC_PAIRS && !bad; i++)
        bad = json_array_append_new(array, pw_json_row(PW_TABLE_c_p2p, &f->cluster->p2p[order[i]]));
    free(order);
    if (!bad)
        return array;
    json_decref(array);
    return NULL;
}

json_t *pw_traffic_messages(const struct pw_figures *figures)
{
    struct sides sides;
    struct cell *cells = NULL;
    json_t *object = NULL;
    if (sides_init(figures, &sides) == 0)
        cells = sum_cells(figures, &sides);
    if (cells) {
        object = json_object();
        int bad = json_object_set_new(object, "scope", json_string(sides.scope));
        bad |= json_object_set_new(object, "names", side_names(figures, &sides));
        bad |= json_object_set_new(object, "cells", cells_json(cells, sides.count));
        bad |= json_object_set_new(object, "pairs", largest_pairs(figures));
        bad |= json_object_set_new(object, "pairs_total",
                                   json_integer((json_int_t)figures->cluster->np2p));
        if (bad) {
            json_decref(object);
            object = NULL;
        }
    }
    free(cells);
    sides_fini(&sides);
    return object;
}

/* ---- queues, processes and GPUs ---- */

enum { MOST_POINTS = 1 << 15 };

/* Rounds to three digits, which is what a chart can show. */
static json_t *rounded(double value)
{
    if (!(value >= 0) || !isfinite(value))
        return json_null();
    double unit = value > 0 ? pow(10, floor(log10(value)) - 2) : 1;
    return json_real(round(value / unit) * unit);
}

static int64_t first_time(const struct pw_cluster *c)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < c->nutilisation_series; i++)
        first = c->utilisation_series[i].time < first ? c->utilisation_series[i].time : first;
    for (size_t i = 0; i < c->nqueue_series; i++)
        first = c->queue_series[i].time < first ? c->queue_series[i].time : first;
    for (size_t i = 0; i < c->ngpu_series; i++)
        first = c->gpu_series[i].time < first ? c->gpu_series[i].time : first;
    return first;
}

static bool is_straggler(const struct pw_cluster *c, int32_t rank)
{
    for (size_t i = 0; i < c->nstragglers; i++)
        if (c->stragglers[i].rank == rank)
            return true;
    return false;
}

static int put(json_t *object, const char *key, double value)
{
    return json_array_append_new(json_object_get(object, key), rounded(value));
}

static json_t *lists(const char *const *keys)
{
    json_t *object = json_object();
    int bad = !object;
    for (size_t i = 0; keys[i]; i++)
        bad |= json_object_set_new(object, keys[i], json_array());
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

/* Returns the lists of one queue of one rank, from its rows [first, end). */
static json_t *usage_lists(const struct pw_cluster *c, size_t first, size_t end, int64_t begin)
{
    static const char *const keys[] = {"time_s", "cpu",  "runq",     "switches", "rss", "faults",
                                       "io",     "host", "received", "sent",     NULL};
    json_t *object = lists(keys);
    int bad = json_object_set_new(object, "rank", json_integer(c->utilisation_series[first].rank));
    for (size_t i = first; i < end && !bad; i++) {
        const struct pw_row_c_utilisation_series *row = &c->utilisation_series[i];
        bad |= json_array_append_new(json_object_get(object, "time_s"),
                                     json_real((double)(row->time - begin) / 1e9));
        bad |= put(object, "cpu", row->cpu_share) | put(object, "runq", row->runq_share);
        bad |= put(object, "switches", row->involuntary_cs_per_s);
        bad |=
            put(object, "rss", (double)row->rss_bytes) | put(object, "faults", row->faults_per_s);
        bad |= put(object, "io", row->io_bytes_per_s) | put(object, "host", row->host_busy_share);
        bad |= put(object, "received", c->nnetcards ? row->net_recv_bytes_per_s : -1);
        bad |= put(object, "sent", c->nnetcards ? row->net_sent_bytes_per_s : -1);
    }
    return object;
}

static json_t *queue_lists(const struct pw_cluster *c, size_t first, size_t end, int64_t begin)
{
    static const char *const keys[] = {"time_s", "size", "empty", NULL};
    json_t *object = lists(keys);
    int bad = json_object_set_new(object, "rank", json_integer(c->queue_series[first].rank));
    bad |= json_object_set_new(object, "place", json_integer(c->queue_series[first].place));
    for (size_t i = first; i < end && !bad; i++) {
        const struct pw_row_c_queue_series *row = &c->queue_series[i];
        bad |= json_array_append_new(json_object_get(object, "time_s"),
                                     json_real((double)(row->time - begin) / 1e9));
        bad |= put(object, "size", row->mean_size);
        bad |= put(object, "empty",
                   row->samples > 0 ? (double)row->empty_samples / (double)row->samples : -1);
    }
    return object;
}

/* 1 when GPM values were measured. Older files have zeros for values that were not. */
static bool is_measured(const struct pw_cluster *c)
{
    for (size_t i = 0; i < c->ngpu_series; i++)
        if (c->gpu_series[i].sm_active > 0)
            return true;
    return false;
}

static json_t *gpu_lists(const struct pw_cluster *c, size_t first, size_t end, int64_t begin)
{
    static const char *const keys[] = {"time_s", "clock", "slowed", "power", "heat", "memory",
                                       "busy",   "sm",    "tensor", "dram",  NULL};
    const bool measured = is_measured(c);
    json_t *object = lists(keys);
    int bad = json_object_set_new(object, "rank", json_integer(c->gpu_series[first].rank));
    bad |= json_object_set_new(object, "device", json_integer(c->gpu_series[first].device));
    for (size_t i = first; i < end && !bad; i++) {
        const struct pw_row_c_gpu_series *row = &c->gpu_series[i];
        bad |= json_array_append_new(json_object_get(object, "time_s"),
                                     json_real((double)(row->time - begin) / 1e9));
        bad |= put(object, "clock", row->sm_clock_mhz) | put(object, "slowed", row->slowed_share);
        bad |= put(object, "power", row->power_w) | put(object, "heat", row->temperature_c);
        bad |= put(object, "memory", (double)row->memory_used_bytes);
        bad |= put(object, "busy", row->busy_share);
        bad |= put(object, "sm", measured ? row->sm_active : -1);
        bad |= put(object, "tensor", measured ? row->tensor_active : -1);
        bad |= put(object, "dram", measured ? row->dram_active : -1);
    }
    return object;
}

static int32_t usage_rank(const struct pw_cluster *c, size_t i, int32_t *part)
{
    *part = 0;
    return c->utilisation_series[i].rank;
}

static int32_t queue_rank(const struct pw_cluster *c, size_t i, int32_t *part)
{
    *part = c->queue_series[i].place;
    return c->queue_series[i].rank;
}

static int32_t gpu_rank(const struct pw_cluster *c, size_t i, int32_t *part)
{
    *part = c->gpu_series[i].device;
    return c->gpu_series[i].rank;
}

/* A table sorted by rank, then by part (a queue or a device of the rank), then by time. */
struct table {
    size_t total;
    int32_t (*rank_of)(const struct pw_cluster *c, size_t i, int32_t *part);
    json_t *(*lists_of)(const struct pw_cluster *c, size_t first, size_t end, int64_t begin);
};

/* Returns the end of the rows with the rank and part of row `first`. */
static size_t find_end(const struct pw_cluster *c, const struct table *t, size_t first)
{
    int32_t part, other;
    int32_t rank = t->rank_of(c, first, &part);
    size_t end = first + 1;
    while (end < t->total && t->rank_of(c, end, &other) == rank && other == part)
        end++;
    return end;
}

/* Returns the series of ranks: stragglers in a first round, other ranks in a second one, until the
 * limit. */
static json_t *series_of(const struct pw_cluster *c, const struct table *t)
{
    size_t points = 0;
    int64_t begin = first_time(c);
    json_t *array = json_array();
    int bad = !array;
    for (int round = 0; round < 2; round++)
        for (size_t first = 0, end; first < t->total && !bad; first = end) {
            int32_t part, rank = t->rank_of(c, first, &part);
            end = find_end(c, t, first);
            if (is_straggler(c, rank) != (round == 0) || points + end - first > MOST_POINTS)
                continue;
            points += end - first;
            bad = json_array_append_new(array, t->lists_of(c, first, end, begin));
        }
    return array;
}

static json_t *with_series(json_t *object, const struct pw_cluster *c, const struct table *t)
{
    if (json_is_object(object) && json_object_set_new(object, "series", series_of(c, t))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *pw_html_data_pipeline(const struct pw_figures *f)
{
    const struct table queues = {f->cluster->nqueue_series, queue_rank, queue_lists};
    return with_series(pw_section_key(f, "data_pipeline"), f->cluster, &queues);
}

json_t *pw_html_utilisation(const struct pw_figures *f)
{
    const struct table usage = {f->cluster->nutilisation_series, usage_rank, usage_lists};
    return with_series(pw_section_key(f, "utilisation"), f->cluster, &usage);
}

json_t *pw_html_gpu_series(const struct pw_figures *f)
{
    const struct table gpus = {f->cluster->ngpu_series, gpu_rank, gpu_lists};
    return series_of(f->cluster, &gpus);
}
