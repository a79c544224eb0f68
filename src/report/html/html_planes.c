/* Fills, encodes, deflates and writes the planes; see html_planes.h. */
#include "report/html/html_planes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "report/html/html_packed.h"
#include "report/json/json_row.h"

void pw_columns_init(const struct pw_figures *figures, struct pw_columns *out)
{
    size_t nsteps = figures->cluster->nstep_rows;
    size_t most = figures->nranks ? PW_COLUMNS_CELLS / figures->nranks : PW_COLUMNS_MOST;
    if (most < PW_COLUMNS_LEAST)
        most = PW_COLUMNS_LEAST;
    if (most > PW_COLUMNS_MOST)
        most = PW_COLUMNS_MOST;
    size_t block = (nsteps + most - 1) / most;
    block = block ? block : 1;
    *out = (struct pw_columns){figures, block, (nsteps + block - 1) / block};
}

static size_t column_end(const struct pw_columns *columns, size_t column)
{
    size_t end = (column + 1) * columns->block, nsteps = columns->figures->cluster->nstep_rows;
    return end < nsteps ? end : nsteps;
}

/* Returns the rows of a [steps x ranks] table; NULL when the run has none. */
static const char *rows_of(const struct pw_cluster *c, int table)
{
    return table == PW_TABLE_c_step_trace    ? (const char *)c->step_trace
           : table == PW_TABLE_c_phase_trace ? (const char *)c->phase_trace
                                             : (const char *)c->gpu_trace;
}

/* The int64_t fields of a table that become cells, in one [ranks x columns] table for each field,
 * `size` cells apart: as numbers, or as codes of planes. */
struct filling {
    int table;
    const size_t *offsets;
    size_t n, size;
    int64_t *cells; /* NULL: as codes */
    /* The high bytes of a plane's codes, then the low bytes: high bytes are similar, and compress
     * well together. */
    uint8_t *bytes;
    const int *shifts; /* [n] of the codes */
};

/* The mean of one value below this is the value. */
#define EXACT_IN_MEANS (INT64_C(1) << 52)

static int64_t mean_of_block(const struct pw_columns *columns, size_t k, const char *row,
                             size_t row_size)
{
    struct pw_mean mean = {0};
    int64_t only;
    memcpy(&only, row, sizeof(only));
    if (columns->block == 1 && only < EXACT_IN_MEANS)
        return only < 0 ? -1 : only;
    for (size_t s = k * columns->block; s < column_end(columns, k); s++) {
        int64_t value;
        memcpy(&value, row, sizeof(value));
        pw_mean_add(&mean, value);
        row += row_size * columns->figures->nranks;
    }
    return pw_mean_value(&mean);
}

enum { MANTISSA = 11, ROUNDED_BITS = 4, LARGEST_CODE = 65534 };

uint16_t pw_planes_encode(int64_t value, int shift, int rounded)
{
    if (value < 0)
        return 0;
    uint64_t v = (uint64_t)value >> shift;
    const int e = v >> MANTISSA ? 64 - MANTISSA - __builtin_clzll(v) : 0;
    uint64_t code = v; /* below 2^MANTISSA */
    if (e) {           /* a carry out of the mantissa correctly increases the exponent */
        uint64_t half = e > 1 ? UINT64_C(1) << (e - 2) : 0;
        code = ((uint64_t)e << MANTISSA) + ((v + half) >> (e - 1)) - (1u << MANTISSA);
    }
    if (rounded)
        code = (code + (1u << (ROUNDED_BITS - 1))) >> ROUNDED_BITS << ROUNDED_BITS;
    return (uint16_t)((code < LARGEST_CODE ? code : LARGEST_CODE) + 1);
}

static void put(const struct filling *f, size_t i, size_t cell, int64_t value)
{
    if (f->cells) {
        f->cells[i * f->size + cell] = value;
        return;
    }
    const uint16_t code = pw_planes_encode(value, f->shifts[i], f->size > PW_PLANES_EXACT_CELLS);
    uint8_t *high = f->bytes + 2 * i * f->size;
    high[cell] = (uint8_t)(code >> 8);
    high[f->size + cell] = (uint8_t)code;
}

/* Fills column k of the ranks [ranks[0], ranks[1]). */
static void fill_column(const struct pw_columns *columns, const struct filling *f, size_t k,
                        const size_t ranks[2])
{
    const size_t nranks = columns->figures->nranks;
    const size_t row_size = pw_table_borrow(f->table)->row_size;
    const char *rows = rows_of(columns->figures->cluster, f->table);
    for (size_t r = ranks[0]; r < ranks[1]; r++) {
        const char *row = rows + (k * columns->block * nranks + r) * row_size;
        for (size_t i = 0; i < f->n; i++)
            put(f, i, r * columns->count + k,
                rows ? mean_of_block(columns, k, row + f->offsets[i], row_size) : -1);
    }
}

/* Reads each row once for all its fields, and some ranks at a time, so that the cells that are
 * written stay in the cache until their neighbours are written. */
static void fill(const struct pw_columns *columns, const struct filling *f)
{
    enum { RANKS = 256 };
    const size_t nranks = columns->figures->nranks;
    for (size_t first = 0; first < nranks; first += RANKS) {
        const size_t ranks[2] = {first, nranks - first < RANKS ? nranks : first + RANKS};
        for (size_t k = 0; k < columns->count; k++)
            fill_column(columns, f, k, ranks);
    }
}

void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, int64_t *cells)
{
    const struct filling f = {.table = table, .offsets = &offset, .n = 1, .cells = cells};
    fill(columns, &f);
}

static int append(json_t *object, const char *name, int64_t value)
{
    json_t *array = json_object_get(object, name);
    if (!array && json_object_set_new(object, name, array = json_array()))
        return -1;
    return json_array_append_new(array, pw_json_int(value));
}

static int append_steps(const struct pw_columns *columns, size_t k, json_t *object)
{
    const struct pw_row_c_step *steps = columns->figures->cluster->steps;
    size_t begin = k * columns->block, end = column_end(columns, k);
    struct pw_mean duration = {0}, interval = {0}, fp_bp = {0}, tail = {0}, wait = {0};
    for (size_t s = begin; s < end; s++) {
        struct pw_row_c_step_trace mean;
        pw_figures_mean_ranks(columns->figures, s, &mean);
        pw_mean_add(&duration, steps[s].duration_ns);
        pw_mean_add(&interval, mean.interval_ns);
        pw_mean_add(&fp_bp, mean.fp_bp_ns);
        pw_mean_add(&tail, mean.tail_ns);
        pw_mean_add(&wait, mean.wait_ns);
    }
    int bad = append(object, "step", steps[begin].step);
    bad |= append(object, "last", steps[end - 1].step);
    bad |= append(object, "warmup", steps[begin].recorded != PW_RECORDED_ACTIVE);
    bad |= append(object, "slowest_rank", end - begin == 1 ? steps[begin].slowest_rank : -1);
    bad |= append(object, "duration_ns", pw_mean_value(&duration));
    bad |= append(object, "interval_ns", pw_mean_value(&interval));
    bad |= append(object, "fp_bp_ns", pw_mean_value(&fp_bp));
    bad |= append(object, "tail_ns", pw_mean_value(&tail));
    return bad | append(object, "wait_ns", pw_mean_value(&wait));
}

/* Adds the quantiles of the ranks' own time in column k: the heatmap's colours depend on the
 * distance from the median. */
static int append_spread(const struct pw_columns *columns, size_t k, const int64_t *own,
                         int64_t *sorted, json_t *object)
{
    size_t n = 0;
    for (size_t r = 0; r < columns->figures->nranks; r++)
        if (own[r * columns->count + k] >= 0)
            sorted[n++] = own[r * columns->count + k];
    pw_sort_i64(sorted, n);
    int bad = append(object, "own_p50_ns", n ? pw_quantile_i64(sorted, n, 0.5) : -1);
    bad |= append(object, "own_p95_ns", n ? pw_quantile_i64(sorted, n, 0.95) : -1);
    return bad | append(object, "own_max_ns", n ? sorted[n - 1] : -1);
}

json_t *pw_columns_json(const struct pw_columns *columns)
{
    size_t nranks = columns->figures->nranks;
    int64_t *own = malloc((nranks * columns->count + 1) * sizeof(*own));
    int64_t *sorted = malloc((nranks + 1) * sizeof(*sorted));
    json_t *object = json_object();
    int bad = !own || !sorted || !object;
    if (!bad) {
        pw_columns_fill(columns, PW_TABLE_c_step_trace,
                        offsetof(struct pw_row_c_step_trace, own_ns), own);
        bad = json_object_set_new(object, "block", json_integer((json_int_t)columns->block));
    }
    for (size_t k = 0; k < columns->count && !bad; k++)
        bad = append_steps(columns, k, object) | append_spread(columns, k, own, sorted, object);
    free(own);
    free(sorted);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

#define TRACE(field) PW_TABLE_c_step_trace, offsetof(struct pw_row_c_step_trace, field)
#define GPU(field) PW_TABLE_c_gpu_trace, offsetof(struct pw_row_c_gpu_trace, field)
#define PHASE(field) PW_TABLE_c_phase_trace, offsetof(struct pw_row_c_phase_trace, field)

static const struct plane {
    const char *name;
    int table;
    size_t offset;
} planes[] = {
    {"own", TRACE(own_ns)},
    {"wait", TRACE(wait_ns)},
    {"total", TRACE(total_ns)},
    {"interval", TRACE(interval_ns)},
    {"fp_bp", TRACE(fp_bp_ns)},
    {"tail", TRACE(tail_ns)},
    {"data", PHASE(data_ns)},
    {"forward", PHASE(forward_ns)},
    {"backward", PHASE(backward_ns)},
    {"allreduce", PHASE(allreduce_ns)},
    {"optimizer", PHASE(optimizer_ns)},
    {"other", PHASE(other_ns)},
    {"gpu_span", GPU(span_ns)},
    {"gpu_busy", GPU(busy_ns)},
    {"gpu_compute", GPU(compute_ns)},
    {"gpu_comm", GPU(comm_ns)},
    {"gpu_comm_exposed", GPU(comm_exposed_ns)},
    {"gpu_idle_host", GPU(idle_host_ns)},
    {"gpu_idle_gap", GPU(idle_gap_ns)},
    {"gpu_idle_other", GPU(idle_other_ns)},
};

/* The largest value of each field in all rows of the table. */
static void find_most(const struct pw_columns *columns, const struct filling *f, int64_t *most)
{
    const size_t n = columns->figures->nranks * columns->figures->cluster->nstep_rows;
    const size_t row_size = pw_table_borrow(f->table)->row_size;
    const char *row = rows_of(columns->figures->cluster, f->table);
    for (size_t i = 0; i < f->n; i++)
        most[i] = INT64_MIN;
    for (size_t k = 0; k < n; k++, row += row_size)
        for (size_t i = 0; i < f->n; i++) {
            int64_t value;
            memcpy(&value, row + f->offsets[i], sizeof(value));
            most[i] = value > most[i] ? value : most[i];
        }
}

/* Returns the shift with which all values fit. Without a shift, the largest value is 4095 x 2^30
 * ns, 73 minutes. */
static int shift_for(int64_t most)
{
    int shift = 0;
    while (most >> shift >= INT64_C(4095) << 30)
        shift++;
    return shift;
}

static int write_plane(FILE *out, const char *name, int shift, const uint8_t *bytes, size_t n)
{
    fprintf(out, "<script type=\"text/plain\" id=\"plane-%s\" data-shift=\"%d\">", name, shift);
    const int err = pw_packed_write(out, bytes, n, PW_PACKED_PLANE);
    fputs("</script>\n", out);
    return err;
}

/* Writes the planes [first, end) of one table; those without a value above 0 are left out. */
static int write_table(FILE *out, const struct pw_columns *columns, size_t first, size_t end)
{
    enum { MOST = sizeof(planes) / sizeof(planes[0]) };
    const size_t n = columns->figures->nranks * columns->count;
    size_t offsets[MOST];
    int64_t most[MOST];
    int shifts[MOST], err = 0;
    struct filling f = {planes[first].table, offsets, end - first, n, NULL, NULL, shifts};
    if (!rows_of(columns->figures->cluster, f.table))
        return 0;
    for (size_t i = 0; i < f.n; i++)
        offsets[i] = planes[first + i].offset;
    find_most(columns, &f, most);
    for (size_t i = 0; i < f.n; i++)
        shifts[i] = shift_for(most[i]);
    f.bytes = malloc(2 * f.n * n + 1);
    if (!f.bytes)
        return -ENOMEM;
    fill(columns, &f);
    for (size_t i = 0; i < f.n && !err; i++)
        if (most[i] > 0)
            err = write_plane(out, planes[first + i].name, shifts[i], f.bytes + 2 * i * n, 2 * n);
    free(f.bytes);
    return err;
}

int pw_planes_write(FILE *out, const struct pw_columns *columns)
{
    const size_t n = sizeof(planes) / sizeof(planes[0]);
    int err = 0;
    for (size_t first = 0, end; first < n && !err; first = end) {
        for (end = first + 1; end < n && planes[end].table == planes[first].table;)
            end++;
        err = write_table(out, columns, first, end);
    }
    return err;
}
