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

/* The mean of one value below this is the value. */
#define EXACT_IN_MEANS (INT64_C(1) << 52)

/* The column of the cell that begins at `row`, of the field at `offset`. */
struct cell {
    const char *row;
    size_t row_size, offset, column;
};

/* Returns the mean of the known values of a cell, -1 when none is known; makes *most at least as
 * large as each value. */
static int64_t mean_of_block(const struct pw_columns *columns, const struct cell *cell,
                             int64_t *most)
{
    struct pw_mean mean = {0};
    const char *at = cell->row + cell->offset;
    const size_t stride = cell->row_size * columns->figures->nranks;
    for (size_t s = cell->column * columns->block; s < column_end(columns, cell->column); s++) {
        int64_t value;
        memcpy(&value, at, sizeof(value));
        *most = value > *most ? value : *most;
        pw_mean_add(&mean, value);
        at += stride;
    }
    return pw_mean_value(&mean);
}

/* Whether a cell with this first value has this value only, and needs no sum. */
static inline int is_single(const struct pw_columns *columns, int64_t value)
{
    return columns->block == 1 && value < EXACT_IN_MEANS;
}

static const char *row_of(const struct pw_columns *columns, int table, size_t column, size_t rank)
{
    const size_t nranks = columns->figures->nranks;
    return rows_of(columns->figures->cluster, table) +
           (column * columns->block * nranks + rank) * pw_table_borrow(table)->row_size;
}

enum { MANTISSA = 11, ROUNDED_BITS = 4, LARGEST_CODE = 65534 };

/* The upper bits of a double are the exponent and the rounded mantissa of the code; a carry out of
 * the mantissa correctly increases the exponent. Without branches: values of all sizes are mixed.
 */
static inline uint16_t encode(int64_t value, int shift, int rounded)
{
    enum { DOUBLE_MANTISSA = 52, CUT = DOUBLE_MANTISSA - MANTISSA, BIAS = 1023 + MANTISSA - 1 };
    const uint64_t v = value < 0 ? 0 : (uint64_t)value >> shift;
    const double real = (double)(int64_t)v;
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    uint64_t code = ((bits + (UINT64_C(1) << (CUT - 1))) >> CUT) - ((uint64_t)BIAS << MANTISSA);
    code = v >> MANTISSA ? code : v;
    if (rounded)
        code = (code + (1u << (ROUNDED_BITS - 1))) >> ROUNDED_BITS << ROUNDED_BITS;
    code = code < LARGEST_CODE ? code : LARGEST_CODE;
    return (uint16_t)(value < 0 ? 0 : code + 1);
}

uint16_t pw_planes_encode(int64_t value, int shift, int rounded)
{
    return encode(value, shift, rounded);
}

void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, size_t column,
                     int64_t *cells)
{
    const size_t nranks = columns->figures->nranks;
    const int is_known = rows_of(columns->figures->cluster, table) != NULL;
    struct cell cell = {is_known ? row_of(columns, table, column, 0) : NULL,
                        pw_table_borrow(table)->row_size, offset, column};
    int64_t most = -1;
    for (size_t r = 0; r < nranks; r++) {
        int64_t value = -1;
        if (is_known) {
            memcpy(&value, cell.row + offset, sizeof(value));
            if (!is_single(columns, value))
                value = mean_of_block(columns, &cell, &most);
            cell.row += cell.row_size;
        }
        cells[r] = value < 0 ? -1 : value;
    }
}

/* The planes of the int64_t fields of a table, one after the other. A plane has the high bytes of
 * its codes, then the low bytes: high bytes are similar, and compress well together. */
struct codes {
    int table;
    size_t n;    /* fields */
    size_t size; /* cells of a plane */
    const size_t *offsets;
    const int *shifts;
    int64_t *most; /* the largest value of each field in all rows; set by encoding */
    uint8_t *bytes;
};

/* Cells that are encoded together: few enough that the rows stay in the cache while all fields are
 * encoded, and that the codes stay there until their neighbours are written. */
enum { TILE_RANKS = 64, TILE_COLUMNS = 32 };

struct tile {
    size_t rank, ranks, column, columns; /* the first ones, and how many */
};

/* Encodes field i of the tile's cells. */
static void encode_tile(const struct pw_columns *columns, const struct codes *codes, size_t i,
                        const struct tile *tile)
{
    uint8_t bytes[2][TILE_RANKS][TILE_COLUMNS]; /* high ones and low ones */
    const int shift = codes->shifts[i], is_rounded = codes->size > PW_PLANES_EXACT_CELLS;
    const size_t row_size = pw_table_borrow(codes->table)->row_size, offset = codes->offsets[i];
    const size_t next = row_size * columns->figures->nranks * columns->block;
    int64_t most = codes->most[i];
    for (size_t k = 0; k < tile->columns; k++) {
        const char *row = row_of(columns, codes->table, tile->column + k, tile->rank);
        for (size_t r = 0; r < tile->ranks; r++, row += row_size) {
            int64_t value;
            memcpy(&value, row + offset, sizeof(value));
            __builtin_prefetch(row + offset + next); /* the next column */
            if (is_single(columns, value)) {
                most = value > most ? value : most;
            } else {
                const struct cell cell = {row, row_size, offset, tile->column + k};
                value = mean_of_block(columns, &cell, &codes->most[i]);
            }
            const uint16_t code = encode(value, shift, is_rounded);
            bytes[0][r][k] = (uint8_t)(code >> 8);
            bytes[1][r][k] = (uint8_t)code;
        }
    }
    codes->most[i] = most > codes->most[i] ? most : codes->most[i];
    for (size_t half = 0; half < 2; half++)
        for (size_t r = 0; r < tile->ranks; r++)
            memcpy(codes->bytes + (2 * i + half) * codes->size + (tile->rank + r) * columns->count +
                       tile->column,
                   bytes[half][r], tile->columns);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void encode_fields(const struct pw_columns *columns, const struct codes *codes)
{
    const size_t nranks = columns->figures->nranks;
    for (size_t r = 0; r < nranks; r += TILE_RANKS)
        for (size_t k = 0; k < columns->count; k += TILE_COLUMNS) {
            const struct tile tile = {r, least(nranks - r, TILE_RANKS), k,
                                      least(columns->count - k, TILE_COLUMNS)};
            for (size_t i = 0; i < codes->n; i++)
                encode_tile(columns, codes, i, &tile);
        }
}

static int append(json_t *object, const char *name, int64_t value)
{
    json_t *array = json_object_get(object, name);
    if (!array && json_object_set_new(object, name, array = json_array()))
        return -1;
    return json_array_append_new(array, pw_json_int(value));
}

/* Fields whose means over the ranks are arrays. */
static const struct {
    const char *name;
    size_t offset;
} means[] = {
    {"interval_ns", offsetof(struct pw_row_c_step_trace, interval_ns)},
    {"fp_bp_ns", offsetof(struct pw_row_c_step_trace, fp_bp_ns)},
    {"tail_ns", offsetof(struct pw_row_c_step_trace, tail_ns)},
    {"wait_ns", offsetof(struct pw_row_c_step_trace, wait_ns)},
};
enum { MEANS = sizeof(means) / sizeof(means[0]) };

/* Adds the means over the ranks in a step. */
static void add_means(const struct pw_figures *figures, size_t step, struct pw_mean to[MEANS])
{
    const struct pw_row_c_step_trace *cells = pw_figures_borrow_cells(figures, step);
    struct pw_mean sums[MEANS] = {{0}};
    for (size_t r = 0; r < figures->nranks; r++)
        for (size_t i = 0; i < MEANS; i++) {
            int64_t value;
            memcpy(&value, (const char *)&cells[r] + means[i].offset, sizeof(value));
            pw_mean_add(&sums[i], value);
        }
    for (size_t i = 0; i < MEANS; i++)
        pw_mean_add(&to[i], pw_mean_value(&sums[i]));
}

static int append_steps(const struct pw_columns *columns, size_t k, json_t *object)
{
    const struct pw_row_c_step *steps = columns->figures->cluster->steps;
    size_t begin = k * columns->block, end = column_end(columns, k);
    struct pw_mean duration = {0}, sums[MEANS] = {{0}};
    for (size_t s = begin; s < end; s++) {
        pw_mean_add(&duration, steps[s].duration_ns);
        add_means(columns->figures, s, sums);
    }
    int bad = append(object, "step", steps[begin].step);
    bad |= append(object, "last", steps[end - 1].step);
    bad |= append(object, "warmup", steps[begin].recorded != PW_RECORDED_ACTIVE);
    bad |= append(object, "slowest_rank", end - begin == 1 ? steps[begin].slowest_rank : -1);
    bad |= append(object, "duration_ns", pw_mean_value(&duration));
    for (size_t i = 0; i < MEANS; i++)
        bad |= append(object, means[i].name, pw_mean_value(&sums[i]));
    return bad;
}

/* Adds the quantiles of the ranks' own time in column k: the heatmap's colours depend on the
 * distance from the median. `own` has room for a value for each rank. */
static int append_spread(const struct pw_columns *columns, size_t k, int64_t *own, json_t *object)
{
    size_t n = 0;
    int64_t most = -1;
    pw_columns_fill(columns, PW_TABLE_c_step_trace, offsetof(struct pw_row_c_step_trace, own_ns), k,
                    own);
    for (size_t r = 0; r < columns->figures->nranks; r++) {
        most = own[r] > most ? own[r] : most;
        if (own[r] >= 0)
            own[n++] = own[r];
    }
    int bad = append(object, "own_p50_ns", n ? pw_select_quantile_i64(own, n, 0.5) : -1);
    bad |= append(object, "own_p95_ns", n ? pw_select_quantile_i64(own, n, 0.95) : -1);
    return bad | append(object, "own_max_ns", most);
}

json_t *pw_columns_json(const struct pw_columns *columns)
{
    int64_t *own = malloc((columns->figures->nranks + 1) * sizeof(*own));
    json_t *object = json_object();
    int bad = !own || !object;
    if (!bad)
        bad = json_object_set_new(object, "block", json_integer((json_int_t)columns->block));
    for (size_t k = 0; k < columns->count && !bad; k++)
        bad = append_steps(columns, k, object) | append_spread(columns, k, own, object);
    free(own);
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

/* Encodes without shifts, which few runs need, and once more when values are too large. */
static void encode_table(const struct pw_columns *columns, const struct codes *codes, int *shifts)
{
    int is_shifted = 0;
    for (size_t i = 0; i < codes->n; i++) {
        codes->most[i] = INT64_MIN;
        shifts[i] = 0;
    }
    encode_fields(columns, codes);
    for (size_t i = 0; i < codes->n; i++)
        is_shifted |= (shifts[i] = shift_for(codes->most[i])) != 0;
    if (is_shifted)
        encode_fields(columns, codes);
}

/* Writes the planes [first, end) of one table; those without a value above 0 are left out. */
static int write_table(FILE *out, const struct pw_columns *columns, size_t first, size_t end)
{
    enum { MOST = sizeof(planes) / sizeof(planes[0]) };
    const size_t n = columns->figures->nranks * columns->count;
    size_t offsets[MOST];
    int64_t most[MOST];
    int shifts[MOST], err = 0;
    struct codes codes = {planes[first].table, end - first, n, offsets, shifts, most, NULL};
    if (!rows_of(columns->figures->cluster, codes.table))
        return 0;
    for (size_t i = 0; i < codes.n; i++)
        offsets[i] = planes[first + i].offset;
    codes.bytes = malloc(2 * codes.n * n + 1);
    if (!codes.bytes)
        return -ENOMEM;
    encode_table(columns, &codes, shifts);
    for (size_t i = 0; i < codes.n && !err; i++)
        if (most[i] > 0)
            err =
                write_plane(out, planes[first + i].name, shifts[i], codes.bytes + 2 * i * n, 2 * n);
    free(codes.bytes);
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
