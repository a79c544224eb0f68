/* Loops without branches, for vector instructions: values of all sizes are mixed. See html_codes.h.
 */
#include "report/html/html_codes.h"

#include <string.h>

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
