/* Makes the series of ranks, as lists of numbers with three digits; see html_data.h. */
#include "report/html/html_data.h"

#include <math.h>
#include <stdbool.h>

#include "report/sections/section.h"
#include "report/writing/json_row.h"

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
