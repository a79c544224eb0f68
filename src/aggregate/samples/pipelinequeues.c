/* Sums of queue samples; see pipelinequeues.h. */
#include "aggregate/samples/pipelinequeues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/cursor.h"
#include "core/limits.h"

/* A stretch of the run, for drawing. */
struct bin {
    int64_t samples, empty;
    double size;
};

/* What is known of one queue of the rank. */
struct queue {
    uint32_t name;
    int64_t samples, empty, capacity, limited;
    double size, usage;
    int64_t *first_look; /* [nsteps] when it was looked at first in a step, INT64_MAX */
    uint8_t *was_empty;  /* [nsteps] what that found */
    struct bin *bins;
};

struct pass {
    const struct pw_input *input;
    struct queue queues[PW_PIPELINE_QUEUES];
    size_t n, nbins;
    int64_t begin, end; /* of the samples */
    ptrdiff_t near;
    int64_t unlisted;
};

static int allocate(struct pass *p, struct queue *q, size_t points)
{
    size_t nsteps = p->input->nsteps;
    q->first_look = malloc((nsteps + 1) * sizeof(*q->first_look));
    q->was_empty = calloc(nsteps + 1, sizeof(*q->was_empty));
    q->bins = calloc(points, sizeof(*q->bins));
    if (!q->first_look || !q->was_empty || !q->bins)
        return -ENOMEM;
    for (size_t s = 0; s < nsteps; s++)
        q->first_look[s] = INT64_MAX;
    return 0;
}

/* NULL when there are too many, or memory is short (*err). */
static struct queue *find_queue(struct pass *p, uint32_t name, int *err)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->queues[i].name == name)
            return &p->queues[i];
    if (p->n == PW_PIPELINE_QUEUES)
        return NULL;
    struct queue *q = &p->queues[p->n++];
    q->name = name;
    *err = allocate(p, q, p->nbins);
    return *err ? NULL : q;
}

static void add_bin(const struct pass *p, struct queue *q, const struct pw_row_queue *row)
{
    double span = (double)p->end - (double)p->begin, from = (double)row->time - (double)p->begin;
    double at = span > 0 ? from / span * (double)p->nbins : 0;
    size_t i = at <= 0 ? 0 : at >= (double)p->nbins ? p->nbins - 1 : (size_t)at;
    q->bins[i].samples++;
    q->bins[i].empty += row->size == 0;
    q->bins[i].size += (double)row->size;
}

/* Samples of warm-up, and between steps, count only where no steps are known. */
static void add_measured(struct pass *p, struct queue *q, const struct pw_row_queue *row)
{
    const struct pw_input *input = p->input;
    ptrdiff_t s = pw_input_step_near(input, row->time, &p->near);
    if (input->nsteps && (s < 0 || input->steps[s].recorded != PW_RECORDED_ACTIVE))
        return;
    q->samples++;
    q->empty += row->size == 0;
    q->size += (double)row->size;
    if (row->capacity > 0) {
        double usage = (double)row->size / (double)row->capacity;
        q->usage += usage < 1 ? usage : 1;
        q->limited++;
        q->capacity = row->capacity > q->capacity ? row->capacity : q->capacity;
    }
    /* Threads' samples are not in order of time. */
    if (s >= 0 && row->time < q->first_look[s]) {
        q->first_look[s] = row->time;
        q->was_empty[s] = row->size == 0;
    }
}

static int is_believed(const struct pw_row_queue *row)
{
    return pw_is_possible(row->time) && pw_is_possible(row->size) && row->size >= 0;
}

/* Where the samples begin and end. */
static void find_span(struct pass *p, struct pw_cursor *c)
{
    p->begin = INT64_MAX;
    p->end = INT64_MIN;
    for (const struct pw_row_queue *row; (row = pw_cursor_next(c));)
        if (is_believed(row)) {
            p->begin = row->time < p->begin ? row->time : p->begin;
            p->end = row->time > p->end ? row->time : p->end;
        }
    pw_cursor_rewind(c);
}

static int read_samples(struct pass *p, struct pw_cursor *c)
{
    int err = 0;
    for (const struct pw_row_queue *row; !err && (row = pw_cursor_next(c));) {
        if (!is_believed(row))
            continue;
        struct queue *q = find_queue(p, row->queue, &err);
        p->unlisted += !q;
        if (q) {
            add_bin(p, q, row);
            add_measured(p, q, row);
        }
    }
    return err ? err : c->err;
}

static const char *text_at(char **texts, size_t ntexts, uint32_t row)
{
    return row < ntexts ? texts[row] : "";
}

/* The last value of the key counts. */
static int read_pipeline(struct pw_h5_types *types, hid_t file, const char *path, char **texts,
                         size_t ntexts, const char **pipeline)
{
    struct pw_cursor c;
    int err = pw_cursor_open(&c, types, file, path, PW_TABLE_metadata);
    *pipeline = "";
    for (const struct pw_row_metadata *row; !err && (row = pw_cursor_next(&c));)
        if (strcmp(text_at(texts, ntexts, row->key), "pipeline") == 0)
            *pipeline = text_at(texts, ntexts, row->value);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

static int names_device(const char *name)
{
    return strcasestr(name, "device") || strcasestr(name, "gpu");
}

static struct pw_row_c_queue make_row(const struct pass *p, const struct queue *q, const char *name,
                                      const char *pipeline)
{
    struct pw_row_c_queue row = {
        .rank = (int32_t)p->input->rank,
        .samples = q->samples,
        .empty_samples = q->empty,
        .usage = q->limited ? q->usage / (double)q->limited : -1,
        .empty_share = q->samples ? (double)q->empty / (double)q->samples : -1,
        .mean_size = q->samples ? q->size / (double)q->samples : -1,
        .capacity = q->capacity,
        .first_empty_step = -1,
        .last_empty_step = -1,
    };
    snprintf(row.queue, sizeof(row.queue), "%s", name);
    snprintf(row.side, sizeof(row.side), "%s", names_device(name) ? "device" : "host");
    row.place = pw_pipeline_place(pipeline, row.queue, row.filled_by, row.emptied_by);
    for (size_t s = 0; s < p->input->nsteps; s++) {
        if (q->first_look[s] == INT64_MAX)
            continue;
        row.steps++;
        if (!q->was_empty[s])
            continue;
        row.steps_empty++;
        row.last_empty_step = p->input->steps[s].step;
        if (row.first_empty_step < 0)
            row.first_empty_step = row.last_empty_step;
    }
    return row;
}

static void add_series(struct pw_queues *out, const struct pass *p, const struct queue *q)
{
    double width = ((double)p->end - (double)p->begin) / (double)p->nbins;
    for (size_t i = 0; i < p->nbins; i++) {
        int64_t end = p->begin + pw_whole(width * (double)(i + 1));
        if (q->bins[i].samples)
            out->series[out->nseries++] = (struct pw_row_c_queue_series){
                .rank = (int32_t)p->input->rank,
                .place = (int32_t)out->n,
                .time = pw_input_time(p->input, end),
                .samples = q->bins[i].samples,
                .empty_samples = q->bins[i].empty,
                .mean_size = q->bins[i].size / (double)q->bins[i].samples,
            };
    }
}

static int append(struct pw_queues *out, const struct pass *p, char **texts, size_t ntexts,
                  const char *pipeline)
{
    struct pw_row_c_queue *rows = realloc(out->rows, (out->n + p->n + 1) * sizeof(*rows));
    out->rows = rows ? rows : out->rows;
    struct pw_row_c_queue_series *series =
        realloc(out->series, (out->nseries + p->n * p->nbins + 1) * sizeof(*series));
    out->series = series ? series : out->series;
    if (!rows || !series)
        return -ENOMEM;
    for (size_t i = 0; i < p->n; i++) {
        add_series(out, p, &p->queues[i]);
        rows[out->n++] =
            make_row(p, &p->queues[i], text_at(texts, ntexts, p->queues[i].name), pipeline);
    }
    out->unlisted += p->unlisted;
    return 0;
}

int pw_queues_read(struct pw_queues *out, const struct pw_input *input, struct pw_h5_types *types,
                   hid_t file, char **texts, size_t ntexts, size_t points)
{
    struct pw_cursor c;
    const char *pipeline;
    struct pass *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct pass){.input = input, .nbins = points, .near = -1};
    int err = pw_cursor_open(&c, types, file, input->path, PW_TABLE_queue), damage = 0;
    if (!err && c.place.rows) {
        find_span(p, &c);
        damage = c.err;
        c.err = 0;
        err = read_samples(p, &c);
        damage = err == -ENOMEM ? damage : err;
        err = err == -ENOMEM ? err
                             : read_pipeline(types, file, input->path, texts, ntexts, &pipeline);
        err = err ? err : append(out, p, texts, ntexts, pipeline);
    }
    pw_cursor_close(&c);
    for (size_t i = 0; i < p->n; i++) {
        free(p->queues[i].first_look);
        free(p->queues[i].was_empty);
        free(p->queues[i].bins);
    }
    free(p);
    return err ? err : damage;
}

void pw_queues_fini(struct pw_queues *queues)
{
    free(queues->rows);
    free(queues->series);
    *queues = (struct pw_queues){0};
}
