/* Sums up the samples of each queue by step and by interval of the run, and sorts the queues in the
 * order of the program's pipeline; see pipelinequeues.h. */
#include "aggregate/samples/pipelinequeues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/sort.h"

/* ---- the pipeline as the program described it ---- */

enum { NAME = 64 };

/* Copies the name of an operator without the spaces and arrows around it. */
static void copy_operator(char *out, const char *from, size_t length)
{
    static const char around[] = " \t\r\n-=>,|";
    while (length && strchr(around, *from)) {
        from++;
        length--;
    }
    while (length && strchr(around, from[length - 1]))
        length--;
    snprintf(out, NAME, "%.*s", (int)(length < NAME ? length : NAME - 1), from);
}

/* Finds a queue in the description of the pipeline, such as "source [read] map [ready]". Returns
 * its number from the left, or -1. filled_by: the operator before it; emptied_by: the operator
 * after it if it is the last queue (64 bytes each). */
static int32_t place_in_pipeline(const char *pipeline, const char *queue, char *filled_by,
                                 char *emptied_by)
{
    int32_t place = 0;
    const char *at = pipeline;
    for (const char *open; (open = strchr(at, '[')); place++) {
        const char *close = strchr(open, ']');
        if (!close)
            return -1;
        size_t length = (size_t)(close - open) - 1;
        if (strlen(queue) == length && strncmp(open + 1, queue, length) == 0) {
            copy_operator(filled_by, at, (size_t)(open - at));
            if (!strchr(close, '['))
                copy_operator(emptied_by, close + 1, strlen(close + 1));
            return place;
        }
        at = close + 1;
    }
    return -1;
}

/* Returns number `place` of a list such as "0.12 1.5", which has the CPUs that each operator of the
 * pipeline used, from the left; -1: not known. */
static double cpus_at(const char *list, int32_t place)
{
    for (int32_t i = 0; place >= 0; i++) {
        char *end;
        const double cpus = strtod(list, &end);
        if (end == list || !(cpus >= 0 && cpus < 1e6))
            return -1;
        if (i == place)
            return cpus;
        list = end;
    }
    return -1;
}

/* The samples in an interval of the run, for the series. */
struct bin {
    int64_t samples, empty;
    double size;
};

/* The sums of one queue of the rank. */
struct queue {
    uint32_t name;
    int64_t samples, empty, capacity, limited;
    double size, usage;
    /* [nsteps] time of the first sample in each step; INT64_MAX: there is none */
    int64_t *first_look;
    uint8_t *was_empty; /* [nsteps] whether the queue was empty at that time */
    float *filled;      /* [nsteps] size / capacity at that time; -1: there is no limit */
    struct bin *bins;
};

struct pass {
    const struct pw_input *input;
    struct queue queues[PW_PIPELINE_QUEUES];
    size_t n, nbins;
    int64_t begin, end; /* first and last time of the samples */
    ptrdiff_t near;
    int64_t unlisted;
};

static int allocate(struct pass *p, struct queue *q, size_t points)
{
    size_t nsteps = p->input->nsteps;
    q->first_look = malloc((nsteps + 1) * sizeof(*q->first_look));
    q->was_empty = calloc(nsteps + 1, sizeof(*q->was_empty));
    q->filled = calloc(nsteps + 1, sizeof(*q->filled));
    q->bins = calloc(points, sizeof(*q->bins));
    if (!q->first_look || !q->was_empty || !q->filled || !q->bins)
        return -ENOMEM;
    for (size_t s = 0; s < nsteps; s++)
        q->first_look[s] = INT64_MAX;
    return 0;
}

/* Returns the queue, which it adds if needed. NULL when there are too many, or memory is short
 * (*err). */
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

/* Adds a sample in a measured step; when no steps are known, every sample. */
static void add_measured(struct pass *p, struct queue *q, const struct pw_row_queue *row)
{
    const struct pw_input *input = p->input;
    ptrdiff_t s = pw_input_step_near(input, row->time, &p->near);
    if (input->nsteps && (s < 0 || input->steps[s].recorded != PW_RECORDED_ACTIVE))
        return;
    double usage = -1;
    q->samples++;
    q->empty += row->size == 0;
    q->size += (double)row->size;
    if (row->capacity > 0) {
        usage = (double)row->size / (double)row->capacity;
        usage = usage < 1 ? usage : 1;
        q->usage += usage;
        q->limited++;
        q->capacity = row->capacity > q->capacity ? row->capacity : q->capacity;
    }
    /* The samples of several threads are not in order of time. */
    if (s >= 0 && row->time < q->first_look[s]) {
        q->first_look[s] = row->time;
        q->was_empty[s] = row->size == 0;
        q->filled[s] = (float)usage;
    }
}

static int is_believed(const struct pw_row_queue *row)
{
    return pw_is_possible(row->time) && pw_is_possible(row->size) && row->size >= 0;
}

/* Finds the first and the last time of the samples. */
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

/* The last texts with these names in the metadata, "" where there is none. */
struct described {
    const char *pipeline, *cpus;
};

/* Returns 0 or -errno. */
static int read_pipeline(const struct pw_openfile *file, struct described *out)
{
    struct pw_cursor c;
    int err = pw_cursor_open(&c, file, PW_TABLE_metadata);
    *out = (struct described){"", ""};
    for (const struct pw_row_metadata *row; !err && (row = pw_cursor_next(&c));)
        if (strcmp(pw_openfile_text(file, row->key), "pipeline") == 0)
            out->pipeline = pw_openfile_text(file, row->value);
        else if (strcmp(pw_openfile_text(file, row->key), "pipeline_cpus") == 0)
            out->cpus = pw_openfile_text(file, row->value);
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

static int names_device(const char *name)
{
    return strcasestr(name, "device") || strcasestr(name, "gpu");
}

static struct pw_row_c_queue make_row(const struct pass *p, const struct queue *q, const char *name,
                                      const struct described *described)
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
    row.place = place_in_pipeline(described->pipeline, row.queue, row.filled_by, row.emptied_by);
    row.filled_by_cpus = cpus_at(described->cpus, row.place);
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

/* Whether queue `a` comes after `b`. by_place() below has the same order for the rows of all
 * ranks. */
static int is_behind(const struct pw_row_c_queue *a, const struct pw_row_c_queue *b)
{
    if (a->place != b->place)
        return (uint32_t)a->place > (uint32_t)b->place;
    const int side = strncmp(a->side, b->side, sizeof(a->side));
    return side ? side < 0 : strncmp(a->queue, b->queue, sizeof(a->queue)) > 0;
}

/* Adds, for each queue, what its first sample found in the steps in which the rank's last queue was
 * empty. */
static void add_starved(const struct pass *p, struct pw_row_c_queue *rows)
{
    size_t last = 0;
    for (size_t i = 1; i < p->n; i++)
        last = is_behind(&rows[i], &rows[last]) ? i : last;
    for (size_t i = 0; i < p->n; i++) {
        const struct queue *q = &p->queues[i];
        double sum = 0;
        int64_t limited = 0;
        for (size_t s = 0; s < p->input->nsteps; s++) {
            if (!p->queues[last].was_empty[s] || q->first_look[s] == INT64_MAX)
                continue;
            rows[i].starved_steps++;
            rows[i].starved_empty += q->was_empty[s];
            limited += q->filled[s] >= 0;
            sum += q->filled[s] >= 0 ? (double)q->filled[s] : 0;
        }
        rows[i].starved_usage = limited ? sum / (double)limited : -1;
    }
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

static int append(struct pw_queues *out, const struct pass *p, const struct pw_openfile *file,
                  const struct described *described)
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
            make_row(p, &p->queues[i], pw_openfile_text(file, p->queues[i].name), described);
    }
    if (p->n)
        add_starved(p, rows + out->n - p->n);
    out->unlisted += p->unlisted;
    return 0;
}

int pw_queues_read(struct pw_queues *out, const struct pw_openfile *file, size_t points)
{
    struct pw_cursor c;
    struct described described;
    struct pass *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct pass){.input = file->input, .nbins = points, .near = -1};
    int err = pw_cursor_open(&c, file, PW_TABLE_queue), damage = 0;
    if (!err && c.place.rows) {
        find_span(p, &c);
        damage = c.err;
        c.err = 0;
        err = read_samples(p, &c);
        damage = err == -ENOMEM ? damage : err;
        err = err == -ENOMEM ? err : read_pipeline(file, &described);
        err = err ? err : append(out, p, file, &described);
    }
    pw_cursor_close(&c);
    for (size_t i = 0; i < p->n; i++) {
        free(p->queues[i].first_look);
        free(p->queues[i].was_empty);
        free(p->queues[i].filled);
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

/* ---- the order of the queues of all ranks ---- */

/* A queue of the job, identified by its name. */
struct known {
    const struct pw_row_c_queue *row; /* the first row with a place */
    int32_t place;
};

/* Queues with a place come first; then queues of the host, then of the device, by name. */
static int by_place(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    if (x->place != y->place)
        return (uint32_t)x->place < (uint32_t)y->place ? -1 : 1; /* unsigned: -1 is last */
    int side = strncmp(y->row->side, x->row->side, sizeof(x->row->side));
    return side ? side : strncmp(x->row->queue, y->row->queue, sizeof(x->row->queue));
}

static int by_name(const void *a, const void *b)
{
    const struct pw_row_c_queue *x = a, *y = b;
    int order = strncmp(x->queue, y->queue, sizeof(x->queue));
    if (order)
        return order;
    if (x->place != y->place)
        return (uint32_t)x->place < (uint32_t)y->place ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_queue *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int is_same(const struct pw_row_c_queue *a, const struct pw_row_c_queue *b)
{
    return strncmp(a->queue, b->queue, sizeof(a->queue)) == 0;
}

/* Lists the names in rows that are sorted by name. Returns how many. */
static size_t list_names(const struct pw_row_c_queue *rows, size_t n, struct known *known)
{
    size_t names = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !is_same(&rows[i - 1], &rows[i]))
            known[names++] = (struct known){&rows[i], rows[i].place};
    pw_sort(known, names, sizeof(*known), by_place);
    return names < PW_PIPELINE_QUEUES ? names : PW_PIPELINE_QUEUES;
}

static int32_t place_of(const struct known *known, size_t names, const struct pw_row_c_queue *row)
{
    for (size_t i = 0; i < names; i++)
        if (is_same(known[i].row, row))
            return (int32_t)i;
    return -1;
}

static double joined_mean(double a, int64_t a_n, double b, int64_t b_n)
{
    if (a < 0 || a_n <= 0)
        return b;
    if (b < 0 || b_n <= 0)
        return a;
    return (a * (double)a_n + b * (double)b_n) / ((double)a_n + (double)b_n);
}

static void join(struct pw_row_c_queue *all, const struct pw_row_c_queue *one)
{
    all->usage = joined_mean(all->usage, all->samples, one->usage, one->samples);
    all->starved_usage =
        joined_mean(all->starved_usage, all->starved_steps, one->starved_usage, one->starved_steps);
    all->starved_steps = pw_sum(all->starved_steps, one->starved_steps);
    all->starved_empty = pw_sum(all->starved_empty, one->starved_empty);
    all->filled_by_cpus =
        joined_mean(all->filled_by_cpus, all->samples, one->filled_by_cpus, one->samples);
    all->mean_size = joined_mean(all->mean_size, all->samples, one->mean_size, one->samples);
    all->samples = pw_sum(all->samples, one->samples);
    all->empty_samples = pw_sum(all->empty_samples, one->empty_samples);
    all->empty_share = all->samples > 0 ? (double)all->empty_samples / (double)all->samples : -1;
    all->capacity = one->capacity > all->capacity ? one->capacity : all->capacity;
    all->steps = pw_sum(all->steps, one->steps);
    all->steps_empty = pw_sum(all->steps_empty, one->steps_empty);
    if (one->first_empty_step >= 0 &&
        (all->first_empty_step < 0 || one->first_empty_step < all->first_empty_step))
        all->first_empty_step = one->first_empty_step;
    if (one->last_empty_step > all->last_empty_step)
        all->last_empty_step = one->last_empty_step;
}

/* Fills `out`: first the rows of all ranks together, then the row of each rank, both with places.
 * Returns how many. */
static size_t build(const struct pw_row_c_queue *rows, size_t n, const struct known *known,
                    size_t names, struct pw_row_c_queue *out)
{
    size_t count = names;
    for (size_t i = 0; i < names; i++) {
        out[i] = *known[i].row;
        out[i].rank = -1;
        out[i].place = (int32_t)i;
        out[i].samples = out[i].empty_samples = out[i].capacity = out[i].steps = 0;
        out[i].steps_empty = out[i].starved_steps = out[i].starved_empty = 0;
        out[i].starved_usage = out[i].filled_by_cpus = -1;
        out[i].usage = out[i].mean_size = out[i].empty_share = -1;
        out[i].first_empty_step = out[i].last_empty_step = -1;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t place = place_of(known, names, &rows[i]);
        if (place < 0)
            continue;
        out[count] = rows[i];
        out[count].place = place;
        join(&out[place], &out[count++]);
    }
    pw_sort(out + names, count - names, sizeof(*out), by_rank);
    return count;
}

/* Changes the numbers in the series from rows to places, and drops points of queues without a
 * place. */
static void place_series(struct pw_queues *q, const struct known *known, size_t names)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->nseries; i++) {
        struct pw_row_c_queue_series point = q->series[i];
        point.place = place_of(known, names, &q->rows[point.place]);
        if (point.place >= 0)
            q->series[kept++] = point;
    }
    q->nseries = kept;
}

int pw_queues_arrange(struct pw_queues *q, const struct pw_procs *procs)
{
    void *gathered;
    size_t n = pw_procs_allgather(procs, q->rows, q->n, sizeof(*q->rows), &gathered);
    struct pw_row_c_queue *rows = gathered;
    struct known *known = malloc((n + 1) * sizeof(*known));
    struct pw_row_c_queue *out = malloc((n + PW_PIPELINE_QUEUES + 1) * sizeof(*out));
    int err = known && out ? 0 : -ENOMEM, worst;
    worst = pw_procs_worst(procs, err);
    if (!worst) {
        pw_sort(rows, n, sizeof(*rows), by_name);
        size_t names = list_names(rows, n, known);
        place_series(q, known, names);
        size_t count = build(rows, n, known, names, out);
        free(q->rows);
        q->rows = out;
        q->n = count;
        out = NULL;
    }
    free(out);
    free(known);
    free(gathered);
    return worst;
}
