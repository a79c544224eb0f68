/* Packs, shuffles and compresses rows; see rowform.h. The shuffle filter transposes bytes: here 16
 * rows at a time when the CPU has SSE2. */
#include "core/h5/rowform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/tables.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

int pw_row_layout_make(int table, struct pw_row_layout *out)
{
    const struct pw_table *info = pw_table_borrow(table);
    *out = (struct pw_row_layout){.row_size = info->row_size};
    for (size_t i = 0; i < info->nfields; i++) {
        const struct pw_field *field = &info->fields()[i];
        struct pw_row_run *last = out->nruns ? &out->runs[out->nruns - 1] : NULL;
        if (last && last->to + last->size == field->offset)
            last->size += field->size;
        else if (out->nruns == PW_MOST_RUNS)
            return -E2BIG;
        else
            out->runs[out->nruns++] =
                (struct pw_row_run){out->packed_size, field->offset, field->size};
        out->packed_size += field->size;
    }
    return 0;
}

void pw_rows_unpack(const struct pw_row_layout *layout, const char *packed, size_t first,
                    size_t count, char *rows)
{
    for (size_t i = 0; i < count; i++) {
        const char *from = packed + (first + i) * layout->packed_size;
        char *to = rows + i * layout->row_size;
        for (size_t k = 0; k < layout->nruns; k++)
            memcpy(to + layout->runs[k].to, from + layout->runs[k].from, layout->runs[k].size);
    }
}

void pw_rows_pack(const struct pw_row_layout *layout, const char *rows, size_t count, char *packed)
{
    for (size_t i = 0; i < count; i++) {
        const char *from = rows + i * layout->row_size;
        char *to = packed + i * layout->packed_size;
        for (size_t k = 0; k < layout->nruns; k++)
            memcpy(to + layout->runs[k].from, from + layout->runs[k].to, layout->runs[k].size);
    }
}

#ifdef __SSE2__
enum { AT_ONCE = 16 };

static __m128i load(const char *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

/* Stores eight bytes of each of two rows. */
static void store_two(__m128i two, char *to, size_t row_size)
{
    _mm_storel_epi64((__m128i *)(void *)to, two);
    _mm_storel_epi64((__m128i *)(void *)(to + row_size), _mm_unpackhi_epi64(two, two));
}

/* Stores eight bytes of each of eight rows from eight planes, which are interleaved in pairs. */
static void store_eight(const __m128i pairs[4], char *to, size_t row_size)
{
    __m128i low = _mm_unpacklo_epi16(pairs[0], pairs[1]);
    __m128i high = _mm_unpacklo_epi16(pairs[2], pairs[3]);
    store_two(_mm_unpacklo_epi32(low, high), to, row_size);
    store_two(_mm_unpackhi_epi32(low, high), to + 2 * row_size, row_size);
    low = _mm_unpackhi_epi16(pairs[0], pairs[1]);
    high = _mm_unpackhi_epi16(pairs[2], pairs[3]);
    store_two(_mm_unpacklo_epi32(low, high), to + 4 * row_size, row_size);
    store_two(_mm_unpackhi_epi32(low, high), to + 6 * row_size, row_size);
}

/* Stores eight bytes of each of 16 rows from eight planes. */
static void rows_of_planes(const char *planes, size_t stride, char *to, size_t row_size)
{
    __m128i p[8];
    for (size_t k = 0; k < 8; k++)
        p[k] = load(planes + k * stride);
    __m128i first[4], second[4]; /* rows 0 to 7, and 8 to 15 */
    for (size_t k = 0; k < 4; k++) {
        first[k] = _mm_unpacklo_epi8(p[2 * k], p[2 * k + 1]);
        second[k] = _mm_unpackhi_epi8(p[2 * k], p[2 * k + 1]);
    }
    store_eight(first, to, row_size);
    store_eight(second, to + 8 * row_size, row_size);
}

/* Interleaves the bytes of vector i and vector i + n / 2, for all i below n / 2. */
static inline void interleave(const __m128i *from, size_t n, __m128i *low, __m128i *high)
{
#pragma GCC unroll 8
    for (size_t i = 0; i < n / 2; i++) {
        low[i] = _mm_unpacklo_epi8(from[i], from[i + n / 2]);
        high[i] = _mm_unpackhi_epi8(from[i], from[i + n / 2]);
    }
}

static void store_planes(__m128i low, __m128i high, char *planes, size_t stride)
{
    _mm_storeu_si128((__m128i *)(void *)planes, _mm_unpacklo_epi8(low, high));
    _mm_storeu_si128((__m128i *)(void *)(planes + stride), _mm_unpackhi_epi8(low, high));
}

/* Stores eight planes from eight bytes of each of 16 rows. */
static void planes_of_rows(const char *from, size_t row_size, char *planes, size_t stride)
{
    __m128i rows[16], eighths[8], unused[8], halves[2][4];
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++)
        rows[i] = _mm_loadl_epi64((const __m128i *)(const void *)(from + i * row_size));
    interleave(rows, 16, eighths, unused); /* the upper eight bytes of a row are not loaded */
    interleave(eighths, 8, halves[0], halves[1]);
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; h++) {
        __m128i low[2], high[2];
        interleave(halves[h], 4, low, high);
        store_planes(low[0], low[1], planes + 4 * h * stride, stride);
        store_planes(high[0], high[1], planes + (4 * h + 2) * stride, stride);
    }
}
#else
enum { AT_ONCE = 8 };

static void rows_of_planes(const char *planes, size_t stride, char *to, size_t row_size)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        for (size_t k = 0; k < 8; k++)
            to[i * row_size + k] = planes[k * stride + i];
}

static void planes_of_rows(const char *from, size_t row_size, char *planes, size_t stride)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        for (size_t k = 0; k < 8; k++)
            planes[k * stride + i] = from[i * row_size + k];
}
#endif

/* Copies `size` bytes of every row from `size` planes. */
static void gather(struct pw_row_planes planes, size_t size, size_t count, char *to,
                   size_t row_size)
{
    const size_t stride = planes.rows;
    size_t done = 0;
    for (; size >= 8; size -= 8, done += 8) {
        const char *from = planes.bytes + done * stride;
        size_t i = 0;
        for (; i + AT_ONCE <= count; i += AT_ONCE)
            rows_of_planes(from + i, stride, to + i * row_size + done, row_size);
        for (; i < count; i++)
            for (size_t k = 0; k < 8; k++)
                to[i * row_size + done + k] = from[k * stride + i];
    }
    for (; size; size--, done++)
        for (size_t i = 0; i < count; i++)
            to[i * row_size + done] = planes.bytes[done * stride + i];
}

void pw_rows_unshuffle(const struct pw_row_layout *layout, struct pw_row_planes planes,
                       size_t first, size_t count, char *rows)
{
    /* Rows that are unshuffled together: few enough to stay in the cache while all their fields are
     * filled. */
    enum { ROWS = 256 };
    for (size_t at = 0; at < count; at += ROWS) {
        size_t n = count - at < ROWS ? count - at : ROWS;
        for (size_t k = 0; k < layout->nruns; k++) {
            const struct pw_row_run *run = &layout->runs[k];
            const struct pw_row_planes part = {planes.bytes + run->from * planes.rows + first + at,
                                               planes.rows};
            gather(part, run->size, n, rows + at * layout->row_size + run->to, layout->row_size);
        }
    }
}

/* Planes that are written; `rows` is their distance. */
struct target {
    char *bytes;
    size_t rows;
};

#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))

/* Makes 16 planes from 16 bytes of each of 32 rows. Four times, the bytes of the vectors i and i +
 * 8 are interleaved: this exchanges rows and bytes, as in shuffling cards. The lower half of a
 * vector has the rows 0 to 15, the upper half the others. */
AVX2 static inline void planes_of_32_rows(const char *from, size_t row_size, __m256i planes[16])
{
    __m256i other[16];
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++)
        planes[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load(from + i * row_size)),
                                            load(from + (i + 16) * row_size), 1);
#pragma GCC unroll 4
    for (size_t round = 0; round < 4; round++) {
        const __m256i *in = round % 2 ? other : planes;
        __m256i *out = round % 2 ? planes : other;
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            out[2 * i] = _mm256_unpacklo_epi8(in[i], in[i + 8]);
            out[2 * i + 1] = _mm256_unpackhi_epi8(in[i], in[i + 8]);
        }
    }
}

/* Stores 16 planes from 16 bytes of each of 64 rows. Whole cache lines: planes are 8192 bytes
 * apart, so that the cache holds lines of only eight of them. */
AVX2 static void planes_of_64_rows(const char *from, size_t row_size, struct target to)
{
    __m256i first[16], second[16];
    planes_of_32_rows(from, row_size, first);
    planes_of_32_rows(from + 32 * row_size, row_size, second);
    for (size_t k = 0; k < 16; k++) {
        _mm256_storeu_si256((__m256i *)(void *)(to.bytes + k * to.rows), first[k]);
        _mm256_storeu_si256((__m256i *)(void *)(to.bytes + k * to.rows + 32), second[k]);
    }
}

/* Copies 16 bytes of every row to 16 planes. Returns for how many rows: 0 where the processor
 * cannot. */
static size_t scatter_fast(const char *rows, size_t row_size, size_t count, struct target to)
{
    size_t i = 0;
    if (__builtin_cpu_supports("avx2"))
        for (; i + 64 <= count; i += 64)
            planes_of_64_rows(rows + i * row_size, row_size,
                              (struct target){to.bytes + i, to.rows});
    return i;
}
#else
static size_t scatter_fast(const char *rows, size_t row_size, size_t count, struct target to)
{
    (void)rows, (void)row_size, (void)count, (void)to;
    return 0;
}
#endif

/* Copies eight bytes of rows [i, count) to eight planes. */
static void scatter_eight(const char *rows, size_t row_size, size_t i, size_t count,
                          struct target to)
{
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        planes_of_rows(rows + i * row_size, row_size, to.bytes + i, to.rows);
    for (; i < count; i++)
        for (size_t k = 0; k < 8; k++)
            to.bytes[k * to.rows + i] = rows[i * row_size + k];
}

/* Copies 16 bytes of every row to 16 planes. */
static void scatter_16(const char *rows, size_t row_size, size_t count, struct target to)
{
    const size_t done = scatter_fast(rows, row_size, count, to);
    if (done == count)
        return;
    scatter_eight(rows, row_size, done, count, to);
    scatter_eight(rows + 8, row_size, done, count,
                  (struct target){to.bytes + 8 * to.rows, to.rows});
}

/* Copies one byte of every row to a plane. */
static void scatter_one(const char *rows, size_t row_size, size_t count, struct target to)
{
    for (size_t i = 0; i < count; i++)
        to.bytes[i] = rows[i * row_size];
}

/* Copies `size` bytes of every row to `size` planes, in pieces. A last piece that would be too long
 * begins earlier: some bytes are copied twice. */
static void scatter(const char *rows, size_t row_size, size_t size, size_t count, struct target to)
{
    for (size_t done = 0, piece; done < size; done += piece) {
        piece = size >= 16 && size - done > 8 ? 16 : size >= 8 ? 8 : 1;
        if (done + piece > size)
            done = size - piece;
        const struct target part = {to.bytes + done * to.rows, to.rows};
        if (piece == 16)
            scatter_16(rows + done, row_size, count, part);
        else if (piece == 8)
            scatter_eight(rows + done, row_size, 0, count, part);
        else
            scatter_one(rows + done, row_size, count, part);
    }
}

void pw_rows_shuffle(const struct pw_row_layout *layout, const char *rows, size_t count,
                     char *planes, size_t stride)
{
    enum { ROWS = 256 }; /* as above */
    for (size_t at = 0; at < count; at += ROWS) {
        const size_t n = count - at < ROWS ? count - at : ROWS;
        for (size_t k = 0; k < layout->nruns; k++) {
            const struct pw_row_run *run = &layout->runs[k];
            scatter(rows + at * layout->row_size + run->to, layout->row_size, run->size, n,
                    (struct target){planes + run->from * stride + at, stride});
        }
    }
}

/* Shuffles and compresses one chunk. */

void pw_chunkpack_init(struct pw_chunkpack *pack, int level)
{
    *pack = (struct pw_chunkpack){.level = level,
                                  .deflater = level > 0 ? pw_deflater_create(level) : NULL};
}

void pw_chunkpack_fini(struct pw_chunkpack *pack)
{
    pw_deflater_destroy(pack->deflater);
    free(pack->plain.bytes);
    free(pack->deflated.bytes);
    *pack = (struct pw_chunkpack){0};
}

/* Makes room for `size` bytes. Returns 0 or -ENOMEM. */
static int make_room(struct pw_chunk_room *room, size_t size)
{
    if (room->size >= size)
        return 0;
    free(room->bytes);
    room->bytes = malloc(size);
    room->size = room->bytes ? size : 0;
    return room->bytes ? 0 : -ENOMEM;
}

int pw_chunkpack_deflate(struct pw_chunkpack *pack, const char *bytes, size_t size,
                         struct pw_packed_chunk *out)
{
    /* The bit of the second filter; and the size up to which building the codes takes longer than
     * it saves on the disk. */
    enum { DEFLATE_SKIPPED = 2, TOO_SMALL = 512 };
    const int is_tried = pack->deflater && size > TOO_SMALL;
    *out = (struct pw_packed_chunk){bytes, size, 0};
    if (pack->level == 0)
        return 0;
    if (is_tried && make_room(&pack->deflated, size))
        return -ENOMEM;
    const size_t deflated =
        is_tried ? pw_deflater_run(pack->deflater, bytes, size, pack->deflated.bytes, size - 1) : 0;
    if (deflated) /* 0 when the result would not be smaller */
        *out = (struct pw_packed_chunk){pack->deflated.bytes, deflated, 0};
    else
        out->skipped = DEFLATE_SKIPPED;
    return 0;
}

int pw_chunkpack_run(struct pw_chunkpack *pack, const struct pw_row_layout *layout,
                     struct pw_chunk_rows rows, struct pw_packed_chunk *out)
{
    const size_t size = rows.chunk_rows * layout->packed_size;
    if (make_room(&pack->plain, size))
        return -ENOMEM;
    char *plain = pack->plain.bytes;
    if (rows.count < rows.chunk_rows)
        memset(plain, 0, size);
    if (pack->level == 0)
        pw_rows_pack(layout, rows.rows, rows.count, plain);
    else
        pw_rows_shuffle(layout, rows.rows, rows.count, plain, rows.chunk_rows);
    return pw_chunkpack_deflate(pack, plain, size, out);
}
