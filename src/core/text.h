/* Formats quantities for people. Each function writes at most `size` bytes, including the NUL, and
 * returns `out`. Used by reports and messages. Pure functions, which allocate nothing. */
#ifndef PW_CORE_TEXT_H
#define PW_CORE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* "850 ns", "12.3 us", "18.0 ms", "2.41 s", "1 h 02 min"; "n/a" for negative values. */
const char *pw_text_ns(char *out, size_t size, int64_t ns);

/* "512 B", "4.0 KiB", "1.5 MiB"; "n/a" for negative values. */
const char *pw_text_bytes(char *out, size_t size, int64_t bytes);

/* "0.8 MB/s", "12.4 GB/s" (powers of ten, as in data sheets of links); "n/a" unless > 0. */
const char *pw_text_rate(char *out, size_t size, double bytes_per_s);

/* "12.3 PFLOP", for FLOPs and FLOP/s; "n/a" for negative values. */
const char *pw_text_flops(char *out, size_t size, double flops);

/* A text that is built piece by piece; what does not fit is cut off. */

/* The text so far, in `out`, which has `size` > 0 bytes. */
struct pw_sentence {
    char *out;
    size_t size, used;
};

/* Returns an empty text in `out`. */
static inline struct pw_sentence pw_sentence_on(char *out, size_t size)
{
    return (struct pw_sentence){out, size, 0};
}

__attribute__((format(printf, 2, 3))) void pw_sentence_add(struct pw_sentence *sentence,
                                                           const char *format, ...);

/* UTF-8. */

/* Bytes of the longest character. */
enum { PW_UTF8_MOST = 4 };

/* Decodes the first character of the `length` > 0 bytes at `in` into *code. Returns its bytes, or 0
 * when the bytes do not begin with a valid character. */
size_t pw_utf8_decode(const unsigned char *in, size_t length, uint32_t *code);

/* Writes the character `code`, or '?' when there is no such character. Returns the bytes
 * written. */
size_t pw_utf8_encode(uint32_t code, char out[PW_UTF8_MOST]);

/* Makes `text` valid UTF-8 in place: each byte that is no part of a valid character becomes '?'. */
void pw_utf8_repair(char *text, size_t length);

#endif
