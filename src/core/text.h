/* Quantities as people read them. All write at most `size` bytes with the NUL and return `out`. */
#ifndef PW_CORE_TEXT_H
#define PW_CORE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* "850 ns", "12.3 us", "18.0 ms", "2.41 s", "1 h 02 min"; "n/a" for negative values. */
const char *pw_text_ns(char *out, size_t size, int64_t ns);

/* "512 B", "4.0 KiB", "1.5 MiB"; "n/a" for negative values. */
const char *pw_text_bytes(char *out, size_t size, int64_t bytes);

/* "0.8 MB/s", "12.4 GB/s" (powers of ten, as links are sold); "n/a" for values that are not > 0. */
const char *pw_text_rate(char *out, size_t size, double bytes_per_s);

/* "12.3 PFLOP", of FLOPs or FLOP/s; "n/a" below 0. */
const char *pw_text_flops(char *out, size_t size, double flops);

#endif
