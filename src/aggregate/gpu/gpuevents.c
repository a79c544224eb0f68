/* Merges the tables of a rank file into one sequence; see gpuevents.h. The next block is always
 * read from the table that is furthest behind, so that all tables have been read up to about the
 * same time. The rows go into a pool, which is sorted; its earlier half is passed to the
 * callback. */
#include "aggregate/gpu/gpuevents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "core/h5/h5table.h"
#include "core/limits.h"
#include "core/ops.h"

enum { BLOCK = 1024, FRESH = 1 << 17, POOL = PW_GPU_DISORDER + FRESH + BLOCK };

enum source_kind { KERNELS, COPIES, MEMSETS, CALLS, WAITS, SOURCES };

struct source {
    struct pw_h5_table *table;
    uint64_t at, rows;
    int64_t reached; /* the latest start that was read */
};

union row {
    struct pw_row_kernel kernel;
    struct pw_row_memcpy memcpy;
    struct pw_row_memset memset;
    struct pw_row_comm_event event;
};

struct reading {
    const struct pw_input *input;
    const struct pw_spans *wait;
    const struct pw_gpu_visitor *visitor;
    struct source sources[SOURCES];
    union row rows[BLOCK]; /* the block of the table that is being read */
    struct pw_gpu_activity *pool, *spare;
    size_t n; /* activities in the pool */
};

static int by_start(const void *a, const void *b)
{
    const struct pw_gpu_activity *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Merges two neighbouring sorted runs into `out`. */
static void merge_runs(const struct pw_gpu_activity *v, size_t n, const struct pw_gpu_activity *w,
                       size_t m, struct pw_gpu_activity *out)
{
    size_t i = 0, k = 0;
    while (i < n && k < m)
        *out++ = by_start(&v[i], &w[k]) <= 0 ? v[i++] : w[k++];
    memcpy(out, v + i, (n - i) * sizeof(*out));
    memcpy(out + n - i, w + k, (m - k) * sizeof(*out));
}

/* Returns the end of the sorted run that begins at `from`. */
static size_t run_end(const struct pw_gpu_activity *v, size_t from, size_t n)
{
    size_t end = from < n ? from + 1 : n;
    while (end < n && by_start(&v[end - 1], &v[end]) <= 0)
        end++;
    return end;
}

/* Sorts the pool. It consists of a few sorted runs (the rest of the last pool and the new blocks),
 * so merging neighbours is much faster than a sort. */
static void order(struct reading *r)
{
    for (size_t runs = 2; runs > 1;) {
        size_t at = 0;
        runs = 0;
        while (at < r->n) {
            size_t middle = run_end(r->pool, at, r->n), end = run_end(r->pool, middle, r->n);
            if (at == 0 && middle == r->n)
                return;
            merge_runs(r->pool + at, middle - at, r->pool + middle, end - middle, r->spare + at);
            at = end;
            runs++;
        }
        struct pw_gpu_activity *merged = r->spare;
        r->spare = r->pool;
        r->pool = merged;
    }
}

/* Passes the first `count` activities of the pool to the callback. */
static void tell(struct reading *r, size_t count)
{
    order(r);
    for (size_t i = 0; i < count; i++)
        r->visitor->activity(r->visitor->context, &r->pool[i]);
    memmove(r->pool, r->pool + count, (r->n - count) * sizeof(*r->pool));
    r->n -= count;
}

static int is_possible(int64_t start, int64_t end, int64_t launch)
{
    return end >= start && pw_is_possible(start) && pw_is_possible(end) && pw_is_possible(launch);
}

static void add(struct reading *r, struct source *source, struct pw_gpu_activity one)
{
    if (!is_possible(one.start, one.end, one.launch))
        return;
    source->reached = one.start > source->reached ? one.start : source->reached;
    r->pool[r->n++] = one;
}

static int add_kernels(struct reading *r, struct source *s, size_t n)
{
    const struct pw_row_kernel *rows = &r->rows[0].kernel;
    for (size_t i = 0; i < n; i++) {
        if (!is_possible(rows[i].start, rows[i].end, rows[i].launch))
            continue;
        int comm = r->visitor->kernel(r->visitor->context, &rows[i]);
        if (comm < 0)
            return comm;
        add(r, s,
            (struct pw_gpu_activity){rows[i].start, rows[i].end, rows[i].launch,
                                     comm ? PW_GPU_COMM : PW_GPU_COMPUTE, rows[i].device});
    }
    return 0;
}

static void add_copies(struct reading *r, struct source *s, size_t n)
{
    const struct pw_row_memcpy *rows = &r->rows[0].memcpy;
    for (size_t i = 0; i < n; i++)
        if (is_possible(rows[i].start, rows[i].end, rows[i].launch)) {
            r->visitor->copy(r->visitor->context, &rows[i]);
            add(r, s,
                (struct pw_gpu_activity){rows[i].start, rows[i].end, rows[i].launch, PW_GPU_COPY,
                                         rows[i].device});
        }
}

static void add_memsets(struct reading *r, struct source *s, size_t n)
{
    const struct pw_row_memset *rows = &r->rows[0].memset;
    for (size_t i = 0; i < n; i++)
        add(r, s,
            (struct pw_gpu_activity){rows[i].start, rows[i].end, rows[i].launch, PW_GPU_COPY,
                                     rows[i].device});
}

static void add_calls(struct reading *r, struct source *s, size_t n)
{
    struct pw_row_comm_event *rows = &r->rows[0].event;
    for (size_t i = 0; i < n; i++) {
        pw_hostcopies_complete(r->input, &rows[i]);
        enum pw_op_class cls = pw_op_info(rows[i].op)->cls;
        if (cls != PW_CLASS_SYNC && cls != PW_CLASS_LOCAL && cls != PW_CLASS_WAIT &&
            !pw_event_is_enqueued(&rows[i]))
            add(r, s, (struct pw_gpu_activity){rows[i].start, rows[i].end, -1, PW_GPU_CALL, -1});
    }
}

static void add_waits(struct reading *r, struct source *s, size_t n)
{
    const struct pw_interval *waits = r->wait->v + s->at;
    for (size_t i = 0; i < n; i++)
        add(r, s, (struct pw_gpu_activity){waits[i].start, waits[i].end, -1, PW_GPU_WAIT, -1});
}

/* Reads the next block of one source. Returns 0 or -errno. */
static int read_block(struct reading *r, enum source_kind kind)
{
    struct source *s = &r->sources[kind];
    size_t n = s->rows - s->at < BLOCK ? (size_t)(s->rows - s->at) : BLOCK;
    int err = s->table ? pw_h5_table_read(s->table, s->at, n, r->rows) : 0;
    if (!err && kind == KERNELS)
        err = add_kernels(r, s, n);
    else if (!err && kind == COPIES)
        add_copies(r, s, n);
    else if (!err && kind == MEMSETS)
        add_memsets(r, s, n);
    else if (!err && kind == CALLS)
        add_calls(r, s, n);
    else if (!err)
        add_waits(r, s, n);
    if (kind != WAITS)
        pw_progress_add(r->input->progress, (int64_t)n);
    s->at = err ? s->rows : s->at + n;
    return err;
}

/* Returns the source that is furthest behind; SOURCES when all have ended. */
static enum source_kind choose(const struct reading *r)
{
    enum source_kind best = SOURCES;
    for (enum source_kind k = 0; k < SOURCES; k++)
        if (r->sources[k].at < r->sources[k].rows &&
            (best == SOURCES || r->sources[k].reached < r->sources[best].reached))
            best = k;
    return best;
}

static int open_sources(struct reading *r)
{
    const struct pw_h5_place *places[SOURCES] = {&r->input->kernel_rows, &r->input->memcpy_rows,
                                                 &r->input->memset_rows, &r->input->event_rows};
    int err = 0;
    for (enum source_kind k = 0; k < SOURCES && !err; k++) {
        r->sources[k].rows = places[k] ? places[k]->rows : r->wait->n;
        r->sources[k].reached = INT64_MIN;
        if (places[k] && places[k]->rows)
            err = pw_input_table(r->input, places[k], &r->sources[k].table);
    }
    return err;
}

int pw_gpuevents_read(const struct pw_input *input, const struct pw_spans *wait,
                      const struct pw_gpu_visitor *visitor)
{
    struct reading *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    *r = (struct reading){.input = input, .wait = wait, .visitor = visitor};
    r->pool = malloc(sizeof(*r->pool) * POOL);
    r->spare = malloc(sizeof(*r->spare) * POOL);
    int err = r->pool && r->spare ? open_sources(r) : -ENOMEM, broken = 0;
    for (enum source_kind k; !err && (k = choose(r)) != SOURCES;) {
        int one = read_block(r, k);
        err = one == -ENOMEM ? one : 0;
        broken = one ? one : broken;
        if (r->n + BLOCK > POOL)
            tell(r, r->n - PW_GPU_DISORDER);
    }
    if (!err)
        tell(r, r->n);
    for (enum source_kind k = 0; k < SOURCES; k++)
        if (r->sources[k].table)
            pw_h5_table_close(r->sources[k].table);
    free(r->pool);
    free(r->spare);
    free(r);
    return err ? err : broken;
}
