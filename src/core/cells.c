/* Chunks are kept as the planes of bytes in which they are stored, without the planes that only
 * repeat the sign; see cells.h. */
#include "core/cells.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/tables.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { MOST_FIELDS = 16, WORD = sizeof(int64_t), AT_ONCE = 16 };

/* The planes of a chunk's fields, one after the other: `width` of each. */
struct chunk {
    size_t at; /* in `bytes` */
    uint8_t widths[MOST_FIELDS];
};

struct pw_cells_chunks {
    size_t steps, ranks; /* of a chunk */
    size_t across;       /* chunks from the first rank to the last */
    size_t nfields;
    struct chunk *chunks;
    char *bytes; /* `used` bytes, and AT_ONCE that may be read */
    size_t used;
    uint8_t widest[MOST_FIELDS];
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct pw_cells pw_cells_of_rows(int table, void *rows, size_t nsteps, size_t nranks)
{
    return (struct pw_cells){table, nsteps, nranks, rows, NULL};
}

static int is_of_words(const struct pw_table *table)
{
    int is = table->nfields <= MOST_FIELDS && table->row_size == table->nfields * WORD;
    for (size_t i = 0; i < table->nfields; i++)
        is &= table->fields()[i].type == PW_F_I64;
    return is;
}

int pw_cells_init(struct pw_cells *cells, int table, const size_t dims[2], const size_t chunk[2])
{
    const struct pw_table *info = pw_table_borrow(table);
    if (!is_of_words(info) || !chunk[0] || !chunk[1] || !dims[0] || !dims[1])
        return -EINVAL;
    struct pw_cells_chunks *made = calloc(1, sizeof(*made));
    *cells = (struct pw_cells){table, dims[0], dims[1], NULL, made};
    if (!made)
        return -ENOMEM;
    made->steps = chunk[0];
    made->ranks = chunk[1];
    made->nfields = info->nfields;
    made->across = (dims[1] - 1) / chunk[1] + 1;
    made->chunks = calloc(((dims[0] - 1) / chunk[0] + 1) * made->across, sizeof(*made->chunks));
    made->bytes = malloc(dims[0] * dims[1] * info->row_size + AT_ONCE);
    if (made->chunks && made->bytes)
        return 0;
    pw_cells_fini(cells);
    return -ENOMEM;
}

void pw_cells_fini(struct pw_cells *cells)
{
    if (cells->chunks) {
        free(cells->chunks->chunks);
        free(cells->chunks->bytes);
    }
    free(cells->chunks);
    free(cells->rows);
    *cells = (struct pw_cells){.rows = NULL};
}

/* ---- making chunks ---- */

/* Returns whether the bytes of plane `upper` only repeat the signs of those of `lower`. */
static int is_sign(const char *upper, const char *lower, size_t n)
{
    size_t i = 0;
#ifdef __SSE2__
    int same = 0xffff;
    for (; i + AT_ONCE <= n && same == 0xffff; i += AT_ONCE) {
        const __m128i u = _mm_loadu_si128((const __m128i *)(const void *)(upper + i));
        const __m128i l = _mm_loadu_si128((const __m128i *)(const void *)(lower + i));
        same = _mm_movemask_epi8(_mm_cmpeq_epi8(u, _mm_cmpgt_epi8(_mm_setzero_si128(), l)));
    }
    if (same != 0xffff)
        return 0;
#endif
    for (; i < n; i++)
        if (upper[i] != ((signed char)lower[i] < 0 ? (char)-1 : 0))
            return 0;
    return 1;
}

static int is_zero(const char *plane, size_t n)
{
    return plane[0] == 0 && memcmp(plane, plane + 1, n - 1) == 0;
}

/* Puts the planes of a field, of `n` bytes each and `stride` bytes apart. Returns how many. */
static uint8_t put_field(struct pw_cells_chunks *chunks, const char *planes, size_t stride,
                         size_t n)
{
    uint8_t width = WORD;
    while (width > 1 && is_sign(planes + (width - 1) * stride, planes + (width - 2) * stride, n))
        width--;
    if (width == 1 && is_zero(planes, n))
        width = 0;
    for (size_t k = 0; k < width; k++, chunks->used += n)
        memmove(chunks->bytes + chunks->used, planes + k * stride, n); /* may be there already */
    return width;
}

/* The part of a chunk that is in the table. */
static struct pw_cells_area area_of(const struct pw_cells *cells, size_t step, size_t rank)
{
    const struct pw_cells_chunks *chunks = cells->chunks;
    return (struct pw_cells_area){step, least(chunks->steps, cells->nsteps - step), rank,
                                  least(chunks->ranks, cells->nranks - rank)};
}

/* Moves the cells of a plane that are in the table to its begin. */
static void compact(const struct pw_cells_chunks *chunks, const struct pw_cells_area *area,
                    const char *from, char *to)
{
    for (size_t s = 0; s < area->steps; s++)
        memcpy(to + s * area->ranks, from + s * chunks->ranks, area->ranks);
}

void pw_cells_put(struct pw_cells *cells, size_t step, size_t rank, const char *planes)
{
    struct pw_cells_chunks *chunks = cells->chunks;
    const size_t whole = chunks->steps * chunks->ranks;
    const struct pw_cells_area area = area_of(cells, step, rank);
    const size_t n = area.steps * area.ranks;
    struct chunk *chunk =
        &chunks->chunks[step / chunks->steps * chunks->across + rank / chunks->ranks];
    chunk->at = chunks->used;
    for (size_t i = 0; i < chunks->nfields; i++) {
        const char *from = planes + i * WORD * whole;
        size_t stride = whole;
        if (area.ranks < chunks->ranks) {
            /* behind the kept bytes, where there is room for the whole field */
            char *room = chunks->bytes + chunks->used;
            for (size_t k = 0; k < WORD; k++)
                compact(chunks, &area, from + k * whole, room + k * n);
            from = room;
            stride = n;
        }
        const uint8_t width = put_field(chunks, from, stride, n);
        chunk->widths[i] = width;
        chunks->widest[i] = width > chunks->widest[i] ? width : chunks->widest[i];
    }
}

void pw_cells_shrink(struct pw_cells *cells)
{
    char *fewer = realloc(cells->chunks->bytes, cells->chunks->used + AT_ONCE);
    cells->chunks->bytes = fewer ? fewer : cells->chunks->bytes;
}

/* ---- reading ---- */

/* Planes of a field: `width` planes of bytes that are `stride` bytes apart. */
struct planes {
    const char *bytes;
    size_t stride;
    unsigned width;
};

static int64_t value_at(const struct planes *planes, size_t i)
{
    uint64_t value = 0;
    for (size_t k = 0; k < planes->width; k++)
        value |= (uint64_t)(uint8_t)planes->bytes[k * planes->stride + i] << 8 * k;
    if (planes->width == 0 || planes->width == WORD)
        return (int64_t)value;
    const uint64_t sign = UINT64_C(1) << (8 * planes->width - 1);
    return (int64_t)((value ^ sign) - sign);
}

#ifdef __SSE2__
static void store_four(__m128i low, __m128i high, int64_t *out)
{
    _mm_storeu_si128((__m128i *)(void *)out, _mm_unpacklo_epi32(low, high));
    _mm_storeu_si128((__m128i *)(void *)(out + 2), _mm_unpackhi_epi32(low, high));
}

/* Stores eight values whose bytes are in pairs[4]: the first two bytes of each, and so on. */
static void store_eight(const __m128i pairs[4], int64_t *out)
{
    store_four(_mm_unpacklo_epi16(pairs[0], pairs[1]), _mm_unpacklo_epi16(pairs[2], pairs[3]), out);
    store_four(_mm_unpackhi_epi16(pairs[0], pairs[1]), _mm_unpackhi_epi16(pairs[2], pairs[3]),
               out + 4);
}

static __m128i load(const struct planes *planes, size_t k, size_t i)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(planes->bytes + k * planes->stride + i));
}

static __m128i sign_of(__m128i last)
{
    return _mm_cmpgt_epi8(_mm_setzero_si128(), last);
}

/* Stores four values from their lower halves. */
static void store_short(__m128i low, int64_t *out)
{
    store_four(low, _mm_cmpgt_epi32(_mm_setzero_si128(), low), out);
}

/* Stores AT_ONCE values of three or four bytes. */
static void unpack_short(const struct planes *planes, size_t i, int64_t *out)
{
    const __m128i third = load(planes, 2, i);
    const __m128i fourth = planes->width == 4 ? load(planes, 3, i) : sign_of(third);
    const __m128i first = load(planes, 0, i), second = load(planes, 1, i);
    __m128i low = _mm_unpacklo_epi8(first, second), high = _mm_unpacklo_epi8(third, fourth);
    store_short(_mm_unpacklo_epi16(low, high), out);
    store_short(_mm_unpackhi_epi16(low, high), out + 4);
    low = _mm_unpackhi_epi8(first, second);
    high = _mm_unpackhi_epi8(third, fourth);
    store_short(_mm_unpacklo_epi16(low, high), out + 8);
    store_short(_mm_unpackhi_epi16(low, high), out + 12);
}

/* Stores AT_ONCE values from value i on. */
static void unpack_some(const struct planes *planes, size_t i, int64_t *out)
{
    __m128i bytes[WORD], first[WORD / 2], second[WORD / 2];
    __m128i last = _mm_setzero_si128();
    for (size_t k = 0; k < planes->width; k++)
        bytes[k] = last = load(planes, k, i);
    const __m128i sign = sign_of(last);
    for (size_t k = planes->width; k < WORD; k++)
        bytes[k] = sign;
    for (size_t k = 0; k < WORD / 2; k++) {
        first[k] = _mm_unpacklo_epi8(bytes[2 * k], bytes[2 * k + 1]);
        second[k] = _mm_unpackhi_epi8(bytes[2 * k], bytes[2 * k + 1]);
    }
    store_eight(first, out);
    store_eight(second, out + 8);
}
#else
static void unpack_some(const struct planes *planes, size_t i, int64_t *out)
{
    for (size_t k = 0; k < AT_ONCE; k++)
        out[k] = value_at(planes, i + k);
}

static void unpack_short(const struct planes *planes, size_t i, int64_t *out)
{
    unpack_some(planes, i, out);
}
#endif

/* Reads values [first, first + n). */
static void unpack(const struct planes *planes, size_t first, size_t n, int64_t *out)
{
    const int is_short = planes->width == 3 || planes->width == 4;
    size_t i = 0;
    for (; is_short && i + AT_ONCE <= n; i += AT_ONCE)
        unpack_short(planes, first + i, out + i);
    for (; i + AT_ONCE <= n; i += AT_ONCE)
        unpack_some(planes, first + i, out + i);
    for (; i < n; i++)
        out[i] = value_at(planes, first + i);
}

/* The planes of a field of the chunk that begins at `area`. */
static struct planes planes_of(const struct pw_cells *cells, const struct pw_cells_area *area,
                               size_t field)
{
    const struct pw_cells_chunks *chunks = cells->chunks;
    const struct chunk *chunk =
        &chunks->chunks[area->step / chunks->steps * chunks->across + area->rank / chunks->ranks];
    const size_t n = area->steps * area->ranks;
    size_t before = 0;
    for (size_t i = 0; i < field; i++)
        before += chunk->widths[i];
    return (struct planes){chunks->bytes + chunk->at + before * n, n, chunk->widths[field]};
}

/* Reads what a chunk and the wanted area have in common. */
static void read_chunk(const struct pw_cells *cells, size_t field,
                       const struct pw_cells_area *chunk, const struct pw_cells_area *wanted,
                       int64_t *out)
{
    const struct planes planes = planes_of(cells, chunk, field);
    const size_t left = wanted->rank > chunk->rank ? wanted->rank : chunk->rank;
    const size_t right = least(wanted->rank + wanted->ranks, chunk->rank + chunk->ranks);
    const size_t top = wanted->step > chunk->step ? wanted->step : chunk->step;
    const size_t end = least(wanted->step + wanted->steps, chunk->step + chunk->steps);
    out += (top - wanted->step) * wanted->ranks + left - wanted->rank;
    const size_t first = (top - chunk->step) * chunk->ranks + left - chunk->rank;
    if (right - left == chunk->ranks && chunk->ranks == wanted->ranks) {
        unpack(&planes, first, (end - top) * chunk->ranks, out);
        return;
    }
    for (size_t s = 0; s < end - top; s++)
        unpack(&planes, first + s * chunk->ranks, right - left, out + s * wanted->ranks);
}

static void read_chunks(const struct pw_cells *cells, size_t field,
                        const struct pw_cells_area *area, int64_t *out)
{
    const size_t steps = cells->chunks->steps, ranks = cells->chunks->ranks;
    for (size_t s = area->step - area->step % steps; s < area->step + area->steps; s += steps)
        for (size_t r = area->rank - area->rank % ranks; r < area->rank + area->ranks; r += ranks) {
            const struct pw_cells_area chunk = area_of(cells, s, r);
            read_chunk(cells, field, &chunk, area, out);
        }
}

void pw_cells_read(const struct pw_cells *cells, size_t offset, const struct pw_cells_area *area,
                   int64_t *out)
{
    if (cells->chunks) {
        read_chunks(cells, offset / WORD, area, out);
        return;
    }
    const size_t row_size = pw_table_borrow(cells->table)->row_size;
    for (size_t s = 0; s < area->steps; s++) {
        const char *from = (const char *)cells->rows +
                           ((area->step + s) * cells->nranks + area->rank) * row_size + offset;
        for (size_t r = 0; r < area->ranks; r++, from += row_size)
            memcpy(out++, from, sizeof(*out));
    }
}

int64_t pw_cells_value(const struct pw_cells *cells, size_t offset, size_t step, size_t rank)
{
    const struct pw_cells_area area = {step, 1, rank, 1};
    int64_t value;
    pw_cells_read(cells, offset, &area, &value);
    return value;
}

/* As pw_cells_rows(), for at most PW_CELLS_STEPS steps and PW_CELLS_RANKS ranks of the area. */
static void read_rows(const struct pw_cells *cells, const struct pw_cells_area *part,
                      const struct pw_cells_area *area, char *rows)
{
    const struct pw_table *table = pw_table_borrow(cells->table);
    int64_t values[PW_CELLS_STEPS * PW_CELLS_RANKS];
    rows += ((part->step - area->step) * area->ranks + part->rank - area->rank) * table->row_size;
    for (size_t i = 0; i < table->nfields; i++) {
        const size_t offset = table->fields()[i].offset;
        pw_cells_read(cells, offset, part, values);
        for (size_t k = 0; k < part->steps * part->ranks; k++) {
            const size_t row = k / part->ranks * area->ranks + k % part->ranks;
            memcpy(rows + row * table->row_size + offset, &values[k], sizeof(values[k]));
        }
    }
}

void pw_cells_rows(const struct pw_cells *cells, const struct pw_cells_area *area, void *rows)
{
    for (size_t s = 0; s < area->steps; s += PW_CELLS_STEPS)
        for (size_t r = 0; r < area->ranks; r += PW_CELLS_RANKS) {
            const struct pw_cells_area part = {
                area->step + s, least(area->steps - s, PW_CELLS_STEPS), area->rank + r,
                least(area->ranks - r, PW_CELLS_RANKS)};
            read_rows(cells, &part, area, rows);
        }
}

int pw_cells_bits(const struct pw_cells *cells, size_t offset)
{
    const unsigned width = cells->chunks ? cells->chunks->widest[offset / WORD] : WORD;
    return width ? 8 * (int)width - 1 : 0;
}

int pw_cells_keep_steps(struct pw_cells *cells, const size_t *steps, size_t n)
{
    const size_t size = cells->nranks * pw_table_borrow(cells->table)->row_size;
    if (!pw_cells_is_known(cells))
        return 0;
    char *rows = cells->rows ? cells->rows : malloc(n * size + 1);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct pw_cells_area area = {steps[i], 1, 0, cells->nranks};
        if (cells->rows)
            memmove(rows + i * size, rows + steps[i] * size, size);
        else
            pw_cells_rows(cells, &area, rows + i * size);
    }
    cells->rows = NULL; /* `rows` may be these */
    struct pw_cells kept = pw_cells_of_rows(cells->table, rows, n, cells->nranks);
    pw_cells_fini(cells);
    *cells = kept;
    return 0;
}
