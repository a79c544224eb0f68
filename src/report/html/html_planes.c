/* Fills, encodes, deflates and writes the planes; see html_planes.h. The loops have no branches,
 * for vector instructions. */
#include "report/html/html_planes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/cellmeans.h"
#include "analysis/statistics.h"
#include "core/deflater.h"
#include "report/writing/json_row.h"

/* Deflates, encodes and writes bytes. */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes the last 1 or 2 bytes. */
static void write_rest(FILE *out, const uint8_t *bytes, size_t n)
{
    const uint32_t group = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0);
    const char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                          n > 1 ? digits[group >> 6 & 63] : '=', '='};
    fwrite(text, 1, sizeof(text), out);
}

/* The two digits of 12 bits. */
struct pairs {
    char text[4096][2];
};

static void make_pairs(struct pairs *pairs)
{
    for (size_t i = 0; i < sizeof(pairs->text) / sizeof(pairs->text[0]); i++) {
        pairs->text[i][0] = digits[i >> 6];
        pairs->text[i][1] = digits[i & 63];
    }
}

/* Writes large blocks, which stdio passes to the kernel as they are. */
static void write_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    char block[32768];
    struct pairs pairs;
    size_t used = 0;
    make_pairs(&pairs);
    for (; n >= 3; bytes += 3, n -= 3) {
        const uint32_t group = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        memcpy(block + used, pairs.text[group >> 12], 2);
        memcpy(block + used + 2, pairs.text[group & 4095], 2);
        used += 4;
        if (used == sizeof(block)) {
            fwrite(block, 1, used, out);
            used = 0;
        }
    }
    fwrite(block, 1, used, out);
    if (n)
        write_rest(out, bytes, n);
}

int pw_packed_write(FILE *out, const void *bytes, size_t n, int level)
{
    const size_t most = pw_deflater_bound(n);
    struct pw_deflater *deflater = pw_deflater_create(level);
    char *packed = malloc(most);
    if (deflater && level == PW_PACKED_PLANE)
        pw_deflater_find_near(deflater);
    int err = deflater && packed ? 0 : -ENOMEM;
    const size_t size = err ? 0 : pw_deflater_run(deflater, bytes, n, packed, most);
    if (!err && size)
        write_base64(out, (const uint8_t *)packed, size);
    if (!err && (!size || ferror(out)))
        err = -EIO;
    free(packed);
    pw_deflater_destroy(deflater);
    return err;
}

/* Loops without branches, for vector instructions: values of all sizes are mixed. See
 * html_planes.h. */

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum {
    MANTISSA = 11,
    ROUNDED_BITS = 4,
    LARGEST_CODE = 65534,
    DOUBLE_MANTISSA = 52,
    CUT = DOUBLE_MANTISSA - MANTISSA,
    BIAS = 1023 + MANTISSA - 1
};

/* The upper bits of a double are the exponent and the rounded mantissa of the code; a carry out of
 * the mantissa correctly increases the exponent. */
static inline uint64_t code_of_double(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return ((bits + (UINT64_C(1) << (CUT - 1))) >> CUT) - ((uint64_t)BIAS << MANTISSA);
}

static inline uint16_t code_of(int64_t value, int shift, int is_rounded)
{
    const uint64_t v = value < 0 ? 0 : (uint64_t)value >> shift;
    uint64_t code = v >> MANTISSA ? code_of_double((double)(int64_t)v) : v;
    if (is_rounded)
        code = (code + (1u << (ROUNDED_BITS - 1))) >> ROUNDED_BITS << ROUNDED_BITS;
    code = code < LARGEST_CODE ? code : LARGEST_CODE;
    return (uint16_t)(value < 0 ? 0 : code + 1);
}

uint16_t pw_codes_of_value(int64_t value, int shift, int is_rounded)
{
    return code_of(value, shift, is_rounded);
}

/* The bytes of codes, by column. */
struct by_column {
    uint8_t high[PW_CODES_CELLS], low[PW_CODES_CELLS];
};

static void encode(const int64_t *cells, const struct pw_codes_form *form, struct by_column *out)
{
    for (size_t i = 0; i < PW_CODES_CELLS; i++) {
        const uint16_t code = code_of(cells[i], form->shift, form->is_rounded);
        out->high[i] = (uint8_t)(code >> 8);
        out->low[i] = (uint8_t)code;
    }
}

#ifdef __SSE2__
static __m128i load(const void *from)
{
    return _mm_loadu_si128(from);
}

/* Returns the lower halves of the 64-bit words. */
static __m128i lower_halves(__m128i a, __m128i b)
{
    return _mm_castps_si128(
        _mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), _MM_SHUFFLE(2, 0, 2, 0)));
}

/* As code_of_double(), of two values in the lower halves of `v`. */
static __m128i codes_of_two(__m128i v)
{
    const __m128i bits = _mm_castpd_si128(_mm_cvtepi32_pd(v));
    return _mm_srli_epi64(_mm_add_epi64(bits, _mm_set1_epi64x(INT64_C(1) << (CUT - 1))), CUT);
}

/* Returns the codes of four values. `half` is added to codes before they are rounded by `mask`. */
static __m128i codes_of_four(const int64_t *cells, __m128i half, __m128i mask)
{
    const __m128i value = lower_halves(load(cells), load(cells + 2));
    const __m128i is_unknown = _mm_srai_epi32(value, 31);
    const __m128i v = _mm_andnot_si128(is_unknown, value);
    const __m128i large =
        _mm_sub_epi32(lower_halves(codes_of_two(v), codes_of_two(_mm_unpackhi_epi64(v, v))),
                      _mm_set1_epi32(BIAS << MANTISSA));
    const __m128i is_large = _mm_cmpgt_epi32(v, _mm_set1_epi32((1 << MANTISSA) - 1));
    __m128i code = _mm_or_si128(_mm_and_si128(is_large, large), _mm_andnot_si128(is_large, v));
    code = _mm_and_si128(_mm_add_epi32(code, half), mask);
    return _mm_andnot_si128(is_unknown, _mm_add_epi32(code, _mm_set1_epi32(1)));
}

/* Returns the low bytes of 16 words. */
static __m128i low_bytes(const __m128i words[4])
{
    const __m128i mask = _mm_set1_epi32(UINT8_MAX);
    return _mm_packus_epi16(
        _mm_packs_epi32(_mm_and_si128(words[0], mask), _mm_and_si128(words[1], mask)),
        _mm_packs_epi32(_mm_and_si128(words[2], mask), _mm_and_si128(words[3], mask)));
}

/* The same as encode() of short values without a shift: their codes are below LARGEST_CODE. */
static void encode_short(const int64_t *cells, int is_rounded, struct by_column *out)
{
    const __m128i half = _mm_set1_epi32(is_rounded ? 1 << (ROUNDED_BITS - 1) : 0);
    const __m128i mask = _mm_set1_epi32(is_rounded ? -(1 << ROUNDED_BITS) : -1);
    for (size_t i = 0; i < PW_CODES_CELLS; i += 16) {
        __m128i codes[4], upper[4];
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++) {
            codes[k] = codes_of_four(cells + i + 4 * k, half, mask);
            upper[k] = _mm_srli_epi32(codes[k], 8);
        }
        _mm_storeu_si128((__m128i *)(void *)(out->high + i), low_bytes(upper));
        _mm_storeu_si128((__m128i *)(void *)(out->low + i), low_bytes(codes));
    }
}

enum { SQUARE = 16 };

/* Exchanges rows and columns of 16 x 16 bytes. Four times, the bytes of the vectors i and i + 8 are
 * interleaved, as in shuffling cards. */
static void transpose_square(const uint8_t *from, uint8_t *to)
{
    __m128i a[SQUARE], b[SQUARE];
#pragma GCC unroll 16
    for (size_t i = 0; i < SQUARE; i++)
        a[i] = load(from + i * PW_CODES_RANKS);
#pragma GCC unroll 4
    for (size_t round = 0; round < 4; round++) {
        const __m128i *in = round % 2 ? b : a;
        __m128i *out = round % 2 ? a : b;
#pragma GCC unroll 8
        for (size_t i = 0; i < SQUARE / 2; i++) {
            out[2 * i] = _mm_unpacklo_epi8(in[i], in[i + SQUARE / 2]);
            out[2 * i + 1] = _mm_unpackhi_epi8(in[i], in[i + SQUARE / 2]);
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < SQUARE; i++)
        _mm_storeu_si128((__m128i *)(void *)(to + i * PW_CODES_COLUMNS), a[i]);
}
#else
static void encode_short(const int64_t *cells, int is_rounded, struct by_column *out)
{
    const struct pw_codes_form form = {0, is_rounded, 1};
    encode(cells, &form, out);
}

enum { SQUARE = 8 };

static void transpose_square(const uint8_t *from, uint8_t *to)
{
    for (size_t k = 0; k < SQUARE; k++)
        for (size_t r = 0; r < SQUARE; r++)
            to[r * PW_CODES_COLUMNS + k] = from[k * PW_CODES_RANKS + r];
}
#endif

static void transpose(const uint8_t *from, uint8_t to[PW_CODES_RANKS][PW_CODES_COLUMNS])
{
    for (size_t k = 0; k < PW_CODES_COLUMNS; k += SQUARE)
        for (size_t r = 0; r < PW_CODES_RANKS; r += SQUARE)
            transpose_square(from + k * PW_CODES_RANKS + r, &to[r][k]);
}

void pw_codes_of_cells(const int64_t *cells, const struct pw_codes_form *form,
                       struct pw_codes_bytes *out)
{
    struct by_column bytes;
    if (form->is_short && form->shift == 0)
        encode_short(cells, form->is_rounded, &bytes);
    else
        encode(cells, form, &bytes);
    transpose(bytes.high, out->high);
    transpose(bytes.low, out->low);
}

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

static const struct pw_cells *grid_of(const struct pw_cluster *c, int table)
{
    return table == PW_TABLE_c_step_trace    ? &c->step_trace
           : table == PW_TABLE_c_phase_trace ? &c->phase_trace
                                             : &c->gpu_trace;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Cells that are filled and encoded together. */
enum { TILE_RANKS = PW_CODES_RANKS, TILE_COLUMNS = PW_CODES_COLUMNS };

struct tile {
    size_t rank, ranks, column, columns; /* the first ones, and how many */
};

/* The mean of one value below 2^EXACT_BITS is the value. */
enum { EXACT_BITS = 52 };

/* Returns the largest of `n` values and `most`. */
static int64_t largest(const int64_t *values, size_t n, int64_t most)
{
    for (size_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Fills the cells of one column with the means of the known values of its steps, -1 when none is
 * known. Returns the largest value. */
static int64_t fill_means(const struct pw_columns *columns, const struct pw_cells *grid,
                          size_t offset, const struct tile *tile, int64_t *cells)
{
    int64_t values[PW_CODES_CELLS];
    struct pw_mean means[TILE_RANKS] = {{0}};
    int64_t most = INT64_MIN;
    const size_t end = column_end(columns, tile->column), together = PW_CODES_CELLS / tile->ranks;
    for (size_t s = tile->column * columns->block; s < end; s += together) {
        const struct pw_cells_area area = {s, least(end - s, together), tile->rank, tile->ranks};
        const size_t n = area.steps * area.ranks;
        pw_cells_read(grid, offset, &area, values);
        most = largest(values, n, most);
        for (size_t i = 0; i < n; i += area.ranks)
            for (size_t r = 0; r < area.ranks; r++)
                pw_mean_add(&means[r], values[i + r]);
    }
    for (size_t r = 0; r < tile->ranks; r++)
        cells[r] = pw_mean_value(&means[r]);
    return most;
}

/* Fills cells[tile->columns][tile->ranks] with the means of the known values. Negative: not known.
 * Returns the largest value. */
static int64_t fill_tile(const struct pw_columns *columns, const struct pw_cells *grid,
                         size_t offset, const struct tile *tile, int64_t *cells)
{
    int64_t most = INT64_MIN;
    if (columns->block == 1 && pw_cells_bits(grid, offset) <= EXACT_BITS) {
        const struct pw_cells_area area = {tile->column, tile->columns, tile->rank, tile->ranks};
        pw_cells_read(grid, offset, &area, cells);
        return largest(cells, area.steps * area.ranks, most);
    }
    for (size_t k = 0; k < tile->columns; k++) {
        const struct tile one = {tile->rank, tile->ranks, tile->column + k, 1};
        const int64_t found = fill_means(columns, grid, offset, &one, cells + k * tile->ranks);
        most = found > most ? found : most;
    }
    return most;
}

void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, size_t column,
                     int64_t *cells)
{
    const size_t nranks = columns->figures->nranks;
    const struct pw_cells *grid = grid_of(columns->figures->cluster, table);
    const int is_known = pw_cells_is_known(grid);
    for (size_t r = 0; r < nranks && is_known; r += TILE_RANKS) {
        const struct tile tile = {r, least(nranks - r, TILE_RANKS), column, 1};
        fill_tile(columns, grid, offset, &tile, cells + r);
    }
    for (size_t r = 0; r < nranks; r++)
        cells[r] = !is_known || cells[r] < 0 ? -1 : cells[r];
}

/* The plane of a field: the high bytes of its codes, then the low bytes. High bytes are similar,
 * and compress well together. */
struct plane_bytes {
    const struct pw_cells *grid;
    size_t offset; /* of the field */
    size_t size;   /* cells */
    int shift;
    uint8_t *bytes;
};

/* Moves the cells of a tile of fewer ranks to where they are in a whole tile. */
static void spread(int64_t *cells, const struct tile *tile)
{
    for (size_t k = tile->columns; k-- > 0;)
        memmove(cells + k * TILE_RANKS, cells + k * tile->ranks, tile->ranks * sizeof(*cells));
}

/* Encodes the tile's cells. Returns the largest value. */
static int64_t encode_tile(const struct pw_columns *columns, const struct plane_bytes *plane,
                           const struct tile *tile)
{
    int64_t cells[PW_CODES_CELLS] = {0};
    struct pw_codes_bytes codes;
    const struct pw_codes_form form = {plane->shift, plane->size > PW_PLANES_EXACT_CELLS,
                                       pw_cells_bits(plane->grid, plane->offset) <=
                                           PW_CODES_SHORT_BITS};
    const int64_t most = fill_tile(columns, plane->grid, plane->offset, tile, cells);
    if (tile->ranks < TILE_RANKS)
        spread(cells, tile);
    pw_codes_of_cells(cells, &form, &codes);
    uint8_t *high = plane->bytes + tile->rank * columns->count + tile->column;
    uint8_t *low = high + plane->size;
    for (size_t r = 0; r < tile->ranks; r++) {
        memcpy(high + r * columns->count, codes.high[r], tile->columns);
        memcpy(low + r * columns->count, codes.low[r], tile->columns);
    }
    return most;
}

/* Returns the largest value. */
static int64_t encode_plane(const struct pw_columns *columns, const struct plane_bytes *plane)
{
    const size_t nranks = columns->figures->nranks;
    int64_t most = INT64_MIN;
    for (size_t r = 0; r < nranks; r += TILE_RANKS)
        for (size_t k = 0; k < columns->count; k += TILE_COLUMNS) {
            const struct tile tile = {r, least(nranks - r, TILE_RANKS), k,
                                      least(columns->count - k, TILE_COLUMNS)};
            const int64_t found = encode_tile(columns, plane, &tile);
            most = found > most ? found : most;
        }
    return most;
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

/* The sums over the ranks of some steps. */
struct step_sums {
    size_t first, n;
    struct pw_mean of[MEANS][PW_CELLS_STEPS];
};

static void sum_steps(const struct pw_figures *figures, size_t first, struct step_sums *out)
{
    const size_t n = least(figures->cluster->nstep_rows - first, PW_CELLS_STEPS);
    *out = (struct step_sums){.first = first, .n = n};
    for (size_t i = 0; i < MEANS && figures->nranks; i++)
        pw_cellmeans_of_steps(&figures->cluster->step_trace, means[i].offset, first, n, out->of[i]);
}

/* Adds the means over the ranks in a step. Steps are added in order; `sums` has those of the next
 * ones. */
static void add_means(const struct pw_figures *figures, size_t step, struct step_sums *sums,
                      struct pw_mean to[MEANS])
{
    if (step >= sums->first + sums->n)
        sum_steps(figures, step, sums);
    for (size_t i = 0; i < MEANS; i++)
        pw_mean_add(&to[i], pw_mean_value(&sums->of[i][step - sums->first]));
}

static int append_steps(const struct pw_columns *columns, size_t k, struct step_sums *known,
                        json_t *object)
{
    const struct pw_row_c_step *steps = columns->figures->cluster->steps;
    size_t begin = k * columns->block, end = column_end(columns, k);
    struct pw_mean duration = {0}, sums[MEANS] = {{0}};
    for (size_t s = begin; s < end; s++) {
        pw_mean_add(&duration, steps[s].duration_ns);
        add_means(columns->figures, s, known, sums);
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
    int64_t quantiles[2] = {-1, -1};
    if (n)
        pw_select_quantiles_i64(own, n, (const double[]){0.5, 0.95}, 2, quantiles);
    int bad = append(object, "own_p50_ns", quantiles[0]);
    bad |= append(object, "own_p95_ns", quantiles[1]);
    return bad | append(object, "own_max_ns", most);
}

json_t *pw_columns_json(const struct pw_columns *columns)
{
    struct step_sums sums = {.n = 0};
    int64_t *own = malloc((columns->figures->nranks + 1) * sizeof(*own));
    json_t *object = json_object();
    int bad = !own || !object;
    if (!bad)
        bad = json_object_set_new(object, "block", json_integer((json_int_t)columns->block));
    for (size_t k = 0; k < columns->count && !bad; k++)
        bad = append_steps(columns, k, &sums, object) | append_spread(columns, k, own, object);
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

/* Writes a plane, unless it has no value above 0. Encodes it without a shift, which few runs need,
 * and once more when values are too large. */
static int write_plane(FILE *out, const struct pw_columns *columns, const char *name,
                       struct plane_bytes *plane)
{
    plane->shift = 0;
    const int64_t most = encode_plane(columns, plane);
    if (most <= 0)
        return 0;
    plane->shift = shift_for(most);
    if (plane->shift)
        encode_plane(columns, plane);
    fprintf(out, "<script type=\"text/plain\" id=\"plane-%s\" data-shift=\"%d\">", name,
            plane->shift);
    const int err = pw_packed_write(out, plane->bytes, 2 * plane->size, PW_PACKED_PLANE);
    fputs("</script>\n", out);
    return err;
}

int pw_planes_write(FILE *out, const struct pw_columns *columns)
{
    const struct pw_cluster *c = columns->figures->cluster;
    struct plane_bytes plane = {.size = columns->figures->nranks * columns->count};
    int err = 0;
    plane.bytes = malloc(2 * plane.size + 1);
    if (!plane.bytes)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof(planes) / sizeof(planes[0]) && !err; i++) {
        plane.grid = grid_of(c, planes[i].table);
        plane.offset = planes[i].offset;
        if (pw_cells_is_known(plane.grid))
            err = write_plane(out, columns, planes[i].name, &plane);
    }
    free(plane.bytes);
    return err;
}
