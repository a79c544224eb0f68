/* Series by rank, as lists of numbers; see resources.h. */
#include "analysis/report/html/resources.h"

#include <math.h>
#include <stdbool.h>

#include "analysis/report/json_resources.h"
#include "analysis/report/json_row.h"

enum { MOST_POINTS = 1 << 15 };

/* Three digits are what a chart shows. */
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

/* Rows [first, end) are of one rank, and of one queue. */
static json_t *usage_lists(const struct pw_cluster *c, size_t first, size_t end, int64_t begin)
{
    static const char *const keys[] = {"time_s", "cpu", "runq", "switches", "rss",
                                       "faults", "io",  "host", NULL};
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

static size_t usage_end(const struct pw_cluster *c, size_t first)
{
    size_t end = first;
    while (end < c->nutilisation_series &&
           c->utilisation_series[end].rank == c->utilisation_series[first].rank)
        end++;
    return end;
}

static size_t queue_end(const struct pw_cluster *c, size_t first)
{
    size_t end = first;
    while (end < c->nqueue_series && c->queue_series[end].rank == c->queue_series[first].rank &&
           c->queue_series[end].place == c->queue_series[first].place)
        end++;
    return end;
}

/* Stragglers in the first round, all others in the second, until there is no more room. */
static json_t *series_of(const struct pw_cluster *c, bool queues)
{
    size_t total = queues ? c->nqueue_series : c->nutilisation_series, points = 0;
    int64_t begin = first_time(c);
    json_t *array = json_array();
    int bad = !array;
    for (int round = 0; round < 2; round++)
        for (size_t first = 0, end; first < total && !bad; first = end) {
            int32_t rank = queues ? c->queue_series[first].rank : c->utilisation_series[first].rank;
            end = queues ? queue_end(c, first) : usage_end(c, first);
            if (is_straggler(c, rank) != (round == 0) || points + end - first > MOST_POINTS)
                continue;
            points += end - first;
            bad = json_array_append_new(array, queues ? queue_lists(c, first, end, begin)
                                                      : usage_lists(c, first, end, begin));
        }
    return array;
}

static json_t *with_series(json_t *object, const struct pw_cluster *c, bool queues)
{
    if (json_is_object(object) && json_object_set_new(object, "series", series_of(c, queues))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *pw_html_data_pipeline(const struct pw_figures *f)
{
    return with_series(pw_json_data_pipeline(f), f->cluster, true);
}

json_t *pw_html_utilisation(const struct pw_figures *f)
{
    return with_series(pw_json_utilisation(f), f->cluster, false);
}
